package arrow18

import (
	"fmt"
	"iter"
	"sync/atomic"

	arrow14 "github.com/apache/arrow/go/v14/arrow"

	arrow18 "github.com/apache/arrow-go/v18/arrow"
	array18 "github.com/apache/arrow-go/v18/arrow/array"
)

var _ array18.RecordReader = (*Reader)(nil)

// Reader returns the records of a scan, one at a time, as a v18 array.RecordReader. NewReader returns it with
// one reference.
//
// The scan runs in a goroutine that the Reader owns, and takes turns with the caller: it runs only during
// Next and during the last Release, which waits for its end. Next may therefore be called from any thread,
// also by C through cgo. (A coroutine of iter.Pull, as in array.ReaderFromIter, ends the process when it is
// switched to from another thread.) The Reader does not catch a panic of the scan.
//
// Retain, Release and Schema are safe for concurrent use; the other methods are not. After the first Next a
// Reader must be released or read to its end. Otherwise the scan waits forever, with its snapshot.
type Reader struct {
	refs    atomic.Int64
	plan    *plan
	records iter.Seq2[arrow14.Record, error]

	turn    chan struct{} // one send for each further record; closed to end the scan
	results chan result   // closed when the scan has ended
	started bool
	ended   bool

	current arrow18.RecordBatch
	err     error
}

// result is one yield of a scan.
type result struct {
	rec arrow14.Record
	err error
}

// NewReader returns a reader of records, such as those of columnstore.Table.Scan, which all have the given
// schema. The scan begins with the first Next. The Reader releases each v14 record as soon as it is bridged.
// The error wraps ErrType, or ErrRecord if an argument is nil; then records is not used.
func NewReader(schema *arrow14.Schema, records iter.Seq2[arrow14.Record, error]) (*Reader, error) {
	p, err := newPlan(schema)
	if err != nil {
		return nil, err
	}
	if records == nil {
		return nil, fmt.Errorf("%w: no records to read", ErrRecord)
	}
	r := &Reader{plan: p, records: records, turn: make(chan struct{}), results: make(chan result)}
	r.refs.Store(1)
	return r, nil
}

// Schema returns the schema of all records.
func (r *Reader) Schema() *arrow18.Schema { return r.plan.to }

// Next releases the previous record and moves to the next one. It returns false at the end and after an
// error. At most one record is alive unless the caller retains more. The cost is the cost of the scan and of
// Record, plus a switch between goroutines.
func (r *Reader) Next() bool {
	r.drop()
	if r.ended {
		return false
	}
	if !r.started {
		r.started = true
		go r.scan()
	} else {
		r.turn <- struct{}{}
	}
	res, more := <-r.results
	if !more {
		r.ended = true
		return false
	}
	if r.current, r.err = r.bridge(res); r.err != nil {
		r.end()
		return false
	}
	return true
}

// bridge takes ownership of a result of the scan.
func (r *Reader) bridge(res result) (arrow18.RecordBatch, error) {
	if res.rec != nil {
		defer res.rec.Release()
	}
	switch {
	case res.err != nil:
		return nil, res.err
	case res.rec == nil:
		return nil, fmt.Errorf("%w: none", ErrRecord)
	case !res.rec.Schema().Equal(r.plan.from):
		return nil, fmt.Errorf("%w: its schema is not that of the reader: %v", ErrRecord, res.rec.Schema())
	}
	return r.plan.record(res.rec)
}

// RecordBatch returns the current record, or nil before the first and after the last. It is valid until the
// next call of Next or the last Release; Retain keeps it longer.
func (r *Reader) RecordBatch() arrow18.RecordBatch { return r.current }

// Record is the old name of RecordBatch.
func (r *Reader) Record() arrow18.RecordBatch { return r.current }

// Err returns the reason for a false Next: nil at the end of the records, otherwise the error of the scan,
// unwrapped, or an error of Record.
func (r *Reader) Err() error { return r.err }

// Retain adds a reference.
func (r *Reader) Retain() { r.refs.Add(1) }

// Release drops a reference. The last Release releases the record, stops the scan, and waits for its end;
// after that Next returns false.
func (r *Reader) Release() {
	if r.refs.Add(-1) == 0 {
		r.drop()
		r.end()
	}
}

// scan is the body of the goroutine that runs the scan.
func (r *Reader) scan() {
	defer close(r.results)
	for rec, err := range r.records {
		r.results <- result{rec, err}
		if _, more := <-r.turn; !more {
			return
		}
	}
}

// end makes the scan return from its last yield, and waits until it has ended.
func (r *Reader) end() {
	if r.started && !r.ended {
		close(r.turn)
		<-r.results
	}
	r.ended = true
}

func (r *Reader) drop() {
	if r.current != nil {
		r.current.Release()
		r.current = nil
	}
}
