package catalog

import "testing"

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
