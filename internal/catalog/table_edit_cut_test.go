package catalog

import (
	"slices"
	"testing"

	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/schema"
)

// An edit that waits in the pool for its next use holds no granule or part of its last one.
func TestRelease(t *testing.T) {
	e := NewTableState(new(schema.Schema)).Edit(0)
	g := granule.New("", "")
	e.Due, e.Closing = append(e.Due, g), append(e.Closing, g)
	e.entered, e.left = append(e.entered, granule.Section{Hi: 1}), append(e.left, granule.Section{Hi: 1})
	e.own[g] = true
	due, closing, entered, left, own := e.Due, e.Closing, e.entered, e.left, e.own
	e.Release()
	if due[0] != nil || closing[0] != nil || entered[0] != (granule.Section{}) || left[0] != (granule.Section{}) || len(own) > 0 {
		t.Errorf("held: %v", slices.Concat(due, closing))
	}
}

// By default a bucket may have more rows the more series it has.
func TestRowsOfBucket(t *testing.T) {
	for _, tc := range []struct{ most, series, want int }{
		{0, 0, 1 << 20}, {0, 1, 1 << 20}, {0, 256, 1 << 20}, {0, 257, 257 << 12}, {0, 8000, 8000 << 12}, {1, 8000, 1}, {1 << 30, 1, 1 << 30},
	} {
		if got := rowsOfBucket(tc.most, tc.series); got != int64(tc.want) {
			t.Errorf("%d rows, %d series: %d, want %d", tc.most, tc.series, got, tc.want)
		}
	}
}
