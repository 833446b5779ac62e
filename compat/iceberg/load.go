package iceberg

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/granarydb/granary/profile"
)

var (
	// ErrRows is returned for more rows than LoadOptions.Rows, and for days whose symbols would take
	// over a GiB.
	ErrRows = errors.New("too many rows")
	// ErrGone is returned if a node has dropped rows that the table lacked a moment ago. The table then
	// has them, so loading again finds them.
	ErrGone = errors.New("rows moved meanwhile")
)

// LoadOptions choose rows from the table and its nodes.
type LoadOptions struct {
	// From and To bound the rows' times: [From, To) in Unix nanoseconds.
	From, To int64
	// Labels are profile labels that all rows must have, with these values, which are not empty.
	Labels map[string]string
	// Rows bounds the number of rows. 0 is no bound.
	Rows int64
	// TableOnly leaves out the nodes' rows that the table lacks.
	TableOnly bool
	// Token is the bearer token that nodes are asked with. Empty means none.
	Token string
	// Progress, if not nil, is called for each record, thousands of rows. read is the number of rows
	// read. of is the number of rows of nodes, and of rows in table files that can have a chosen row;
	// readers leave out parts of these. It is 0 until all rows of nodes and all symbols, which are not
	// rows, are read.
	Progress func(read, of int64)
}

// Load inserts into db the rows in one state of the table, and the nodes' rows that this state lacks: each
// row once (L2). The rows of a node without an address cannot be read. Values, times, labels, traces and
// function names are the rows'. Addresses, lines and binaries come from the tables of symbols
// (TableOptions.Symbols); rows without such tables, and rows from nodes, have none. The table does not have
// the order of sample types. Types with one set of labels and one period become the types of one kind, by
// name.
//
// It costs about 5 us a row, and memory for some records, of 8,192 table rows, for all function names, for
// all sets of labels, and for the days' symbols. After an error some rows can be in the store, as many as
// it returns. The errors are ErrOptions, ErrNode, ErrRows, ErrGone, ErrRecord, any from the catalog, the
// files and the nodes, and the errors of columnstore.Table.Insert and profile.DB.Insert: the store must
// allow the rows' times (columnstore.Options.PastLimit, FutureLimit).
func (l *Lake) Load(ctx context.Context, db *profile.DB, opts LoadOptions) (rows int64, err error) {
	if opts.From >= opts.To || opts.Rows < 0 {
		return 0, fmt.Errorf("%w: %d rows from %d to %d", ErrOptions, opts.Rows, opts.From, opts.To)
	}
	for name, value := range opts.Labels {
		if name == "" || value == "" {
			return 0, fmt.Errorf("%w: label %q with the value %q", ErrOptions, name, value)
		}
	}
	t, err := l.load(ctx)
	if err != nil {
		return 0, err
	}
	p, err := l.pinned(t)
	if err != nil {
		return 0, err
	}
	in := &loading{db: db, opts: opts, locations: map[string]loadedLocation{}, types: map[profileSet][]profile.Type{}}
	for _, n := range p.Nodes { // before the table, which takes long, because a node has its rows only for a while
		if opts.TableOnly || n.Address == "" {
			continue
		}
		if err := in.node(ctx, n); err != nil {
			return in.rows, fmt.Errorf("node %s: %w", n.ID, err)
		}
	}
	if p.Snapshot != 0 {
		beside, err := l.loadSides(ctx, t)
		if err == nil {
			err = in.readSymbols(ctx, beside)
		}
		if err != nil {
			return in.rows, fmt.Errorf("symbols of table %s: %w", p.Table, err)
		}
		if err := in.table(ctx, t, p.Snapshot); err != nil {
			return in.rows, fmt.Errorf("table %s: %w", p.Table, err)
		}
	}
	return in.rows, in.note(ctx)
}

