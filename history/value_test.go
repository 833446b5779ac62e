package history_test

import (
	"math"
	"slices"
	"testing"

	"github.com/granarydb/granary/history"
)

// TestValue_Compare compares values of each kind, which are in order.
func TestValue_Compare(t *testing.T) {
	values := []history.Value{
		{},
		history.Bool(false), history.Bool(true),
		history.Int(math.MinInt64), history.Int(-1), history.Int(0), history.Int(7), history.Int(math.MaxInt64),
		history.Float(math.NaN()), history.Float(math.Float64frombits(math.Float64bits(math.NaN()) | 1<<63)),
		history.Float(math.Inf(-1)), history.Float(-2), history.Float(-1), history.Float(0), history.Float(math.Copysign(0, -1)),
		history.Float(1), history.Float(math.Inf(1)),
		history.String(""), history.String("a"), history.String("aa"), history.String("b"),
		history.Bytes(nil), history.Bytes([]byte{0}), history.Bytes([]byte("a")), history.Bytes([]byte{255}),
	}
	for i, a := range values {
		for j, b := range values {
			want := 0
			switch {
			case i < j:
				want = -1
			case i > j:
				want = 1
			}
			if got := a.Compare(b); got != want || (got == 0) != a.Equal(b) {
				t.Errorf("%v of %v compared with %v of %v: %d, want %d", a, a.Kind(), b, b.Kind(), got, want)
			}
		}
	}
	mixed := slices.Clone(values)
	slices.Reverse(mixed)
	slices.SortFunc(mixed, history.Value.Compare)
	if !slices.Equal(mixed, values) {
		t.Errorf("sorted: %v", mixed)
	}
}
