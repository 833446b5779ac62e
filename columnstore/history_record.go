package columnstore

import (
	"context"
	"fmt"
	"iter"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/memory"

	"github.com/granarydb/granary/arrowconv"
	"github.com/granarydb/granary/history"
)

// HistoryScan asks a view of a history for intervals as Arrow records: all in a range of
// time (Range), those of one instant (Slice), or those that a number of instants hit
// (Sample, Pixels). All fields but View may be left zero.
//
// A row is one interval of one attribute, whole, with both ends included:
//
//	attribute_id   uint32   the attribute
//	attribute      string   its path, as history.PathText has it: Threads/4297/Status
//	start, end     int64    the first and the last instant, in the unit of the history
//	open           bool     it had not ended when the view was made
//	kind           string   null, bool, int, float, string or bytes
//	value_bool, value_int, value_float, value_string, value_bytes
//	                        the value, in the column of its kind; the others are null
//
// An empty string or no bytes are a value, and no null. The schema follows from Columns and
// Form alone (arrowconv.NewIntervalSchema has the Arrow types). Rows of an attribute adjoin,
// in the order of time.
//
// Records have at most 32,768 rows, and end with the row that brings their paths and texts
// to 32 MB. The receiver of a record releases it, best before it goes on to the next: its
// memory is used again, that of strings which Arrow returned of it too. Records may outlive
// the scan, the view and the store.
//
// A sequence ends after its first error: ErrQuery for what the fields say, what the
// methods say, that of ctx, which is looked at every 4,096 intervals and when all of a slice
// has been looked up, or arrowconv.ErrBuild for a path of 2 GiB. A HistoryScan may
// be copied, and used by any number of goroutines.
//
// A record costs 30 to 80 ns an interval with all columns, a path 50 to 100 in each record
// that its attribute is in, beside what the history takes to find the interval: View.Range,
// Slice and Sample say (go test -bench HistoryScan). Memory is for some records, and for
// Slice 24 bytes an attribute of the history.
type HistoryScan struct {
	// View is what Snapshot.History or a history of its own (history.History) returned.
	View *history.View
	// Attributes are those whose intervals are wanted, in the order of the rows; nil means
	// all, by id. An unknown one is history.ErrAttribute.
	Attributes []history.Attribute
	// Columns names columns, in their order; nil means all. An unknown one, or one that is
	// named twice, is ErrQuery. Paths cost most where there are many attributes.
	Columns []string
	// NoNulls leaves out intervals without a value.
	NoNulls bool
	// Resolution is for Range: that of history.RangeOptions.
	Resolution int64
	// Limit is the greatest number of rows; 0 means all. A negative one is ErrQuery.
	Limit int
	// Memory allocates the records; nil means the Go allocator. Until the scan ends it keeps
	// what released records give back, for the records that follow.
	Memory memory.Allocator
	// Form is how values that repeat lie in the records. An unknown one is ErrQuery. In
	// Native, attribute_id and attribute are run-end encoded.
	Form Form
}

// Schema returns the schema of the records, of which there may be none. The error is
// ErrQuery.
func (q HistoryScan) Schema() (*arrow.Schema, error) {
	schema, err := arrowconv.NewIntervalSchema(q.Form, q.Columns)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrQuery, err)
	}
	return schema, nil
}

// Range yields the intervals that hold at some instant from from to to, both included. The
// errors are history.ErrTime for a bound outside of the view, which is from View.Start to
// View.End, and history.ErrQuery for from behind to and a negative Resolution.
func (q HistoryScan) Range(ctx context.Context, from, to int64) iter.Seq2[arrow.Record, error] {
	return q.records(ctx, func(attributes []history.Attribute) iter.Seq2[*history.Columns, error] {
		return q.View.RangeColumns(attributes, from, to, q.Resolution, pieceRows)
	})
}