// loading is a Load in progress.
type loading struct {
	db        *profile.DB
	opts      LoadOptions
	locations map[string]loadedLocation // locations by function name
	types     map[profileSet][]profile.Type

	rows, read, of int64

	parts  int // parts of symbols
	places []symbolLocation
	stacks map[int64][]uint32 // the table's stacks, as places of their locations; nil without symbols
}

// profileSet is the labels and period that profiles of one kind share.
type profileSet struct{ labels, period, unit string }

// recordRows is the number of rows in a table record. Function names are plain text there.
const recordRows = 8192

// table takes a snapshot's rows.
func (in *loading) table(ctx context.Context, t *table.Table, snapshot int64) error {
	fields := []string{columnTimeNanos, "labels", columnSampleText, columnSampleNum, columnStack, profile.ColumnTraceID, profile.ColumnSpanID}
	fields = append(append(fields, typeColumns...), measures[:]...)
	if in.stacks != nil {
		fields = append(fields, columnStackID)
	}
	schema, err := t.Scan(table.WithSnapshotID(snapshot)).Projection() // the snapshot's, because the table can have newer columns
	if err != nil {
		return err
	}
	// One worker, because each holds its decoded records until they are requested.
	scan := t.Scan(table.WithSnapshotID(snapshot), table.WithSelectedFields(fields...), table.WithRowFilter(in.filter(schema)),
		table.WithMaxConcurrency(1), table.WithArrowBatchSize(recordRows))
	tasks, err := scan.PlanFiles(ctx)
	if err != nil {
		return err
	}
	files := map[string]bool{}
	in.of = in.read // the nodes' rows
	for _, task := range tasks {
		if path := task.File.FilePath(); !files[path] {
			files[path] = true
			in.of += task.File.Count()
		}
	}
	_, records, err := scan.ReadTasks(ctx, tasks)
	if err != nil {
		return err
	}
	return in.each(ctx, records, tableColumns)
}

// filter returns a condition that all chosen rows meet, to skip files and row groups. Other rows in a file
// can meet it too. A label column is null in rows that are older than the column.
func (in *loading) filter(schema *iceberg.Schema) iceberg.BooleanExpression {
	all := between(in.opts.From, in.opts.To)
	for name, value := range in.opts.Labels {
		if _, has := schema.FindFieldByName(labelPrefix + name); has {
			of := iceberg.Reference(labelPrefix + name)
			all = iceberg.NewAnd(all, iceberg.NewOr(iceberg.EqualTo(of, value), iceberg.IsNull(of)))
		}
	}
	return all
}

// each inserts the chosen rows of records, whose columns have a tier's names.
func (in *loading) each(ctx context.Context, records iter.Seq2[arrow.RecordBatch, error], names columnNames) error {
	return eachRecord(records, func(rec arrow.RecordBatch) error {
		err := in.insert(ctx, rec, names)
		if err == nil {
			in.progress()
		}
		return err
	})
}

// progress reports the progress.
func (in *loading) progress() {
	if in.opts.Progress != nil {
		in.opts.Progress(in.read, in.of)
	}
}

// insert inserts a record's chosen rows.
func (in *loading) insert(ctx context.Context, rec arrow.RecordBatch, names columnNames) error {
	r, err := newRowReader(rec, names)
	if err != nil {
		return err
	}
	b := newLoadedBatch(in)
	for i := range int(rec.NumRows()) {
		if in.read++; r.chosen(i, &in.opts) {
			if err := b.add(r, i); err != nil {
				return err
			}
		}
	}
	switch {
	case b.batch.Rows == 0:
		return nil
	case in.opts.Rows > 0 && in.rows+int64(b.batch.Rows) > in.opts.Rows:
		return fmt.Errorf("%w: over %d in this time: choose less of it, or a label", ErrRows, in.opts.Rows)
	}
	if _, err = in.db.Table().Insert(ctx, b.finish()); err == nil {
		in.rows += int64(b.batch.Rows)
	}
	return err
}
