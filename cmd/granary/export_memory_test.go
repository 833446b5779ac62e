package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow/go/v14/arrow/memory"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/profile"
)

// fleetStore returns a snapshot of the demo's fleet after a number of scrapes.
func fleetStore(t testing.TB, steps int) (*profile.DB, *columnstore.Snapshot) {
	t.Helper()
	f, err := newFleet(time.Unix(1_800_000_000, 0), steps)
	if err != nil {
		t.Fatal(err)
	}
	store, err := columnstore.Open(columnstore.Options{FutureLimit: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	db, err := profile.Open(store, profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.replay(t.Context(), db, 1, func(int64, int64) {}); err != nil {
		t.Fatal(err)
	}
	snap, err := store.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(snap.Close)
	return db, snap
}

// exportOf exports a snapshot.
func exportOf(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, mem memory.Allocator, stdout io.Writer, flags ...string) error {
	e := newExporter()
	e.memory = mem
	cmd := e.command()
	cmd.SetOut(stdout)
	cmd.SetErr(io.Discard)
	if err := cmd.ParseFlags(flags); err != nil {
		return err
	}
	return e.write(ctx, cmd, db, snap, profile.Query{})
}

// cancelling is an allocator that cancels a context after a number of bytes, in the middle of
// the rows.
type cancelling struct {
	memory.Allocator
	mu     sync.Mutex
	left   int
	cancel func()
}

func (c *cancelling) Allocate(size int) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left -= size; c.left < 0 {
		c.cancel()
	}
	return c.Allocator.Allocate(size)
}

// A cancelled export leaves no partial file and does not change an existing one.
func TestExportCancelled(t *testing.T) {
	effort.Slow(t)
	db, snap := fleetStore(t, 6)
	for _, flags := range exports {
		for _, old := range []string{"", "old"} {
			dir := t.TempDir()
			out := filepath.Join(dir, "rows")
			if old != "" {
				write(t, out, []byte(old))
			}
			ctx, cancel := context.WithCancel(t.Context())
			mem := &cancelling{Allocator: memory.NewGoAllocator(), left: 1 << 20, cancel: cancel}
			err := exportOf(ctx, db, snap, mem, io.Discard, append(flags, "-o", out)...)
			cancel()
			if !errors.Is(err, context.Canceled) || mem.left >= 0 {
				t.Errorf("%v: %v", flags, err)
			}
			entries, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			data, _ := os.ReadFile(out)
			if want := len(old) / 3; len(entries) != want || string(data) != old {
				t.Errorf("%v: %d files are left, want %d; it is %q", flags, len(entries), want, data)
			}
		}
	}
}

// measuring is an allocator that records the peak of allocated memory.
type measuring struct {
	memory.Allocator
	mu        sync.Mutex
	now, most int
}

func (m *measuring) add(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now += n
	m.most = max(m.most, m.now)
}

func (m *measuring) Allocate(size int) []byte {
	m.add(size)
	return m.Allocator.Allocate(size)
}

func (m *measuring) Reallocate(size int, b []byte) []byte {
	m.add(size - len(b))
	return m.Allocator.Reallocate(size, b)
}

func (m *measuring) Free(b []byte) {
	m.add(-len(b))
	m.Allocator.Free(b)
}

// An export needs the memory of a few records, regardless of the number of rows.
func TestExportMemory(t *testing.T) {
	effort.Slow(t)
	if effort.Race {
		t.Skip("the race detector takes memory of its own, and one goroutine writes")
	}
	var most, written [2][4]int
	for i, steps := range []int{1, 6} {
		db, snap := fleetStore(t, steps)
		for k, flags := range exports {
			mem, out := &measuring{Allocator: memory.NewGoAllocator()}, &counting{}
			if err := exportOf(t.Context(), db, snap, mem, out, append(flags, "-o", "-")...); err != nil {
				t.Fatal(err)
			}
			if mem.now != 0 {
				t.Errorf("%v: %d bytes were not released", flags, mem.now)
			}
			most[i][k], written[i][k] = mem.most, out.n
		}
	}
	for k, flags := range exports {
		t.Logf("%v: %d and %d bytes written, at most %d and %d of records", flags, written[0][k], written[1][k], most[0][k], most[1][k])
		limit := 128 << 20
		if slices.Contains(flags, "plain") {
			limit = 192 << 20 // a stack in every row
		}
		if written[1][k] < 2*written[0][k] || most[1][k] > 3*most[0][k] || most[1][k] > limit {
			t.Errorf("%v: six times the rows need %d bytes instead of %d", flags, most[1][k], most[0][k])
		}
	}
}

// counting is a writer that counts bytes.
type counting struct{ n int }

func (c *counting) Write(data []byte) (int, error) {
	c.n += len(data)
	return len(data), nil
}

// BenchmarkExport measures a minute of the demo's fleet.
func BenchmarkExport(b *testing.B) {
	db, snap := fleetStore(b, 6)
	rows := float64(db.Store().Stats().Rows)
	for _, flags := range exports {
		b.Run("as="+flags[len(flags)-1], func(b *testing.B) {
			out := &counting{}
			b.ReportAllocs()
			for b.Loop() {
				out.n = 0
				if err := exportOf(b.Context(), db, snap, nil, out, append(flags, "-o", "-")...); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(out.n)/rows, "B/row")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
		})
	}
}
