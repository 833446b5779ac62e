package columnstore

import (
	"errors"
	"flag"
	"fmt"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/oracle"
	"github.com/granarydb/granary/schema"
)

// The simulator runs the shipped store, not a model of it. A run is tasks (writers, readers, maintainers)
// that run one at a time, each to its next yield point. A seed decides the next task and its actions. So
// every interleaving of yield points can happen, and the same seed repeats it.
//
// The expected result comes from a naive oracle: each commit's rows, in a list.

var (
	simSeed  = flag.Uint64("sim.seed", 1, "the first seed of the simulator")
	simSeeds = flag.Uint64("sim.seeds", uint64(300-240*boolInt(effort.Race)), "how many histories the simulator runs")
	simTrace = flag.Bool("sim.trace", false, "print what each step of a history does")
)

// TestSimulation runs histories (C1 to C6). It fails at the first wrong history, with the command that
// runs it again.
func TestSimulation(t *testing.T) {
	effort.Alone(t)
	collectRarely(t)
	events := map[string]int{}
	seeds := effort.Less(*simSeeds, 6)
	for seed := *simSeed; seed < *simSeed+seeds; seed++ {
		h := newHistory(seed)
		err := h.run()
		for name, n := range h.events {
			events[name] += n
		}
		if *simTrace {
			t.Logf("seed %d:\n%s", seed, h.traced())
		}
		if err != nil {
			t.Fatalf("%v\nseed %d, commit %s, options %s\nrun it again: go test ./columnstore -run 'TestSimulation$' -sim.seed %d -sim.seeds 1 -sim.trace -v",
				err, seed, head(), h.options(), seed)
		}
		if done := seed - *simSeed + 1; done%100_000 == 0 {
			t.Logf("%d histories", done)
		}
	}
	for _, name := range simEvents {
		t.Logf("%9d %s", events[name], name)
		if events[name] == 0 && seeds >= 300 {
			t.Errorf("event %q never happened", name)
		}
	}
}

// TestSimulationIsDeterministic runs histories twice: the traces are the same,
// byte for byte.
func TestSimulationIsDeterministic(t *testing.T) {
	effort.Alone(t)
	for seed := range effort.Less(uint64(50), 5) {
		var traces [2]string
		for i := range traces {
			h := newHistory(seed)
			if err := h.run(); err != nil {
				t.Fatal(err)
			}
			traces[i] = h.traced()
		}
		if traces[0] != traces[1] {
			t.Fatalf("seed %d: two runs differ:\n%s\n\n%s", seed, traces[0], traces[1])
		}
	}
}

// simEvents are counted over all histories; none may be missing.
var simEvents = []string{
	"step", "commit", "commit of two tables", "abort", "snapshot", "read", "read by scan", "read after other commits",
	"compaction", "split", "rewrite discarded", "insert over several granules", "part routed to children of a split", "refused as too old", "read after retention dropped rows", "close", "refused after close",
	"commit of states", "read of states", "history has a writer", "change of what is committed refused",
	"unit sealed", "unit dropped", "read of units", "late bucket", "row of a bucket that was sealed meanwhile",
	"bucket closed", "bucket cut", "row behind the cut of its bucket", "eviction", "eviction from under an open transaction", "snapshot expired", "read cut off by expiry", "refused for memory", "snapshot that pins memory",
}

