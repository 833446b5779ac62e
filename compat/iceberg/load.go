package iceberg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/profile"
)

var (
	// ErrRows is returned for more rows than LoadOptions.Rows.
	ErrRows = errors.New("too many rows")
	// ErrGone is returned if a node has dropped rows that the table lacked a moment ago: the next look at the table has them.
	ErrGone = errors.New("rows moved meanwhile")
)

// LoadOptions choose rows of the table and of its nodes.
type LoadOptions struct {
	// From and To bound the times of rows, Unix nanoseconds from From up to but not To.
	From, To int64
	// Labels are labels of profiles that all rows have, with these values, which are not empty.
	Labels map[string]string
	// Rows is the most rows that are taken. 0 is no bound.
	Rows int64
	// TableOnly leaves out the rows that the table lacks, which its nodes have.
	TableOnly bool
	// Progress, if not nil, is called for each record, thousands of rows, with the number of rows that were read, and of those
	// in files of the table that can have a chosen row: readers leave out parts of these.
	Progress func(read, of int64)
}

// Load inserts into a store of profiles the rows of one state of the table, and those that its nodes have and that state
// lacks: each row once (L2). A node without an address has none that can be had. Values, times, labels, traces and names of
// functions are those of the rows; addresses, lines and binaries are not in the table, nor is the order of sample types. Types
// of one set of labels and one period become those of one kind, by name.
//
// It costs about 5 us a row, and memory for some records, of 8,192 rows of the table, for the names of all functions, and for all
// sets of labels. After an error some rows can be in the store; as many as it returns are. The errors are ErrOptions, ErrNode, ErrRows,
// ErrGone, ErrRecord, those of the catalog, the files and the nodes, and those of columnstore.Table.Insert and
// profile.DB.Insert: the store is to allow the times of the rows (columnstore.Options.PastLimit, FutureLimit).
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
	in := &loading{db: db, opts: opts, locations: map[string]namedLocation{}, types: map[profileSet][]profile.Type{}}
	for _, n := range p.Nodes { // before the table, which takes long: a node has its rows for a while
		if opts.TableOnly || n.Address == "" {
			continue
		}
		if err := in.node(ctx, n); err != nil {
			return in.rows, fmt.Errorf("node %s: %w", n.ID, err)
		}
	}
	if p.Snapshot != 0 {
		if err := in.table(ctx, t, p.Snapshot); err != nil {
			return in.rows, fmt.Errorf("table %s: %w", p.Table, err)
		}
	}
	return in.rows, in.note(ctx)
}

// loading is a Load.
type loading struct {
	db        *profile.DB
	opts      LoadOptions
	locations map[string]namedLocation // by the name of their function
	types     map[profileSet][]profile.Type

	rows, read, of int64
}

// profileSet is what profiles of one kind share: their labels and their period.
type profileSet struct{ labels, period, unit string }

// recordRows is the number of rows of a record of the table. Names of functions are plain text there.
const recordRows = 8192

// table takes rows of a snapshot.
func (in *loading) table(ctx context.Context, t *table.Table, snapshot int64) error {
	fields := []string{columnTimeNanos, "duration", "period", "value", "labels", columnSampleText, columnSampleNum, columnStack, profile.ColumnTraceID, profile.ColumnSpanID}
	fields = append(fields, typeColumns...)
	schema, err := t.Scan(table.WithSnapshotID(snapshot)).Projection() // of the snapshot: the table can have newer columns
	if err != nil {
		return err
	}
	// One worker: each holds what it has decoded until it is asked for.
	scan := t.Scan(table.WithSnapshotID(snapshot), table.WithSelectedFields(fields...), table.WithRowFilter(in.filter(schema)),
		table.WithMaxConcurrency(1), table.WithArrowBatchSize(recordRows))
	tasks, err := scan.PlanFiles(ctx)
	if err != nil {
		return err
	}
	files := map[string]bool{}
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

// filter returns a condition that all chosen rows meet, by which files and groups of rows are left out: rows of a file can be
// others. A column of a label is null in rows from before there was one.
func (in *loading) filter(schema *iceberg.Schema) iceberg.BooleanExpression {
	at := iceberg.Reference(columnTime)
	micros := func(nanos int64) iceberg.Timestamp { return iceberg.Timestamp(time.Unix(0, nanos).UnixMicro()) }
	all := iceberg.NewAnd(iceberg.GreaterThanEqual(at, micros(in.opts.From)), iceberg.LessThanEqual(at, micros(in.opts.To)))
	for name, value := range in.opts.Labels {
		if _, has := schema.FindFieldByName(labelPrefix + name); has {
			of := iceberg.Reference(labelPrefix + name)
			all = iceberg.NewAnd(all, iceberg.NewOr(iceberg.EqualTo(of, value), iceberg.IsNull(of)))
		}
	}
	return all
}

// node takes the rows that a node has behind its seal.
func (in *loading) node(ctx context.Context, n Node) error {
	var selector []string
	for name, value := range in.opts.Labels {
		selector = append(selector, fmt.Sprintf("%q=%q", name, value))
	}
	slices.Sort(selector)
	more := url.Values{} // a node takes these times; chosen looks at all
	if in.opts.From > 0 {
		more.Set("from", time.Unix(0, in.opts.From).UTC().Format(time.RFC3339Nano))
	}
	if to := time.Unix(0, in.opts.To).UTC(); in.opts.To > 0 && to.Year() < 2262 {
		more.Set("to", to.Format(time.RFC3339Nano))
	}
	if len(selector) > 0 {
		more.Set("selector", "{"+strings.Join(selector, ",")+"}")
	}
	ctx, stalled := context.WithCancelCause(ctx)
	defer stalled(nil)
	silence := time.AfterFunc(mostSilence, func() { stalled(fmt.Errorf("no answer within %v", mostSilence)) })
	defer silence.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, n.Hot()+"&"+more.Encode(), nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return errors.Join(context.Cause(ctx), err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1000))
		err := fmt.Errorf("status %d: %s", resp.StatusCode, strings.TrimSpace(string(text)))
		if resp.StatusCode == http.StatusGone {
			err = fmt.Errorf("%w: %w", ErrGone, err)
		}
		return err
	}
	r, err := ipc.NewReader(resp.Body, ipc.WithBodySizeLimit(mostRecord), ipc.WithMetadataSizeLimit(mostRecord))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRecord, err)
	}
	defer r.Release()
	err = in.each(ctx, readAll(r, func() { silence.Reset(mostSilence) }), nodeColumns)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return errors.Join(cause, err)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("%w: the node cut its answer, as it does at its limits on the time and the bytes of one: choose a shorter time, or a label", err)
	}
	return err
}

