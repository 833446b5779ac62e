package oracle

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// Disorder describes the first mistake in the order of a table's rows with the given bucket width and
// sorting key; it is empty if there is none. Lists sort by the order in which the store first saw them,
// which no reader knows. Where lists differ, the rest of the key decides nothing, but equal lists must lie
// together.
//
// The starts of buckets are in order. A range of the width can have several buckets, and a row can be in
// any that begins in its range and not after it. Rows are in order if each can be in the previous row's
// bucket, or in a later one.
func Disorder(width int64, starts []int64, key []string, rows []Row) string {
	names := map[string]bool{}
	for _, row := range rows {
		for name := range row {
			names[name] = true
		}
	}
	var order []string
	for _, k := range key {
		if names[k] {
			order = append(order, k)
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if strings.HasPrefix(name, k+".") {
				order = append(order, name)
			}
		}
	}
	left := map[string]bool{} // lists that ended within the prefix
	bucket := int64(math.MinInt64)
	for i, b := range rows {
		first := int64(0)
		if width > 0 {
			first = Floor(b["time"].(int64), width)
			if i > 0 && first < Floor(rows[i-1]["time"].(int64), width) {
				return fmt.Sprintf("row %d is of the range from %d, after a later one", i, first)
			}
		}
		if i == 0 || width > 0 && bucket < first {
			clear(left)
			bucket = first // the earliest possible bucket leaves the most choices for later rows
			continue
		}
		wrong := misplaced(order, left, rows[i-1], b)
		if width > 0 && wrong != "" {
			k, _ := slices.BinarySearch(starts, bucket+1)
			if k < len(starts) && starts[k] < first+width {
				bucket, wrong = starts[k], ""
				clear(left)
			}
		}
		if wrong == "" && width > 0 && b["time"].(int64) < bucket {
			wrong = "is from before its bucket"
		}
		if wrong != "" {
			return fmt.Sprintf("row %d: %s", i, wrong)
		}
	}
	return ""
}

// misplaced says why row b cannot come after row a in one bucket.
func misplaced(order []string, left map[string]bool, a, b Row) string {
	for _, name := range order {
		x, y := a[name], b[name]
		_, xList := x.([]uuid.UUID)
		_, yList := y.([]uuid.UUID)
		switch {
		case xList && yList && Text(x) == Text(y):
		case xList && yList:
			left[Text(x)] = true
			if left[Text(y)] {
				return fmt.Sprintf("%s %s again after others", name, Text(y))
			}
			return ""
		case CompareKeys(x, y) > 0:
			return fmt.Sprintf("%s is %s after %s", name, Text(y), Text(x))
		case CompareKeys(x, y) < 0:
			// Behind the list the prefix goes on; before it, a new prefix begins.
			if k := slices.Index(order, "stack"); k < 0 || slices.Index(order, name) <= k {
				clear(left)
			}
			return ""
		}
	}
	return ""
}
