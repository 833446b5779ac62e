package columnstore

import (
	"fmt"
	"iter"
	"math"

	"github.com/granarydb/granary/catalog"
	"github.com/granarydb/granary/catalog/dicts"
	"github.com/granarydb/granary/catalog/filed"
	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/cache"
)

// A bucket whose rows are in a file can be cold: then its rows are not in memory (catalog.Cold).
// Queries read the granules that they need, and the dictionaries, through the cache. Rows that come
// later are in granules of the table, whose bounds are others than those of the file: a read joins
// them to the granules of the file.

// coldGranules yields the granules of a bucket with cold rows that overlap one of some ranges of keys,
// in the order of keys, each with the rows that are not cold. The ranges are disjoint and ascending;
// nil means all. The errors are those of the disk, disk.DamagedError among them.
func (t *Table) coldGranules(state *catalog.TableState, b *catalog.BucketState, ranges [][2]string) iter.Seq2[*granule.Granule, error] {
	return func(yield func(*granule.Granule, error) bool) {
		gen, rows, err := t.openCold(state, b)
		if err != nil {
			yield(nil, err)
			return
		}
		hot := state.HotGranules(b)
		parts := &granule.PartReader{Schema: t.schema, Generation: gen, Codes: gen.Watermark(), MaxRows: math.MaxInt32}
		for i := range rows.Len() {
			lo, hi := rows.Bounds(i)
			if ranges != nil {
				if ranges = after(ranges, lo); len(ranges) == 0 {
					return
				}
				if hi != "" && ranges[0][0] >= hi {
					continue
				}
			}
			part, err := t.coldPart(rows, b, i, parts)
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(granule.Of(lo, hi, part).Join(t.schema, hot), nil) {
				return
			}
		}
	}
}

// after returns the ranges that do not end at or before a bound.
func after(ranges [][2]string, lo string) [][2]string {
	for len(ranges) > 0 && ranges[0][1] != "" && ranges[0][1] <= lo {
		ranges = ranges[1:]
	}
	return ranges
}

// openCold returns the dictionaries of a bucket with cold rows, and the directory of its file.
func (t *Table) openCold(state *catalog.TableState, b *catalog.BucketState) (*granule.Generation, *filed.Rows, error) {
	gen, err := t.dictionariesOf(state, b)
	if err != nil {
		return nil, nil, err
	}
	cold := b.Cold
	key := cacheKey{table: t, kind: cachedRows, of: int64(cold.File)}
	rows, err := t.store.cache.Get(key, func() (cache.Sized, error) { return t.store.keeper.dir.OpenRows(t.schema, fileOf(b)) })
	if err != nil {
		return nil, nil, t.coldError(b, err)
	}
	return gen, rows.(*filed.Rows), nil
}

// fileOf returns the file of a bucket with cold rows.
func fileOf(b *catalog.BucketState) filed.BucketFile {
	return filed.BucketFile{Start: b.Start, Latest: b.Latest, Through: b.Cold.Through, File: b.Cold.File, Rows: b.Cold.Rows, Bytes: b.Cold.Bytes}
}

// coldPart returns the rows of a granule of a file, nil if it has none.
func (t *Table) coldPart(rows *filed.Rows, b *catalog.BucketState, i int, parts *granule.PartReader) (*granule.Part, error) {
	if rows.Rows(i) == 0 {
		return nil, nil
	}
	// The cache has bytes: a part would keep its dictionaries in memory, and they can be others now.
	key := cacheKey{table: t, kind: cachedImage, of: int64(b.Cold.File), at: i}
	image, err := t.store.cache.Get(key, func() (cache.Sized, error) {
		data, err := rows.Image(i)
		return coldImage(data), err
	})
	var part *granule.Part
	if err == nil {
		part, err = rows.Part(i, image.(coldImage), parts)
	}
	if err != nil {
		return nil, t.coldError(b, err)
	}
	return part, nil
}

// coldImage is the bytes of a part.
type coldImage []byte

// Size returns the bytes on the heap.
func (c coldImage) Size() int { return cap(c) }

// dictionariesOf returns the dictionaries of a bucket that has rows.
func (t *Table) dictionariesOf(state *catalog.TableState, b *catalog.BucketState) (*granule.Generation, error) {
	if b.Cold == nil {
		return b.Gen, nil
	}
	if b.Cold.Err != nil {
		return nil, t.coldError(b, b.Cold.Err)
	}
	for _, g := range state.HotGranules(b) {
		for _, s := range g.Sections() {
			return s.Part.Generation(), nil // it has the series of these rows, too, which files may lack
		}
	}
	g, err := t.generations.Read(b.Cold.Generation)
	if err != nil {
		return nil, t.coldError(b, err)
	}
	if last := b.Series.Last(); last > g.Series.Len() {
		return nil, t.coldError(b, fmt.Errorf("%w: series %d of %d", filed.ErrFile, last, g.Series.Len()))
	}
	return g.Generation, nil
}

// coldError is an error of reading a bucket with its table and times.
func (t *Table) coldError(b *catalog.BucketState, err error) error {
	return fmt.Errorf("table %q: %d rows from %s on: %w", t.name, b.Cold.Rows, timeText(b.Start), err)
}

// cacheKey names a value in the cache: the dictionaries with a number, the directory of a file, or a
// granule of it.
type cacheKey struct {
	table *Table
	kind  cachedKind
	of    int64 // number of the generation, or of the file
	at    int   // the granule
}

type cachedKind uint8

const (
	cachedDicts cachedKind = iota
	cachedRows
	cachedImage
)

// mostCached bounds the cache of a store without a memory budget.
const mostCached = 256 << 20

// hasRoom reports whether the cache has room for so many bytes more.
func (s *Store) hasRoom(bytes int64) bool {
	if s.memory.budget == 0 {
		return s.cache.Bytes()+bytes <= mostCached
	}
	return s.used()+bytes <= s.share(evictAt)
}

// cachedDicts returns dictionaries from the cache, or those that read returns.
func (t *Table) cachedDicts(number int64, read func() (*dicts.Numbered, error)) (*dicts.Numbered, error) {
	key := cacheKey{table: t, kind: cachedDicts, of: number}
	value, err := t.store.cache.Get(key, func() (cache.Sized, error) { return read() })
	if err != nil {
		return nil, err
	}
	return value.(*dicts.Numbered), nil
}
