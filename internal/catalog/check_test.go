package catalog_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/querytest"
)

// checkTable checks the invariants of the state of a table, row by row.
func checkTable(t *testing.T, table *querytest.Table) {
	t.Helper()
	if wrong := disorder(table.State()); wrong != "" {
		t.Error(wrong)
	}
}

// disorder says which invariant does not hold; it is empty if they all do.
func disorder(state *catalog.TableState) string {
	rows, bytes := int64(0), int64(0)
	for _, note := range state.Notes {
		bytes += int64(len(note)) + catalog.NoteSize
	}
	granules, units := 0, map[uint64]bool{}
	parts := map[any]bool{}
	for key, b := range state.Buckets.All() {
		lo, hi := state.Schema.BucketBounds(b.Start)
		if key != lo {
			return fmt.Sprintf("K1: the bucket of %d is at %x", b.Start, key)
		}
		if state.Schema.BucketStart(b.Start) < state.Floor {
			return fmt.Sprintf("K4: the bucket of %d is below the floor %d", b.Start, state.Floor)
		}
		if b.Unit != 0 && (units[b.Unit] || b.Unit > state.LastUnit) {
			return fmt.Sprintf("K6: the unit %d is there twice, or behind the last, which is %d", b.Unit, state.LastUnit)
		}
		units[b.Unit] = true
		bytes += b.Size()
		if b.Cold != nil {
			rows += b.Cold.Rows
		}
		next := lo
		first, last := state.TimesOf(b)
		for _, g := range state.HotGranules(b) {
			from, to := g.Bounds()
			if from != next {
				return fmt.Sprintf("K1: a granule of the bucket of %d begins at %x, want %x", b.Start, from, next)
			}
			next, granules, bytes = to, granules+1, bytes+catalog.GranuleSize
			for _, s := range g.Sections() {
				rows += int64(s.Rows())
				if !parts[s.Part] {
					bytes += int64(s.Part.Size())
				}
				parts[s.Part] = true
				if lo, hi := s.Part.TimeRange(); lo < first || hi > last {
					return fmt.Sprintf("a part of %d to %d is in the bucket of %d, which has times of %d to %d", lo, hi, b.Start, first, last)
				}
				for row := s.Lo; row < s.Hi; row++ {
					if row := string(s.Part.AppendKey(nil, state.Schema, row)); row < from || to != "" && row >= to {
						return fmt.Sprintf("K2: the row %x is in the granule of %x to %x", row, from, to)
					}
				}
				for _, code := range s.Part.SeriesSet() {
					if !b.Series.Has(code) {
						return fmt.Sprintf("K3: the bucket of %d lacks the series %d", b.Start, code)
					}
				}
				for _, c := range s.Part.Columns() {
					if state.Schema.Columns()[c.Index].Dynamic && !b.Columns[c.Name] {
						return fmt.Sprintf("K3: the bucket of %d lacks the column %s", b.Start, c.Name)
					}
				}
			}
		}
		if len(state.HotGranules(b)) > 0 && next != hi {
			return fmt.Sprintf("K1: the granules of the bucket of %d end at %x, want %x", b.Start, next, hi)
		}
	}
	switch {
	case granules != state.Granules.Len():
		return fmt.Sprintf("K1: %d granules are in buckets, of %d", granules, state.Granules.Len())
	case rows != state.Rows:
		return fmt.Sprintf("K5: %d rows, counted as %d", rows, state.Rows)
	case bytes != state.Bytes:
		return fmt.Sprintf("K5: %d bytes, counted as %d", bytes, state.Bytes)
	}
	return ""
}

// sorted returns a sorted copy.
func sorted(times []int64) []int64 {
	times = slices.Clone(times)
	slices.Sort(times)
	return times
}
