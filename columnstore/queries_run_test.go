package columnstore

import (
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/oracle"
	"github.com/granarydb/granary/txn"
)

var (
	queriesPairs = flag.Int("queries.pairs", effort.Part(10_000, 4), "how many pairs of data and question TestQueries asks at least")
	querySeed    = flag.Uint64("queries.seed", 1, "the first seed of TestQueries")
)

// queryStages are the times of questions. Each must occur. Stages with "held" ask older
// snapshots, whose answers must not change.
var queryStages = []string{"empty", "fresh", "rewriting", "rewriting,held", "during", "compacted", "maintained", "cold", "held", "running", "running,held"}

// TestQueries asks random tables random questions of all shapes and compares each answer with
// that of a naive oracle (C2, C3): before, between the steps of and after compaction, while
// rows are inserted and granules rewritten in the middle of a question, and while goroutines
// do so all the time, over several generations of dictionaries. Some tables are in directories:
// buckets of these become cold between questions and amid them, and get rows again.
func TestQueries(t *testing.T) {
	collectRarely(t)
	pairs := effort.Less(*queriesPairs, 10)
	switch { // the oracle is the slow part
	case effort.Race && testing.Short():
		pairs = min(pairs, 500)
	case effort.Race:
		pairs = min(pairs, 1500)
	}
	var mu sync.Mutex
	total := queryAsker{shapes: map[string]int{}, stages: map[string]int{}, ops: map[string]int{}}
	start, seed, generations := time.Now(), *querySeed, 0
	for total.pairs < pairs && !t.Failed() {
		next := seed + uint64(max(1, min(64, (pairs-total.pairs)/queriesPerSet)))
		t.Run("seeds", func(t *testing.T) {
			for seed := seed; seed < next; seed++ {
				t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
					t.Parallel()
					a := newQueryAsker(t, seed)
					a.run()
					mu.Lock()
					defer mu.Unlock()
					total.pairs, total.empty = total.pairs+a.pairs, total.empty+a.empty
					generations = max(generations, len(a.table.generations.All()))
					for _, counts := range [][2]map[string]int{{total.shapes, a.shapes}, {total.stages, a.stages}, {total.ops, a.ops}} {
						for name, n := range counts[1] {
							counts[0][name] += n
						}
					}
				})
			}
		})
		seed = next
	}
	t.Logf("seeds %d to %d: %d pairs, %d of them with an empty answer, %.0f a second; up to %d generations",
		*querySeed, seed-1, total.pairs, total.empty, float64(total.pairs)/time.Since(start).Seconds(), generations)
	all := pairs >= 1500 && !t.Failed()
	for _, counts := range []struct {
		names []string
		of    map[string]int
	}{{queryShapes, total.shapes}, {queryStages, total.stages}, {oracle.Ops, total.ops}} {
		for _, name := range counts.names {
			t.Logf("%9d %s", counts.of[name], name)
			if counts.of[name] == 0 && all {
				t.Errorf("%q was never asked", name)
			}
		}
	}
	if all && (total.empty*10 > total.pairs*6 || generations < 4) {
		t.Errorf("%d of %d answers are empty, over %d generations", total.empty, total.pairs, generations)
	}
}

const queriesPerSet = 160 // about

func newQueryAsker(t *testing.T, seed uint64) *queryAsker {
	a := &queryAsker{T: t, querySet: newQuerySet(seed), shapes: map[string]int{}, stages: map[string]int{}, ops: map[string]int{}}
	opts := a.opts
	if opts.Manual {
		opts.Yield = a.yield
	}
	if opts.Manual && seed%3 == 0 {
		opts.FS, opts.segmentBytes = crashfs.New(crashfs.Options{}), 64<<10 // in memory
	}
	a.store, a.table = open(t, opts, a.def)
	a.writer = &queryInserter{querySet: a.querySet, rng: a.rng, table: a.table}
	return a
}

