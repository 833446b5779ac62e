package columnstore

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/schema"
)

var (
	loaderRows   = flag.Int("loader.rows", 1_000_000, "rows that the loader of TestMemoryBudget inserts")
	loaderDir    = flag.Bool("loader.dir", false, "the store of TestMemoryBudget has a directory")
	loaderBudget = flag.Int64("loader.budget", 4<<20, "memory budget of TestMemoryBudget, in bytes")
)

// loader inserts rows at full speed: profiles of 500 rows from four writers, 10,000 rows for
// each second of data time, and 5,000 new stacks of depth 20 in each generation.
type loader struct {
	table *Table
	batch []loaderBatch // one per writer, made before the heap is measured

	// gate stops all goroutines at the next yield point, in the middle of inserts and
	// rewrites. Without it a measurement would count allocations made during it that are
	// garbage already.
	gate sync.RWMutex

	next    atomic.Int64 // number of the next profile
	refused atomic.Int64 // profiles
	tooLate atomic.Int64
}

const (
	loaderProfile = 500
	loaderSecond  = 10_000 / loaderProfile // profiles
	loaderBucket  = 10                     // seconds
	loaderBuckets = 4                      // a generation
	loaderStacks  = 5000                   // a generation
	loaderDepth   = 20
)

type loaderBatch struct {
	schema.Batch
	frames []uuid.UUID
}

func newLoader(writers int) *loader {
	l := &loader{}
	for range writers {
		b := loaderBatch{frames: make([]uuid.UUID, loaderProfile*loaderDepth)}
		stacks := make([][]uuid.UUID, loaderProfile)
		for i := range stacks {
			stacks[i] = b.frames[i*loaderDepth : (i+1)*loaderDepth]
		}
		b.Rows = loaderProfile
		b.Columns = map[string]encoding.Vector{
			"kind": encoding.Strings("cpu"), "labels.pod": encoding.Strings(""), "labels.node": encoding.Strings(""),
			"stack": encoding.UUIDLists(stacks...), "time": encoding.Int64s(0), "value": encoding.Int64s(1),
		}
		l.batch = append(l.batch, b)
	}
	return l
}

// fill makes the batch profile n.
func (b *loaderBatch) fill(n int64) {
	second := n / loaderSecond
	generation := second / (loaderBucket * loaderBuckets)
	pod := n % 200
	b.Columns["labels.pod"].Strings[0] = fmt.Sprint("pod-", pod, "-", generation)
	b.Columns["labels.node"].Strings[0] = fmt.Sprint("node-", pod%20)
	b.Columns["time"].Int64s[0] = second*int64(time.Second) + n%loaderSecond
	for i := range loaderProfile {
		stack := (uint64(n)*2654435761 + uint64(i)*uint64(i)) % loaderStacks
		for d := range loaderDepth {
			f := &b.frames[i*loaderDepth+d]
			binary.LittleEndian.PutUint64(f[:8], uint64(generation))
			binary.LittleEndian.PutUint64(f[8:], stack/(1+uint64(loaderDepth-1-d))<<8|uint64(d)) // shared by more stacks toward the root
		}
	}
}

