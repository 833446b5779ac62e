package query

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/query/filter"
	"github.com/granarydb/granary/internal/query/order"
	"github.com/granarydb/granary/schema"
)

// AggregateOptions are the options of an Aggregate. The zero value counts all rows in one
// group.
type AggregateOptions struct {
	// Sum names the Int64 column to sum. Empty means that rows are only counted.
	Sum string
	// Aggregates are the values to compute for each group, in one pass. Sum must then be empty, because
	// an Aggregate can be a sum.
	Aggregates []Aggregate
	// By names the columns to group by. A family stands for all its concrete columns.
	By []string
	// Step, if above 0, rounds the column named by Time down to a multiple of Step before rows
	// are grouped by it. By must name the column.
	Step int64
	// Time names an Int64 column. Empty means the time bucket's column.
	Time string
	// AsOf, if not nil, is a last column to group by. The caller supplies its values.
	AsOf *AsOf
	// Where selects the rows.
	Where filter.Expr
	// OrderBy orders the groups by its first column, then by the second, and so on. Groups that are equal
	// in all columns are ordered by the columns of By, lists by their ids. Without it groups come in any
	// order.
	OrderBy []order.By
	// Limit bounds the number of groups: the first in the order of OrderBy are returned. 0 means no
	// limit. A limit without OrderBy, or a negative limit, is ErrQuery. All groups are computed, and only
	// the returned groups are copied.
	Limit int
	// NoCounts omits Groups.Counts, which takes 8 bytes per group.
	NoCounts bool
	// MaxBytes, if above 0, bounds the bytes that the query allocates for groups and for finding them,
	// including tables that it outgrows and drops. Beyond it the error is ErrQueryMemory.
	MaxBytes int64
}

// GroupRows groups the selected rows and sums them. See Table.Aggregate of package columnstore. The
// errors are ErrQuery, ErrQueryMemory, ErrOverflow, cancellation, expiry of the snapshot, and errors from
// AsOf.
func GroupRows(ctx context.Context, r *filter.Read, opts AggregateOptions) (*Groups, error) {
	a, err := newAggregator(ctx, r, opts)
	if err != nil {
		return nil, err
	}
	defer a.done()
	if err := a.sumAll(ctx, r, opts.Where); err != nil {
		return nil, err
	}
	g, err := a.groups()
	if err == nil && len(opts.OrderBy) > 0 {
		err = g.first(opts.OrderBy, opts.Limit, a.memory)
	}
	if err != nil {
		return nil, err
	}
	return g, nil
}

// newAggregator checks the options. The caller must call done, unless there is an error.
func newAggregator(ctx context.Context, r *filter.Read, opts AggregateOptions) (*aggregator, error) {
	a := &aggregator{
		source: r.Env, sum: -1, name: opts.Sum, step: opts.Step, list: -1, noCounts: opts.NoCounts,
		memory: newQueryMemory(ctx, opts.MaxBytes), query: &queryDicts{seed: r.Seed}, sumScratch: sumWork.Get().(*sumScratch),
	}
	if opts.Sum != "" && len(opts.Aggregates) > 0 {
		return nil, fmt.Errorf("%w: sum of %q beside aggregates: want {Sum, %q} among them", filter.ErrQuery, opts.Sum, opts.Sum)
	}
	if opts.Sum != "" {
		column, ok := r.Schema.Resolve(opts.Sum)
		if !ok || r.Schema.Columns()[column].Type != encoding.Int64 {
			return nil, fmt.Errorf("%w: cannot sum column %q: want an int64 column", filter.ErrQuery, opts.Sum)
		}
		a.sum = column
	}
	err := a.newMeasures(opts.Aggregates)
	if err != nil {
		return nil, err
	}
	if a.time, err = opts.timeColumn(r.Schema); err != nil {
		return nil, err
	}
	var columns []schema.Concrete
	if opts.By != nil { // nil names would mean all columns
		if columns, err = r.Concrete(opts.By); err != nil {
			return nil, err
		}
	}
	for i, c := range columns {
		by := &byColumn{Concrete: c, typ: r.Schema.Columns()[c.Column].Type, series: r.Schema.IsSeries(c.Column)}
		if by.typ == encoding.UUIDList && a.list < 0 {
			a.list = i
		}
		a.by = append(a.by, by)
	}
	if opts.AsOf != nil {
		if err := a.newAsOf(opts.AsOf); err != nil {
			return nil, err
		}
	}
	return a, a.checkOrder(opts.OrderBy, opts.Limit)
}

