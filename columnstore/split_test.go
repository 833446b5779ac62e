package columnstore

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/granule"
)

// checkBounds walks the granules of a table: those of one bucket have adjoining
// bounds that cover it (C6), and every row lies within its granule's (C3).
func checkBounds(t *testing.T, store *Store, table *Table) {
	t.Helper()
	state := store.log.Root().State.table(table.ordinal)
	end, rows := "", int64(0)
	for bound, g := range state.granules.All() {
		lo, hi := g.Bounds()
		if bound != lo {
			t.Errorf("granule [%x, %x) is at bound %x", lo, hi, bound)
		}
		opens := false
		for _, b := range state.buckets.All() {
			first, _ := table.schema.BucketBounds(b.start)
			opens = opens || first == lo
		}
		if !opens && lo != end {
			t.Errorf("granule [%x, %x) comes after bound %x and opens no bucket", lo, hi, end)
		}
		end = hi
		rows += int64(g.Rows())
		for _, slice := range g.Slices() {
			if in := slice.Within(table.schema, lo, hi); in != slice {
				t.Errorf("granule [%x, %x): rows %d to %d of a part; within its bounds are %d to %d", lo, hi, slice.Lo, slice.Hi, in.Lo, in.Hi)
			}
		}
	}
	for _, b := range state.buckets.All() {
		lo, hi := table.schema.BucketBounds(b.start)
		last := ""
		for bound, g := range state.granules.Overlapping(lo, hi) {
			if last == "" && bound != lo {
				t.Errorf("bucket %d begins at bound %x", b.start, bound)
			}
			_, last = g.Bounds()
		}
		if last != hi {
			t.Errorf("bucket %d ends at bound %x, want %x", b.start, last, hi)
		}
	}
	if rows != state.rows {
		t.Errorf("granules have %d rows, the table %d", rows, state.rows)
	}
}

// oracleText is the multiset of rows that a table must have.
func oracleText(rows []oracleRow) []string {
	out := make([]string, len(rows))
	for i, row := range rows {
		out[i] = text(row)
	}
	slices.Sort(out)
	return out
}

