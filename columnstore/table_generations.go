package columnstore

import (
	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/txn"
)

// generationsBefore returns the bytes of all generations before the generation of bucket.
func (t *Table) generationsBefore(bucket int64) (bytes int64) {
	first := t.generationOf(bucket)
	return t.generations.Counted(func(number int64) bool { return number < first })
}

// pinnedBefore returns the bytes of generations before the generation of bucket that have rows in state
// and are pinned by roots up to version newest.
func (t *Table) pinnedBefore(bucket int64, state *catalog.TableState, newest txn.Version) (bytes int64) {
	first, pinned := t.generationOf(bucket), map[int64]bool{}
	for _, b := range state.Buckets.All() {
		number := t.generationOf(b.Start)
		if number >= first {
			break
		}
		pinned[number] = pinned[number] || b.Gen != nil && txn.Version(b.Gen.Since()) <= newest
	}
	return t.generations.Counted(func(number int64) bool { return pinned[number] })
}

// generationOf returns the number of a bucket's generation.
func (t *Table) generationOf(bucket int64) int64 { return t.ranges.Of(bucket) }

// dropGenerations drops the dictionaries of generations before floor, which the root of version lacks,
// and returns them as garbage. Their files stay for reads of older roots.
func (t *Table) dropGenerations(floor int64, version txn.Version) []txn.Garbage {
	garbage, inFiles := t.generations.Drop(t.generationOf(floor))
	for _, number := range inFiles {
		t.store.flusher.obsolete.Dicts(version, t.stored, number)
	}
	return garbage
}

// firstKept returns the start of the first time range from start on that has rows in root or gets
// incoming rows.
func (t *Table) firstKept(root *catalog.Database, start int64, in incoming) int64 {
	if first, ok := root.Table(t.ordinal).FirstFrom(start); ok {
		return first
	}
	if in.table == t {
		return max(start, in.start)
	}
	return start
}

// keepSeriesColumns returns a generation's series by column. They are kept for the next query, unless
// their memory would make inserts evict.
func (t *Table) keepSeriesColumns(gen *granule.Generation) *granule.SeriesColumns {
	columns, kept := gen.SeriesColumns(t.schema, func(bytes int) bool {
		return t.store.memory.budget.Load() == 0 || t.store.memory.used()+int64(bytes) <= t.store.memory.share(evictAt)
	})
	if !kept {
		return columns
	}
	for _, g := range t.generations.All() { // the generation may have been dropped
		if g.Generation == gen {
			t.generations.Count(g)
		}
	}
	return columns
}