// timeColumn returns the column that Step rounds, or -1.
func (opts *AggregateOptions) timeColumn(s *schema.Schema) (int, error) {
	column := s.BucketColumn()
	if opts.Time != "" {
		var ok bool
		column, ok = s.Resolve(opts.Time)
		if !ok || s.Columns()[column].Type != encoding.Int64 || s.Columns()[column].Dynamic {
			return 0, fmt.Errorf("%w: time %q: want a fixed int64 column", filter.ErrQuery, opts.Time)
		}
	}
	if opts.Step < 0 || opts.Step > 0 && column < 0 {
		return 0, fmt.Errorf("%w: step %d: want at least 0, and a time column", filter.ErrQuery, opts.Step)
	}
	if opts.Step > 0 && !slices.Contains(opts.By, s.Columns()[column].Name) {
		return 0, fmt.Errorf("%w: step %d: want column %q, which it rounds, in By", filter.ErrQuery, opts.Step, s.Columns()[column].Name)
	}
	return column, nil
}

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
	c, err := filter.NewChooser(ctx, r, where, a.readsWide())
	if err != nil {
		return err
	}
	defer c.Done()
	if r.State == nil {
		return nil
	}
	having := a.having(c)
	granules, cold := c.Granules()
	if err := cmp.Or(ctx.Err(), r.Use.Err()); err != nil { // nothing else checks if there are no granules
		return err
	}
	rows, parts := 0, 0
	for _, g := range granules {
		rows += g.Rows()
		parts += g.FreshParts() + 1
	}
	about := c.Estimate(rows)
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
			c, err := filter.NewChooser(shared, r, where, a.readsWide())
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
			return ctx.Err() // cancelled, the chooser can have found too few granules
		}
		a.cold = true
		for g, err := range c.Of(work.cold[i]) {
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

// A sum by list alone has many rows per group. Conditions on list elements are therefore evaluated once
// for each group, at the end. The rows are summed without these conditions, and no row mask is computed.

// havingBytes bounds the query's allocations for a list: in a hash table, in the tables that it outgrew,
// in an array, again in a union of several generations, and in the answer.
const havingBytes = 128

// having takes the conditions on the only By column from the chooser, if that is a list column. keep
// applies them. It takes none if the lists without a matching element might exceed the query's memory.
// One goroutine evaluates all groups, because the conditions call functions of the caller.
func (a *aggregator) having(c *filter.Chooser) []filter.ElementCondition {
	if a.list < 0 || len(a.by) > 1 {
		return nil
	}
	lists := 0
	var last *catalog.BucketState
	for _, b := range c.Buckets() {
		switch {
		case b.Cold != nil:
			return nil // its lists are not known yet
		case b.Gen != nil && (last == nil || b.Gen != last.Gen):
			lists += b.Gen.Lists.Len() + 1
			last = b
		}
	}
	if a.memory.left()/havingBytes < int64(lists) {
		return nil
	}
	return c.TakeElements(a.by[a.list].Concrete)
}

// keep drops the sums of lists for which a condition does not hold.
func (a *aggregator) keep(conditions []filter.ElementCondition) error {
	for _, condition := range conditions {
		for _, lists := range a.lists {
			for gen, s := range lists {
				if s == nil {
					continue
				}
				holds := condition.Of(a.gens[gen].Lists)
				if s.keep(holds); holds.Cancelled() {
					return a.memory.check()
				}
			}
		}
	}
	return nil
}
