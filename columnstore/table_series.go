package columnstore

import "github.com/granarydb/granary/granule"

// keepSeriesColumns returns the series of a generation by column. They are kept for the next
// query, unless their memory would make inserts evict.
func (t *Table) keepSeriesColumns(gen *granule.Generation) *granule.SeriesColumns {
	columns, kept := gen.SeriesColumns(t.schema, func(bytes int) bool {
		return t.store.memory.budget == 0 || t.store.used()+int64(bytes) <= t.store.share(evictAt)
	})
	if !kept {
		return columns
	}
	t.generations.Lock()
	var owner *generation // nil if it was dropped
	for _, g := range t.generations.byNumber {
		if g.Generation == gen {
			owner = g
		}
	}
	t.generations.Unlock()
	if owner != nil {
		t.count(owner)
	}
	return columns
}
