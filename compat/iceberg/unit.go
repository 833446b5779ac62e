package iceberg

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

const day = int64(24 * time.Hour)

// namesOf is columnstore.ScanOptions.Elements.
type namesOf = func(dst []string, id uuid.UUID, record []byte) []string

// Unit is the rows under one seal of one node. Nothing adds a row to a unit.
type Unit struct {
	// Node is the node's id.
	Node string
	// Seal is the unit's seal, above 0. A node's later seals are greater. Node.SealOf makes it.
	Seal int64
	// Bucket is the unit's id in its store, if it comes from columnstore.Table.Seal; 0 chooses rows
	// only by time.
	Bucket uint64
	// From and To bound the rows' times: [From, To) in Unix nanoseconds.
	From, To int64
	// Table has the rows, in the profiling schema, and Snapshot is the state to read.
	Table    *columnstore.Table
	Snapshot *columnstore.Snapshot
	// Names appends the names of a location's functions, leaf first, as
	// columnstore.ScanOptions.Elements does. nil means profile.FunctionNames.
	Names func(dst []string, id uuid.UUID, record []byte) []string
}

// Files are a unit's files, written and not yet committed.
type Files struct {
	Node  string
	Seal  int64
	Rows  int64
	Bytes int64 // bytes of all files
	data  []iceberg.DataFile
	sides [sides][]iceberg.DataFile // files of symbols
}

// Len returns the number of samples files: one for each day on which the unit has rows.
func (f *Files) Len() int { return len(f.data) }

func isLabelColumn(name string) bool { return strings.HasPrefix(name, labelPrefix) }

// check returns an error for an invalid unit.
func (u *Unit) check() error {
	switch {
	case u.Node == "" || strings.ContainsFunc(u.Node, func(r rune) bool { return !isIDRune(r) }):
		return fmt.Errorf("%w: node id %q: want letters, digits, - and _", ErrOptions, u.Node)
	case u.Seal <= 0:
		return fmt.Errorf("%w: seal %d of node %s: want at least 1", ErrOptions, u.Seal, u.Node)
	case u.From >= u.To:
		return fmt.Errorf("%w: unit of node %s from %d to %d", ErrOptions, u.Node, u.From, u.To)
	}
	return nil
}

// name names a unit in the names of its files.
func (u *Unit) name() string { return fmt.Sprintf("%s-%d", u.Node, u.Seal) }

func isIDRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_'
}

// Write writes a unit's rows into new files that no snapshot has yet. Their names are random, so that a
// second attempt does not overwrite a file that may be committed. Files that are not committed are orphans,
// which Lake.RemoveOrphans removes.
//
// It costs about 3 us per row, and memory for a group of 524,288 rows as codes, and for the unit's names and
// stacks. The errors are ErrOptions, ErrTable, ErrRecord, and any from the scan, the catalog and the files.
func (l *Lake) Write(ctx context.Context, u Unit) (*Files, error) {
	if err := u.check(); err != nil {
		return nil, err
	}
	if u.Names == nil {
		u.Names = profile.FunctionNames
	}
	t, err := l.load(ctx)
	if err != nil {
		return nil, err
	}
	to, err := newTarget(ctx, t)
	if err != nil {
		return nil, err
	}
	tables, err := l.loadSides(ctx, t)
	if err != nil {
		return nil, err
	}
	var beside [sides]target
	for side, t := range tables {
		if t == nil {
			continue
		}
		if beside[side], err = newTarget(ctx, t); err != nil {
			return nil, err
		}
	}
	files := &Files{Node: u.Node, Seal: u.Seal}
	for from := u.From; from < u.To; {
		until := min(u.To, nextDay(from))
		if err := files.write(ctx, to, beside, u, from, until); err != nil {
			return nil, fmt.Errorf("unit %d of node %s: %w", u.Seal, u.Node, err)
		}
		from = until
	}
	return files, nil
}

// nextDay returns the first time of the next day, or the greatest time.
func nextDay(at int64) int64 {
	since := at % day
	if since < 0 {
		since += day
	}
	if next := at - since + day; next > at {
		return next
	}
	return 1<<63 - 1
}

// write writes a unit's rows from a time up to another time on the same day. Without rows it makes no file.
func (f *Files) write(ctx context.Context, of target, beside [sides]target, u Unit, from, to int64) error {
	out := newDataFile(of, u.name(), from)
	w, err := newFileWriter(out.buffer, of.table.Schema(), u.Node, u.Seal, u.Names)
	if err != nil {
		return err
	}
	if beside[0].table != nil {
		if w.symbols, err = newSymbols(beside, u, from, w); err != nil {
			return err
		}
	}
	err = scan(ctx, u, from, to, w)
	if err == nil && w.rows+int64(w.group.rows()) == 0 {
		return nil
	}
	if err == nil {
		err = w.close()
	}
	var symbols [sides][]iceberg.DataFile
	if w.symbols != nil {
		if err != nil {
			err = errors.Join(err, w.symbols.remove())
		} else {
			symbols, err = w.symbols.close(ctx)
		}
	}
	if err != nil {
		return errors.Join(err, out.remove())
	}
	order := table.UnsortedSortOrderID
	if w.order.sorted {
		order = orderOf(of.table)
	}
	data, err := out.finish(ctx, order)
	if err != nil {
		return err // the files of symbols become orphans
	}
	f.data = append(f.data, data)
	f.Rows += w.rows
	f.Bytes += data.FileSizeBytes()
	for side, files := range symbols {
		for _, s := range files {
			f.sides[side] = append(f.sides[side], s)
			f.Bytes += s.FileSizeBytes()
		}
	}
	return nil
}

// scan passes a unit's rows with times in a range to a writer.
func scan(ctx context.Context, u Unit, from, to int64, w *fileWriter) error {
	opts := columnstore.ScanOptions{
		Columns: scanColumns(), Ordered: true, Form: columnstore.Native, Elements: w.places.element,
		Where: columnstore.And(columnstore.AtLeast(profile.ColumnTimestamp, from), columnstore.Less(profile.ColumnTimestamp, to)),
	}
	if u.Bucket != 0 {
		opts.Buckets = []uint64{u.Bucket}
	}
	for rec, err := range u.Table.Scan(ctx, u.Snapshot, opts) {
		if err != nil {
			return err
		}
		err = w.write(rec)
		rec.Release()
		if err != nil {
			return err
		}
	}
	return nil
}
