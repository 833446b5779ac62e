package columnstore

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/granarydb/granary/catalog"
	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/txn"
)

// generation is the dictionaries of consecutive time ranges, with their share in the account.
type generation struct {
	*granule.Generation
	number  int64
	counted int64 // bytes in account.dicts

	logging sync.Mutex        // held while entries go to the log
	logged  granule.Watermark // of the entries in the log
	entries uint64            // number of them
	filed   granule.Watermark // of what is in files; the keeper's
}

// generation returns the dictionaries of a bucket. If they were dropped, it returns new ones
// that the table does not keep: the commit will refuse the rows.
func (t *Table) generation(bucket int64) *generation {
	g, _ := t.generationNumbered(t.generationOf(bucket))
	return g
}

// generationNumbered returns the dictionaries with a number, and whether the table keeps them.
func (t *Table) generationNumbered(number int64) (g *generation, kept bool) {
	t.generations.Lock()
	defer t.generations.Unlock()
	g, kept = t.generations.byNumber[number]
	if !kept {
		g = &generation{Generation: granule.NewGeneration(t.source.Seed), number: number}
		g.Lists.Verify(t.store.opts.VerifyLists)
		if kept = number >= t.generations.first; kept {
			t.generations.byNumber[number] = g
		}
	}
	return g, kept
}

// generationsInOrder returns the generations that the table has.
func (t *Table) generationsInOrder() []*generation {
	t.generations.Lock()
	defer t.generations.Unlock()
	return slices.SortedFunc(maps.Values(t.generations.byNumber), func(a, b *generation) int { return cmp.Compare(a.number, b.number) })
}

// keeps reports whether the table still has a generation.
func (t *Table) keeps(g *generation) bool {
	t.generations.Lock()
	defer t.generations.Unlock()
	return t.generations.byNumber[g.number] == g
}

// generationStart returns the start of the first time range of a bucket's generation.
func (t *Table) generationStart(bucket int64) int64 {
	width := t.schema.BucketWidth()
	if width == 0 {
		return bucket
	}
	start := t.generationOf(bucket) * t.ranges * width
	if start > bucket { // overflow: the generation begins before the range of int64
		return bucket
	}
	return start
}

// generationsBefore returns the bytes of the generations that end before a bucket's.
func (t *Table) generationsBefore(bucket int64) (bytes int64) {
	first := t.generationOf(bucket)
	t.generations.Lock()
	defer t.generations.Unlock()
	for number, g := range t.generations.byNumber {
		if number < first {
			bytes += g.counted
		}
	}
	return bytes
}

// heldBefore returns the bytes of the generations that end before a bucket's, have rows in a
// state, and are held by roots up to a version too.
func (t *Table) heldBefore(bucket int64, state *catalog.TableState, newest txn.Version) (bytes int64) {
	first, last := t.generationOf(bucket), int64(math.MinInt64)
	t.generations.Lock()
	defer t.generations.Unlock()
	for _, b := range state.Buckets.All() {
		number := t.generationOf(b.Start)
		if number >= first {
			break
		}
		if g := t.generations.byNumber[number]; g != nil && number > last && txn.Version(b.Gen.Since()) <= newest {
			bytes += g.counted
		}
		last = number
	}
	return bytes
}

// generationOf returns the number of a bucket's generation.
func (t *Table) generationOf(bucket int64) int64 {
	width := t.schema.BucketWidth()
	if width == 0 {
		return 0
	}
	return floorDiv(floorDiv(bucket, width), t.ranges)
}

// count updates the account of a generation, if the table still has it.
func (t *Table) count(g *generation) {
	t.generations.Lock()
	defer t.generations.Unlock()
	if t.generations.byNumber[g.number] == g {
		size := int64(g.Size())
		t.store.memory.dicts.Add(size - g.counted)
		g.counted = size
	}
}

// dropGenerations drops the dictionaries of generations before floor and returns them as
// garbage.
func (t *Table) dropGenerations(floor int64) []txn.Garbage {
	var garbage []txn.Garbage
	first := t.generationOf(floor)
	t.generations.Lock()
	defer t.generations.Unlock()
	t.generations.first = first
	for number, g := range t.generations.byNumber {
		if number >= first {
			continue
		}
		delete(t.generations.byNumber, number)
		t.store.memory.dicts.Add(-g.counted)
		if g.Since() > 0 { // otherwise no root has had a part of it
			garbage = append(garbage, txn.Garbage{Since: txn.Version(g.Since()), Bytes: int64(g.Size())})
		}
	}
	return garbage
}

func (t *Table) addGenerations(out *Stats) {
	t.generations.Lock()
	defer t.generations.Unlock()
	for _, g := range t.generations.byNumber {
		lists, records := g.Lists.Size()
		out.Stacks += g.Lists.Len()
		out.SeriesBytes += int64(g.Series.Size() + g.Strings.Size() + g.UUIDs.Size())
		out.StackBytes += int64(lists)
		out.RecordBytes += int64(records)
	}
}

// floorDiv divides and rounds toward minus infinity.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// firstKept returns the start of the first time range at or after start that has rows, or that
// incoming rows are in.
func (t *Table) firstKept(root *catalog.Database, start int64, in incoming) int64 {
	if first, ok := root.Table(t.ordinal).FirstFrom(start); ok {
		return first
	}
	if in.table == t {
		return max(start, in.start)
	}
	return start
}

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
