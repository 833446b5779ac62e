package columnstore

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/files"
)

// A backfill with a row in each of many time ranges makes few files, no insert waits long, Close ends in time, and
// a restart has all rows. Late rows and dropped ranges leave no files that hardly any bucket uses. In full it is
// 100,000 ranges, and otherwise 20,000.
func TestBackfill(t *testing.T) {
	effort.Slow(t)
	effort.Alone(t)
	buckets := int64(effort.Part(100_000, 5))
	const width = int64(15 * time.Minute)
	opts := Options{Dir: t.TempDir(), MemoryBudget: 64 << 20, FutureLimit: -1, PastLimit: -1}
	store, table := open(t, opts, samples(width))
	var took []time.Duration
	for i := range buckets {
		start := time.Now()
		insert(t, table, oneRow(i*width))
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	p99, most := took[len(took)*99/100], took[len(took)-1]
	closes := func() {
		t.Helper()
		start := time.Now()
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d > 5*time.Second && !effort.Race {
			t.Errorf("Close took %v", d)
		}
	}
	reopened := func(want int64) map[string]int {
		t.Helper()
		start := time.Now()
		store, table = reopen(t, opts)
		t.Logf("reopened in %v", time.Since(start))
		if got := total(t, table, snapshot(t, store)); got.Rows != want {
			t.Errorf("%d rows, want %d", got.Rows, want)
		}
		return kindsOf(t, opts.Dir)
	}
	closes()
	kinds := reopened(buckets)
	t.Logf("%d buckets: inserts took %v at most, %v in 99 of 100; files %v", buckets, most, p99, kinds)
	if p99 > 100*time.Millisecond && !effort.Race {
		t.Errorf("an insert in a hundred took %v", p99)
	}
	if n := int64(kinds[files.RowsKind] + kinds[files.DictsKind]); n > buckets/100 {
		t.Errorf("%d files of %d buckets", n, buckets)
	}
	for i := int64(0); i < buckets; i += 3 { // late rows
		insert(t, table, oneRow(i*width+1))
	}
	rows := buckets + (buckets+2)/3
	if err := store.flusher.flushWhole(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := int64(kindsOf(t, opts.Dir)[files.RowsKind]); n > buckets/50 {
		t.Errorf("%d files of rows after late ones", n)
	}
	if _, err := table.DropBefore(t.Context(), buckets/2*width); err != nil {
		t.Fatal(err)
	}
	if err := store.flusher.flushWhole(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := store.Stats(); got.Rows != rows-buckets/2-(buckets/2+2)/3 {
		t.Errorf("%d rows after a drop of half of %d", got.Rows, rows)
	}
	closes()
	t.Logf("files %v", reopened(rows-buckets/2-(buckets/2+2)/3))
}

// kindsOf counts the files of a directory by kind.
func kindsOf(t *testing.T, dir string) map[string]int {
	t.Helper()
	names, err := disk.System(dir).List()
	if err != nil {
		t.Fatal(fmt.Errorf("list: %w", err))
	}
	kinds := map[string]int{}
	for _, name := range names {
		kind, _, _ := disk.ParseName(name)
		kinds[kind]++
	}
	return kinds
}
