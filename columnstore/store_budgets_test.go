package columnstore

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/effort"
)

// TestSetBudgets changes the bounds of an open store: memory, files and retention follow. The larger log exceeds the disk
// budget that it gets.
func TestSetBudgets(t *testing.T) {
	defer func(least int64) { leastDiskBudget = least }(leastDiskBudget)
	leastDiskBudget = 1 << 20
	for _, log := range []int64{8 << 20, 1 << 20}[boolInt(effort.Race):] {
		t.Run(fmt.Sprint(log), func(t *testing.T) { testSetBudgets(t, log) })
	}
}

func testSetBudgets(t *testing.T, log int64) {
	opts := Options{FS: crashfs.New(crashfs.Options{}), PastLimit: -1, FutureLimit: -1, MemoryBudget: 16 << 20, DiskBudget: 64 << 20, LogBytes: log, segmentBytes: 128 << 10}
	store, table := open(t, opts, samples(10))
	next, peak := int64(0), int64(0)
	insertMany := func(rows int) {
		t.Helper()
		for range rows / 100 {
			if _, err := table.Insert(t.Context(), heavy(next, 100)); err != nil {
				t.Fatal(err)
			}
			if next++; next%20 == 0 { // files take rows out of memory now and then
				peak = max(peak, store.Stats().Bytes())
			}
		}
	}
	insertMany(100_000)
	if s := store.Stats(); peak < 5<<20 || s.MemoryBudget != 16<<20 || s.DiskBudget != 64<<20 {
		t.Fatalf("at most %d bytes, %d of files: %+v", peak, s.FileBytes, s)
	}
	for _, b := range []Budgets{
		{Memory: 1 << 20, Disk: 64 << 20}, {Memory: -1}, {Memory: 16 << 20, Disk: 1<<20 - 1}, {Memory: 16 << 20, Disk: -1}, {Retention: -1},
	} {
		was := store.Budgets()
		if err := store.SetBudgets(b); !errors.Is(err, ErrOptions) || store.Budgets() != was {
			t.Errorf("%+v: %v, and %+v", b, err, store.Budgets())
		}
	}
	if err := store.SetBudgets(Budgets{Memory: 4 << 20, Disk: 2 << 20}); err != nil {
		t.Fatal(err)
	}
	insertMany(80_000)
	if s := store.Stats(); s.Bytes() > 4<<20 || s.FileBytes+s.LogBytes > 2<<20 || s.DiskDroppedRows == 0 {
		t.Errorf("%d bytes of memory and %d of files, %d rows dropped", s.Bytes(), s.FileBytes+s.LogBytes, s.DiskDroppedRows)
	}
	if err := store.SetBudgets(Budgets{Retention: 150}); err != nil {
		t.Fatal(err)
	}
	insertMany(500)
	times := rowTimesNow(t, store, table)
	if got := store.Budgets(); got != (Budgets{Retention: 150}) || len(times) == 0 || times[0] < next-170 {
		t.Errorf("%+v, and the first row is at %d of %d", got, times[0], next)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if err := store.SetBudgets(Budgets{}); !errors.Is(err, ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// TestSetBudgets_InMemory bounds a store that had no bound, and takes the bound away.
func TestSetBudgets_InMemory(t *testing.T) {
	store, table := open(t, Options{PastLimit: -1, FutureLimit: -1, GranuleRows: 1000, GranuleBytes: 128 << 10}, samples(10))
	at := int64(0)
	for _, memory := range []int64{2 << 20, 0} {
		if err := store.SetBudgets(Budgets{Memory: memory, Retention: time.Hour}); err != nil {
			t.Fatal(err)
		}
		for range 400 {
			at++
			if _, err := table.Insert(t.Context(), heavy(at, 100)); err != nil {
				t.Fatal(err)
			}
		}
		if s := store.Stats(); (s.Bytes() <= 2<<20) != (memory > 0) || (s.EvictedRows > 0) != (memory > 0) && memory > 0 {
			t.Errorf("%d bytes with a budget of %d, %d rows evicted", s.Bytes(), memory, s.EvictedRows)
		}
	}
	if err := store.SetBudgets(Budgets{Disk: 1 << 30}); !errors.Is(err, ErrOptions) {
		t.Errorf("a budget of files: %v", err)
	}
}
