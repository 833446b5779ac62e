package iceberg

import (
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
	// ErrGone is returned if a node has dropped rows that the table lacked a moment ago. Another try succeeds.
	ErrGone = errors.New("rows moved meanwhile")
)

// LoadOptions choose rows of the table and of its nodes.
type LoadOptions struct {
	// From and To bound the times of rows, Unix nanoseconds from From up to but not To.
	From, To int64
	// Labels are labels of profiles that all rows have, with these values.
	Labels map[string]string
	// Rows is the most rows that are taken. 0 is no bound.
	Rows int64
	// TableOnly leaves out the rows that the table lacks, which its nodes have.
	TableOnly bool
	// Progress, if not nil, is called for each record, thousands of rows, with the number of rows that were looked at, and
	// of those that there are in files of the table that can have a chosen row.
	Progress func(seen, of int64)
}

// Load inserts into a store of profiles the rows of one state of the table, and those that its nodes have and that state
// lacks: each row once (L2). A node without an address has none that can be had. Values, times, labels, traces and names of
// functions are those of the rows; addresses, lines and binaries are not in the table, nor is the order of sample types. Types
// of one set of labels become those of one kind, by name.
//
// It costs about 5 us a row, and memory for a batch of rows of the table. After an error some rows can be in the store. The
// errors are ErrOptions, ErrRows, ErrGone, ErrTable, ErrRecord, those of the catalog, the files and the nodes, and those of
// columnstore.Table.Insert: the store is to allow times as old as the rows (columnstore.Options.PastLimit).
func (l *Lake) Load(ctx context.Context, db *profile.DB, opts LoadOptions) (rows int64, err error) {
	if opts.From >= opts.To || opts.Rows < 0 {
		return 0, fmt.Errorf("%w: %d rows from %d to %d", ErrOptions, opts.Rows, opts.From, opts.To)
	}
	t, err := l.load(ctx)
	if err != nil {
		return 0, err
	}
	p, err := l.pinned(t)
	if err != nil {
		return 0, err
	}
	in := &loading{db: db, opts: opts, locations: map[string]namedLocation{}, types: map[string][]profile.Type{}}
	if p.Snapshot != 0 {
		if err := in.table(ctx, t, p.Snapshot); err != nil {
			return in.rows, fmt.Errorf("table %s: %w", p.Table, err)
		}
	}
	for _, n := range p.Nodes {
		if opts.TableOnly || n.Address == "" {
			continue
		}
		if err := in.node(ctx, n); err != nil {
			return in.rows, fmt.Errorf("node %s: %w", n.ID, err)
		}
	}
	return in.rows, in.note(ctx)
}

// loading is a Load.
type loading struct {
	db        *profile.DB
	opts      LoadOptions
	locations map[string]namedLocation  // by the name of their function
	types     map[string][]profile.Type // by set of labels

	rows, seen, of int64
}

// table takes rows of a snapshot.
func (in *loading) table(ctx context.Context, t *table.Table, snapshot int64) error {
	fields := []string{columnTimeNanos, "duration", "period", "value", "labels", columnSampleText, columnSampleNum, columnStack, profile.ColumnTraceID, profile.ColumnSpanID}
	fields = append(fields, typeColumns...)
	scan := t.Scan(table.WithSnapshotID(snapshot), table.WithSelectedFields(fields...), table.WithRowFilter(in.filter(t.Schema())))
	tasks, err := scan.PlanFiles(ctx)
	if err != nil {
		return err
	}
	for _, task := range tasks {
		in.of += task.File.Count()
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
	at := func(nanos int64) string { return time.Unix(0, nanos).UTC().Format(time.RFC3339Nano) }
	more := url.Values{"from": {at(in.opts.From)}, "to": {at(in.opts.To)}}
	if len(selector) > 0 {
		more.Set("selector", "{"+strings.Join(selector, ",")+"}")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, n.Hot()+"&"+more.Encode(), nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
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
	r, err := ipc.NewReader(resp.Body)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRecord, err)
	}
	defer r.Release()
	return in.each(ctx, readAll(r), nodeColumns)
}

// readAll returns the records of a stream. Each is valid up to the next.
func readAll(r *ipc.Reader) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for r.Next() {
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
			in.opts.Progress(in.seen, max(in.of, in.seen))
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
		if in.seen++; r.chosen(i, &in.opts) {
			if err := b.add(r, i); err != nil {
				return err
			}
		}
	}
	if in.rows += int64(b.batch.Rows); in.opts.Rows > 0 && in.rows > in.opts.Rows {
		return fmt.Errorf("%w: over %d in this time: choose less of it, or a label", ErrRows, in.opts.Rows)
	}
	if b.batch.Rows == 0 {
		return nil
	}
	_, err = in.db.Table().Insert(ctx, b.finish())
	return err
}

// note tells the store which types belong together: those of each set of labels. An empty profile has them.
func (in *loading) note(ctx context.Context) error {
	done := map[string]bool{}
	for _, types := range in.types {
		slices.SortFunc(types, func(a, b profile.Type) int { return strings.Compare(a.String(), b.String()) })
		if key := fmt.Sprint(types); done[key] {
			continue
		} else {
			done[key] = true
		}
		p := &pprof.Profile{PeriodType: &pprof.ValueType{Type: types[0].Period, Unit: types[0].PeriodUnit}}
		for _, t := range types {
			p.SampleType = append(p.SampleType, &pprof.ValueType{Type: t.Sample, Unit: t.SampleUnit})
			if t.Sample == t.Period && t.SampleUnit == t.PeriodUnit {
				p.DefaultSampleType = t.Sample // cpu, not samples
			}
		}
		if _, err := in.db.Insert(ctx, p, profile.InsertOptions{}); err != nil {
			return err
		}
	}
	return nil
}
