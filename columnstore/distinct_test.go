package columnstore

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/schema"
)

// A label of samples with a value of its own in each row, such as the id of a request, fills no dictionary for
// good: all rows of one time range are taken within a small memory budget, over a restart, and every answer is
// right. In full it is 2 M rows in 64 MiB, and otherwise an eighth of both.
func TestDistinctValues(t *testing.T) {
	effort.Slow(t)
	effort.Alone(t)
	collectAsUsual(t)
	const batchRows = 500
	batches := int64(effort.Part(4000, 8))
	budget := int64(effort.Part(64<<20, 8))
	stacks := make([][]uuid.UUID, batchRows)
	for i := range stacks {
		stacks[i] = []uuid.UUID{{byte(i)}, {1, byte(i >> 4)}}
	}
	b := schema.Batch{Rows: batchRows, Columns: map[string]encoding.Vector{
		"kind": encoding.Strings("cpu"), "stack": encoding.UUIDLists(stacks...), "time": encoding.Int64s(0), "value": encoding.Int64s(1),
		"tags.request": encoding.Strings(make([]string, batchRows)...), "tags.t": encoding.Strings("same"),
	}}
	runtime.GC()
	before := liveHeap()
	var gate sync.RWMutex // as in loader
	opts := Options{Dir: t.TempDir(), MemoryBudget: budget, FutureLimit: -1, PastLimit: -1, Yield: func(string) {
		gate.RLock()
		gate.RUnlock() //nolint:staticcheck // to pass the gate is all
	}}
	store, err := Open(opts) // not open, which keeps a closed store alive
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	table, err := store.CreateTable("samples", samples(int64(time.Hour)))
	if err != nil {
		t.Fatal(err)
	}
	asks := func(where Expr, want int64) {
		t.Helper()
		g, err := table.Aggregate(t.Context(), snapshot(t, store), AggregateOptions{Sum: "value", Where: where})
		if err != nil || len(g.Sums) != 1 || g.Sums[0] != want {
			t.Errorf("%v of %d rows: %v", g.Sums, want, err)
		}
	}
	for n := range batches {
		if n == batches/2 {
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
			if store, err = Open(opts); err != nil {
				t.Fatal(err)
			}
			table = store.Table("samples")
		}
		for i := range batchRows {
			b.Columns["tags.request"].Strings[i] = fmt.Sprintf("request-%016x", n*batchRows+int64(i))
		}
		b.Columns["time"].Int64s[0] = n
		insert(t, table, b)
		if n%(batches/8) == batches/8-1 {
			gate.Lock()
			awaitQuiet()
			runtime.GC() // one leaves what pools have until the next one, in liveHeap
			live := liveHeap() - before
			stats := store.Stats()
			gate.Unlock()
			const work = 1 << 20 // of a file that is being written
			if most := budget + budget/10 + work; live > most && !effort.Race {
				t.Errorf("after %d batches the heap is %d bytes, want at most %d: %d are accounted", n, live, most, stats.Bytes())
			}
			t.Logf("%d rows: %.1f MiB of heap, %.1f accounted, %.1f of dictionaries, %.1f in the cache", (n+1)*batchRows, mib(live), mib(stats.Bytes()), mib(stats.SeriesBytes), mib(stats.CacheBytes))
		}
	}
	rows := batches * batchRows
	asks(Expr{}, rows)
	asks(Equal("tags.t", "same"), rows)
	for _, n := range []int64{0, 1, rows / 2, rows - 1} {
		asks(Equal("tags.request", fmt.Sprintf("request-%016x", n)), 1)
	}
	g, err := table.Aggregate(t.Context(), snapshot(t, store), AggregateOptions{Sum: "value", By: []string{"tags.request"}, Where: Less("time", 20)})
	if err != nil || len(g.Sums) != 20*batchRows {
		t.Errorf("%d groups, want %d: %v", len(g.Sums), 20*batchRows, err)
	}
	if stats := store.Stats(); stats.FlushError != nil || stats.ColdRows == 0 {
		t.Errorf("%d cold rows, %v", stats.ColdRows, stats.FlushError)
	}
	runtime.KeepAlive(b)
}