// load inserts profiles up to the given number.
func (l *loader) load(t *testing.T, to int64) {
	var wg sync.WaitGroup
	for w := range l.batch {
		wg.Go(func() {
			for {
				n := l.next.Add(1) - 1
				if n >= to {
					return
				}
				b := &l.batch[w]
				b.fill(n)
				switch _, err := l.table.Insert(context.Background(), b.Batch); {
				case errors.Is(err, ErrMemory):
					l.refused.Add(1)
				case errors.Is(err, ErrTooOld):
					l.tooLate.Add(1)
				case err != nil:
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	l.next.Store(to)
}

// liveHeap returns DESIGN's measure: the heap after a collection.
func liveHeap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestMemoryBudget loads several times the rows of the budget. The heap, sampled while the
// writers run, stays within a tenth above the budget; the oldest buckets are evicted, and
// Stats counts them; the kept rows can be queried all the time. The same holds with a snapshot
// held throughout. With the budget of a service:
//
//	go test ./columnstore -run TestMemoryBudget -v -loader.rows 30000000 -loader.budget 67108864 -timeout 30m
func TestMemoryBudget(t *testing.T) {
	effort.Slow(t)
	if effort.Race {
		t.Skip("the race detector has a heap of its own")
	}
	collectAsUsual(t)
	for _, held := range []bool{false, true} {
		t.Run(fmt.Sprintf("snapshot held %v", held), func(t *testing.T) { testLoader(t, held) })
	}
}

func testLoader(t *testing.T, held bool) {
	profiles := int64(*loaderRows / loaderProfile)
	l := newLoader(4)
	runtime.GC() // the second collection frees the pools of an earlier run
	before := liveHeap()
	opts := Options{MemoryBudget: *loaderBudget, GenerationBuckets: loaderBuckets, FutureLimit: -1, PastLimit: -1, Yield: func(string) {
		l.gate.RLock()
		l.gate.RUnlock() //nolint:staticcheck // to pass the gate is all
	}}
	if *loaderDir {
		opts.Dir = t.TempDir()
	}
	store, err := Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if l.table, err = store.CreateTable("samples", samples(loaderBucket*int64(time.Second))); err != nil {
		t.Fatal(err)
	}
	stop, done := make(chan struct{}), make(chan int64)
	go func() { done <- l.sample(t, store, before, stop) }()
	l.load(t, profiles/5)
	var snap *Snapshot
	if held {
		if snap, err = store.Snapshot(); err != nil {
			t.Fatal(err)
		}
		defer snap.Close()
	}
	started := time.Now()
	l.load(t, profiles)
	took := time.Since(started)
	close(stop)
	peak := <-done

	stats := store.Stats()
	rows := loaderProfile * (profiles - l.refused.Load() - l.tooLate.Load())
	gone := stats.EvictedRows
	if *loaderDir {
		gone = stats.ColdRows
	}
	if stats.Rows+stats.EvictedRows != rows || gone == 0 || *loaderDir && stats.EvictedRows > 0 {
		t.Errorf("%d rows kept, %d of them cold, %d evicted, %d inserted; where all rows fit, raise -loader.rows", stats.Rows, stats.ColdRows, stats.EvictedRows, rows)
	}
	if most := *loaderBudget + *loaderBudget/10; peak > most {
		t.Errorf("the heap was up to %d bytes, want at most %d", peak, most)
	}
	live := liveHeap() - before
	t.Logf("%d rows in %v: heap at most %.1f MiB of %.1f, at the end %.1f MiB, accounted %.1f (rows %.1f, stacks %.1f, series %.1f, pinned %.1f)", rows, took,
		mib(peak), mib(*loaderBudget), mib(live), mib(stats.Bytes()), mib(stats.PartBytes), mib(stats.StackBytes), mib(stats.SeriesBytes), mib(stats.PinnedBytes))
	t.Logf("%d rows kept since %s, %d of them cold, %.1f MiB in the cache, %d evicted, %d snapshots expired, %d profiles refused, %d too late, write amplification %.1f, %d parts in %d granules",
		stats.Rows, stats.Oldest.UTC().Format(time.TimeOnly), stats.ColdRows, mib(stats.CacheBytes), stats.EvictedRows, stats.Expired, l.refused.Load(), l.tooLate.Load(), stats.WriteAmplification(), stats.Parts, stats.Granules)
	if held {
		checkHeld(t, store, l.table, snap)
	}
	if *loaderDir {
		store, table := checkReopened(t, store, opts, rows)
		if !held {
			l.checkAnswers(t, store, table, profiles)
		}
	}
	runtime.KeepAlive(l)
}

// checkAnswers compares a store's answers with a store without a budget and a directory that gets the
// same profiles: for all rows, and for 40 time ranges.
func (l *loader) checkAnswers(t *testing.T, store *Store, table *Table, profiles int64) {
	t.Helper()
	memory, all := open(t, Options{GenerationBuckets: loaderBuckets, FutureLimit: -1}, samples(loaderBucket*int64(time.Second)))
	l.table = all
	l.next.Store(0)
	l.load(t, profiles)
	rng := rand.New(rand.NewPCG(uint64(profiles), 1))
	questions := []AggregateOptions{{Sum: "value", By: []string{"kind", "labels.pod", "labels.node"}}}
	for i := range 40 {
		from := rng.Int64N(profiles/loaderSecond) * int64(time.Second)
		width := 1 + rng.Int64N(int64(time.Second)<<rng.IntN(5))
		by := [][]string{{"stack"}, {"labels.node", "time"}, {"stack", "labels.pod"}, {"labels", "kind"}}[i%4]
		questions = append(questions, AggregateOptions{Sum: "value", By: by, Where: And(AtLeast("time", from), Less("time", from+width))})
	}
	answers := func(store *Store, table *Table) (out []map[string]string) {
		err := store.View(t.Context(), func(snap *Snapshot) error {
			for _, question := range questions {
				g, err := table.Aggregate(t.Context(), snap, question)
				if err != nil {
					return err
				}
				out = append(out, sumsOf(t, g))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	groups, want := 0, answers(memory, all)
	for i, got := range answers(store, table) {
		if !maps.Equal(got, want[i]) {
			t.Errorf("%v: %d groups, without a budget %d", questions[i], len(got), len(want[i]))
		}
		groups += len(got)
	}
	t.Logf("%d answers of %d groups are those without a budget", len(questions), groups)
}

// checkReopened closes the store, and asks the store that opens its directory for all rows, whose values
// are 1.
func checkReopened(t *testing.T, store *Store, opts Options, rows int64) (*Store, *Table) {
	t.Helper()
	before := time.Now()
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	closed, files := time.Since(before), store.Stats().FileBytes
	before = time.Now()
	store, table := reopen(t, opts)
	opened := time.Since(before)
	before = time.Now()
	err := store.View(t.Context(), func(snap *Snapshot) error {
		g, err := table.Aggregate(t.Context(), snap, AggregateOptions{Sum: "value", By: []string{"kind"}})
		if err == nil && (len(g.Sums) != 1 || g.Sums[0] != rows || g.Counts[0] != rows) {
			t.Errorf("the rows sum to %v, want %d", g.Sums, rows)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	t.Logf("closed in %v, %.2f bytes a row; opened in %v, and all rows summed in %v: %.1f MiB in the cache",
		closed, float64(files)/float64(rows), opened, time.Since(before), mib(store.Stats().CacheBytes))
	return store, table
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// checkHeld reads the held snapshot: its answer is unchanged, or ErrSnapshotExpired.
func checkHeld(t *testing.T, store *Store, table *Table, snap *Snapshot) {
	t.Helper()
	_, err := table.Aggregate(t.Context(), snap, AggregateOptions{Sum: "value"})
	if expired := store.Stats().Expired; errors.Is(err, ErrSnapshotExpired) && expired == 0 || err != nil && !errors.Is(err, ErrSnapshotExpired) {
		t.Errorf("the held snapshot: %v, and %d have expired", err, expired)
	}
}

// awaitQuiet returns when only the caller still runs: all others wait at the gate, for a
// goroutine at the gate, or for the system, which the loader does not call. A pause without
// allocations would not prove this: on a busy machine a thread is off its processor for
// longer.
func awaitQuiet() {
	stacks := make([]byte, 1<<20)
	for len(running.FindAll(stacks[:runtime.Stack(stacks, true)], 2)) > 1 {
		time.Sleep(time.Millisecond)
	}
}

// running matches the goroutines in runtime.Stack that run or could run.
var running = regexp.MustCompile(`(?m)^goroutine \d+ .*\[(running|runnable|preempted|copystack|GC assist \w+)`)

// sample measures the heap, and queries, until stop is closed. It returns the peak.
func (l *loader) sample(t *testing.T, store *Store, before int64, stop chan struct{}) (peak int64) {
	for {
		select {
		case <-stop:
			return peak
		case <-time.After(50 * time.Millisecond):
		}
		l.gate.Lock()
		awaitQuiet()
		peak = max(peak, liveHeap()-before)
		l.gate.Unlock()
		err := store.View(t.Context(), func(snap *Snapshot) error {
			g, err := l.table.Aggregate(t.Context(), snap, AggregateOptions{Sum: "value"})
			if err == nil && len(g.Sums) == 1 && g.Sums[0] != g.Counts[0] {
				t.Errorf("%d rows of 1 sum to %d", g.Counts[0], g.Sums[0])
			}
			return err
		})
		if err != nil && !errors.Is(err, ErrSnapshotExpired) {
			t.Error(err)
		}
	}
}

// sumsOf returns an answer as text by group.
func sumsOf(t testing.TB, g *Groups) map[string]string {
	t.Helper()
	out := map[string]string{}
	for i, count := range g.Counts {
		key := ""
		for k := range g.Columns {
			if c := &g.Columns[k]; c.Codes != nil {
				key += fmt.Sprint(c.Lists.UUIDs(nil, c.Codes[i]), " ")
			} else {
				key += valueText(&c.Values, i) + " "
			}
		}
		if _, twice := out[key]; twice {
			t.Fatalf("group %s comes twice", key)
		}
		if out[key] = fmt.Sprint(count); g.Sums != nil {
			out[key] += fmt.Sprint(" ", g.Sums[i])
		}
		for k := range g.Aggregates {
			out[key] += " " + fmt.Sprint(valueOf(&g.Aggregates[k], i))
		}
	}
	return out
}

func valueText(v *encoding.Vector, i int) string {
	if v.Type == encoding.String {
		return v.Strings[i]
	}
	return fmt.Sprint(v.Int64s[i])
}