// head names the commit under test, for the message of a failure.
func head() string {
	out, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

// simRun is one run of the simulator.
type simRun struct {
	rng    *rand.Rand
	pick   func(n int) int // the next of n tasks
	only   []string        // yield points that count; nil: all
	opts   Options
	bucket int64
	store  *Store
	tables []*Table

	tasks   []*task
	current *task
	events  map[string]int
	trace   []simStep
	failure error

	commits oracle.Log[simCommit]
	views   []simView
	snaps   map[*Snapshot]bool
	reading int // reads in progress
	dropped map[*granule.Generation]int64
	offered map[int]int64               // by table: the newest time of any row inserted
	before  map[int]*catalog.TableState // by table: in the step before
	cold    coldSeen
	checked struct { // by checkMemory
		root     *catalog.Database
		accounts [6]int64
		parts    map[*granule.Part]bool
	}
	sections []granule.Section // of the granule that is looked at
	nextRow  int64
	excess   int64 // bytes of the store after recovery, if they are more than the budget and must stay

	units simUnits

	*crashing // nil without a log

	states    *History // none with a memory budget: a chunk of tiles is more than that
	stateTime int64    // end of the committed states
	kept      []simState
}

// task is a coroutine: next runs it to its next yield point.
type task struct {
	name    string
	commit  *simCommit // that the task is about to publish
	drops   bool       // the store drops ranges within the task
	crowded int64      // bytes in use when the task chose the ranges that it drops one after the other; 0: none chosen
	next    func() (string, bool)
	stop    func()
	yield   func(string) bool
}

// simStep is a step of a task, to a yield point.
type simStep struct{ task, point string }

// traced returns the steps, one a line.
func (h *simRun) traced() string {
	var out strings.Builder
	for _, s := range h.trace {
		fmt.Fprintf(&out, "%s: %s\n", s.task, s.point)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// simCommit is the oracle's record of a commit: the rows that it added to each
// table.
type simCommit struct {
	rows      [][]string
	states    []simChange
	floor     int64 // of the history behind a commit that has its writer
	hasWriter bool
	drops     map[int]int64           // by table, the time before which rows were dropped
	forDisk   bool                    // the store dropped them
	units     bool                    // it seals or drops units
	gone      map[int]map[string]bool // by table, the rows of units that were dropped
	id        uint64                  // once it is published, of a commit of units
}

// simView is a reader's result.
type simView struct {
	commit uint64
	table  int
	floor  int64 // of the snapshot: rows before it are dropped or evicted
	rows   []string
	by     string
}

func newHistory(seed uint64) *simRun {
	rng := rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))
	h := &simRun{rng: rng, pick: rng.IntN, events: map[string]int{}, snaps: map[*Snapshot]bool{}, dropped: map[*granule.Generation]int64{}, before: map[int]*catalog.TableState{}, cold: newColdSeen(), offered: map[int]int64{}}
	h.checked.parts = map[*granule.Part]bool{}
	h.opts = Options{
		GranuleRows: 1 + rng.IntN(24), FreshParts: 2 + rng.IntN(4), FutureLimit: -1, PastLimit: -1, Manual: true, GenerationBuckets: 1 + rng.IntN(4),
		Rand: strings.NewReader(strings.Repeat("granary!", 8)), Yield: h.yieldPoint,
	}
	h.opts.MaxParts = h.opts.FreshParts + rng.IntN(6)
	h.bucket = []int64{0, 20, 200}[rng.IntN(3)]
	if h.bucket == 20 && rng.IntN(2) == 0 {
		h.opts.Retention = time.Duration(20 + rng.IntN(60))
	}
	if rng.IntN(3) == 0 {
		h.opts.MemoryBudget = int64(20_000 + rng.IntN(150_000))
	}
	h.units = newSimUnits(seed, h.bucket, 4)
	if seed%3 > 0 { // drawn from the seed alone, so that the histories of earlier seeds are unchanged
		h.opts.BucketRows = int(1 + seed%7*5)
	}
	if seed%3 == 1 {
		h.opts.smallBucket = -1 + int64(seed%2)*500 // most buckets have a file of their own
	}
	if seed%4 == 3 {
		h.opts.stringBytes = int64(1 + seed%5*40) // parts store strings
	}
	if rng.IntN(4) == 0 {
		h.opts.GranuleBytes = 2_000 + rng.IntN(4_000)
	}
	return h
}

// timesGoOn reports whether later rows have later times, so that buckets get old.
func (h *simRun) timesGoOn() bool {
	return h.opts.Retention > 0 || h.opts.MemoryBudget > 0 || h.crashing != nil && h.space.bounded
}

func (h *simRun) options() string {
	return fmt.Sprintf("GranuleRows %d, GranuleBytes %d, FreshParts %d, MaxParts %d, Retention %d, MemoryBudget %d, DiskBudget %d, GenerationBuckets %d, BucketRows %d, bucket %d, %d tasks",
		h.opts.GranuleRows, h.opts.GranuleBytes, h.opts.FreshParts, h.opts.MaxParts, h.opts.Retention, h.opts.MemoryBudget, h.opts.DiskBudget,
		h.opts.GenerationBuckets, h.opts.BucketRows, h.bucket, len(h.tasks))
}

// yieldPoint is called by the store. It returns control to the scheduler.
func (h *simRun) yieldPoint(point string) {
	if t := h.current; t != nil && t.drops && point == "commit/published" {
		h.droppedForSpace()
	} else if t != nil && t.commit != nil && point == "commit/published" {
		root := h.store.roots.Root()
		h.committedStates(t.commit.states)
		if t.commit.hasWriter { // it drops old states even if all of its changes were refused
			t.commit.floor = root.State.Histories[h.states.ordinal].Start()
		}
		if t.commit.units {
			t.commit.id = uint64(root.Commit)
			h.publishedUnits()
		}
		h.commits.Add(uint64(root.Commit), *t.commit)
		t.commit = nil
	}
	if t := h.current; t != nil {
		switch {
		case point == "space/drop":
			t.drops, t.crowded = true, h.dropsForSpace(t.crowded)
		case point == "space/dropped":
			t.drops = false
		case !t.drops:
			t.crowded = 0
		}
	}
	if h.only != nil && !slices.Contains(h.only, point) {
		return
	}
	if t := h.current; t != nil && !t.yield(point) {
		panic(errStopped)
	}
}

// errStopped unwinds a task that is stopped before its end.
var errStopped = errors.New("history was stopped")

// start adds a task.
func (h *simRun) start(name string, body func()) {
	t := &task{name: name}
	t.next, t.stop = iter.Pull(func(yield func(string) bool) {
		defer func() {
			if r := recover(); r != nil && r != errStopped { //nolint:errorlint // the very value
				h.fail("%s panicked: %v", name, r)
			}
		}()
		t.yield = yield
		body()
	})
	h.tasks = append(h.tasks, t)
}

func (h *simRun) fail(format string, args ...any) {
	if h.failure == nil {
		h.failure = fmt.Errorf(format, args...)
	}
}

func (h *simRun) note(event string) { h.events[event]++ }

// run opens a store, adds tasks, and schedules them.
func (h *simRun) run() error {
	if err := h.open(1 + h.rng.IntN(2)); err != nil {
		return err
	}
	defer func() { h.store.Close() }()
	h.startTasks()
	return h.schedule()
}

func (h *simRun) open(tables int) error {
	var err error
	if h.store, err = Open(h.opts); err != nil {
		return err
	}
	for i := range tables {
		table, err := h.store.CreateTable(fmt.Sprint("t", i), samples(h.bucket))
		if err != nil {
			return err
		}
		h.tables = append(h.tables, table)
	}
	if h.opts.MemoryBudget == 0 && (h.opts.Retention == 0 || h.crashing != nil) {
		h.states, err = h.store.CreateHistory("states", HistoryOptions{})
	}
	return err
}

// schedule runs the tasks one step at a time until all have ended, then checks their views.
func (h *simRun) schedule() error {
	for len(h.tasks) > 0 && h.failure == nil {
		i := h.pick(len(h.tasks))
		h.current = h.tasks[i]
		point, more := h.current.next()
		h.note("step")
		h.trace = append(h.trace, simStep{h.current.name, point})
		h.current = nil
		h.checkMemory()
		if h.crashing != nil {
			h.checkSpace()
		}
		if !more {
			h.tasks = slices.Delete(h.tasks, i, i+1)
		}
		if h.crashing != nil && h.failure == nil {
			if h.steps--; h.steps == 0 {
				h.crash()
				h.steps = h.rng.IntN(3) * (20 + h.rng.IntN(300))
			}
		}
	}
	for _, t := range h.tasks {
		t.stop()
	}
	if h.failure == nil {
		h.check()
	}
	if pending := h.store.memory.pending.Load(); h.failure == nil && pending != 0 {
		h.fail("all transactions have ended, but %d bytes are pending", pending)
	}
	if h.failure == nil && h.states != nil && h.states.busy.Load() {
		h.fail("all transactions have ended, but one has the writer of the history")
	}
	return h.failure
}

func (h *simRun) startTasks() {
	for i := range 3 + h.rng.IntN(4) {
		h.start(fmt.Sprint("writer ", i), h.write)
	}
	for i := range 2 + h.rng.IntN(4) {
		h.start(fmt.Sprint("reader ", i), h.read)
	}
	for i := range 2 + h.rng.IntN(3) {
		h.start(fmt.Sprint("maintainer ", i), h.maintain)
	}
	h.start("compactor", h.compact)
	if h.units.rng != nil {
		h.start("sealer", h.sealUnits)
	}
	if h.crashing != nil {
		h.start("log", h.logs)
		h.start("flusher", h.files)
		return
	}
	if h.rng.IntN(4) == 0 {
		h.start("closer", h.closeStore)
	}
}

// check compares every view with the oracle: exactly the rows of the commits at or before it,
// in its table.
func (h *simRun) check() {
	for _, v := range h.views {
		want := h.want(v.commit, v.table, v.floor)
		if !slices.Equal(want, v.rows) {
			h.fail("%s: table %d at commit %d, floor %d has %d rows, the oracle %d\nmissing %v\ntoo many %v",
				v.by, v.table, v.commit, v.floor, len(v.rows), len(want), oracle.Without(want, v.rows), oracle.Without(v.rows, want))
			return
		}
	}
	h.checkKeptStates()
	h.checkGranules()
	if _, err := h.checkStamps(); err != nil {
		h.fail("%v", err)
	}
}

// want is the oracle: the rows of all commits up to commit, without rows before the floor. The floor of
// retention and of drops is known. A store in memory with a budget may have raised it further, but never
// beyond the newest row of any insert.
func (h *simRun) want(commit uint64, table int, floor int64) []string {
	var rows []string
	gone := map[string]bool{}
	newest, expected := int64(math.MinInt64), int64(math.MinInt64)
	for _, c := range h.commits.Until(commit) {
		rows = append(rows, c.rows[table]...)
		maps.Copy(gone, c.gone[table])
		for _, row := range c.rows[table] {
			newest = max(newest, timeOf(row))
		}
		if at, dropped := c.drops[table]; dropped && newest != math.MinInt64 { // at most the range of the newest row goes
			expected = max(expected, min(oracle.Floor(at, h.bucket), oracle.Floor(newest, h.bucket)+h.bucket))
		}
	}
	if len(rows) == 0 {
		return rows
	}
	if keep := int64(h.opts.Retention); keep > 0 {
		expected = max(expected, oracle.Floor(newest-keep, h.bucket))
	}
	evicted := h.opts.MemoryBudget > 0 && h.crashing == nil && floor > expected && floor <= h.offered[table]
	if floor != expected && !evicted {
		h.fail("table %d at commit %d: rows are kept from %d, the oracle says %d", table, commit, floor, expected)
	}
	if h.bucket > 0 && floor > 0 {
		before := len(rows)
		rows = slices.DeleteFunc(rows, func(row string) bool { return timeOf(row) < floor })
		if len(rows) < before && h.opts.Retention > 0 {
			h.note("read after retention dropped rows")
		}
	}
	rows = slices.DeleteFunc(rows, func(row string) bool { return gone[row] })
	slices.Sort(rows)
	return rows
}

// timeOf reads the time from the oracle's form of a row.
func timeOf(row string) (at int64) {
	_, rest, _ := strings.Cut(row, "time=")
	digits, _, _ := strings.Cut(rest, " ")
	at, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		panic(err)
	}
	return at
}