func (a *queryAsker) run() {
	a.ask(a.view("empty"), 2)
	if !a.opts.Manual {
		a.runWithOthers()
		return
	}
	var held []*queryView
	look := func(when string, n int) *queryView {
		if a.rng.IntN(2) == 0 {
			a.cool()
		}
		v := a.view(when)
		a.ask(v, n)
		held = append(held, v)
		return v
	}
	a.insertSome(a.total / 2)
	before := look("fresh", 20)
	a.step(before, 8)
	a.compact()
	look("compacted", 20)
	a.insertSome(a.total / 3)
	before = look("fresh upon base", 20)
	a.step(before, 8)
	for range 4 {
		v := a.view("during inserts and rewrites")
		a.during = true
		a.ask(v, 6)
		a.during = false
		held = append(held, v)
	}
	if err := a.store.Maintain(a.Context()); err != nil {
		a.Error(err)
	}
	look("maintained", 14)
	if a.cool() {
		look("cold", 20)
		a.insertSome(a.total / 10)
		look("cold, and fresh rows", 20)
	}
	a.compact()
	look("compacted", 20)
	for _, v := range held {
		was := v.when
		v.when = "held since " + was
		a.ask(v, 3)
	}
}

func (a *queryAsker) compact() {
	if err := a.store.Compact(a.Context()); err != nil {
		a.Error(err)
	}
}

// view takes a snapshot of the rows so far.
func (a *queryAsker) view(when string) *queryView {
	return newQueryView(a.querySet, snapshot(a.T, a.store), len(a.rows), when)
}

// insertSome makes and commits about n rows, in many parts.
func (a *queryAsker) insertSome(n int) {
	rows := a.makeRows(n)
	for len(rows) > 0 {
		k := min(len(rows), 1+a.rng.IntN(max(20, n/12)))
		a.writer.insert(a.T, rows[:k])
		rows = rows[k:]
	}
}

// step rewrites granules one by one and queries the current state and the initial state after each.
func (a *queryAsker) step(before *queryView, steps int) {
	when := before.when
	for i := range steps {
		a.rewriteOne()
		if i%2 == 0 {
			before.when = "rewriting,held since " + when
			a.ask(before, 2)
		} else {
			a.ask(a.view("rewriting"), 3)
		}
	}
	before.when = when
}

// cool writes files and unloads some of their buckets, in a table with a directory.
func (a *queryAsker) cool() bool {
	if a.store.log == nil {
		return false
	}
	if a.rng.IntN(3) > 0 {
		if err := a.store.flusher.flush(a.Context()); err != nil {
			a.Error(err)
		}
	}
	for _, v := range a.store.memory.unloadable(a.store.roots.Root().State) {
		if a.rng.IntN(4) > 0 {
			a.store.memory.unload(v)
		}
	}
	if a.rng.IntN(2) == 0 {
		a.store.cache.Shrink(math.MaxInt64)
	}
	return true
}

// rewriteOne runs a step of maintenance, or rewrites any granule.
func (a *queryAsker) rewriteOne() {
	if a.rng.IntN(2) == 0 && a.store.maintainer.step() {
		return
	}
	granules := a.store.roots.Root().State.Table(a.table.ordinal).Granules
	var all []string
	for bound := range granules.All() {
		all = append(all, bound)
	}
	if len(all) > 0 {
		g, _ := granules.Get(pick(a.rng, all))
		if _, err := a.store.maintainer.rewrite(a.table, g); err != nil {
			a.Error(err)
		}
	}
}

// yield inserts or rewrites in the middle of a question, and inserts in the middle of
// rewrites, so that parts are divided where granules split.
func (a *queryAsker) yield(point string) {
	asked, merged := a.during && point == "read/granule", point == "maintain/merged"
	if a.busy || !asked && !merged || a.rng.IntN(3) > 0 {
		return
	}
	a.busy = true // the actions here yield too
	if room := len(a.rows) < 3*a.total; room && (merged || a.rng.IntN(3) == 0) {
		a.insertSome(1 + a.rng.IntN(12))
	} else if asked && (a.rng.IntN(4) > 0 || !a.cool()) {
		a.rewriteOne()
	}
	a.busy = false
}

