package fanout

import (
	"context"
	"errors"
	"fmt"

	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"

	"github.com/google/uuid"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/fields"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/schema"
)

// StacksPath is the path of a node's sums by stack: to a POST of a StackQuestion, with the parameters of GET /pprof if it has no message.
//
//	answer without wanted stacks:  ids of stacks: count | 16 bytes each
//	                               sources: count | labels: count | name | value ...
//	                                      times | sums: count | index of stack, from the one before | value ...
//	answer with wanted stacks:     locations: count | 16 bytes | record ...
//	                               stacks, as they were asked for: count: 0 for none, or locations and 1 | index of location ...
//
// Numbers are varints, and texts have their length in front. Signed numbers are zigzag.
const StacksPath = "/stacks"

// StackQuestion is a question for sums by stack, or for the stacks with some ids among its answer.
type StackQuestion struct {
	Message []byte // a SelectMergeStacktracesRequest; empty if the URL has the question
	Wanted  []profile.StackID
}

// MaxWanted bounds the stacks that are asked for at once.
const MaxWanted = 1 << 18

// errAnswer reports a malformed question or answer.
var errAnswer = errors.New("malformed sums by stack")

// Encode returns the body of the question.
func (q *StackQuestion) Encode() []byte {
	var w fields.Writer
	w.Text(string(q.Message))
	writeIDs(&w, q.Wanted)
	return w.Data
}

// DecodeStackQuestion is the inverse of StackQuestion.Encode. The question shares memory with data.
func DecodeStackQuestion(data []byte) (q StackQuestion, err error) {
	r := fields.NewReader(data, errAnswer)
	q.Message = r.Text("message", len(data))
	n := r.Count("ids", 16)
	if n > MaxWanted {
		r.Failf("%d stacks, at most %d", n, MaxWanted)
		n = 0
	}
	q.Wanted = readIDs(&r, n)
	return q, ended(&r)
}

func writeIDs(w *fields.Writer, ids []profile.StackID) {
	w.Uint(uint64(len(ids)))
	for i := range ids {
		w.Raw(ids[i][:])
	}
}

// readIDs reads n ids, for which there are bytes.
func readIDs(r *fields.Reader, n int) []profile.StackID {
	ids := make([]profile.StackID, n)
	for i := range ids {
		copy(ids[i][:], r.Raw("id", 16))
	}
	return ids
}

// ended returns the reader's error, or one for bytes behind the last field.
func ended(r *fields.Reader) error {
	if n := r.Left(); n > 0 {
		r.Failf("%d bytes behind the end", n)
	}
	return r.Err()
}

// stackSums are a node's sums by stack.
type stackSums struct {
	ids     []profile.StackID
	sources []sourceSums
}

// sourceSums are the sums of a source, or of all if they are no gauges.
type sourceSums struct {
	labels []*typesv1.LabelPair
	times  int64
	stacks []uint32 // indexes of ids
	values []int64
}

// EncodeSums returns the answer without wanted stacks. The error is that of the context.
func EncodeSums(ctx context.Context, sums *profile.StackSums) ([]byte, error) {
	ids, err := sums.IDs(ctx)
	if err != nil {
		return nil, err
	}
	w := fields.Writer{Data: make([]byte, 0, 24*len(ids)+64)}
	writeIDs(&w, ids)
	w.Uint(uint64(len(sums.Sources)))
	for _, s := range sums.Sources {
		w.Uint(uint64(len(s.Labels)))
		for _, l := range s.Labels {
			w.Text(l.Name)
			w.Text(l.Value)
		}
		w.Uint(uint64(s.Times))
		w.Uint(uint64(len(s.Stacks)))
		before := uint32(0)
		for k, at := range s.Stacks {
			w.Int(uint64(int64(at) - int64(before)))
			w.Int(uint64(s.Values[k]))
			before = at
		}
	}
	return w.Data, nil
}

// Bytes in memory of what an answer has, with the codes and rows that are made of it.
const (
	idBytes     = 32
	sourceBytes = 400
	labelBytes  = 120
	sumBytes    = 64
)

// sumsReader decodes an answer within a budget.
type sumsReader struct {
	fields.Reader
	left *int64 // bytes; below 0 the answer does not fit
}

