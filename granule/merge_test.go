package granule

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/schema"
)

// A merge is a stable sort by key of all rows, frame after frame.
func TestMerge(t *testing.T) {
	s := mustSchema(t, numbers)
	for frames := 1; frames <= 40; frames++ {
		for _, domain := range []int64{1, 10, 1000} { // equal keys everywhere, often, hardly
			t.Run(fmt.Sprintf("frames=%d domain=%d", frames, domain), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(uint64(frames), uint64(domain)))
				gen := NewGeneration(1)
				values := make([][]int64, frames)
				for i := range values {
					if rng.IntN(4) == 0 {
						continue // an empty frame
					}
					for range rng.IntN(20) {
						values[i] = append(values[i], rng.Int64N(domain)-domain/2)
					}
					slices.Sort(values[i])
				}
				checkMerge(t, s, gen, values)
			})
		}
	}
}

func TestMergeEdges(t *testing.T) {
	s := mustSchema(t, numbers)
	tests := []struct {
		name   string
		frames [][]int64
	}{
		{"one empty frame", [][]int64{{}}},
		{"only empty frames", [][]int64{{}, {}, {}}},
		{"the first is empty", [][]int64{{}, {1, 2}}},
		{"the last is empty", [][]int64{{1, 2}, {}}},
		{"one after the other", [][]int64{{1, 2}, {3, 4}, {5}}},
		{"in reverse", [][]int64{{5}, {3, 4}, {1, 2}}},
		{"interleaved", [][]int64{{1, 3, 5}, {2, 4, 6}}},
		{"all equal", [][]int64{{7, 7}, {7}, {7, 7, 7}}},
		{"three", [][]int64{{1, 1}, {0, 1}, {1, 2}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { checkMerge(t, s, NewGeneration(1), tt.frames) })
	}
}

func checkMerge(t *testing.T, s *schema.Schema, gen *Generation, values [][]int64) {
	t.Helper()
	some := numberPart(t, s, gen, 0) // schema and generation of the empty frame
	frames := make([]*frame, len(values))
	var want []rowRef
	for i, numbers := range values {
		frames[i] = frameOf(s, some, 0, 0, new(slab))
		if len(numbers) > 0 {
			frames[i] = frameOf(s, numberPart(t, s, gen, numbers...), 0, len(numbers), new(slab))
		}
		for k := range numbers {
			want = append(want, rowRef{int32(i), int32(k)})
		}
	}
	value := func(r rowRef) int64 { return values[r.frame][r.row] }
	slices.SortStableFunc(want, func(a, b rowRef) int {
		if value(a) != value(b) {
			return int(value(a) - value(b))
		}
		return 0
	})
	got := merge(frames, len(want), new(slab), new(pauser)).order
	if diff := gocmp.Diff(want, got, gocmp.AllowUnexported(rowRef{})); diff != "" && len(want)+len(got) > 0 {
		t.Errorf("order of %v (-want +got):\n%s", values, diff)
	}
}
