package cold

import (
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/google/uuid"

	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/cache"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/dictionaries"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/files"
	"github.com/granarydb/granary/schema"
	"github.com/granarydb/granary/txn"
)

// Files reads a table's rows in files. It is safe for concurrent use.
type Files struct {
	Name   string
	Schema *schema.Schema
	Dicts  *dictionaries.Generations
	Cache  *cache.Cache[Key]
	// Dir returns the directory. It is called only for a table with files.
	Dir func() *files.Dir
	// Log logs the entries of generation number that the log lacks.
	Log func(number int64) error
}

// Key names a value in the cache: a generation, a file's directory, or a piece or a page of a granule.
type Key struct {
	table *Files
	kind  cachedKind
	of    int64 // number of the generation, or of the file
	at    int64 // the place in the file; 0 for the directory of a file of one bucket
}

type cachedKind uint8

const (
	ofDicts cachedKind = iota
	ofRows
	ofNarrow
	ofWide
	ofPage
)

// image is the bytes of a part, or of a page of its ids. The cache has bytes and not parts, because a part
// would keep its dictionaries in memory (S3), and the next read may use another copy of them.
type image []byte

// Size returns the heap bytes.
func (i image) Size() int { return cap(i) }

// Granules yields the granules that a read needs from a bucket with cold rows, in key order, joined with
// the rows in memory. If the bucket has rows in memory, parts have all columns, because a merge needs them.
// The errors come from the FS and *disk.DamagedError; they name the table and the times.
//
// gen is the result of Dictionaries for the bucket.
func (t *Files) Granules(state *catalog.TableState, b *catalog.BucketState, gen *granule.Generation, read catalog.ColdRead) iter.Seq2[*granule.Granule, error] {
	return func(yield func(*granule.Granule, error) bool) {
		rows, err := t.open(b)
		if err != nil {
			yield(nil, err)
			return
		}
		hot, ranges := state.HotGranules(b), read.Ranges
		parts := &granule.PartReader{Schema: t.Schema, Generation: gen, Codes: gen.Watermark(), MaxRows: math.MaxInt32}
		pieces := rows.Pieces()
		defer pieces.Close()
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
			var part *granule.Part
			if read.Granules == nil || read.Granules.Has(uint32(i)) {
				if part, err = t.part(pieces, rows, b, i, read.Wide || len(hot) > 0, parts); err != nil {
					yield(nil, err)
					return
				}
			} else if len(hot) == 0 {
				continue
			}
			if !yield(granule.Of(lo, hi, part).Join(t.Schema, hot), nil) {
				return
			}
		}
	}
}

// after returns the ranges that end after a bound.
func after(ranges [][2]string, lo string) [][2]string {
	for len(ranges) > 0 && ranges[0][1] != "" && ranges[0][1] <= lo {
		ranges = ranges[1:]
	}
	return ranges
}

// All yields a bucket's granules, cold or in memory. It yields the errors of Granules.
func (t *Files) All(state *catalog.TableState, b *catalog.BucketState) iter.Seq2[*granule.Granule, error] {
	return func(yield func(*granule.Granule, error) bool) {
		if b.Cold != nil {
			gen, err := t.Dictionaries(state, b)
			if err != nil {
				yield(nil, err)
				return
			}
			t.Granules(state, b, gen, catalog.ColdRead{Wide: true})(yield)
			return
		}
		for _, g := range state.HotGranules(b) {
			if !yield(g, nil) {
				return
			}
		}
	}
}

// open returns the directory of the file for a bucket with cold rows.
func (t *Files) open(b *catalog.BucketState) (*files.RowsFile, error) {
	c := b.Cold
	file := files.BucketFile{Start: b.Start, Latest: b.Latest, Late: b.Late, Through: c.Through, File: c.File, Place: c.Place, Rows: c.Rows, Bytes: c.Bytes}
	rows, err := t.Cache.Get(Key{table: t, kind: ofRows, of: int64(c.File), at: c.Place.Offset}, func() (cache.Sized, error) { return t.Dir().OpenRows(t.Schema, file) })
	if err != nil {
		return nil, t.failed(b, err)
	}
	return rows.(*files.RowsFile), nil
}

// part returns the rows in a file's i-th granule, nil if it is empty. wide asks for the wide columns.
func (t *Files) part(pieces *files.Pieces, rows *files.RowsFile, b *catalog.BucketState, i int, wide bool, parts *granule.PartReader) (part *granule.Part, err error) {
	if rows.Rows(i) == 0 {
		return nil, nil
	}
	first, err := t.bytes(b, ofNarrow, rows.Offset(i, false), func() ([]byte, error) { return pieces.Image(i, false) })
	var second image
	if err == nil && wide && rows.HasWide(i) {
		second, err = t.bytes(b, ofWide, rows.Offset(i, true), func() ([]byte, error) { return pieces.Image(i, true) })
	}
	if err == nil {
		part, err = rows.Part(i, first, second, parts)
	}
	if err != nil {
		return nil, t.failed(b, err)
	}
	return part, nil
}

// bytes returns bytes of a bucket's file from the cache. On a miss it calls read and caches the result.
func (t *Files) bytes(b *catalog.BucketState, kind cachedKind, at int64, read func() ([]byte, error)) (image, error) {
	data, err := t.Cache.Get(Key{table: t, kind: kind, of: int64(b.Cold.File), at: at}, func() (cache.Sized, error) {
		data, err := read()
		return image(data), err
	})
	if err != nil {
		return nil, err
	}
	return data.(image), nil
}

