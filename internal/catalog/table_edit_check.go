package catalog

import (
	"slices"

	"github.com/granarydb/granary/internal/invariants"
)

// check panics if the next state breaks an invariant where the edit changes it. It is called in builds with the tag
// invariants alone. It costs O(rows that were added or rewritten).
func (e *TableEdit) check(before *TableState) {
	invariants.Check(e.State.Floor >= before.Floor, "K4", "the floor falls from %d to %d", before.Floor, e.State.Floor)
	floor, _ := e.schema.BucketBounds(e.State.Floor)
	if lo, _, ok := e.granules.First(); ok && e.schema.BucketColumn() >= 0 {
		invariants.Check(lo >= floor, "K4", "a granule at %x is below the floor at %x", lo, floor)
	}
	for _, s := range e.entered {
		bucket, end := e.schema.BucketBounds(s.Part.Bucket())
		key := string(s.Part.AppendKey(nil, e.schema, s.Lo))
		lo, g, ok := e.granules.Floor(key)
		if !ok || lo < bucket || s.Part.Since() == 0 && slices.Contains(e.left, s) {
			continue // the edit that added the rows dropped their bucket, and may have begun it again
		}
		invariants.Check(slices.Contains(g.Sections(), s), "K2", "rows from %x on are not in the granule at %x", key, lo)
		s.Check(e.schema, g)
		_, hi := g.Bounds()
		_, next := e.granules.Get(hi)
		invariants.Check(next || hi == end, "K1", "no granule begins at %x, where the one at %x ends", hi, lo)
	}
}
