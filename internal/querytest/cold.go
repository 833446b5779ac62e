package querytest

import (
	"iter"
	"slices"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/catalog"
)

// Cool moves the rows of a bucket out of the state, as a store moves them to a file. Reads join them with
// later rows.
func (t *Table) Cool(b *catalog.BucketState) {
	var file []*granule.Granule
	granules := slices.Values(t.State().HotGranules(b))
	if b.Cold != nil {
		granules = func(yield func(*granule.Granule) bool) {
			for g, err := range t.cold(t.State(), b, t.Generation(b.Start), catalog.ColdRead{Wide: true}) {
				if err != nil {
					t.t.Fatal(err)
				}
				if !yield(g) {
					return
				}
			}
		}
	}
	rows := int64(0)
	for g := range granules {
		for _, g := range granule.Rewrite(t.Env.Schema, g, granule.Limit{Rows: t.GranuleRows}) {
			if g.Rows() > 0 {
				file, rows = append(file, g), rows+int64(g.Rows())
			}
		}
	}
	if rows == 0 {
		return
	}
	t.files = append(t.files, file)
	key, _ := t.Env.Schema.BucketBounds(b.Start)
	t.Edit(func(e *catalog.TableEdit) { e.Unload(key, &catalog.Cold{File: uint64(len(t.files) - 1), Rows: rows}) })
}

// cold implements Env.Cold.
func (t *Table) cold(state *catalog.TableState, b *catalog.BucketState, _ *granule.Generation, read catalog.ColdRead) iter.Seq2[*granule.Granule, error] {
	return func(yield func(*granule.Granule, error) bool) {
		if b.Cold.Err != nil {
			yield(nil, b.Cold.Err)
			return
		}
		hot, file := state.HotGranules(b), t.files[b.Cold.File]
		lower, end := state.Schema.BucketBounds(b.Start)
		for i, g := range file {
			// A granule without rows is not in the file, but the granules of a real file cover the bucket
			// completely.
			_, hi := g.Bounds()
			if i+1 == len(file) {
				hi = end
			}
			lo := lower
			lower = hi
			wanted := read.Ranges == nil || slices.ContainsFunc(read.Ranges, func(r [2]string) bool {
				return (hi == "" || r[0] < hi) && (r[1] == "" || lo < r[1])
			})
			if !wanted || read.Granules != nil && !read.Granules.Has(uint32(i)) && len(hot) == 0 {
				continue
			}
			base, _ := g.Base()
			part := base.Part
			if read.Granules != nil && !read.Granules.Has(uint32(i)) {
				part = nil
			}
			if !yield(granule.Of(lo, hi, part).Join(state.Schema, hot), nil) {
				return
			}
		}
	}
}

// findID implements Env.FindID.
func (t *Table) findID(state *catalog.TableState, b *catalog.BucketState, column string, id uuid.UUID) (granules catalog.Bitset, some bool, err error) {
	if b.Cold.Err != nil {
		return nil, false, b.Cold.Err
	}
	file := t.files[b.Cold.File]
	granules = make(catalog.Bitset, (len(file)+63)/64)
	at, _ := state.Schema.Resolve(column)
	for i, g := range file {
		base, _ := g.Base()
		if c := base.Part.Find(at, column); c != nil && c.MayHave(encoding.HashID(id)) {
			granules[i/64] |= 1 << (i % 64)
			some = true
		}
	}
	return granules, some || len(state.HotGranules(b)) > 0, nil
}
