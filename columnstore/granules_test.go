package columnstore

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/encoding"
)

// TestGranuleOfEqualKeys grows a granule beyond GranuleRows, since equal keys stay together.
// It is not rewritten over and over for that.
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
	// A rewrite at least every MaxParts inserts: 16 -> sum of 16, 32, ... 400.
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

// TestFirstKeyBelowAll inserts falling keys, in buckets in falling order: each has a place
// (C6).
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
