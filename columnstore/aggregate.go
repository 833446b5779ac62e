package columnstore

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/schema"
	"github.com/granarydb/granary/txn"
)

// AggregateOptions says what an Aggregate sums.
type AggregateOptions struct {
	// Sum names the Int64 column to sum; empty means only to count.
	Sum string
	// By names the concrete columns, or families for all of theirs, whose
	// values make a group.
	By []string
	// Step, if above 0, rounds the column named Time down to a multiple of it
	// before rows are grouped by it.
	Step int64
	// Time names an Int64 column. Empty means that of the time bucket.
	Time string
	// AsOf, if not nil, is one more thing to group by.
	AsOf *AsOf
	// Where chooses rows.
	Where Expr
	// NoCounts leaves Groups.Counts out: 8 bytes a group.
	NoCounts bool
	// MaxBytes, if above 0, bounds what the query may allocate for the groups and for
	// finding them; what was outgrown meanwhile counts too. Beyond it the error is
	// ErrQueryMemory.
	MaxBytes int64
}

// Groups is the answer of an Aggregate: one element a group in every slice, in
// no particular order. It belongs to the caller.
type Groups struct {
	// Columns has the values that make the groups, in the order of By; behind them, as
	// Uint64s without a name, the groups of AggregateOptions.AsOf.
	Columns []GroupColumn
	// Sums has the sum of each group, wrapping around as int64 does.
	Sums []int64
	// Counts has the number of rows of each group; nil with AggregateOptions.NoCounts.
	Counts []int64
}

// GroupColumn is one column of Groups. A list column has Codes, which Lists gives
// the elements of, each distinct list once, and no Values; any other column has
// Values only. Who keeps Lists keeps the dictionaries of the generations that they are of,
// even if the store has dropped them: beyond the memory budget then.
type GroupColumn struct {
	Name   string
	Values encoding.Vector
	Codes  []uint32 // 0 is null
	Lists  encoding.Lists
}

// Column returns the column with the given name, nil if there is none.
func (g *Groups) Column(name string) *GroupColumn {
	for i := range g.Columns {
		if g.Columns[i].Name == name {
			return &g.Columns[i]
		}
	}
	return nil
}

// What is worth a goroutine of its own: so many chosen rows and, of sums by list, so many
// for each list of the dictionary. Its sums become an array by list, which another one goes
// through to add them to its own: at a row a list that would be most of the work. Sums by
// series and time alone take 3.5 ns a row, and each goroutine makes groups of its own: at a
// million rows, two take 0.3 to 1 ms more of the processors than the 3.5 of one.
const (
	parallelRows = 1 << 18
	rowsPerList  = 4
	parallelSums = 1 << 19 // rows, by series and time alone
)

// Aggregate groups the chosen rows of a snapshot and sums them, on codes: a
// value is looked at once for each distinct code, and no list is looked at.
//
// It costs 5 to 10 ns a chosen row by columns of series, by lists and by time, up to 70
// by columns that differ row by row (go test -bench Aggregate), and about 1 us for each
// part. Beside the answer it allocates little: what it sums in is kept for the next
// query. From 500,000 chosen rows on, if that is 8 for each list, and from a million by series
// and time alone, it uses several processors, unless a condition calls a function. Errors are
// ErrQuery, ErrQueryMemory, ErrSnapshotClosed, ErrSnapshotExpired, or that of ctx, which is
// looked at before each granule.
func (t *Table) Aggregate(ctx context.Context, snap *Snapshot, opts AggregateOptions) (*Groups, error) {
	state, use, err := snap.read(t)
	if err != nil {
		return nil, err
	}
	defer use.Done()
	a, err := t.newAggregator(ctx, state, opts)
	if err != nil {
		return nil, err
	}
	defer a.done()
	if err := a.sumAll(ctx, state, use, opts.Where); err != nil {
		return nil, err
	}
	return a.groups()
}

