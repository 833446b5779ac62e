package arrow18

import (
	"bytes"
	"errors"
	"iter"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	arrow14 "github.com/apache/arrow/go/v14/arrow"
	array14 "github.com/apache/arrow/go/v14/arrow/array"
	memory14 "github.com/apache/arrow/go/v14/arrow/memory"

	array18 "github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// source yields records as a scan does: each is made on demand.
type source struct {
	mem    *memory14.CheckedAllocator
	values [][]any
	err    error // after the last record
	made   int
	ended  bool
	alive  []int // bytes held at each demand for a record
}

func newSource(t *testing.T, records int) *source {
	s := &source{mem: checked(t)}
	rng := rand.New(rand.NewPCG(11, 12))
	for range records {
		s.values = append(s.values, random(rng, s.typ(), 50))
	}
	return s
}

func (*source) typ() arrow14.DataType { return runs14(dict14(arrow14.BinaryTypes.String)) }

func (s *source) schema() *arrow14.Schema {
	return arrow14.NewSchema([]arrow14.Field{{Name: "0", Type: s.typ(), Nullable: true}}, nil)
}

func (s *source) records() iter.Seq2[arrow14.Record, error] {
	return func(yield func(arrow14.Record, error) bool) {
		defer func() { s.ended = true }()
		for _, v := range s.values {
			s.alive = append(s.alive, s.mem.CurrentAlloc())
			s.made++
			if !yield(recordOf(build(s.mem, s.typ(), v)), nil) {
				return
			}
		}
		if s.err != nil {
			yield(nil, s.err)
		}
	}
}

func (s *source) reader(t *testing.T) *Reader {
	r, err := NewReader(s.schema(), s.records())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Invariant B6: one record is alive at a time, and none when the scan goes on.
func TestReader(t *testing.T) {
	s := newSource(t, 5)
	r := s.reader(t)
	if s.made != 0 || r.RecordBatch() != nil {
		t.Error("the scan began before the first Next")
	}
	if r.Schema().Field(0).Type.String() != s.typ().String() {
		t.Errorf("schema %v", r.Schema())
	}
	for i, want := range s.values {
		if !r.Next() {
			t.Fatalf("record %d: %v", i, r.Err())
		}
		diff(t, "values", want, rows18(r.RecordBatch().Column(0)))
		if r.Record() != r.RecordBatch() || r.RecordBatch().Schema() != r.Schema() {
			t.Error("two names, two records")
		}
		if s.made != i+1 || s.alive[i] != 0 {
			t.Errorf("record %d: %d are made, %d bytes were alive", i, s.made, s.alive[i])
		}
	}
	for range 2 {
		if r.Next() || r.Err() != nil || r.RecordBatch() != nil {
			t.Errorf("after the end: %v, %v", r.RecordBatch(), r.Err())
		}
	}
	s.mem.AssertSize(t, 0)
	r.Release()
}

// A retained record outlives Next and the reader.
func TestReaderRetainedRecord(t *testing.T) {
	s := newSource(t, 2)
	r := s.reader(t)
	r.Next()
	rec := r.RecordBatch()
	rec.Retain()
	r.Next()
	r.Release()
	diff(t, "values", s.values[0], rows18(rec.Column(0)))
	rec.Release()
}

func TestReaderErrors(t *testing.T) {
	broken := errors.New("scan is broken")
	s := newSource(t, 2)
	s.err = broken
	r := s.reader(t)
	n := 0
	for r.Next() {
		n++
	}
	for range 2 {
		if n != 2 || r.Err() != broken || !s.ended || r.Next() || r.RecordBatch() != nil { //nolint:errorlint // the same error
			t.Errorf("%d records, error %v, scan ended: %t", n, r.Err(), s.ended)
		}
	}
	r.Release()

	first := newSource(t, 0)
	first.err = broken
	r = first.reader(t)
	if r.Next() || !errors.Is(r.Err(), broken) || !first.ended {
		t.Errorf("error %v, scan ended: %t", r.Err(), first.ended)
	}
	r.Release()
}

// A wrong record of a scan ends the reading with an error; nothing is kept.
func TestReaderOfWrongRecords(t *testing.T) {
	s := newSource(t, 1)
	other := func() arrow14.Record { return recordOf(build(s.mem, uuid14, []any{nil})) }
	both := errors.New("both")
	for name, c := range map[string]struct {
		rec  arrow14.Record
		err  error
		kind error
		want string
	}{
		"another schema":     {other(), nil, ErrRecord, "its schema is not that of the reader"},
		"no record":          {nil, nil, ErrRecord, "none"},
		"record and error":   {other(), both, both, "both"},
		"a record that lies": {array14.NewRecord(s.schema(), nil, 0), nil, ErrRecord, "0 columns"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := NewReader(s.schema(), func(yield func(arrow14.Record, error) bool) {
				if yield(c.rec, c.err) {
					t.Error("the scan was to go on")
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Release()
			if r.Next() {
				t.Errorf("read %v", r.RecordBatch())
			}
			wantErr(t, r.Err(), c.kind, c.want)
		})
	}

	_, err := NewReader(nil, s.records())
	wantErr(t, err, ErrRecord, "no schema")
	_, err = NewReader(s.schema(), nil)
	wantErr(t, err, ErrRecord, "no records to read")
	_, err = NewReader(arrow14.NewSchema([]arrow14.Field{{Name: "d", Type: arrow14.PrimitiveTypes.Date32}}, nil), s.records())
	wantErr(t, err, ErrType, `column "d"`)
	if s.made != 0 {
		t.Error("a reader that was not made began the scan")
	}
}

// Invariant B7: the last Release ends the scan and waits for it.
func TestReaderRelease(t *testing.T) {
	for read := range 4 {
		s := newSource(t, 3)
		r := s.reader(t)
		for range read {
			r.Next()
		}
		r.Retain()
		r.Release()
		if s.ended {
			t.Error("the scan ended before the last Release")
		}
		r.Release()
		if s.ended != (read > 0) || s.made != read {
			t.Errorf("after %d records: ended %t, made %d", read, s.ended, s.made)
		}
		s.mem.AssertSize(t, 0)
		if r.Next() || r.RecordBatch() != nil || r.Err() != nil || r.Schema() == nil {
			t.Error("a released reader reads on")
		}
	}
}

// C calls Next on any thread, to which its goroutine is locked. A coroutine would end the
// process here.
func TestReaderOnLockedThreads(t *testing.T) {
	s := newSource(t, 4)
	r := s.reader(t)
	for _, want := range s.values {
		var wg sync.WaitGroup
		wg.Go(func() {
			runtime.LockOSThread()
			if !r.Next() {
				t.Errorf("no record: %v", r.Err())
				return
			}
			diff(t, "values", want, rows18(r.RecordBatch().Column(0)))
		})
		wg.Wait()
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		r.Release()
	}()
	<-done
	if !s.ended {
		t.Error("the scan goes on")
	}
}

// Other functions for a v18 RecordReader accept this one.
func TestReaderElsewhere(t *testing.T) {
	s := newSource(t, 3)
	r := s.reader(t)
	var stream bytes.Buffer
	w := ipc.NewWriter(&stream, ipc.WithSchema(r.Schema()))
	for rec, err := range array18.IterFromReader(r) {
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(rec); err != nil {
			t.Fatal(err)
		}
	}
	r.Release()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	back, err := ipc.NewReader(&stream)
	if err != nil {
		t.Fatal(err)
	}
	defer back.Release()
	for i, want := range s.values {
		if !back.Next() {
			t.Fatalf("record %d: %v", i, back.Err())
		}
		diff(t, "values", want, rows18(back.RecordBatch().Column(0)))
	}

	again := newSource(t, 3)
	r = again.reader(t)
	for rec := range array18.IterFromReader(r) {
		diff(t, "first", again.values[0], rows18(rec.Column(0)))
		break // leaves the scan where it is
	}
	r.Release()
	if !again.ended {
		t.Error("the scan goes on")
	}
}