// checkGranules checks the last root: granules adjoin within a bucket (C6), rows are inside their bounds,
// and no name of an aborted transaction is visible.
func (h *simRun) checkGranules() {
	root := h.store.roots.Root().State
	for i, table := range h.tables {
		end, last := map[string]string{}, ""
		state := root.Table(table.ordinal)
		for bound, g := range state.Granules.All() {
			lo, hi := g.Bounds()
			bucketLo, bucketHi := table.schema.BucketBounds(bucketOf(table.schema, lo))
			if want, seen := end[bucketLo]; lo != bound || (seen && lo != want) || (!seen && lo != bucketLo) {
				h.fail("table %d: granule [%q, %q) does not adjoin the one before, which ends at %q", i, lo, hi, want)
			}
			if lo < last {
				h.fail("table %d: granule [%q, %q) begins before the end of the one before, %q", i, lo, hi, last)
			}
			end[bucketLo], last = hi, hi
			for _, s := range g.Sections() {
				if in := s.Within(table.schema, lo, hi); in != s {
					h.fail("table %d: granule [%q, %q) has rows out of its bounds", i, lo, hi)
				}
			}
			_ = bucketHi
		}
		for bucketLo, hi := range end {
			if _, want := table.schema.BucketBounds(bucketOf(table.schema, bucketLo)); hi != want {
				h.fail("table %d: the granules of bucket %q end at %q, not at %q", i, bucketLo, hi, want)
			}
		}
		rows := h.want(math.MaxUint64, i, state.Floor)
		for _, name := range slices.Concat(state.Family("labels"), state.Family("tags")) {
			if !slices.ContainsFunc(rows, func(row string) bool { return strings.Contains(row, name+"=") }) {
				h.fail("table %d: column %s shows, but no committed row has it", i, name)
			}
		}
	}
}

// bucketOf reads the start of the bucket from a bound.
func bucketOf(s *schema.Schema, bound string) int64 {
	if s.BucketColumn() < 0 {
		return 0
	}
	var start uint64
	for i := range 8 {
		start = start<<8 | uint64(bound[i])
	}
	return int64(start ^ 1<<63)
}
