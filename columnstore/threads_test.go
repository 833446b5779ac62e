package columnstore

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/oracle"
	"github.com/granarydb/granary/schema"
	"github.com/granarydb/granary/txn"
)

var threadsDuration = flag.Duration("threads.duration", 2*time.Second, "how long TestThreads runs")

const (
	threadWriters, threadReaders, threadTables = 4, 4, 2

	// Times are ticks, one an insert, and the store keeps 300 to 400 of them. So its memory is
	// bounded however long the test runs, and buckets close, drop and refuse late rows all the
	// time. A memory budget would bound it too, but then the heap would decide which buckets
	// are dropped, unknown to the oracle.
	threadBucket, threadRetention = 100, 300
)

// threadOracle computes the expected content of each snapshot. It keeps sums, not rows: of the commits
// added up so far, by live time bucket, and a list of commits not added up yet. A snapshot's sums are
// noted when exactly the commits at or before it are added up, soon after it was taken. So memory does
// not grow with the test's length.
type threadOracle struct {
	mu     sync.Mutex
	begun  int64                    // transactions, in the order of their starts
	open   [threadWriters]int64     // each writer's transaction: 0, or its number
	logged oracle.Log[threadCommit] // not added up yet
	views  []*threadView            // whose sums are not known yet, oldest first
	tables [threadTables]threadSums
	latest txn.ID // of all snapshots so far

	commits, aborts, refused, both int
	snapshots, reads, longest      int
}

// threadSums is a table's content after the commits that were added up.
type threadSums struct {
	newest  int64
	buckets map[int64]oracle.Sum // by start
}

// threadCommit is a commit as logged by its writer: each bucket's rows.
type threadCommit struct {
	id   txn.ID
	rows [threadTables]map[int64]oracle.Sum
	last [threadTables]int64 // the greatest time
}

// threadView is a snapshot: a reader's results and the expected ones.
type threadView struct {
	commit txn.ID
	begun  int64 // transactions at the time
	want   [threadTables]oracle.Sum
	known  bool
	found  []threadFound
}

type threadFound struct {
	table int
	rows  oracle.Sum
	by    string
}

// start marks the beginning of a writer's commit: from here on, the commit can be in a
// snapshot before it is logged.
func (o *threadOracle) start(writer int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.begun++
	o.open[writer] = o.begun
}

// end logs the commit's result.
func (o *threadOracle) end(writer int, c threadCommit, err error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.open[writer] = 0
	switch {
	case errors.Is(err, ErrTooOld):
		o.refused++
	case err != nil:
		return err
	default:
		o.commits++
		if c.rows[0] != nil && c.rows[1] != nil {
			o.both++
		}
		o.logged.Add(uint64(c.id), c)
		o.longest = max(o.longest, o.logged.Len())
	}
	o.settle()
	return nil
}

// snapshot takes a snapshot and records it, both under one lock, because the oracle must not add up later
// commits before it has the snapshot. Commits do not wait.
func (o *threadOracle) snapshot(store *Store) (*Snapshot, *threadView, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	snap, err := store.Snapshot()
	if err != nil {
		return nil, nil, err
	}
	v := &threadView{commit: snap.Commit(), begun: o.begun}
	if v.commit < o.latest {
		return snap, nil, fmt.Errorf("a snapshot at commit %d after one at %d", v.commit, o.latest)
	}
	o.latest = v.commit
	o.snapshots++
	o.views = append(o.views, v)
	o.settle()
	return snap, v, nil
}

// settle adds up commits: up to the oldest snapshot without sums if all its commits are logged, that is
// if the transactions open when it was taken have ended; everything if there is none.
func (o *threadOracle) settle() {
	for len(o.views) > 0 {
		v := o.views[0]
		for _, number := range o.open {
			if number != 0 && number <= v.begun {
				return
			}
		}
		o.addUp(v.commit)
		for i := range o.tables {
			v.want[i] = o.tables[i].total()
		}
		v.known = true
		o.views = o.views[1:]
	}
	o.addUp(math.MaxUint64)
}

// addUp adds the commits up to last. Their order does not matter, because a bucket dropped by a later
// commit stays dropped.
func (o *threadOracle) addUp(last txn.ID) {
	for _, c := range o.logged.Take(uint64(last)) {
		for i := range o.tables {
			o.tables[i].add(c.rows[i], c.last[i])
		}
	}
}

