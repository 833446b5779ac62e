//go:build cgo

package duckdb

import (
	"slices"
	"strings"
	"testing"
)

// FuzzDistinct: DuckDB can distinguish any column names, and names that were distinct before
// are unchanged.
func FuzzDistinct(f *testing.F) {
	for _, seed := range []string{"a\nb", "a\nA", "a\nA\na_1\nA_1\nb", "é\nÉ\nx_2\nX", "a_1\nA_1\na_1_1\na_1_2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		names := slices.Compact(slices.Sorted(strings.SplitSeq(text, "\n")))
		folded := map[string]int{}
		for _, name := range names {
			folded[fold(name)]++
		}
		taken := map[string]bool{}
		for i, alias := range distinct(names) {
			if folded[fold(names[i])] == 1 && alias != names[i] {
				t.Errorf("%q is %q, though no other is like it", names[i], alias)
			}
			if !strings.HasPrefix(alias, names[i]) || taken[fold(alias)] {
				t.Errorf("%q is %q of %q", names[i], alias, names)
			}
			taken[fold(alias)] = true
		}
	})
}