// queryCommit is the number of rows after a commit.
type queryCommit struct {
	id txn.ID
	n  int
}

// runWithOthers asks while a goroutine inserts and the maintainer rewrites. All rows are made before. A
// snapshot has the rows up to its commit.
func (a *queryAsker) runWithOthers() {
	first := a.store.roots.Root().Commit
	rows := a.makeRows(a.total)
	writer := queryInserter{querySet: a.querySet, rng: rand.New(rand.NewPCG(a.seed, 16)), table: a.table}
	var mu sync.Mutex
	commits := []queryCommit{{first, 0}}
	asked, done := make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(done)
		for n, size := 0, max(1, len(rows)/100); n < len(rows); {
			k := min(n+1+writer.rng.IntN(2*size), len(rows))
			id := writer.insert(a.T, rows[n:k])
			mu.Lock()
			commits = append(commits, queryCommit{id, k})
			mu.Unlock()
			n = k
			<-asked // one more for each question
		}
		for range asked { // until there are no more questions
		}
	}()
	var held []*queryView
	for i := range 30 {
		v := a.viewOf(&mu, &commits)
		for range 4 {
			select {
			case asked <- struct{}{}:
			default:
			}
			a.ask(v, 1)
		}
		if held = append(held, v); i%3 == 2 {
			old := pick(a.rng, held)
			old.when = "running,held"
			a.ask(old, 4)
		}
	}
	close(asked)
	<-done
}

// viewOf takes a snapshot and waits until its rows are known.
func (a *queryAsker) viewOf(mu *sync.Mutex, commits *[]queryCommit) *queryView {
	snap := snapshot(a.T, a.store)
	for {
		mu.Lock()
		i := slices.IndexFunc(*commits, func(c queryCommit) bool { return c.id == snap.Commit() })
		n := 0
		if i >= 0 {
			n = (*commits)[i].n
		}
		mu.Unlock()
		if i >= 0 {
			return newQueryView(a.querySet, snap, n, "running")
		}
		runtime.Gosched() // the commit is visible, but not yet logged
	}
}

func (a *queryAsker) askSeriesColumns(v *queryView, where *oracle.Cond[int], must, may map[string]oracle.Cells) {
	a.shapes["series columns"]++
	a.question = "series columns where " + where.Text(a.columnName)
	got, err := a.table.SeriesColumns(a.Context(), v.snap, a.expr(where))
	if err != nil || !slices.IsSorted(got) {
		a.errorf(v, "%q, %v", got, err)
	}
	names := func(series map[string]oracle.Cells) []string {
		out := map[string]bool{}
		for _, row := range series {
			for i := range a.columns {
				if a.columns[i].series && row[i] != nil {
					out[a.columns[i].name] = true
				}
			}
		}
		return slices.Collect(maps.Keys(out))
	}
	a.within(v, "columns", got, names(must), names(may))
}

func (a *queryAsker) askSeriesValues(v *queryView, where *oracle.Cond[int], must, may map[string]oracle.Cells) {
	var columns []int
	for i := range a.columns {
		if a.columns[i].series {
			columns = append(columns, i)
		}
	}
	if len(columns) == 0 {
		return
	}
	column := pick(a.rng, columns)
	a.shapes["series values"]++
	a.question = fmt.Sprintf("series values of %s where %s", a.columns[column].name, where.Text(a.columnName))
	got, err := a.table.SeriesValues(a.Context(), v.snap, a.columns[column].name, a.expr(where))
	if err != nil || !slices.IsSorted(got) {
		a.errorf(v, "%q, %v", got, err)
	}
	values := func(series map[string]oracle.Cells) []string {
		out := map[string]bool{}
		for _, row := range series {
			if value, ok := row[column].(string); ok {
				out[value] = true
			}
		}
		return slices.Collect(maps.Keys(out))
	}
	a.within(v, "values", got, values(must), values(may))
}
