package query

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/query/filter"
)

// Thresholds of parallel sums.
//
// A goroutine must have enough chosen rows, and, for sums by list, enough rows for each list of the
// dictionary. Its sums become an array by list, which another goroutine adds to its own array. At one row
// per list, that addition would be most of the work. Sums by series and time alone cost 3.5 ns a row, and
// each goroutine makes its own groups. At a million rows, two goroutines take 0.3 to 1 ms more CPU time
// than the 3.5 ms of one.
const (
	parallelRows = 1 << 18
	rowsPerList  = 4
	parallelSums = 1 << 19 // rows, for sums by series and time only
)

// sumAll sums a read's rows, with several goroutines if there are many rows.
func (a *aggregator) sumAll(ctx context.Context, r *filter.Read, where filter.Expr) error {
	c, err := filter.NewChooser(ctx, a.source, where, a.readsWide())
	if err != nil {
		return err
	}
	defer c.Done()
	if r.State == nil {
		return nil
	}
	having := a.having(c, r.State, where)
	granules, cold := c.Granules(r.State, where)
	if err := cmp.Or(ctx.Err(), r.Use.Err()); err != nil { // nothing else checks if there are no granules
		return err
	}
	rows, parts := 0, 0
	for _, g := range granules {
		rows += g.Rows()
		parts += g.FreshParts() + 1
	}
	about := c.Estimate(r.State, where, rows)
	workers := a.workers(about, len(granules), cold)
	if where.Calls() {
		workers = 1
	}
	if about.Sure && len(a.by) == 1 { // otherwise there are more groups, or fewer rows
		a.expected, a.parts = about.Lists, parts
	}
	if a.list >= 0 && len(a.by) == 1 && about.Most > cachedLists && about.Rows > 2*about.Most {
		a.sortByLists(granules)
	}
	work := &a.units
	work.read, work.granules, work.cold = r, granules, cold
	work.next.Store(0)
	if workers == 1 {
		if err := a.sumSome(ctx, c, work); err != nil {
			return err
		}
		return a.keep(having)
	}
	shared, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	others := make([]*aggregator, workers-1)
	var running sync.WaitGroup
	for i := range others {
		others[i] = a.fork()
		defer others[i].done()
	}
	defer running.Wait() // on every path, before the other aggregators are released
	for i := range others {
		running.Go(func() {
			c, err := filter.NewChooser(shared, a.source, where, a.readsWide())
			if err == nil {
				err = others[i].sumSome(shared, c, work)
				c.Done()
			}
			if err != nil {
				cancel(err)
			}
		})
	}
	if err := a.sumSome(shared, c, work); err != nil {
		cancel(err)
	}
	running.Wait()
	if err := cmp.Or(ctx.Err(), context.Cause(shared)); err != nil {
		return err
	}
	for _, other := range others {
		if err := cmp.Or(ctx.Err(), a.merge(other)); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// readsWide reports whether the query reads a wide column of summed rows. The column of Sum is never
// wide.
func (a *aggregator) readsWide() bool {
	isWide := func(c *byColumn) bool { return c.Column >= 0 && a.source.IsWide(c.Column) }
	return slices.ContainsFunc(a.by, isWide) || slices.ContainsFunc(a.inputs, isWide) || a.asOf != nil && slices.ContainsFunc(a.asOf.from, isWide)
}

// workers returns how many goroutines pay off. Each gets at least one granule or cold bucket.
func (a *aggregator) workers(about filter.Estimate, granules int, cold []*catalog.BucketState) int {
	worth := parallelRows
	switch {
	case a.list >= 0:
		worth = max(worth, rowsPerList*about.Most)
	case a.measures == nil && a.asOf == nil && !slices.ContainsFunc(a.by, func(c *byColumn) bool { return !c.series && c.Column != a.time }):
		worth = parallelSums
	}
	rows := about.Rows
	for _, b := range cold {
		rows += int(b.Cold.Rows)
	}
	return max(1, min(runtime.GOMAXPROCS(0), rows/worth, granules+len(cold)))
}

// cachedLists is the number of lists whose array of sums takes 1 MiB, and so stays in the processor's
// cache.
const cachedLists = 1 << 20 / tallySize

// sortByLists sorts each generation's granules by the codes of their lists. Granules whose lists were
// interned at about the same time then follow each other, and their sums are still in the cache. In key
// order they are not, because the key sorts by profile type before the labels that determine the stacks.
// Each type would pass through all sums, which took a seventh of a merge of two million lists
// (docs/decisions/0012). The code of a middle row is a good enough sample of a granule. The order serves
// only groups by list: with more columns, each group has its own sums.
func (a *aggregator) sortByLists(granules []*granule.Granule) {
	type placed struct {
		*granule.Granule
		gen  int // ordinal of the generation; its granules stay adjacent
		code uint64
	}
	places := make([]placed, len(granules))
	var gen *granule.Generation
	gens, read := 0, []granule.Section(nil)
	for i, g := range granules {
		places[i] = placed{Granule: g, gen: gens}
		if read = g.AppendSections(read[:0]); len(read) == 0 {
			continue
		}
		s := read[0] // the base part, if there is one
		if s.Part.Generation() != gen {
			gen = s.Part.Generation()
			gens++
			places[i].gen = gens
		}
		if column := s.Part.Find(a.by[a.list].Column, a.by[a.list].Name); column != nil && s.Rows() > 0 {
			places[i].code = column.Words().At((s.Lo + s.Hi) / 2)
		}
	}
	slices.SortFunc(places, func(x, y placed) int { return cmp.Or(cmp.Compare(x.gen, y.gen), cmp.Compare(x.code, y.code)) })
	for i := range places {
		granules[i] = places[i].Granule
	}
}

// sumUnits is the work of a sum. Goroutines share it.
type sumUnits struct {
	read     *filter.Read
	granules []*granule.Granule
	cold     []*catalog.BucketState
	next     atomic.Int64 // number of granules and buckets taken so far
}

// sumSome sums granules until none is left, then cold buckets.
func (a *aggregator) sumSome(ctx context.Context, c *filter.Chooser, work *sumUnits) error {
	a.index.start(a.source.Seed, keyWidth*len(a.by))
	for {
		i := int(work.next.Add(1)) - 1
		if i < len(work.granules) {
			if err := a.sumGranule(ctx, c, work.read, work.granules[i]); err != nil {
				return err
			}
			continue
		}
		if i -= len(work.granules); i >= len(work.cold) {
			return nil
		}
		a.cold = true
		for g, err := range c.Of(work.read.State, work.cold[i]) {
			if err == nil {
				err = a.sumGranule(ctx, c, work.read, g)
			}
			if err != nil {
				return err
			}
		}
	}
}

func (a *aggregator) sumGranule(ctx context.Context, c *filter.Chooser, r *filter.Read, g *granule.Granule) error {
	a.source.Yield("read/granule")
	if err := cmp.Or(ctx.Err(), r.Use.Err()); err != nil {
		return err
	}
	for _, slice := range c.Parts(g) {
		s := c.Choose(slice)
		if c.Cancelled() {
			return ctx.Err()
		}
		if s.Rows > 0 {
			if err := a.add(&s); err != nil {
				return err
			}
		}
	}
	return nil
}
