package oracle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
)

// Groups groups rows and sums them: each group is its values, the sum, and the count, in no order.
func Groups[R any](rows []R, by []func(R) any, sum func(R) int64) []Cells {
	return GroupBy(rows, by, func(group []R) Cells {
		total := int64(0)
		for _, row := range group {
			total += sum(row)
		}
		return Cells{total, int64(len(group))}
	})
}

// GroupBy groups rows: each group is its values, then the cells that of returns for its rows, in no order.
func GroupBy[R any](rows []R, by []func(R) any, of func(group []R) Cells) []Cells {
	values, groups := map[string]Cells{}, map[string][]R{}
	var key []byte
	for _, row := range rows {
		cells := make(Cells, len(by))
		key = key[:0]
		for i, of := range by {
			cells[i] = of(row)
			key = AppendCell(key, cells[i])
		}
		values[string(key)], groups[string(key)] = cells, append(groups[string(key)], row)
	}
	var out []Cells
	for key, group := range groups {
		out = append(out, append(values[key], of(group)...))
	}
	return out
}

// Diff compares two multisets of rows and describes the difference; it is empty if there is none. If some
// is set, got may be a part of want.
func Diff(want, got []Cells, some bool) string {
	counts := make(map[string]int, len(want))
	var buf []byte
	for _, row := range want {
		buf = appendCells(buf[:0], row)
		counts[string(buf)]++
	}
	wrong := false
	for _, row := range got {
		buf = appendCells(buf[:0], row)
		counts[string(buf)]--
		wrong = wrong || counts[string(buf)] < 0
	}
	if !wrong && (some || len(got) == len(want)) {
		return ""
	}
	diff := cmp.Diff(CellTexts(want), CellTexts(got))
	if lines := strings.Split(diff, "\n"); len(lines) > 60 {
		diff = strings.Join(lines[:60], "\n") + "\n..."
	}
	return fmt.Sprintf("%d rows, want %d (-want +got):\n%s", len(got), len(want), diff)
}

func appendCells(dst []byte, row Cells) []byte {
	for _, value := range row {
		dst = AppendCell(dst, value)
	}
	return dst
}

// CellTexts returns the rows as sorted text: equal for equal multisets of rows.
func CellTexts(rows []Cells) []string {
	out := make([]string, len(rows))
	for i, row := range rows {
		out[i] = row.Text()
	}
	slices.Sort(out)
	return out
}

// Without returns the multiset a minus b.
func Without(a, b []string) []string {
	count := map[string]int{}
	for _, row := range b {
		count[row]++
	}
	var out []string
	for _, row := range a {
		if count[row]--; count[row] < 0 {
			out = append(out, row)
		}
	}
	return out
}
