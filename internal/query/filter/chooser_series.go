package filter

import (
	"cmp"
	"context"
	"math/bits"
	"slices"

	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/catalog"
)

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

// Buckets returns the buckets of a state that can have matching rows, in time order. All calls on a
// chooser must pass the same state and condition.
func (c *Chooser) Buckets(state *catalog.TableState, where Expr) []*catalog.BucketState {
	if c.found == nil {
		c.found = slices.AppendSeq(make([]*catalog.BucketState, 0, 1), bucketsOf(state, where))
	}
	return c.found
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
func (c *Chooser) Estimate(state *catalog.TableState, where Expr, rows int) (e Estimate) {
	some, all := 0, 0
	var gen *granule.Generation
	e.Sure = true
	for _, b := range c.Buckets(state, where) {
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
	e.Rows = min(rows, int(float64(state.Rows)*share))
	e.Lists = min(e.Rows, int(float64(e.Most)*share))
	return e
}

// EachSeries calls each with the series that can have matching rows, one set for each generation.
// Consecutive buckets of a generation are combined into one call. The errors are as for NewChooser, and
// report cancellation and expiry of the snapshot.
func EachSeries(ctx context.Context, r *Read, where Expr, each func(*granule.Generation, *granule.SeriesColumns, catalog.Bitset)) error {
	c, err := NewChooser(ctx, r.Env, where, false)
	if err != nil {
		return err
	}
	defer c.Done()
	if r.State == nil {
		return nil
	}
	var gen *granule.Generation
	var set, some catalog.Bitset
	byBucket := c.filter.byBucket()
	for b := range bucketsOf(r.State, where) {
		if err := cmp.Or(ctx.Err(), r.Use.Err()); err != nil {
			return err
		}
		if !b.HasRows() {
			continue
		}
		its, err := r.Dictionaries(r.State, b)
		if err != nil {
			return err
		}
		if gen != its && gen != nil {
			each(gen, c.seriesColumns(gen), set)
			set = nil
		}
		if gen != its || byBucket {
			gen = its
			some = c.filter.ofSeries(gen, c.seriesColumns(gen), b).some
		}
		if more := len(b.Series) - len(set); more > 0 {
			set = append(set, make(catalog.Bitset, more)...)
		}
		for i, word := range b.Series {
			set[i] |= word & some[i]
		}
	}
	if gen != nil {
		each(gen, c.seriesColumns(gen), set)
	}
	return nil
}