// TestSplitDuringCommit splits granules between the building of parts and
// their commit: the rows go to the children, none is lost (C3), over several
// tables, batches and buckets.
func TestSplitDuringCommit(t *testing.T) {
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
				want := make([][]oracleRow, 2)
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
					compact(t, store) // the granules that the parts were cut for are split
					split = split || store.Stats().Granules > before.Granules
					if _, err := tx.Commit(); err != nil {
						t.Fatal(err)
					}
					for _, when := range []string{"committed", "compacted"} {
						for k, table := range tables {
							checkBounds(t, store, table)
							if diff := cmp.Diff(oracleText(want[k]), allRows(t, table, snapshot(t, store), ScanOptions{})); diff != "" {
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

// TestCommit_FirstGranuleAppearsMeanwhile has two transactions that both find a
// bucket empty when they build their parts.
func TestCommit_FirstGranuleAppearsMeanwhile(t *testing.T) {
	for _, width := range []int64{0, 100} {
		store, table := open(t, Options{Manual: true, GranuleRows: 5}, wide(width, wideKey))
		rng := rand.New(rand.NewPCG(3, 4))
		var want []oracleRow
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
		if diff := cmp.Diff(oracleText(want), allRows(t, table, snapshot(t, store), ScanOptions{})); diff != "" {
			t.Errorf("width %d (-want +got):\n%s", width, diff)
		}
	}
}

// TestRewrite_Race has two rewrites of one granule: one is published, the other
// dropped, and nothing is lost, with and without inserts between them.
func TestRewrite_Race(t *testing.T) {
	for _, granuleRows := range []int{10, 1 << 16} {
		for _, between := range []bool{false, true} {
			t.Run(fmt.Sprintf("granule=%d/insert=%v", granuleRows, between), func(t *testing.T) {
				var store *Store
				var table *Table
				rng := rand.New(rand.NewPCG(9, 9))
				var want []oracleRow
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
					if !store.rewrite(table, rival) {
						t.Error("the rival was dropped")
					}
					if between {
						add()
					}
				}}, wide(0, wideKey))
				add()
				add()
				_, rival, _ = store.log.Root().State.table(table.ordinal).granules.Floor("")
				if store.rewrite(table, rival) {
					t.Error("both rewrites were published")
				}
				if s := store.Stats(); s.Discarded != 1 || s.Splits+s.Compactions != 1 {
					t.Errorf("%d discarded, %d published; want 1 and 1", s.Discarded, s.Splits+s.Compactions)
				}
				checkBounds(t, store, table)
				if diff := cmp.Diff(oracleText(want), allRows(t, table, snapshot(t, store), ScanOptions{})); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	}
}

// TestRewrite_CarriesWhatCameMeanwhile has inserts between merge and publish:
// the rewrite is published and the children have the new parts, within their
// bounds.
func TestRewrite_CarriesWhatCameMeanwhile(t *testing.T) {
	var store *Store
	var table *Table
	rng := rand.New(rand.NewPCG(8, 8))
	var want []oracleRow
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
	_, g, _ := store.log.Root().State.table(table.ordinal).granules.Floor("")
	if !store.rewrite(table, g) {
		t.Fatal("the rewrite was dropped")
	}
	checkBounds(t, store, table)
	stats := store.Stats()
	if stats.Splits != 1 || stats.Granules < 5 || stats.Parts <= stats.Granules || stats.Rows != 151 {
		t.Errorf("stats %+v", stats)
	}
	if diff := cmp.Diff(oracleText(want), allRows(t, table, snapshot(t, store), ScanOptions{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRewrite_Concurrent has many rewrites of everything at once, with inserts
// and aborts meanwhile: under the race detector above all.
func TestRewrite_Concurrent(t *testing.T) {
	store, table := open(t, Options{Manual: true, GranuleRows: 30, FreshParts: 2}, wide(1000, wideKey))
	var want [3][]oracleRow
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
	if diff := cmp.Diff(oracleText(slices.Concat(want[:]...)), allRows(t, table, snapshot(t, store), ScanOptions{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestGranuleOfEqualKeys grows beyond GranuleRows, since equal keys stay
// together, and is not rewritten again and again for it.
func TestGranuleOfEqualKeys(t *testing.T) {
	store, table := open(t, Options{Manual: true, GranuleRows: 10, FreshParts: 4, MaxParts: 16}, samples(0))
	b := oneRow(1)
	const inserts = 400
	for range inserts {
		insert(t, table, b)
		if err := store.Maintain(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	stats := store.Stats()
	if stats.Granules != 1 || stats.Rows != inserts {
		t.Errorf("%d rows in %d granules, want %d in 1", stats.Rows, stats.Granules, inserts)
	}
	// A rewrite each MaxParts inserts at the least often: 16 -> sum of 16, 32, ... 400.
	if limit := int64(inserts * inserts / 16); stats.RewrittenRows > limit || stats.Compactions < 5 {
		t.Errorf("%d rows rewritten in %d compactions, want at most %d", stats.RewrittenRows, stats.Compactions, limit)
	}
	compact(t, store)
	settled := store.Stats()
	if err := store.Maintain(context.Background()); err != nil {
		t.Fatal(err)
	}
	compact(t, store)
	if diff := cmp.Diff(settled, store.Stats()); diff != "" {
		t.Errorf("a compacted store was rewritten (-before +after):\n%s", diff)
	}
	// Keys beside them make granules of their own.
	for _, kind := range []string{"a", "z"} {
		for range 30 {
			b := oneRow(1)
			b.Columns["kind"] = encoding.Strings(kind)
			insert(t, table, b)
		}
	}
	compact(t, store)
	checkBounds(t, store, table)
	if g := store.Stats().Granules; g != 3 {
		t.Errorf("%d granules, want one for each of 3 keys", g)
	}
}

// TestFirstKeyBelowAll inserts keys that fall, in buckets that come in falling
// order: there is a place for each (C6).
func TestFirstKeyBelowAll(t *testing.T) {
	for _, width := range []int64{0, 100} {
		store, table := open(t, Options{Manual: true, GranuleRows: 3, FreshParts: 2, FutureLimit: -1}, samples(width))
		var want []string
		at := []int64{math.MaxInt64, 1000, 150, 100, 99, 0, -1, -100, -101, math.MinInt64}
		for i, kind := range []string{"zz", "z", "m", "b", "aa", "a", "\x01", "\x00\x01", "\x00", ""} {
			for range 4 {
				b := oneRow(at[i])
				b.Columns["kind"] = encoding.Strings(kind)
				insert(t, table, b)
				b.Columns["time"] = encoding.Int64s(50) // and all into one bucket
				insert(t, table, b)
				if err := store.Maintain(context.Background()); err != nil {
					t.Fatal(err)
				}
				want = append(want, kind, kind)
			}
			checkBounds(t, store, table)
		}
		var got []string
		for row := range scanRows(t, table, snapshot(t, store), ScanOptions{Ordered: true}) {
			got = append(got, row["kind"].(string))
		}
		if width == 0 && !slices.IsSorted(got) {
			t.Errorf("not in order: %q", got)
		}
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("width %d (-want +got):\n%s", width, diff)
		}
	}
}

// TestManyDynamicColumns splits and merges parts whose columns differ, each
// with a name of its own.
func TestManyDynamicColumns(t *testing.T) {
	store, table := open(t, Options{Manual: true, GranuleRows: 16}, samples(0))
	var want []string
	for i := range 100 {
		b := oneRow(int64(i))
		name := fmt.Sprint(strings.Repeat("n", 1+i%3), i)
		b.Columns["labels."+name] = encoding.Strings("v")
		b.Columns["tags."+name] = encoding.Strings("w")
		want = append(want, "labels."+name, "tags."+name)
		insert(t, table, b)
	}
	for _, when := range []string{"fresh", "compacted"} {
		snap := snapshot(t, store)
		names, err := table.Columns(snap)
		if err != nil {
			t.Fatal(err)
		}
		got := slices.DeleteFunc(names, func(n string) bool { return !strings.Contains(n, ".") })
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: columns (-want +got):\n%s", when, diff)
		}
		for _, name := range want {
			if rows := allRows(t, table, snap, ScanOptions{Columns: []string{name}, Where: Not(Equal(name, ""))}); len(rows) != 1 {
				t.Errorf("%s: column %q has rows %v, want 1", when, name, rows)
			}
		}
		compact(t, store)
	}
	checkBounds(t, store, table)
}

// TestTransactionOrder checks commit ids: they grow, and a snapshot has that of
// the newest commit (C4).
func TestTransactionOrder(t *testing.T) {
	store, table := open(t, Options{Manual: true}, samples(0))
	if id := snapshot(t, store).Commit(); id != 0 {
		t.Errorf("commit %d before the first", id)
	}
	last := snapshot(t, store).Commit()
	for i := range 20 {
		id, err := table.Insert(context.Background(), oneRow(int64(i)))
		if err != nil || id <= last {
			t.Fatalf("commit %d after %d, %v", id, last, err)
		}
		if i%5 == 0 {
			compact(t, store) // a rewrite is no commit
		}
		snap := snapshot(t, store)
		if snap.Commit() != id || total(t, table, snap).rows != int64(i+1) {
			t.Errorf("after commit %d: snapshot at %d with %+v", id, snap.Commit(), total(t, table, snap))
		}
		last = id
	}
	empty, err := store.Begin().Commit()
	if err != nil || empty <= last {
		t.Errorf("empty commit %d after %d, %v", empty, last, err)
	}
}