// add adds rows, and drops the buckets that lie wholly before the newest row by more than the retention.
func (s *threadSums) add(rows map[int64]oracle.Sum, last int64) {
	if rows == nil {
		return
	}
	if s.buckets == nil {
		s.buckets = map[int64]oracle.Sum{}
	}
	s.newest = max(s.newest, last)
	for start, c := range rows {
		s.buckets[start] = s.buckets[start].Plus(c)
	}
	for start := range s.buckets {
		if start < oracle.Floor(s.newest-threadRetention, threadBucket) {
			delete(s.buckets, start)
		}
	}
}

func (s *threadSums) total() (c oracle.Sum) {
	for _, rows := range s.buckets {
		c = c.Plus(rows)
	}
	return c
}

// close compares a snapshot's results. It waits for sums that are not known yet; their writers depend on
// no other goroutine.
func (o *threadOracle) close(v *threadView) error {
	for {
		o.mu.Lock()
		o.settle()
		known := v.known
		o.mu.Unlock()
		if known {
			break
		}
		time.Sleep(100 * time.Microsecond)
	}
	for _, f := range v.found {
		if want := v.want[f.table]; f.rows != want {
			return fmt.Errorf("table %d at commit %d by %s: %+v, the oracle says %+v", f.table, v.commit, f.by, f.rows, want)
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.reads += len(v.found)
	return nil
}

// threadTest is a store under load.
type threadTest struct {
	*testing.T
	opts   Options
	gate   sync.RWMutex // held by each step, and exclusively while the store is closed and opened
	store  *Store
	tables [threadTables]*Table
	oracle threadOracle
	ticks  atomic.Int64
	late   atomic.Int64 // inserts of rows that are too old
	done   atomic.Bool

	splits, compactions, discarded, restarts, filed int64 // of stores that were closed
}

// TestThreads runs writers, readers, the store's maintainer and another maintainer concurrently, with
// real threads and pauses at yield points (C1 to C5, C7). Each snapshot is read several times, by Scan
// and by Aggregate, and must have exactly the rows of the commits at or before it, in each table.
func TestThreads(t *testing.T) {
	effort.Long(t)
	t.Parallel() // it waits
	testThreads(t, "")
}

// TestThreadsRestart is TestThreads of a store with a directory, which is closed and opened again and
// again: with rows in the log and in files, in memory and cold. No commit is lost, and ids go on.
func TestThreadsRestart(t *testing.T) {
	t.Parallel() // it waits
	testThreads(t, t.TempDir())
}

func testThreads(t *testing.T, dir string) {
	test := &threadTest{T: t, opts: Options{
		GranuleRows: 40, FreshParts: 3, MaxParts: 6, GenerationBuckets: 2, FutureLimit: -1, PastLimit: -1, Retention: threadRetention, Yield: pause,
		Dir: dir, LogBytes: 32 << 10, segmentBytes: 64 << 10, queueBytes: 32 << 10,
	}}
	test.store, test.tables[0] = open(t, test.opts, samples(threadBucket))
	second, err := test.store.CreateTable("second", samples(threadBucket))
	if err != nil {
		t.Fatal(err)
	}
	test.tables[1] = second
	t.Cleanup(func() { _ = test.store.Close() })
	test.ticks.Store(10 * threadRetention)
	var all sync.WaitGroup
	run := func(step func() error) {
		all.Go(func() {
			for !test.done.Load() {
				if err := step(); err != nil {
					t.Error(err)
					test.done.Store(true)
				}
			}
		})
	}
	open := func(step func() error) func() error { // the store stays open during the step
		return func() error {
			test.gate.RLock()
			defer test.gate.RUnlock()
			return step()
		}
	}
	for w := range threadWriters {
		rng := rand.New(rand.NewPCG(uint64(w), 11))
		run(open(func() error { return test.write(w, rng) }))
	}
	for range threadReaders {
		run(open(test.hold))
	}
	run(open(func() error {
		time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
		return test.store.Compact(context.Background())
	}))
	if dir != "" {
		run(test.restart)
	}
	for end := time.Now().Add(effort.Less(*threadsDuration, 4)); time.Now().Before(end) && !test.done.Load(); {
		time.Sleep(time.Millisecond)
	}
	test.done.Store(true)
	all.Wait()
	if !t.Failed() {
		test.finish()
	}
}

// restart closes the store after a while, and opens it again.
func (test *threadTest) restart() (err error) {
	time.Sleep(time.Duration(rand.IntN(400)) * time.Millisecond)
	test.gate.Lock()
	defer test.gate.Unlock()
	rows := test.store.Stats().Rows
	if err := test.close(); err != nil {
		return err
	}
	if test.store, err = Open(test.opts); err != nil {
		return err
	}
	test.restarts++
	test.tables = [threadTables]*Table{test.store.Table("samples"), test.store.Table("second")}
	if stats := test.store.Stats(); stats.Rows != rows {
		return fmt.Errorf("%d rows came back, of %d", stats.Rows, rows)
	}
	return nil
}

// close closes the store and counts its work.
func (test *threadTest) close() error {
	err := test.store.Close()
	stats := test.store.Stats()
	test.splits += stats.Splits
	test.compactions += stats.Compactions
	test.discarded += stats.Discarded
	test.filed += int64(stats.Files)
	return err
}

// pause is called at yield points, to make rare interleavings likely. The top-level functions
// of math/rand/v2 are safe for concurrent use.
func pause(string) {
	switch n := rand.IntN(256); {
	case n < 2:
		time.Sleep(time.Duration(rand.IntN(500)) * time.Microsecond)
	case n < 40:
		runtime.Gosched()
	}
}

// write runs a transaction with several inserts into both tables.
func (test *threadTest) write(writer int, rng *rand.Rand) error {
	tx := test.store.Begin()
	defer tx.Abort()
	var c threadCommit
	for range 1 + rng.IntN(3) {
		table := rng.IntN(threadTables)
		b, rows, last := test.rows(rng)
		err := tx.Insert(context.Background(), test.tables[table], b)
		if errors.Is(err, ErrTooOld) {
			test.late.Add(1)
			continue // the transaction has nothing of it (C5)
		}
		if err != nil {
			return err
		}
		if c.rows[table] == nil {
			c.rows[table] = map[int64]oracle.Sum{}
		}
		for start, sum := range rows {
			c.rows[table][start] = c.rows[table][start].Plus(sum)
		}
		c.last[table] = max(c.last[table], last)
	}
	if rng.IntN(6) == 0 {
		test.oracle.mu.Lock()
		defer test.oracle.mu.Unlock()
		test.oracle.aborts++
		return nil // aborted by the defer
	}
	test.oracle.start(writer)
	id, err := tx.Commit()
	c.id = id
	if err := test.oracle.end(writer, c, err); err != nil || id == 0 {
		return err
	}
	snap, err := test.store.Snapshot()
	if err != nil {
		return err
	}
	defer snap.Close()
	if snap.Commit() < id {
		return fmt.Errorf("a snapshot at commit %d after Commit returned %d", snap.Commit(), id)
	}
	if rng.IntN(8) == 0 {
		return test.hold()
	}
	return nil
}

// rows makes a batch, mostly at about the current time, sometimes in two buckets, rarely too late.
func (test *threadTest) rows(rng *rand.Rand) (b schema.Batch, rows map[int64]oracle.Sum, last int64) {
	now := test.ticks.Add(1) - int64(rng.IntN(20))
	if rng.IntN(20) == 0 {
		now -= int64(rng.IntN(2 * threadRetention))
	}
	b, _ = batch(rng, 1+rng.IntN(12), now)
	times := b.Columns["time"]
	times.Int64s = make([]int64, b.Rows)
	rows = map[int64]oracle.Sum{}
	for i, value := range b.Columns["value"].Int64s {
		at := now - int64(rng.IntN(10))
		times.Int64s[i] = at
		start := oracle.Floor(at, threadBucket)
		sum := rows[start]
		sum.Add(value, at)
		rows[start] = sum
		last = max(last, at)
	}
	b.Columns["time"] = times
	return b, rows, last
}

// hold takes a snapshot, keeps it for a while and reads it several times.
func (test *threadTest) hold() error {
	snap, v, err := test.oracle.snapshot(test.store)
	if snap != nil {
		defer snap.Close()
	}
	if err != nil {
		return err
	}
	for range 1 + rand.IntN(3) {
		if rand.IntN(2) == 0 {
			time.Sleep(time.Duration(rand.IntN(15)) * time.Millisecond)
		}
		for table := range threadTables {
			if err := test.read(snap, v, table); err != nil {
				return err
			}
		}
	}
	if now := snap.Commit(); now != v.commit {
		return fmt.Errorf("a snapshot at commit %d is at %d later", v.commit, now)
	}
	return test.oracle.close(v)
}

// read reads a table in two ways.
func (test *threadTest) read(snap *Snapshot, v *threadView, table int) error {
	opts := ScanOptions{Columns: []string{"value", "time"}, Ordered: rand.IntN(4) == 0}
	scan := threadFound{table: table, by: "scan"}
	for row, err := range decodedRows(test.tables[table], snap, opts) {
		if err != nil {
			return err
		}
		scan.rows.Add(row["value"].(int64), row["time"].(int64))
	}
	aggregate := threadFound{table: table, by: "aggregate"}
	parts := []Expr{{}}
	if rand.IntN(2) == 0 { // two queries that select each row once
		aggregate.by = "two aggregates"
		cut := test.ticks.Load() - int64(rand.IntN(threadRetention))
		parts = []Expr{Less("time", cut), AtLeast("time", cut)}
	}
	for _, where := range parts {
		if err := addGroups(&aggregate.rows, test.tables[table], snap, where); err != nil {
			return err
		}
	}
	v.found = append(v.found, scan, aggregate)
	return nil
}

// addGroups aggregates the chosen rows and adds them to a sum.
func addGroups(c *oracle.Sum, table *Table, snap *Snapshot, where Expr) error {
	groups, err := table.Aggregate(context.Background(), snap, AggregateOptions{By: []string{"value", "time"}, Sum: "value", Where: where})
	if err != nil {
		return err
	}
	values, times := groups.Columns[0].Values.Int64s, groups.Columns[1].Values.Int64s
	for i, count := range groups.Counts {
		if groups.Sums[i] != count*values[i] {
			return fmt.Errorf("a group of %d rows of value %d has the sum %d", count, values[i], groups.Sums[i])
		}
		for range count {
			c.Add(values[i], times[i])
		}
	}
	return nil
}

// finish checks the final state and the counters.
func (test *threadTest) finish() {
	for _, how := range []string{"as it was left", "compacted"} {
		if err := test.hold(); err != nil {
			test.Errorf("%s: %v", how, err)
		}
		if err := test.store.Compact(context.Background()); err != nil {
			test.Error(err)
		}
	}
	if err := test.close(); err != nil {
		test.Error(err)
	}
	stats, o := test.store.Stats(), &test.oracle
	if rows := o.tables[0].total().Rows + o.tables[1].total().Rows; stats.Rows != rows {
		test.Errorf("the store has %d rows in the end, the oracle %d", stats.Rows, rows)
	}
	if stats.PendingBytes != test.store.memory.log.Load() || stats.PinnedBytes != 0 {
		test.Errorf("%d bytes are pending and %d pinned, but nobody is there", stats.PendingBytes, stats.PinnedBytes)
	}
	if o.logged.Len()+len(o.views) != 0 || o.longest > 10_000 {
		test.Errorf("the oracle has %d commits and %d snapshots left, and had %d commits to add up", o.logged.Len(), len(o.views), o.longest)
	}
	for _, event := range []struct {
		name string
		n    int64
		rare bool // needs time
	}{
		{"commits", int64(o.commits), false},
		{"commits of two tables", int64(o.both), false},
		{"aborts", int64(o.aborts), false},
		{"inserts refused as too old", test.late.Load(), true},
		{"snapshots", int64(o.snapshots), false},
		{"reads", int64(o.reads), false},
		{"splits", test.splits, false},
		{"compactions", test.compactions, false},
		{"dropped rows", stats.DroppedRows, true},
	} {
		test.Logf("%9d %s", event.n, event.name)
		if event.n == 0 && (!event.rare || o.commits >= 1000) {
			test.Errorf("there were no %s", event.name)
		}
	}
	if test.opts.Dir != "" {
		test.Logf("%9d restarts, %d files", test.restarts, test.filed)
		if test.restarts == 0 || test.filed == 0 {
			test.Error("there were none")
		}
	}
	test.Logf("%9d rewrites discarded, %d commits refused as too old, %d rows and %d bytes in the end, at most %d commits to add up",
		test.discarded, o.refused, stats.Rows, stats.Bytes(), o.longest)
}