// Bounds of the answer of a node: the time between two of its records, and the bytes of one.
const (
	mostSilence = time.Minute
	mostRecord  = 256 << 20
)

// readAll returns the records of a stream, and calls a function before each.
func readAll(r *ipc.Reader, next func()) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for r.Next() {
			next()
			rec := r.RecordBatch()
			rec.Retain()
			if !yield(rec, nil) {
				return
			}
		}
		if err := r.Err(); err != nil {
			yield(nil, err)
		}
	}
}

// each inserts the chosen rows of records, whose columns have the names of a tier.
func (in *loading) each(ctx context.Context, records iter.Seq2[arrow.RecordBatch, error], names columnNames) error {
	for rec, err := range records {
		if err != nil {
			return err
		}
		err = in.insert(ctx, rec, names)
		rec.Release()
		if err != nil {
			return err
		}
		if in.opts.Progress != nil {
			in.opts.Progress(in.read, in.of)
		}
	}
	return nil
}

// insert inserts the chosen rows of a record.
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

// isShown reports whether a type is the one to show of its profiles: cpu, not samples.
func isShown(t profile.Type) bool { return t.Sample == t.Period && t.SampleUnit == t.PeriodUnit }

// typeLists returns which types belong together: those of each set of profiles, unless another set has them and more. A value
// of 0 is no row, so a set can lack types of its profiles. Lists with a type to show come first: the default of the first is
// that of all.
func (in *loading) typeLists() (whole [][]profile.Type) {
	var lists [][]profile.Type
	for _, types := range in.types {
		slices.SortFunc(types, func(a, b profile.Type) int { return strings.Compare(a.String(), b.String()) })
		lists = append(lists, types)
	}
	slices.SortFunc(lists, func(a, b []profile.Type) int { // the longest first, and one order whatever that of maps
		return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(fmt.Sprint(a), fmt.Sprint(b)))
	})
	var others [][]profile.Type
	for _, types := range lists {
		within := func(other []profile.Type) bool {
			return !slices.ContainsFunc(types, func(t profile.Type) bool { return !slices.Contains(other, t) })
		}
		switch {
		case slices.ContainsFunc(whole, within) || slices.ContainsFunc(others, within):
		case slices.ContainsFunc(types, isShown):
			whole = append(whole, types)
		default:
			others = append(others, types)
		}
	}
	return append(whole, others...)
}

// note tells the store which types belong together. An empty profile has them.
func (in *loading) note(ctx context.Context) error {
	for _, types := range in.typeLists() {
		p := &pprof.Profile{PeriodType: &pprof.ValueType{Type: types[0].Period, Unit: types[0].PeriodUnit}}
		for _, t := range types {
			p.SampleType = append(p.SampleType, &pprof.ValueType{Type: t.Sample, Unit: t.SampleUnit})
			if isShown(t) {
				p.DefaultSampleType = t.Sample
			}
		}
		if _, err := in.db.Insert(ctx, p, profile.InsertOptions{}); err != nil {
			return err
		}
	}
	return nil
}
