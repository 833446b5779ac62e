package columnstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/oracle"
)

// checkBounds walks a table's granules: granules of a bucket have adjoining bounds that cover it (C6),
// and every row lies within its granule's bounds (C3).
func checkBounds(t *testing.T, store *Store, table *Table) {
	t.Helper()
	state := store.roots.Root().State.Table(table.ordinal)
	end, rows := "", int64(0)
	for bound, g := range state.Granules.All() {
		lo, hi := g.Bounds()
		if bound != lo {
			t.Errorf("granule [%x, %x) is at bound %x", lo, hi, bound)
		}
		opens := false
		for _, b := range state.Buckets.All() {
			first, _ := table.schema.BucketBounds(b.Start)
			opens = opens || first == lo
		}
		if !opens && lo != end {
			t.Errorf("granule [%x, %x) comes after bound %x and opens no bucket", lo, hi, end)
		}
		end = hi
		rows += int64(g.Rows())
		for _, slice := range g.Sections() {
			if in := slice.Within(table.schema, lo, hi); in != slice {
				t.Errorf("granule [%x, %x): rows %d to %d of a part; within its bounds are %d to %d", lo, hi, slice.Lo, slice.Hi, in.Lo, in.Hi)
			}
		}
	}
	for _, b := range state.Buckets.All() {
		lo, hi := table.schema.BucketBounds(b.Start)
		last := ""
		for bound, g := range state.Granules.Overlapping(lo, hi) {
			if last == "" && bound != lo {
				t.Errorf("bucket %d begins at bound %x", b.Start, bound)
			}
			_, last = g.Bounds()
		}
		if last != hi {
			t.Errorf("bucket %d ends at bound %x, want %x", b.Start, last, hi)
		}
	}
	if rows != state.Rows {
		t.Errorf("granules have %d rows, the table %d", rows, state.Rows)
	}
}

// TestSplitDuringCommit splits granules between the building of parts and
// their commit: the rows go to the children, none is lost (C3), over several
// tables, batches and buckets.
func TestSplitDuringCommit(t *testing.T) {
	effort.Long(t)
	for _, width := range []int64{0, 500} {
		for _, granuleRows := range []int{1, 10, 64} {
			t.Run(fmt.Sprintf("width=%d/granule=%d", width, granuleRows), func(t *testing.T) {
				store, left := open(t, Options{Manual: true, GranuleRows: granuleRows}, wide(width, wideKey))
				right, err := store.CreateTable("right", wide(width, keys[2]))
				if err != nil {
					t.Fatal(err)
				}
				tables := []*Table{left, right}
				rng := rand.New(rand.NewPCG(uint64(width), uint64(granuleRows)))
				want := make([][]oracle.Row, 2)
				split := false
				for range 3 {
					for k, table := range tables {
						rows := randomRows(rng, 60)
						want[k] = append(want[k], rows...)
						insert(t, table, batchOf(rng, rows))
					}
					before := store.Stats()
					tx := store.Begin()
					for range 3 {
						for k, table := range tables {
							rows := randomRows(rng, 40)
							want[k] = append(want[k], rows...)
							if err := tx.Insert(context.Background(), table, batchOf(rng, rows)); err != nil {
								t.Fatal(err)
							}
						}
					}
					compact(t, store) // splits the granules for which the parts were divided
					split = split || store.Stats().Granules > before.Granules
					if _, err := tx.Commit(); err != nil {
						t.Fatal(err)
					}
					for _, when := range []string{"committed", "compacted"} {
						for k, table := range tables {
							checkBounds(t, store, table)
							if diff := cmp.Diff(oracle.Texts(want[k]), allRows(t, table, snapshot(t, store), ScanOptions{})); diff != "" {
								t.Fatalf("%s, table %s (-want +got):\n%s", when, table.Name(), diff)
							}
						}
						compact(t, store)
					}
				}
				if !split && width == 0 {
					t.Error("nothing was split between building and commit")
				}
			})
		}
	}
}

// TestCommit_FirstGranuleAppearsMeanwhile has two transactions that both find a bucket empty
// when they build their parts.
func TestCommit_FirstGranuleAppearsMeanwhile(t *testing.T) {
	for _, width := range []int64{0, 100} {
		store, table := open(t, Options{Manual: true, GranuleRows: 5}, wide(width, wideKey))
		rng := rand.New(rand.NewPCG(3, 4))
		var want []oracle.Row
		var open []*Tx
		for range 4 {
			rows := randomRows(rng, 50)
			want = append(want, rows...)
			tx := store.Begin()
			if err := tx.Insert(context.Background(), table, batchOf(rng, rows)); err != nil {
				t.Fatal(err)
			}
			open = append(open, tx)
		}
		for _, tx := range slices.Backward(open) { // not in the order of Begin
			if _, err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
			compact(t, store)
			checkBounds(t, store, table)
		}
		if diff := cmp.Diff(oracle.Texts(want), allRows(t, table, snapshot(t, store), ScanOptions{})); diff != "" {
			t.Errorf("width %d (-want +got):\n%s", width, diff)
		}
	}
}

