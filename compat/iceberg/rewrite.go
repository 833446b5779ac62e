package iceberg

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// oldFile is a data file whose rows are read, to be written to others.
type oldFile struct {
	iceberg.DataFile
	tasks       []table.FileScanTask // that read it, without the rows that delete files of other engines take away
	first, last int64                // the starts of the days of its least and its greatest time; of all times without such bounds
}

// oldFiles returns the data files in a state of a table by their names.
func oldFiles(ctx context.Context, t *table.Table) (map[string]*oldFile, error) {
	if t.CurrentSnapshot() == nil {
		return nil, nil
	}
	tasks, err := t.Scan().PlanFiles(ctx)
	if err != nil {
		return nil, err
	}
	files, at := map[string]*oldFile{}, fieldID(t.Schema(), columnTime)
	for _, task := range tasks {
		f := files[task.File.FilePath()]
		if f == nil {
			f = &oldFile{DataFile: task.File, first: math.MinInt64, last: math.MaxInt64}
			least, greatest := task.File.LowerBoundValues()[at], task.File.UpperBoundValues()[at]
			if len(least) == 8 && len(greatest) == 8 {
				f.first, f.last = dayOfBound(least), dayOfBound(greatest)
			}
			files[task.File.FilePath()] = f
		}
		f.tasks = append(f.tasks, task)
	}
	return files, nil
}

// dayOfBound returns the start of the day of a bound in microseconds, in Unix nanoseconds.
func dayOfBound(bound []byte) int64 { return dayOfMicros(int64(binary.LittleEndian.Uint64(bound))) }

// dayOfMicros returns the start of the day of a time, in Unix nanoseconds.
func dayOfMicros(micros int64) int64 { return nextDay(micros*1000) - day }

