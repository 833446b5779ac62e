package arrowconv

import (
	"errors"
	"fmt"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"

	"github.com/granarydb/granary/encoding"
)

// runs is a checked run-end encoded array: the runs of its rows.
//
//	run ends     3   5   9      of the whole, offset 4, length 3
//	values       a   b   c
//	rows             4 | 5 6
//	first, ends      1   1 3    of the array: run 1 ends before row 1, run 2 before row 3
type runs struct {
	first  int             // index of the first row's value
	ends   []int64         // ends of that run and of the later runs, in rows of the array
	values arrow.ArrayData // one for each run; unchecked
}

// newRuns checks a run-end encoded array for values of type t, except for the values. It checks every run
// end, not only the run ends of its rows.
func newRuns(t encoding.Type, given arrow.ArrayData) (runs, error) {
	data := given.(*array.Data) // its type id was checked
	typ, ok := data.DataType().(*arrow.RunEndEncodedType)
	switch {
	case !ok || typ == nil:
		return runs{}, errors.New("run-end encoded array of another type")
	case !accepts(t, typ.Encoded()):
		return runs{}, fmt.Errorf("run-end encoded %s does not fit %v", typeName(typ.Encoded()), t)
	case data.Len() == 0:
		return runs{}, nil // children may be absent
	}
	// The format gives such arrays no buffer, but Arrow v14 gives them an absent one.
	whole, err := newSpan(given, min(1, len(data.Buffers())), 2)
	if err != nil {
		return runs{}, err
	}
	if whole.valid != nil {
		return runs{}, errors.New("run-end encoded array with a null bitmap")
	}
	values := data.Children()[1]
	ends, err := runEnds(typ, data.Children()[0])
	if err != nil {
		return runs{}, fmt.Errorf("run ends: %w", err)
	}
	switch id := typeID(values); {
	case id < 0:
		return runs{}, fmt.Errorf("values of runs: %w", errNoData)
	case id != idOf(typ.Encoded()):
		return runs{}, fmt.Errorf("values of runs are of another type than %s", typeName(typ.Encoded()))
	case values.Len() < len(ends):
		return runs{}, fmt.Errorf("%d values for %d runs", values.Len(), len(ends))
	}
	first, ends, err := whole.within(ends)
	return runs{first, ends, values}, err
}

// runEnds checks the child with the run ends, except for their order.
func runEnds(typ *arrow.RunEndEncodedType, child arrow.ArrayData) ([]int64, error) {
	id := typeID(child)
	if id != arrow.INT16 && id != arrow.INT32 && id != arrow.INT64 || id != idOf(typ.RunEnds()) {
		return nil, errors.New("missing or not of the type int16, int32 or int64 that the array names")
	}
	s, err := newSpan(child, 2, 0)
	if err != nil {
		return nil, err
	}
	if flags := s.flags(); flags != nil {
		return nil, errors.New("some are null")
	}
	return integers[int64](&s)
}

// within checks the order of run ends. It returns the run ends of the span's rows, counted from its first
// row, and the number of earlier run ends.
func (s *span) within(ends []int64) (first int, within []int64, err error) {
	low, high := int64(s.offset), int64(s.offset+s.rows)
	before, behind := 0, 0 // number of runs that end before the first row, and before the last
	last := int64(0)
	for i, end := range ends {
		if end <= last {
			return 0, nil, fmt.Errorf("run %d ends at row %d, want more than %d", i, end, last)
		}
		if end <= low {
			before++
		}
		if end < high {
			behind++
		}
		last = end
	}
	if last < high {
		return 0, nil, fmt.Errorf("runs end at row %d, want at least %d", last, high)
	}
	within = ends[before : behind+1]
	for i := range within {
		within[i] -= low
	}
	within[len(within)-1] = int64(s.rows) // the last run may extend past the array
	return before, within, nil
}

// spread returns the values row by row. v has a value for each run.
func (r *runs) spread(v *encoding.Vector) encoding.Vector {
	return encoding.Vector{
		Type:      v.Type,
		Valid:     spread(r.ends, v.Valid),
		Int64s:    spread(r.ends, v.Int64s),
		Uint64s:   spread(r.ends, v.Uint64s),
		Float64s:  spread(r.ends, v.Float64s),
		Bools:     spread(r.ends, v.Bools),
		Strings:   spread(r.ends, v.Strings),
		UUIDs:     spread(r.ends, v.UUIDs),
		UUIDLists: spread(r.ends, v.UUIDLists),
	}
}

// spread repeats value i up to row ends[i]. It returns nil if there is no value.
func spread[T any](ends []int64, values []T) []T {
	if values == nil {
		return nil
	}
	out := make([]T, ends[len(ends)-1])
	begin := int64(0)
	for i, end := range ends {
		run := out[begin:end]
		for k := range run {
			run[k] = values[i]
		}
		begin = end
	}
	return out
}