// sumAll sums the rows of a state, by several goroutines if they are many.
func (a *aggregator) sumAll(ctx context.Context, state *tableState, use txn.Use[*root], where Expr) error {
	c, err := newChooser(ctx, a.table, where)
	if err != nil {
		return err
	}
	defer c.done()
	if state == nil {
		return nil
	}
	having := a.having(c, state, where)
	granules := c.granules(state, where)
	if err := cmp.Or(ctx.Err(), use.Err()); err != nil { // there may be none to ask before
		return err
	}
	rows, parts := 0, 0
	for _, g := range granules {
		rows += g.Rows()
		parts += g.FreshParts() + 1
	}
	next := new(atomic.Int64)
	about := c.estimate(state, where, rows)
	workers := a.workers(about, len(granules))
	if where.calls() {
		workers = 1
	}
	if about.sure && len(a.by) == 1 { // else there are more groups, or fewer rows
		a.expected, a.parts = about.lists, parts
	}
	if a.list >= 0 && len(a.by) == 1 && about.most > cachedLists && about.rows > 2*about.most {
		a.sortByLists(granules)
	}
	if workers == 1 {
		if err := a.sumSome(ctx, use, c, granules, next); err != nil {
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
	defer running.Wait() // whatever happens, before they are given back
	for i := range others {
		running.Go(func() {
			c, err := newChooser(shared, a.table, where)
			if err == nil {
				err = others[i].sumSome(shared, use, c, granules, next)
				c.done()
			}
			if err != nil {
				cancel(err)
			}
		})
	}
	if err := a.sumSome(shared, use, c, granules, next); err != nil {
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

// workers returns how many goroutines are worth it.
func (a *aggregator) workers(about estimate, granules int) int {
	worth := parallelRows
	switch {
	case a.list >= 0:
		worth = max(worth, rowsPerList*about.most)
	case a.asOf == nil && !slices.ContainsFunc(a.by, func(c *byColumn) bool { return !c.series && c.Column != a.time }):
		worth = parallelSums
	}
	return max(1, min(runtime.GOMAXPROCS(0), about.rows/worth, granules))
}

// cachedLists is of how many lists an array of sums stays in a processor's cache: 1 MiB.
const cachedLists = 1 << 20 / tallySize

// sortByLists sorts the granules of each generation so that those whose lists came at about
// the same time, and have codes that are near, come one after the other: their sums are in
// the cache when their turn comes again. The key sorts by type before all that says whose
// stacks they are, so that otherwise each type goes through all of the sums: at two million
// lists, a seventh of a merge (docs/decisions/0012). The code of one row in the middle says
// well enough where a granule's are. By other columns too, each group has sums of its own.
func (a *aggregator) sortByLists(granules []*granule.Granule) {
	type placed struct {
		*granule.Granule
		gen  int // counted: a generation's granules come one after the other
		code uint64
	}
	places := make([]placed, len(granules))
	var gen *granule.Generation
	gens, read := 0, []granule.Slice(nil)
	for i, g := range granules {
		places[i] = placed{Granule: g, gen: gens}
		if read = g.AppendSlices(read[:0]); len(read) == 0 {
			continue
		}
		s := read[0] // the rewritten one, if there is one
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

// sumSome sums the granules that nobody else has taken.
func (a *aggregator) sumSome(ctx context.Context, use txn.Use[*root], c *chooser, granules []*granule.Granule, next *atomic.Int64) error {
	a.index.start(a.table.seed, keyWidth*len(a.by))
	for {
		i := int(next.Add(1)) - 1
		if i >= len(granules) {
			return nil
		}
		a.table.store.opts.Yield("read/granule")
		if err := cmp.Or(ctx.Err(), use.Err()); err != nil {
			return err
		}
		c.slices = granules[i].AppendSlices(c.slices[:0])
		for _, slice := range c.slices {
			s := c.choose(slice)
			if c.work.stopped {
				return ctx.Err()
			}
			if s.rows > 0 {
				if err := a.add(&s); err != nil {
					return err
				}
			}
		}
	}
}

// newAggregator checks the options.
func (t *Table) newAggregator(ctx context.Context, state *tableState, opts AggregateOptions) (*aggregator, error) {
	a := &aggregator{
		table: t, sum: -1, name: opts.Sum, step: opts.Step, list: -1, noCounts: opts.NoCounts,
		memory: &queryMemory{ctx: ctx, most: opts.MaxBytes}, query: &queryDicts{seed: t.seed}, sumScratch: sumWork.Get().(*sumScratch),
	}
	if opts.MaxBytes <= 0 {
		a.memory.most = math.MaxInt64
	}
	if opts.Sum != "" {
		column, ok := t.schema.Resolve(opts.Sum)
		if !ok || t.schema.Columns()[column].Type != encoding.Int64 {
			return nil, fmt.Errorf("%w: cannot sum column %q: want an int64 column", ErrQuery, opts.Sum)
		}
		a.sum = column
	}
	if err := a.setTime(opts); err != nil {
		return nil, err
	}
	var columns []schema.Concrete
	if opts.By != nil { // else it would be all
		var err error
		if columns, err = t.concrete(state, opts.By); err != nil {
			return nil, err
		}
	}
	for i, c := range columns {
		by := &byColumn{Concrete: c, typ: t.schema.Columns()[c.Column].Type, series: t.schema.IsSeries(c.Column)}
		if by.typ == encoding.UUIDList && a.list < 0 {
			a.list = i
		}
		a.by = append(a.by, by)
	}
	if opts.AsOf != nil {
		return a, a.newAsOf(opts.AsOf)
	}
	return a, nil
}

// setTime resolves the column that Step is about.
func (a *aggregator) setTime(opts AggregateOptions) error {
	s := a.table.schema
	a.time = s.BucketColumn()
	if opts.Time != "" {
		column, ok := s.Resolve(opts.Time)
		if !ok || s.Columns()[column].Type != encoding.Int64 || s.Columns()[column].Dynamic {
			return fmt.Errorf("%w: time %q: want a fixed int64 column", ErrQuery, opts.Time)
		}
		a.time = column
	}
	if opts.Step < 0 || opts.Step > 0 && a.time < 0 {
		return fmt.Errorf("%w: step %d: want at least 0, and a time column", ErrQuery, opts.Step)
	}
	return nil
}

// calls says whether the condition calls a function of whoever asks.
func (e Expr) calls() bool {
	return e.op == opFunc || e.op == opElement || slices.ContainsFunc(e.args, Expr.calls)
}
