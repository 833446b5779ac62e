package self

import (
	"bytes"
	"encoding/binary"
	"os"
	"testing"
	"time"
)

// Numbers of Go 1.26's format of traces.
const (
	evBatch      = 1
	evCPUSamples = 6
	evCPUSample  = 7
	evFrequency  = 8
	evSync       = 50
	evClock      = 51
)

// shiftable is a recorded trace whose times can be changed, to make the windows of a simulated day.
type shiftable struct {
	t         testing.TB
	data      []byte
	frequency uint64    // units of time in a second
	wall      time.Time // of its first clock snapshot
}

func newShiftable(t testing.TB) *shiftable {
	t.Helper()
	data, err := os.ReadFile("../../trace/golang/testdata/small.trace")
	if err != nil {
		t.Fatal(err)
	}
	s := &shiftable{t: t, data: data}
	s.by(0)
	if s.frequency == 0 || s.wall.IsZero() {
		t.Fatal("the trace has no clock")
	}
	return s
}

// by returns the trace some time later, by all its clocks.
func (s *shiftable) by(d time.Duration) []byte {
	out := bytes.NewBuffer(append([]byte(nil), s.data[:16]...))
	units := uint64(d.Seconds() * float64(s.frequency))
	for r := bytes.NewReader(s.data[16:]); r.Len() > 0; {
		kind, _ := r.ReadByte()
		out.WriteByte(kind)
		if kind != evBatch {
			continue // the end of a generation
		}
		for i := range 3 { // generation, thread, time
			v := s.read(r)
			if i == 2 {
				v += units
			}
			write(out, v)
		}
		body := make([]byte, s.read(r))
		if _, err := r.Read(body); err != nil {
			s.t.Fatal(err)
		}
		switch body[0] {
		case evCPUSamples:
			body = s.samples(body, units)
		case evSync:
			body = s.sync(body, d)
		}
		write(out, uint64(len(body)))
		out.Write(body)
	}
	return out.Bytes()
}

// samples moves CPU samples, which have absolute times.
func (s *shiftable) samples(body []byte, units uint64) []byte {
	out := bytes.NewBuffer([]byte{evCPUSamples})
	for r := bytes.NewReader(body[1:]); r.Len() > 0; {
		if kind, _ := r.ReadByte(); kind != evCPUSample {
			s.t.Fatalf("event %d among samples", kind)
		}
		out.WriteByte(evCPUSample)
		write(out, s.read(r)+units)
		for range 4 {
			write(out, s.read(r))
		}
	}
	return out.Bytes()
}

// sync moves the wall clock of a snapshot.
func (s *shiftable) sync(body []byte, d time.Duration) []byte {
	out := bytes.NewBuffer([]byte{evSync})
	for r := bytes.NewReader(body[1:]); r.Len() > 0; {
		kind, _ := r.ReadByte()
		out.WriteByte(kind)
		switch kind {
		case evFrequency:
			s.frequency = s.read(r)
			write(out, s.frequency)
		case evClock:
			write(out, s.read(r)) // since the time of the batch
			write(out, s.read(r)+uint64(d))
			sec, nsec := s.read(r), s.read(r)
			at := time.Unix(int64(sec), int64(nsec))
			if s.wall.IsZero() {
				s.wall = at
			}
			at = at.Add(d)
			write(out, uint64(at.Unix()))
			write(out, uint64(at.Nanosecond()))
		default:
			s.t.Fatalf("event %d in a sync batch", kind)
		}
	}
	return out.Bytes()
}

func (s *shiftable) read(r *bytes.Reader) uint64 {
	v, err := binary.ReadUvarint(r)
	if err != nil {
		s.t.Fatal(err)
	}
	return v
}

func write(out *bytes.Buffer, v uint64) { out.Write(binary.AppendUvarint(nil, v)) }