// deletes returns the names of the delete files of other engines that take rows of the file away.
func (f *oldFile) deletes() []string {
	var names []string
	for _, task := range f.tasks {
		for _, d := range slices.Concat(task.DeleteFiles, task.EqualityDeleteFiles, task.DeletionVectorFiles) {
			names = append(names, d.FilePath())
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// rewriter writes rows of a table's files to new files.
type rewriter struct {
	lake     *Lake // the table
	table    *table.Table
	to       target
	fields   *iceberg.Schema // of new files
	others   []string        // columns that new files do not have
	distinct bool            // of a table of symbols, where repeated rows are left out
	memory   int             // bytes of rows that are sorted at a time
	choose   chooser         // nil for all rows
	places   map[string]Node // of a table of symbols: the nodes whose units are in the table of samples
}

// chooser returns which rows of a record are written.
type chooser func(rec arrow.RecordBatch) (func(row int) bool, error)

// newRewriter returns a rewriter of a state of a table, whose own columns are in a schema. The error is ErrTable for one that
// cannot be rewritten.
func (l *Lake) newRewriter(ctx context.Context, t *table.Table, own *iceberg.Schema) (*rewriter, error) {
	if v := t.Metadata().Version(); v > 2 {
		return nil, fmt.Errorf("%w: its format has version %d, whose ids of rows would be lost", ErrTable, v)
	}
	if err := checkSchema(t.Schema(), own); err != nil {
		return nil, err
	}
	to, err := newTarget(ctx, t)
	if err != nil {
		return nil, err
	}
	r := &rewriter{lake: l, table: t, to: to, memory: rewriteMemory}
	r.fields, r.others = codedFields(t.Schema(), own)
	return r, nil
}

// rewriteMemory is about the memory of rows, as codes, that are in one order: a run. A file with more rows has several.
const rewriteMemory = 192 << 20

// scan passes the records of a file to do. fields are their columns, none for all of them.
func (r *rewriter) scan(ctx context.Context, f *oldFile, fields []string, do func(rec arrow.RecordBatch) error) error {
	opts := []table.ScanOption{table.WithMaxConcurrency(1), table.WithArrowBatchSize(recordRows)}
	if len(fields) > 0 {
		opts = append(opts, table.WithSelectedFields(fields...))
	}
	_, records, err := r.table.Scan(opts...).ReadTasks(ctx, f.tasks)
	if err != nil {
		return err
	}
	return eachRecord(records, do)
}

// errLeft marks why a file is left alone.
type errLeft struct {
	file string
	why  error
}

func (e *errLeft) Error() string { return fmt.Sprintf("file %s: %v", e.file, e.why) }
func (e *errLeft) Unwrap() error { return e.why }

// check returns errLeft if a file has something that a new one would not have.
func (r *rewriter) check(ctx context.Context, f *oldFile) error {
	if f.FileFormat() != iceberg.ParquetFile {
		return &errLeft{f.FilePath(), fmt.Errorf("%w: it is of %s", ErrRecord, f.FileFormat())}
	}
	if len(r.others) == 0 && r.places == nil {
		return nil
	}
	fields := append([]string{columnNode, columnSeal}, r.others...) // the library cannot read a file that has none of the columns
	return r.scan(ctx, f, fields, func(rec arrow.RecordBatch) error {
		for i, of := range rec.Schema().Fields() {
			if slices.Contains(r.others, of.Name) && rec.Column(i).NullN() < rec.Column(i).Len() {
				return &errLeft{f.FilePath(), fmt.Errorf("%w: column %q of another engine has the type %s", ErrRecord, of.Name, of.Type)}
			}
		}
		if r.places == nil {
			return nil
		}
		underWay, err := r.underWay(rec)
		for row := 0; err == nil && row < int(rec.NumRows()); row++ {
			if underWay(row) {
				err = &errLeft{f.FilePath(), errUnderWay}
			}
		}
		return err
	})
}

// errUnderWay is of symbols whose samples are not in the table, and can come.
var errUnderWay = errors.New("its unit is under way")

// underWay returns which rows of a record of symbols are of units that the table of samples lacks. Those of nodes that the table does not know
// were forgotten, and add no unit.
func (r *rewriter) underWay(rec arrow.RecordBatch) (func(row int) bool, error) {
	c := recordColumns{rec: rec}
	nodes, seals := column[*array.String](&c, columnNode), c.numbers(columnSeal)
	return func(row int) bool {
		n, known := r.places[nodes.Value(row)]
		return known && seals(row) > n.Seal
	}, c.err
}

// written is a new file, and what became of the rows that were read.
type written struct {
	file     iceberg.DataFile // nil without rows
	rows     int64            // in the file
	out      int64            // not chosen
	repeated int64            // rows of symbols that others equal
	other    int64            // of other days
}

// write writes the rows of files on one day to a new file. The error is errLeft for a file that cannot be rewritten.
func (r *rewriter) write(ctx context.Context, files []*oldFile, day int64) (w written, err error) {
	out := newDataFile(r.to, "rewritten", day)
	defer func() {
		if err != nil {
			err = errors.Join(err, out.remove())
		}
	}()
	if err := out.open(r.fields); err != nil {
		return w, err
	}
	run := &run{rewriter: r, out: out, rows: newCoded(r.fields), day: day}
	if r.distinct {
		run.known = newKnown()
	}
	for _, f := range files {
		err := r.scan(ctx, f, nil, run.add)
		if err == nil {
			err = run.endFile()
		}
		if errors.Is(err, ErrRecord) {
			err = &errLeft{f.FilePath(), err}
		}
		if err != nil {
			return w, fmt.Errorf("table %s: %w", r.lake.Name(), err)
		}
	}
	if err := run.flush(); err != nil {
		return w, err
	}
	w = written{rows: out.rows, out: run.left, repeated: run.repeated, other: run.other}
	if err := w.check(files); err != nil {
		return w, err
	}
	if out.rows == 0 {
		return w, out.remove()
	}
	order := table.UnsortedSortOrderID
	if run.flushes == 1 && !r.distinct {
		order = orderOf(r.table)
	}
	w.file, err = out.finish(ctx, order)
	return w, err
}

// check compares the number of rows with what the table says.
func (w *written) check(files []*oldFile) error {
	want, exact := int64(0), true
	for _, f := range files {
		want += f.Count()
		exact = exact && len(f.deletes()) == 0
	}
	if got := w.rows + w.out + w.repeated + w.other; got != want && (exact || got > want) {
		return fmt.Errorf("%w: %d rows were read of %d files, and the table says %d", ErrRecord, got, len(files), want)
	}
	return nil
}

// run is the rows of a new file that are in memory.
type run struct {
	*rewriter
	out      *dataFile
	rows     *coded
	day      int64
	known    *known // nil for samples
	left     int64
	repeated int64
	other    int64
	flushes  int
}

// add takes the chosen rows of a record.
func (r *run) add(rec arrow.RecordBatch) error {
	c := recordColumns{rec: rec}
	times := column[*array.Timestamp](&c, columnTime)
	if c.err != nil {
		return c.err
	}
	chosen := func(int) bool { return true }
	if r.choose != nil {
		var err error
		if chosen, err = r.choose(rec); err != nil {
			return err
		}
	}
	err := r.rows.read(rec, func(row int) bool {
		switch {
		case dayOfMicros(int64(times.Value(row))) != r.day:
			r.other++
			return false
		case !chosen(row):
			r.left++
			return false
		}
		return true
	})
	if err == nil && r.known != nil {
		err = r.dropRepeated(false)
	}
	if err == nil && r.size() >= r.memory {
		err = r.flush()
	}
	return err
}

// size returns about the bytes of the rows, and of what is known of symbols.
func (r *run) size() int {
	if r.known == nil {
		return r.rows.size()
	}
	return r.rows.size() + r.known.memory
}

// endFile ends the rows of a file.
func (r *run) endFile() error {
	if r.known == nil {
		return nil
	}
	err := r.dropRepeated(true)
	if err == nil && r.rows.rows >= lineGroup {
		err = r.flush()
	}
	return err
}

// flush writes the rows: samples in the store's order, symbols in the order in which they came, but for a location that can go on.
func (r *run) flush() error {
	n := r.rows.rows
	if r.known != nil {
		n = r.known.from
	}
	if n == 0 {
		return nil
	}
	r.flushes++
	rows := numbered(n)
	if r.known == nil {
		rows = r.rows.sorted()
	}
	if err := r.rows.write(r.out, rows); err != nil {
		return err
	}
	switch {
	case r.known == nil:
		r.rows.reset()
	case r.rows.memory+r.known.memory >= r.memory/2:
		r.rows.restart(n)
		r.known = newKnown()
	default:
		rest := r.rows.rows - n
		r.rows.move(0, n, rest)
		r.rows.truncate(rest)
		r.known.from = 0
	}
	return nil
}
