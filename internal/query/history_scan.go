package query

import (
	"context"
	"fmt"
	"iter"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/memory"

	"github.com/granarydb/granary/arrowconv"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/query/filter"
)

// HistoryScan reads intervals from a view of a history as Arrow records: in a range of time (Range), at
// an instant (Slice), or at several instants (Sample, Pixels). All fields except View are optional.
//
// A row is a whole interval of an attribute. Both ends are inclusive:
//
//	attribute_id   uint32   the attribute
//	attribute      string   its path, as history.PathText has it: Threads/4297/Status
//	start, end     int64    the first and the last instant, in the unit of the history
//	open           bool     it had not ended when the view was made
//	kind           string   null, bool, int, float, string or bytes
//	value_bool, value_int, value_float, value_string, value_bytes
//	                        the value, in the column of its kind; the others are null
//
// An empty string and empty bytes are values, not nulls. The schema depends only on Columns and Form
// (arrowconv.NewIntervalSchema lists the Arrow types). Rows of an attribute are adjacent and in time
// order.
//
// A record has at most 32,768 rows, and ends with the row that brings its paths and texts to 32 MB. The
// caller releases each record, best before it asks for the next, because the scan then reuses the memory.
// That includes the memory of strings that Arrow returned. Records may outlive the scan, the view and the
// store.
//
// A sequence ends after its first error. The errors are ErrQuery for invalid fields, errors of the
// methods, ctx's error, and arrowconv.ErrBuild for a path of 2 GiB. ctx is checked every 4,096 intervals,
// and after a slice is looked up. A HistoryScan may be copied, and is safe for concurrent use.
//
// A record costs 30 to 80 ns per interval with all columns, and 50 to 100 ns for each path that occurs in
// it. The cost of finding the intervals is that of View.Range, Slice and Sample (go test -bench
// HistoryScan). The scan holds memory for a few records, and the memory of a View.Slice.
type HistoryScan struct {
	// View is the result of Snapshot.History, or of a standalone history.History.
	View *history.View
	// Attributes selects the attributes, in the order of the rows. nil means all, by id; an empty list
	// means none. An unknown attribute is history.ErrAttribute.
	Attributes []history.Attribute
	// Columns names the columns, in their order. nil means all. An unknown or repeated name is
	// ErrQuery. With many attributes, paths cost most.
	Columns []string
	// NoNulls omits intervals without a value.
	NoNulls bool
	// Resolution applies to Range. See history.RangeOptions.
	Resolution int64
	// Limit is the greatest number of rows. 0 means no limit. A negative limit is ErrQuery.
	Limit int
	// Memory allocates the records. nil means the Go allocator. The scan reuses the memory of released
	// records until it ends.
	Memory memory.Allocator
	// Form is the layout of repeated values in the records. An unknown form is ErrQuery. In
	// Native, attribute_id and attribute are run-end encoded.
	Form arrowconv.Form
}

// Schema returns the schema of the records, even if the scan yields none. The error is
// ErrQuery.
func (q HistoryScan) Schema() (*arrow.Schema, error) {
	schema, err := arrowconv.NewIntervalSchema(q.Form, q.Columns)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", filter.ErrQuery, err)
	}
	return schema, nil
}

// Range yields the intervals that overlap [from, to]; both ends are inclusive. The errors are
// history.ErrOutside for a bound outside [View.Start, View.End], and history.ErrQuery if from is after to
// or Resolution is negative.
func (q HistoryScan) Range(ctx context.Context, from, to int64) iter.Seq2[arrow.Record, error] {
	return q.records(ctx, func() iter.Seq2[*history.Columns, error] {
		return q.View.RangeColumns(q.Attributes, from, to, q.Resolution, pieceRows)
	})
}

// Slice yields each attribute's interval at t. The error is history.ErrOutside if t is outside the view.
func (q HistoryScan) Slice(ctx context.Context, t int64) iter.Seq2[arrow.Record, error] {
	return q.records(ctx, func() iter.Seq2[*history.Columns, error] {
		return q.View.SliceColumns(t, q.Attributes, pieceRows)
	})
}

// Sample yields the intervals that contain one of the times, each interval once. The error is
// history.ErrOutside for a time outside the view. Times may be in any order. They must not be changed
// during the scan.
func (q HistoryScan) Sample(ctx context.Context, times []int64) iter.Seq2[arrow.Record, error] {
	return q.records(ctx, func() iter.Seq2[*history.Columns, error] {
		return q.View.SampleColumns(q.Attributes, times, pieceRows)
	})
}

