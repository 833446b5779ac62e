package columnstore

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/encoding"
)

// TestFirstKeyBelowAll inserts falling keys, in buckets in falling order: each has a place
// (C6).
func TestFirstKeyBelowAll(t *testing.T) {
	for _, width := range []int64{0, 100} {
		store, table := open(t, Options{Manual: true, GranuleRows: 3, FreshParts: 2, FutureLimit: -1}, samples(width))
		var want []string
		at := []int64{math.MaxInt64, 1000, 150, 100, 99, 0, -1, -100, -101, math.MinInt64}
		for i, kind := range []string{"zz", "z", "m", "b", "aa", "a", "\x01", "\x00\x01", "\x00", ""} {
			for range 4 {
				b := oneRow(at[i])
				b.Columns["kind"] = encoding.Strings(kind)
				insert(t, table, b)
				b.Columns["time"] = encoding.Int64s(50) // and all into one bucket
				insert(t, table, b)
				if err := store.Maintain(context.Background()); err != nil {
					t.Fatal(err)
				}
				want = append(want, kind, kind)
			}
			checkBounds(t, store, table)
		}
		var got []string
		for row := range scanRows(t, table, snapshot(t, store), ScanOptions{Ordered: true}) {
			got = append(got, row["kind"].(string))
		}
		if width == 0 && !slices.IsSorted(got) {
			t.Errorf("not in order: %q", got)
		}
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("width %d (-want +got):\n%s", width, diff)
		}
	}
}
