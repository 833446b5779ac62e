package filter

import (
	"cmp"
	"context"
	"iter"
	"math/bits"
	"slices"
	"strings"

	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/catalog"
)

// Buckets returns the buckets that can have matching rows, in time order.
func (c *Chooser) Buckets() []*catalog.BucketState {
	if c.found == nil && c.state != nil {
		c.found = slices.AppendSeq(make([]*catalog.BucketState, 0, 1), c.state.BucketsOf(timeBounds(c.state.Schema, c.where)))
	}
	return c.found
}

// Granules returns the granules in memory that can have matching rows, in key order, and the buckets with
// cold rows that can. They are valid until the next call.
func (c *Chooser) Granules() (granules []*granule.Granule, cold []*catalog.BucketState) {
	found := c.work.granules[:0]
	for _, b := range c.Buckets() {
		switch {
		case b.Cold != nil:
			cold = append(cold, b)
		case b.Gen != nil:
			found = c.granulesOf(found, b)
		}
	}
	c.work.granules = found
	return found, cold
}

// Of yields the granules in a bucket that can have matching rows, in key order, in memory or cold. An
// error of reading files is the last element.
func (c *Chooser) Of(b *catalog.BucketState) iter.Seq2[*granule.Granule, error] {
	return func(yield func(*granule.Granule, error) bool) {
		if b.Cold != nil {
			c.cold = true
			c.ofCold(b, yield)
			return
		}
		for _, g := range c.inMemory(b) {
			if !yield(g, nil) {
				return
			}
		}
	}
}

// inMemory returns the granules in a bucket without cold rows that can have matching rows, in key order.
// They are valid until the next call.
func (c *Chooser) inMemory(b *catalog.BucketState) []*granule.Granule {
	if c.cold = false; b.Gen == nil {
		return nil
	}
	c.work.granules = c.granulesOf(c.work.granules[:0], b)
	return c.work.granules
}

// ofCold is Of for a bucket with cold rows.
func (c *Chooser) ofCold(b *catalog.BucketState, yield func(*granule.Granule, error) bool) {
	read := catalog.ColdRead{Wide: c.wide}
	id := c.filter.onlyID()
	if id != nil && !c.source.IsWide(id.column) {
		id = nil // coded ids have no filter, and the part can lack other columns
	}
	if id != nil {
		granules, some, err := c.source.FindID(c.state, b, id.name, *id.id)
		if err != nil {
			yield(nil, err)
			return
		}
		if !some {
			return
		}
		read.Granules = granules
	}
	gen, err := c.source.Dictionaries(c.state, b)
	if err != nil {
		yield(nil, err)
		return
	}
	codes, few := b.Series.Few(c.seriesSet(gen).some, fewSeries)
	if few && len(codes) == 0 {
		return
	}
	if few {
		read.Ranges = c.source.rangesOf(b, gen, codes)
	}
	for g, err := range c.source.Cold(c.state, b, gen, read) {
		if err == nil && id != nil && len(id.among([]*granule.Granule{g})) == 0 {
			continue
		}
		if !yield(g, err) {
			return
		}
	}
}

// granulesOf appends the granules in a bucket without cold rows that can have matching rows.
func (c *Chooser) granulesOf(dst []*granule.Granule, b *catalog.BucketState) []*granule.Granule {
	codes, few := b.Series.Few(c.seriesSet(b.Gen).some, fewSeries)
	lo, hi := c.source.Schema.BucketBounds(b.Start)
	ranges := [][2]string{{lo, hi}}
	if few {
		ranges = c.source.rangesOf(b, b.Gen, codes)
	}
	n := len(dst)
	dst = appendGranules(dst, c.state, ranges)
	if id := c.filter.onlyID(); id != nil {
		dst = dst[:n+len(id.among(dst[n:]))]
	}
	return dst
}

// reads yields the granules that can have matching rows. It finds a bucket's granules when it reaches the
// bucket, because the caller may stop early. It checks for cancellation and an expired snapshot before
// each bucket and each granule.
func (c *Chooser) reads(ctx context.Context, r *Read) iter.Seq2[*granule.Granule, error] {
	return func(yield func(*granule.Granule, error) bool) {
		for _, b := range c.Buckets() {
			if err := cmp.Or(ctx.Err(), r.Use.Err()); err != nil {
				yield(nil, err)
				return
			}
			if b.Cold != nil {
				for g, err := range c.Of(b) { // the loop's state is on the heap, because cold rows are behind functions
					r.Yield("read/granule")
					if !yield(g, cmp.Or(err, ctx.Err(), r.Use.Err())) {
						return
					}
				}
				continue
			}
			for _, g := range c.inMemory(b) {
				r.Yield("read/granule")
				if !yield(g, cmp.Or(ctx.Err(), r.Use.Err())) {
					return
				}
			}
		}
	}
}