// TestRewrite_Race runs two rewrites of a granule: one is published, the other dropped, and nothing is
// lost, with and without inserts between them.
func TestRewrite_Race(t *testing.T) {
	for _, granuleRows := range []int{10, 1 << 16} {
		for _, between := range []bool{false, true} {
			t.Run(fmt.Sprintf("granule=%d/insert=%v", granuleRows, between), func(t *testing.T) {
				var store *Store
				var table *Table
				rng := rand.New(rand.NewPCG(9, 9))
				var want []oracle.Row
				add := func() {
					rows := randomRows(rng, 30)
					want = append(want, rows...)
					insert(t, table, batchOf(rng, rows))
				}
				var rival *granule.Granule
				inside := false
				store, table = open(t, Options{Manual: true, GranuleRows: granuleRows, Yield: func(point string) {
					if point != "maintain/merged" || rival == nil || inside {
						return
					}
					inside = true
					if between {
						add()
					}
					if ok, err := store.maintainer.rewrite(table, rival); !ok || err != nil {
						t.Error("the rival was dropped")
					}
					if between {
						add()
					}
				}}, wide(0, wideKey))
				add()
				add()
				_, rival, _ = store.roots.Root().State.Table(table.ordinal).Granules.Floor("")
				if ok, _ := store.maintainer.rewrite(table, rival); ok {
					t.Error("both rewrites were published")
				}
				if s := store.Stats(); s.Discarded != 1 || s.Splits+s.Compactions != 1 {
					t.Errorf("%d discarded, %d published; want 1 and 1", s.Discarded, s.Splits+s.Compactions)
				}
				checkBounds(t, store, table)
				if diff := cmp.Diff(oracle.Texts(want), allRows(t, table, snapshot(t, store), ScanOptions{})); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	}
}

// TestRewrite_CarriesWhatCameMeanwhile inserts between merge and publish: the rewrite is
// published and the children have the new parts, within their bounds.
func TestRewrite_CarriesWhatCameMeanwhile(t *testing.T) {
	var store *Store
	var table *Table
	rng := rand.New(rand.NewPCG(8, 8))
	var want []oracle.Row
	adding := false
	add := func(n int) {
		rows := randomRows(rng, n)
		want = append(want, rows...)
		insert(t, table, batchOf(rng, rows))
	}
	store, table = open(t, Options{Manual: true, GranuleRows: 20, Yield: func(point string) {
		if point == "maintain/merged" && !adding {
			adding = true
			add(50)
			add(1)
			adding = false
		}
	}}, wide(0, wideKey))
	add(100)
	_, g, _ := store.roots.Root().State.Table(table.ordinal).Granules.Floor("")
	if ok, err := store.maintainer.rewrite(table, g); !ok || err != nil {
		t.Fatal("the rewrite was dropped")
	}
	checkBounds(t, store, table)
	stats := store.Stats()
	if stats.Splits != 1 || stats.Granules < 5 || stats.Parts <= stats.Granules || stats.Rows != 151 {
		t.Errorf("stats %+v", stats)
	}
	if diff := cmp.Diff(oracle.Texts(want), allRows(t, table, snapshot(t, store), ScanOptions{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestMaintain_Bounded has a granule with much overdue work: one step rewrites the rows of two
// granules at most, and later steps the rest.
func TestMaintain_Bounded(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	store, table := open(t, Options{Manual: true, GranuleRows: 40, FreshParts: 2}, wide(0, wideKey))
	var want []oracle.Row
	for range 30 {
		rows := randomRows(rng, 10)
		want = append(want, rows...)
		insert(t, table, batchOf(rng, rows))
	}
	for before := int64(0); store.maintainer.step(); {
		rewritten := store.Stats().RewrittenRows
		if rewritten-before > 80 { // twice 40
			t.Fatalf("a step rewrote %d rows", rewritten-before)
		}
		before = rewritten
		if diff := cmp.Diff(oracle.Texts(want), allRows(t, table, snapshot(t, store), ScanOptions{})); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	}
	checkBounds(t, store, table)
	if s := store.Stats(); s.Granules < 300/40 || s.Parts > 2*s.Granules {
		t.Errorf("in the end: %+v", s)
	}
}

// TestRewrite_Concurrent runs many rewrites of everything at once, with inserts and aborts
// meanwhile. It is meant for the race detector.
func TestRewrite_Concurrent(t *testing.T) {
	store, table := open(t, Options{Manual: true, GranuleRows: 30, FreshParts: 2}, wide(1000, wideKey))
	var want [3][]oracle.Row
	var workers, rewriters sync.WaitGroup
	for w := range want {
		workers.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 1))
			for i := range 30 {
				rows := randomRows(rng, 1+rng.IntN(20))
				tx := store.Begin()
				if err := tx.Insert(context.Background(), table, batchOf(rng, rows)); err != nil {
					t.Error(err)
				}
				if i%7 == 0 {
					tx.Abort()
					continue
				}
				if _, err := tx.Commit(); err != nil {
					t.Error(err)
				}
				want[w] = append(want[w], rows...)
			}
		})
	}
	done := make(chan struct{})
	for r := range 2 {
		rewriters.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				f := store.Compact
				if r == 0 {
					f = store.Maintain
				}
				if err := f(context.Background()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	workers.Wait()
	close(done)
	rewriters.Wait()
	checkBounds(t, store, table)
	if diff := cmp.Diff(oracle.Texts(slices.Concat(want[:]...)), allRows(t, table, snapshot(t, store), ScanOptions{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRewrite_OfBaseOnly runs a rewrite of a granule without fresh parts, and during it an
// insert and another rewrite. The inserted rows are not lost, though there are no fresh parts
// again.
func TestRewrite_OfBaseOnly(t *testing.T) {
	store, table := open(t, Options{Manual: true}, samples(0))
	insert(t, table, oneRow(1))
	compact(t, store)
	_, old, _ := store.roots.Root().State.Table(table.ordinal).Granules.Floor("")
	insert(t, table, oneRow(2))
	compact(t, store)
	if ok, _ := store.maintainer.rewrite(table, old); ok {
		t.Error("a rewrite of rows before an insert was published")
	}
	if c := total(t, table, snapshot(t, store)); c.Rows != 2 {
		t.Errorf("%d rows, want 2", c.Rows)
	}
}

// TestSplit_LargeGranulesHaveOneKey: granules above GranuleRows after splits have rows of one
// key only.
func TestSplit_LargeGranulesHaveOneKey(t *testing.T) {
	store, table := open(t, Options{Manual: true, GranuleRows: 10}, samples(0))
	rng := rand.New(rand.NewPCG(6, 6))
	for range 60 {
		b := oneRow(1)
		b.Rows = 1 + rng.IntN(12)
		b.Columns["kind"] = encoding.Strings(fmt.Sprint("kind", rng.IntN(40)))
		insert(t, table, b)
	}
	compact(t, store)
	checkBounds(t, store, table)
	large := 0
	for _, g := range store.roots.Root().State.Table(table.ordinal).Granules.All() {
		if g.Rows() <= 10 {
			continue
		}
		large++
		if keys := len(granule.Rewrite(table.schema, g, granule.Limit{Rows: 1})); keys != 1 {
			t.Errorf("a granule of %d rows has %d keys", g.Rows(), keys)
		}
	}
	if large == 0 {
		t.Error("nothing was tested")
	}
}

// TestRewrite_ChildIsDue inserts into the upper half of a granule during its split: the child
// that gets them is due at once, and only the rewrite itself knows its bound.
func TestRewrite_ChildIsDue(t *testing.T) {
	var store *Store
	var table *Table
	armed := false
	store, table = open(t, Options{Manual: true, GranuleRows: 10, FreshParts: 3, Yield: func(point string) {
		if !armed || point != "maintain/merged" {
			return
		}
		armed = false
		for range 20 {
			b := oneRow(1)
			b.Columns["kind"] = encoding.Strings("z")
			insert(t, table, b)
		}
	}}, samples(0))
	for i := range 11 {
		b := oneRow(1)
		b.Columns["kind"] = encoding.Strings(string(rune('a' + i)))
		insert(t, table, b)
	}
	armed = true
	if err := store.Maintain(context.Background()); err != nil {
		t.Fatal(err)
	}
	if armed {
		t.Fatal("nothing was tested")
	}
	for bound, g := range store.roots.Root().State.Table(table.ordinal).Granules.All() {
		if store.maintainer.isDue(g) {
			t.Errorf("granule at %x is due: %d rows, %d fresh parts", bound, g.Rows(), g.FreshParts())
		}
	}
}