// FindID returns the granules in the file of a bucket with cold rows that can have id in a concrete column
// of plain UUIDs. some reports whether the bucket can have it at all, in memory or in the file. It reads a
// page of at most 4 KiB for each granule. It returns the errors of Granules.
func (t *Files) FindID(state *catalog.TableState, b *catalog.BucketState, column string, id uuid.UUID) (granules catalog.Bitset, some bool, err error) {
	if b.Cold.Err != nil {
		return nil, false, t.failed(b, b.Cold.Err)
	}
	rows, err := t.open(b)
	if err != nil {
		return nil, false, err
	}
	granules = make(catalog.Bitset, (rows.Len()+63)/64)
	pieces := rows.Pieces()
	defer pieces.Close()
	for i := range rows.Len() {
		page, ask, may := rows.PageOf(i, column, id)
		if ask {
			data, err := t.bytes(b, ofPage, page.At, func() ([]byte, error) { return pieces.ReadPage(page) })
			if err != nil {
				return nil, false, t.failed(b, err)
			}
			may = page.MayHave(data)
		}
		if may {
			granules[i/64] |= 1 << (i % 64)
			some = true
		}
	}
	return granules, some || len(state.HotGranules(b)) > 0, nil
}

// Dictionaries returns the dictionaries for a bucket that has rows. It returns the errors of Granules.
func (t *Files) Dictionaries(state *catalog.TableState, b *catalog.BucketState) (*granule.Generation, error) {
	if b.Cold == nil {
		return b.Gen, nil
	}
	if b.Cold.Err != nil {
		return nil, t.failed(b, b.Cold.Err)
	}
	for _, g := range state.HotGranules(b) {
		for _, s := range g.Sections() {
			return s.Part.Generation(), nil // it also has these rows' series, which files may lack
		}
	}
	g, err := t.Dicts.Read(b.Cold.Generation)
	if err != nil {
		return nil, t.failed(b, err)
	}
	if last := b.Series.Last(); last > g.Series.Len() {
		return nil, t.failed(b, fmt.Errorf("%w: series %d of %d", files.ErrFile, last, g.Series.Len()))
	}
	return g.Generation, nil
}

// failed adds a bucket's table and time to a read error.
func (t *Files) failed(b *catalog.BucketState, err error) error {
	return fmt.Errorf("table %q: %d rows from %s on: %w", t.Name, b.Cold.Rows, catalog.TimeText(b.Start), err)
}

// Cached returns generation number from the cache. On a miss it calls read and caches the result (dictionaries.Owner).
func (t *Files) Cached(number int64, read func() (*dictionaries.DurableGeneration, error)) (*dictionaries.DurableGeneration, error) {
	value, err := t.Cache.Get(Key{table: t, kind: ofDicts, of: number}, func() (cache.Sized, error) { return read() })
	if err != nil {
		return nil, err
	}
	return value.(*dictionaries.DurableGeneration), nil
}

// Forget removes generation number from the cache (dictionaries.Owner).
func (t *Files) Forget(number int64) { t.Cache.Forget(Key{table: t, kind: ofDicts, of: number}) }

// OpenBucket returns an earlier run's bucket with cold rows. If its file is damaged, only reads of its rows
// get the error, so that the other buckets stay readable. Its errors come from the FS.
func (t *Files) OpenBucket(f files.BucketFile, generation int64) (*catalog.BucketState, error) {
	b := &catalog.BucketState{Start: f.Start, Latest: f.Latest, Unit: f.Unit, Late: f.Late, Born: f.Through, Cold: coldOf(f, generation)}
	rows, err := t.Dir().OpenRows(t.Schema, f)
	if _, damaged := errors.AsType[*disk.DamagedError](err); damaged || errors.Is(err, files.ErrFile) {
		b.Cold.Err = err
		return b, nil
	}
	if err != nil {
		return nil, err
	}
	b.Series, b.Columns = rows.Series, rows.Columns
	return b, nil
}

func coldOf(f files.BucketFile, generation int64) *catalog.Cold {
	return &catalog.Cold{File: f.File, Place: f.Place, Rows: f.Rows, Bytes: f.Bytes, Through: f.Through, Generation: generation}
}

// CanUnload returns the cold state of a bucket after its rows leave memory. It returns nil if no file has
// all rows, or if no row is in memory and the file is the same.
func CanUnload(state *catalog.TableState, b *catalog.BucketState, files *files.TableFiles, generation int64) *catalog.Cold {
	hot := state.HotGranules(b)
	file, ok := files.FileOf(b)
	if moved := b.Cold != nil && b.Cold.File != file.File; ok && (len(hot) > 0 || moved) && unfiledRows(hot, file.Through) == 0 {
		return coldOf(file, generation)
	}
	return nil
}

// Demote unloads generation number unless it is needed, and returns its garbage. The caller holds the commit lock.
func (t *Files) Demote(state *catalog.TableState, number int64, ranges dictionaries.Ranges) []txn.Garbage {
	if isNeeded(state, number, ranges) {
		return nil
	}
	return t.Dicts.Demote(number)
}

// isNeeded reports whether a row in memory needs generation number, or new rows are likely to need it.
func isNeeded(state *catalog.TableState, number int64, ranges dictionaries.Ranges) bool {
	if number >= ranges.Of(state.Newest) {
		return true
	}
	first, last := ranges.Times(number)
	from, to := "", ""
	if ranges.Width > 0 {
		from, _ = state.Schema.BucketBounds(first)
		_, to = state.Schema.BucketBounds(last)
	}
	for _, b := range state.Buckets.Overlapping(from, to) {
		if ranges.Of(b.Start) == number && (b.Cold == nil || len(state.HotGranules(b)) > 0) {
			return true
		}
	}
	return false
}
