package catalog

import "github.com/granarydb/granary/granule"

// Deletion is what rows that leave a bucket leave behind.
type Deletion struct {
	Start int64 // of the bucket
	// Granules are the granules in memory that lose rows.
	Granules []Rewritten
	// Cold is the file whose rows were read, nil if rows in memory alone are deleted. Kept are granules of the rows
	// that stay, with bounds that cover the bucket, and Gen their dictionaries: they are in memory from now on.
	Cold *Cold
	Kept []*granule.Granule
	Gen  *granule.Generation
}

// Rewritten is a granule, and the granules that have its rows without the deleted ones.
type Rewritten struct {
	Old      *granule.Granule
	Children []*granule.Granule
}

// DeleteRows takes the rows of a deletion out of their bucket, in the commit of an id, and returns their number. It
// returns false, and changes nothing, if the bucket has changed since the deletion was prepared, but for rows
// that were added. The bucket is as new afterwards: placements that were built for it before are not taken
// (Takes), because it can lack their series, and no file of it is good any more. It costs O(parts of the bucket).
func (e *TableEdit) DeleteRows(d Deletion, commit uint64) (rows int64, ok bool) {
	key, _ := e.schema.BucketBounds(d.Start)
	b, ok := e.bucket(key)
	if !ok || d.Cold != nil && b.Cold != d.Cold {
		return 0, false
	}
	type replacement struct {
		now        *granule.Granule
		successors []*granule.Granule
	}
	var replacements []replacement
	for _, g := range d.Granules {
		lo, _ := g.Old.Bounds()
		now, ok := e.granules.Get(lo)
		if !ok {
			return 0, false
		}
		successors, ok := now.Succeed(e.schema, g.Old, g.Children)
		if !ok {
			return 0, false
		}
		replacements = append(replacements, replacement{now, successors})
	}
	before := e.rowsOf(key, b)
	for _, r := range replacements {
		e.Replace(r.now, r.successors)
		e.State.Rows -= rowsIn(r.now) - rowsIn(r.successors...)
	}
	if d.Cold != nil {
		e.warm(key, b, d)
	}
	e.refresh(key, commit)
	rows = before
	if b, ok := e.bucket(key); ok {
		rows -= e.rowsOf(key, b)
	}
	e.State.Dropped += rows
	e.State.deletes = true
	return rows, true
}

func rowsIn(granules ...*granule.Granule) (rows int64) {
	for _, g := range granules {
		rows += int64(g.Rows())
	}
	return rows
}

// warm puts the kept rows of a cold bucket into memory.
func (e *TableEdit) warm(key string, b *BucketState, d Deletion) {
	hot := *b
	hot.Cold, hot.Gen = nil, d.Gen
	e.State.Bytes += hot.Size() - b.Size()
	e.State.Rows -= b.Cold.Rows
	e.cool(b)
	e.editBuckets().Set(key, &hot)
	_, end := e.schema.BucketBounds(b.Start)
	for range e.granules.Between(key, end) { // late rows: their granules have other bounds
		filled := e.State.Filled
		for _, g := range d.Kept {
			for _, section := range g.Sections() {
				e.Restore(section.Part)
			}
		}
		e.State.Filled = filled // the rows were counted when they came
		return
	}
	for _, g := range d.Kept {
		lo, _ := g.Bounds()
		e.granules.Set(lo, g)
		e.entered = append(e.entered, g.Sections()...)
		e.Due = append(e.Due, g)
		e.State.Bytes += GranuleSize
		e.State.Rows += int64(g.Rows())
	}
}

// refresh gives a bucket the series and columns of its rows, or removes it if it has no row. A unit stays, because a restart
// that repeats the log has its rows again, and must not find others in it.
func (e *TableEdit) refresh(key string, commit uint64) {
	b, _ := e.bucket(key)
	if b.Cold == nil && b.Unit == 0 && e.rowsOf(key, b) == 0 {
		e.takeGranules(key, b)
		e.editBuckets().Delete(key)
		e.State.Bytes -= b.Size()
		return
	}
	next := *b
	next.Born = commit
	if b.Cold == nil { // else the file has rows of series that nothing else knows
		next.Series, next.Columns = nil, nil
		_, end := e.schema.BucketBounds(b.Start)
		for _, g := range e.granules.Between(key, end) {
			for _, section := range g.Sections() {
				next.include(e, section.Part)
			}
		}
	}
	if e.schema.BucketColumn() >= 0 && b.Start == e.State.last {
		e.State.Series = next.Series.Len()
	}
	e.State.Bytes += next.Size() - b.Size()
	e.editBuckets().Set(key, &next)
}

// include adds the series and columns of a part to a bucket that is being made.
func (b *BucketState) include(e *TableEdit, p *granule.Part) {
	series := p.SeriesSet()
	for _, name := range newColumns(e.schema, b, p, series) {
		if b.Columns == nil {
			b.Columns = map[string]bool{}
		}
		b.Columns[name] = true
	}
	b.Series, _ = b.Series.with(series)
}
