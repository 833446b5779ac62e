package columnstore

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// inspectAll returns the granules of Inspect, or ends the test.
func inspectAll(t *testing.T, table *Table, snap *Snapshot) []GranuleInfo {
	t.Helper()
	var out []GranuleInfo
	for g, err := range table.Inspect(context.Background(), snap) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, g)
	}
	return out
}

// TestInspect compares Inspect with Stats, with fresh parts, base parts and both. Package query has the rest of what a granule
// says about itself.
func TestInspect(t *testing.T) {
	for _, width := range []int64{0, 100} {
		store, table := open(t, Options{Manual: true, GranuleRows: 20, Rand: seeded()}, wide(width, wideKey))
		rng := rand.New(rand.NewPCG(uint64(width), 20))
		checkInspect(t, store, table)
		for range 3 {
			insert(t, table, batchOf(rng, randomRows(rng, 60)))
			checkInspect(t, store, table)
		}
		compact(t, store)
		checkInspect(t, store, table)
		insert(t, table, batchOf(rng, randomRows(rng, 60)))
		checkInspect(t, store, table)
	}
}

func checkInspect(t *testing.T, store *Store, table *Table) {
	t.Helper()
	snap := snapshot(t, store)
	granules, stats := inspectAll(t, table, snap), store.Stats()
	var rows int64
	parts, bytes := 0, 0
	for i, info := range granules {
		for k, part := range info.Parts {
			if part.Begin == 0 || part.Begin >= part.Commit || part.Commit > snap.Commit() {
				t.Errorf("granule %d, part %d: transaction %d to %d in a snapshot of %d", i, k, part.Begin, part.Commit, snap.Commit())
			}
		}
		rows += int64(info.Rows)
		bytes += info.Bytes
		parts += len(info.Parts)
	}
	if rows != stats.Rows || len(granules) != stats.Granules || parts != stats.Parts || int64(bytes) > stats.PartBytes {
		t.Errorf("%d rows in %d granules and %d parts with %d bytes, stats are %+v", rows, len(granules), parts, bytes, stats)
	}
}

// TestInspect_DividedPart splits a granule under a newly inserted part. Each child shows its
// own rows of the part, and the part's ids, which identify it as one part.
func TestInspect_DividedPart(t *testing.T) {
	armed := false
	var store *Store
	var table *Table
	store, table = open(t, Options{Manual: true, GranuleRows: 12, Rand: seeded(), Yield: func(point string) {
		if !armed || point != "maintain/merged" {
			return
		}
		armed = false
		insert(t, table, kinds("a", "b", "y", "z"))
	}}, samples(0))
	for range 2 {
		insert(t, table, kinds("a", "b", "c", "d", "x", "y", "z"))
	}
	armed = true
	if err := store.Maintain(context.Background()); err != nil {
		t.Fatal(err)
	}
	checkInspect(t, store, table)
	var got []PartInfo
	for _, g := range inspectAll(t, table, snapshot(t, store)) {
		if len(g.Parts) != 2 || !g.Parts[0].Base || g.Parts[0].Begin != 1 || g.Parts[0].Commit != 4 {
			t.Errorf("granule %+v, want a base part of two transactions and a fresh part", g)
		}
		got = append(got, g.Parts[1:]...)
	}
	if len(got) != 2 {
		t.Fatalf("parts %+v, want one in each of 2 granules", got)
	}
	want := got[0] // properties of the whole part are the same in both
	want.Begin, want.Commit, want.Series, want.PartRows, want.Bytes = 5, 6, 2, 4, want.PartBytes/2
	first, second := want, want
	first.Lo, first.Hi, second.Lo, second.Hi = 0, 2, 2, 4
	if diff := cmp.Diff([]PartInfo{first, second}, got); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
}

// kinds is a batch with a row of each kind.
func kinds(names ...string) schema.Batch {
	b := oneRow(1)
	b.Rows = len(names)
	b.Columns["kind"] = encoding.Strings(names...)
	return b
}

func TestInspect_Errors(t *testing.T) {
	store, table := open(t, Options{Manual: true}, samples(100))
	before := snapshot(t, store)
	for at := range 5 {
		insert(t, table, oneRow(int64(100*at)))
	}
	later, err := store.CreateTable("later", samples(0))
	if err != nil {
		t.Fatal(err)
	}
	closed := snapshot(t, store)
	closed.Close()
	_, stranger := open(t, Options{Manual: true}, samples(100))
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	for _, test := range []struct {
		name  string
		ctx   context.Context
		table *Table
		snap  *Snapshot
		want  error
	}{
		{"closed", t.Context(), table, closed, ErrSnapshotClosed},
		{"snapshot of another store", t.Context(), stranger, snapshot(t, store), ErrTable},
		{"canceled", canceled, table, snapshot(t, store), context.Canceled},
		{"before the first row", t.Context(), table, before, nil},
		{"table newer than the snapshot", t.Context(), later, before, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := 0
			for g, err := range test.table.Inspect(test.ctx, test.snap) {
				if n++; !errors.Is(err, test.want) || len(g.Parts) > 0 {
					t.Errorf("granule %+v, error %v, want %v", g, err, test.want)
				}
			}
			if want := map[bool]int{true: 0, false: 1}[test.want == nil]; n != want {
				t.Errorf("%d elements, want %d", n, want)
			}
		})
	}
}

// TestInspect_Ends stops early, or is canceled, between two granules.
func TestInspect_Ends(t *testing.T) {
	store, table := open(t, Options{Manual: true}, samples(100))
	for at := range 5 {
		insert(t, table, oneRow(int64(100*at)))
	}
	for _, want := range []error{nil, context.Canceled} {
		ctx, cancel := context.WithCancel(t.Context())
		granules, last := 0, error(nil)
		for _, err := range table.Inspect(ctx, snapshot(t, store)) {
			if last = err; err != nil {
				continue // the error must be the last element
			}
			if granules++; granules == 2 && want == nil {
				break
			} else if granules == 2 {
				cancel()
			}
		}
		cancel()
		if granules != 2 || !errors.Is(last, want) {
			t.Errorf("%d granules and error %v, want 2 and %v", granules, last, want)
		}
	}
}

// TestInspect_Snapshot: Inspect of a snapshot never changes (C2), while writers go on.
func TestInspect_Snapshot(t *testing.T) {
	store, table := open(t, Options{GranuleRows: 20, FreshParts: 3}, samples(100))
	rng := rand.New(rand.NewPCG(5, 5))
	write := func(n int) {
		for range n {
			b, _ := batch(rng, 10, int64(rng.IntN(300)))
			insert(t, table, b)
		}
	}
	write(20)
	snap := snapshot(t, store)
	want := inspectAll(t, table, snap)
	done := make(chan struct{})
	go func() {
		defer close(done)
		write(100)
	}()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		if diff := cmp.Diff(want, inspectAll(t, table, snap)); diff != "" {
			t.Fatalf("the same snapshot (-first +again):\n%s", diff)
		}
	}
}