// count reads a number of things of `size` bytes each in memory, and at least `least` bytes in the answer.
func (r *sumsReader) count(what string, least int, size int64) int {
	n := r.Count(what, least)
	if *r.left -= int64(n) * size; *r.left < 0 {
		r.Failf("too many %s", what)
		return 0
	}
	return n
}

// decodeSums is the inverse of EncodeSums. It takes what the sums need from left; the error is columnstore.ErrQueryMemory if
// that is not enough.
func decodeSums(data []byte, left *int64) (sums stackSums, err error) {
	r := &sumsReader{fields.NewReader(data, errAnswer), left}
	sums.ids = readIDs(&r.Reader, r.count("ids", 16, idBytes))
	sums.sources = make([]sourceSums, r.count("sources", 3, sourceBytes))
	for i := range sums.sources {
		s := &sums.sources[i]
		for range r.count("labels", 2, labelBytes) {
			name, value := r.Text("name", len(data)), r.Text("value", len(data))
			s.labels = append(s.labels, &typesv1.LabelPair{Name: string(name), Value: string(value)})
		}
		s.times = int64(r.Uint("times", mostTimes))
		n := r.count("sums", 2, sumBytes)
		s.stacks, s.values = make([]uint32, n), make([]int64, n)
		before := int64(0)
		for k := range n {
			if before += int64(r.Int("stack")); before < 0 || before >= int64(len(sums.ids)) {
				r.Failf("stack %d of %d", before, len(sums.ids))
				break
			}
			s.stacks[k], s.values[k] = uint32(before), int64(r.Int("value"))
		}
	}
	if err = ended(&r.Reader); *left < 0 {
		err = fmt.Errorf("%w: %w", columnstore.ErrQueryMemory, err)
	}
	return sums, err
}

// EncodeLocated returns the answer with wanted stacks.
func EncodeLocated(l *profile.StackLocations) []byte {
	var w fields.Writer
	w.Uint(uint64(len(l.IDs)))
	for i := range l.IDs {
		w.Raw(l.IDs[i][:])
		w.Uint(uint64(len(l.Records[i])))
		w.Raw(l.Records[i])
	}
	w.Uint(uint64(len(l.Stacks)))
	for _, stack := range l.Stacks {
		if stack == nil {
			w.Uint(0)
			continue
		}
		w.Uint(uint64(len(stack)) + 1)
		for _, at := range stack {
			w.Uint(uint64(at))
		}
	}
	return w.Data
}

// decodeLocated is the inverse of EncodeLocated, for wanted stacks. The stacks have these ids, and records are valid.
func decodeLocated(data []byte, wanted []profile.StackID) (*profile.StackLocations, error) {
	r := fields.NewReader(data, errAnswer)
	l := &profile.StackLocations{IDs: make([]uuid.UUID, r.Count("locations", 17))}
	l.Records = make([][]byte, len(l.IDs))
	for i := range l.IDs {
		copy(l.IDs[i][:], r.Raw("id", 16))
		l.Records[i] = r.Text("record", schema.MaxRecord)
		if _, err := profile.DecodeLocation(l.Records[i]); err != nil && r.Err() == nil {
			r.Failf("location %d: %v", i, err)
		}
	}
	if n := r.Count("stacks", 1); n != len(wanted) && r.Err() == nil {
		r.Failf("%d stacks of %d", n, len(wanted))
	}
	l.Stacks = make([][]uint32, len(wanted))
	var ids []uuid.UUID
	for i := range l.Stacks {
		n := int(r.Uint("locations of a stack", schema.MaxList+1)) - 1
		if n < 0 {
			continue // it is not there any more
		}
		if n > r.Left() {
			r.Failf("stack %x has %d locations", wanted[i], n)
			break
		}
		ids, l.Stacks[i] = ids[:0], make([]uint32, n)
		for k := range n {
			at := r.Uint("location", uint64(max(1, len(l.IDs))-1))
			if r.Err() != nil || int(at) >= len(l.IDs) {
				break
			}
			l.Stacks[i][k], ids = uint32(at), append(ids, l.IDs[at])
		}
		if r.Err() == nil && profile.StackIDOf(ids) != wanted[i] {
			r.Failf("stack %x has other locations", wanted[i])
		}
	}
	return l, ended(&r)
}