// Pixels is Sample at `pixels` evenly spaced instants in [from, to], one for each pixel column of a
// picture. The errors are as for history.View.Pixels.
func (q HistoryScan) Pixels(ctx context.Context, from, to int64, pixels int) iter.Seq2[arrow.Record, error] {
	return q.records(ctx, func() iter.Seq2[*history.Columns, error] {
		if _, err := q.View.Pixels([]history.Attribute{}, from, to, pixels); err != nil {
			return func(yield func(*history.Columns, error) bool) { yield(nil, err) }
		}
		return q.View.SampleColumns(q.Attributes, history.PixelTimes(from, to, pixels), pieceRows)
	})
}

func (q HistoryScan) records(ctx context.Context, read func() iter.Seq2[*history.Columns, error]) iter.Seq2[arrow.Record, error] {
	return func(yield func(arrow.Record, error) bool) {
		if err := q.scan(ctx, read, func(rec arrow.Record) bool { return yield(rec, nil) }); err != nil {
			yield(nil, err)
		}
	}
}

func (q HistoryScan) scan(ctx context.Context, read func() iter.Seq2[*history.Columns, error], yield func(arrow.Record) bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	switch {
	case q.View == nil:
		return fmt.Errorf("%w: no view of a history", filter.ErrQuery)
	case q.Limit < 0:
		return fmt.Errorf("%w: limit %d", filter.ErrQuery, q.Limit)
	}
	if _, err := q.Schema(); err != nil {
		return err
	}
	out, err := arrowconv.NewIntervalBuilder(arrowconv.IntervalOptions{
		Memory: q.Memory, Form: q.Form, Columns: q.Columns, MaxRows: recordRows, MaxBytes: recordBytes,
		Path: func(dst []byte, a uint32) ([]byte, error) { return q.View.AppendPath(dst, history.Attribute(a)) },
		Text: func(code uint32) []byte { return q.View.Text(uint64(code)) },
	})
	if err != nil {
		return err
	}
	defer out.Release()
	s := intervalScan{out: out, limit: q.Limit, noNulls: q.NoNulls, yield: yield}
	for columns, err := range read() {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if err := s.add(columns); err != nil {
			return err
		}
		if s.stopped || s.limit > 0 && s.seen == s.limit {
			break
		}
	}
	if out.Rows() > 0 { // empty if the receiver stopped, because it got all rows
		yield(out.Record())
	}
	return nil
}

// intervalScan is a scan in progress.
type intervalScan struct {
	out     *arrowconv.IntervalBuilder
	limit   int // 0: no limit
	seen    int
	noNulls bool
	yield   func(arrow.Record) bool
	stopped bool // the receiver stopped

	attributes []uint32
	kinds      []uint8
}

// add adds columns, which it may change, and yields full records.
func (s *intervalScan) add(columns *history.Columns) error {
	if s.noNulls {
		dropNulls(columns)
	}
	n := len(columns.Attributes)
	if s.limit > 0 {
		n = min(n, s.limit-s.seen)
	}
	s.seen += n
	s.attributes, s.kinds = s.attributes[:0], s.kinds[:0]
	for i, a := range columns.Attributes[:n] {
		s.attributes = append(s.attributes, uint32(a))
		s.kinds = append(s.kinds, uint8(columns.Kinds[i]))
	}
	rows := arrowconv.IntervalRows{
		Attributes: s.attributes, Starts: columns.Starts[:n], Ends: columns.Ends[:n],
		Open: columns.Open[:n], Kinds: s.kinds, Words: columns.Words[:n],
	}
	for from := 0; from < n && !s.stopped; {
		added, err := s.out.Append(&rows, from)
		if err != nil {
			return err
		}
		from += added
		if s.out.Full() {
			s.stopped = !s.yield(s.out.Record())
		}
	}
	return nil
}

// dropNulls removes the rows without a value.
func dropNulls(c *history.Columns) {
	n := 0
	for i, kind := range c.Kinds {
		if kind == history.KindNull {
			continue
		}
		c.Attributes[n], c.Starts[n], c.Ends[n] = c.Attributes[i], c.Starts[i], c.Ends[i]
		c.Open[n], c.Kinds[n], c.Words[n] = c.Open[i], kind, c.Words[i]
		n++
	}
	c.Attributes, c.Starts, c.Ends = c.Attributes[:n], c.Starts[:n], c.Ends[:n]
	c.Open, c.Kinds, c.Words = c.Open[:n], c.Kinds[:n], c.Words[:n]
}