// rangesOf returns the key ranges of series codes in a bucket, in key order.
func (s *Env) rangesOf(b *catalog.BucketState, gen *granule.Generation, codes []uint32) [][2]string {
	keys := make([]string, len(codes))
	bucket := s.Schema.AppendBucket(nil, b.Start)
	for i, code := range codes {
		tuple := gen.Series.Value(code)
		var key strings.Builder
		key.Grow(len(bucket) + len(tuple))
		key.Write(bucket)
		key.Write(tuple)
		keys[i] = key.String()
	}
	slices.Sort(keys)
	ranges := make([][2]string, len(keys))
	for i, key := range keys {
		ranges[i] = [2]string{key, after(key)}
	}
	return ranges
}

// after returns the lowest key above all keys with prefix, or "" if there is none.
func after(prefix string) string {
	for n := len(prefix) - 1; n >= 0; n-- {
		if last := prefix[n]; last < 0xff {
			return prefix[:n] + string([]byte{last + 1})
		}
	}
	return ""
}

// appendGranules appends each granule that overlaps one of the key ranges once. The ranges are disjoint
// and ascending.
func appendGranules(dst []*granule.Granule, state *catalog.TableState, ranges [][2]string) []*granule.Granule {
	for _, r := range ranges {
		n := len(dst)
		dst = state.Granules.AppendOverlapping(dst, r[0], r[1])
		if n == len(dst) {
			continue
		}
		// Only the first granule can begin before the range: it was found for the previous range, or it
		// belongs to an earlier bucket.
		if _, hi := dst[n].Bounds(); n > 0 && dst[n-1] == dst[n] || hi != "" && hi <= r[0] {
			dst = slices.Delete(dst, n, n+1)
		}
	}
	return dst
}

// generationSeries caches the series in a generation and the filter's verdict on them. It omits series
// that are interned while the query runs, because the snapshot has no rows of them.
type generationSeries struct {
	gen     *granule.Generation
	columns *granule.SeriesColumns
	set     seriesSet // verdict of the filter; zero until it is computed
}

// generation returns a generation's cache.
func (c *Chooser) generation(gen *granule.Generation) *generationSeries {
	if c.last != nil && c.last.gen == gen {
		return c.last
	}
	g := c.gens[gen]
	if g == nil {
		g = &generationSeries{gen: gen, columns: c.source.SeriesColumns(gen)}
		if c.last != nil && c.gens == nil && !c.cold {
			c.gens = map[*granule.Generation]*generationSeries{c.last.gen: c.last}
		}
		if c.gens != nil && !c.cold {
			c.gens[gen] = g
		}
	}
	c.last = g
	return g
}

func (c *Chooser) seriesColumns(gen *granule.Generation) *granule.SeriesColumns {
	return c.generation(gen).columns
}

// seriesSet returns the filter's verdict on a generation's series.
func (c *Chooser) seriesSet(gen *granule.Generation) *seriesSet {
	g := c.generation(gen)
	if g.set.some == nil {
		g.set = c.filter.ofSeries(gen, g.columns, nil)
	}
	return &g.set
}

// manySeries reports whether the filter leaves a large share of a generation's series.
func (c *Chooser) manySeries(gen *granule.Generation) bool {
	return catalog.Bitset(c.seriesSet(gen).some).Len()*onePassFrom > c.seriesColumns(gen).Len()
}

// Estimate is the estimated result of a condition. It assumes that all series have the same number of
// rows and of distinct lists.
type Estimate struct {
	Rows  int  // rows of series that can match, in the granules counted
	Lists int  // distinct lists in these rows
	Sure  bool // every such series matches in all its rows, and one generation in memory has all of them
	Most  int  // lists in the largest dictionary in memory
}

// Estimate estimates a condition's result in granules in memory that have `rows` rows. It reads no row.
func (c *Chooser) Estimate(rows int) (e Estimate) {
	some, all := 0, 0
	var gen *granule.Generation
	e.Sure = true
	for _, b := range c.Buckets() {
		if b.Gen == nil {
			e.Sure = e.Sure && b.Cold == nil
			continue
		}
		set := c.seriesSet(b.Gen)
		for i, word := range b.Series {
			all += bits.OnesCount64(word)
			some += bits.OnesCount64(word & set.some[i])
			e.Sure = e.Sure && word&set.some[i]&^set.all[i] == 0
		}
		e.Sure = e.Sure && (gen == nil || gen == b.Gen)
		gen, e.Most = b.Gen, max(e.Most, b.Gen.Lists.Len())
	}
	share := float64(some) / float64(max(all, 1))
	e.Rows = min(rows, int(float64(c.state.Rows)*share))
	e.Lists = min(e.Rows, int(float64(e.Most)*share))
	return e
}