// Slice yields the interval of each attribute that t is in, with history.ErrTime for a t
// outside of the view.
func (q HistoryScan) Slice(ctx context.Context, t int64) iter.Seq2[arrow.Record, error] {
	return q.records(ctx, func(attributes []history.Attribute) iter.Seq2[*history.Columns, error] {
		return q.View.SliceColumns(t, attributes, pieceRows)
	})
}

// Sample yields the intervals in which one of the times is, each once, with history.ErrTime
// for a time outside of the view. Times may come in any order. They must not be changed
// while the scan goes on.
func (q HistoryScan) Sample(ctx context.Context, times []int64) iter.Seq2[arrow.Record, error] {
	return q.records(ctx, func(attributes []history.Attribute) iter.Seq2[*history.Columns, error] {
		return q.View.SampleColumns(attributes, times, pieceRows)
	})
}

// Pixels is Sample at so many instants, evenly from from to to: what a picture of that many
// columns shows. The errors are those of history.View.Pixels.
func (q HistoryScan) Pixels(ctx context.Context, from, to int64, pixels int) iter.Seq2[arrow.Record, error] {
	return q.records(ctx, func(attributes []history.Attribute) iter.Seq2[*history.Columns, error] {
		return q.View.PixelColumns(attributes, from, to, pixels, pieceRows)
	})
}

func (q HistoryScan) records(ctx context.Context, read func([]history.Attribute) iter.Seq2[*history.Columns, error]) iter.Seq2[arrow.Record, error] {
	return func(yield func(arrow.Record, error) bool) {
		if err := q.scan(ctx, read, func(rec arrow.Record) bool { return yield(rec, nil) }); err != nil {
			yield(nil, err)
		}
	}
}

func (q HistoryScan) scan(ctx context.Context, read func([]history.Attribute) iter.Seq2[*history.Columns, error], yield func(arrow.Record) bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	switch {
	case q.View == nil:
		return fmt.Errorf("%w: no view of a history", ErrQuery)
	case q.Limit < 0:
		return fmt.Errorf("%w: limit %d", ErrQuery, q.Limit)
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
	for columns, err := range read(q.attributes()) {
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
	if out.Rows() > 0 { // not if the receiver stopped: it was given all
		yield(out.Record())
	}
	return nil
}

// attributes returns those that are wanted.
func (q HistoryScan) attributes() []history.Attribute {
	if q.Attributes != nil {
		return q.Attributes
	}
	all := make([]history.Attribute, q.View.Len())
	for i := range all {
		all[i] = history.Attribute(i)
	}
	return all
}

// intervalScan is a scan under way.
type intervalScan struct {
	out     *arrowconv.IntervalBuilder
	limit   int // 0: none
	seen    int
	noNulls bool
	yield   func(arrow.Record) bool
	stopped bool // the receiver has enough

	attributes []uint32
	kinds      []arrowconv.StateKind
}

// stateKinds are the kinds of values in records.
var stateKinds = [...]arrowconv.StateKind{
	history.KindNull: arrowconv.StateNull, history.KindBool: arrowconv.StateBool, history.KindInt: arrowconv.StateInt,
	history.KindFloat: arrowconv.StateFloat, history.KindString: arrowconv.StateString, history.KindBytes: arrowconv.StateBytes,
}

// add adds columns, which it may change, and hands out the records that are full.
func (s *intervalScan) add(columns *history.Columns) error {
	if s.noNulls {
		dropNulls(columns)
	}
	n := columns.Len()
	if s.limit > 0 {
		n = min(n, s.limit-s.seen)
	}
	s.seen += n
	s.attributes, s.kinds = s.attributes[:0], s.kinds[:0]
	for i, a := range columns.Attributes[:n] {
		s.attributes = append(s.attributes, uint32(a))
		s.kinds = append(s.kinds, stateKinds[columns.Kinds[i]])
	}
	rows := arrowconv.Intervals{
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

// dropNulls leaves the rows that have a value.
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
