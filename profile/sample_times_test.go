package profile

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// timedRows returns all rows of a store: their type, time, labels, stack and value.
func timedRows(t *testing.T, db *DB) (rows []string) {
	t.Helper()
	snap := view(t, db)
	types, err := db.Types(ctx, snap)
	if err != nil {
		t.Fatal(err)
	}
	for _, typ := range types {
		times, err := db.Profiles(ctx, snap, typ, Query{})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range times {
			groups, err := db.MergeBy(ctx, snap, typ, Query{From: p.Time, To: p.Time + 1}, "goid")
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range groups {
				for frames, value := range g.Stacks.All() {
					rows = append(rows, fmt.Sprint(typ, p.Time, g.Labels, frames[0].Function, value))
				}
			}
		}
	}
	slices.Sort(rows)
	return slices.Compact(rows)
}

// TestInsert_SampleTimes inserts a profile whose samples have times of their own: the rows are those of a profile
// for each of its samples.
func TestInsert_SampleTimes(t *testing.T) {
	var samples []stack
	var times []int64
	for i := range 40 {
		samples = append(samples, stack{
			frames: fmt.Sprintf("f%d main", i%7), values: []int64{int64(i % 3), int64(10 + i)},
			labels: map[string][]string{"goid": {fmt.Sprint(i % 5)}},
		})
		times = append(times, start+int64(i*i%31)*1000)
	}
	all := makeProfile(start, "n:count cpu:nanoseconds", samples...)
	want, got := testDB(t, Options{}), testDB(t, Options{})
	for i, s := range samples {
		insert(t, want, makeProfile(times[i], "n:count cpu:nanoseconds", s))
	}
	if _, err := got.Insert(ctx, all, InsertOptions{SampleTimes: times}); err != nil {
		t.Fatal(err)
	}
	rows := timedRows(t, got)
	if diff := gocmp.Diff(timedRows(t, want), rows); diff != "" || len(rows) < 40 {
		t.Errorf("%d rows, -want +got\n%s", len(rows), diff)
	}
	insert(t, got, makeProfile(start, "n:count cpu:nanoseconds", samples[0])) // the times are not kept
	if err := got.store.Compact(ctx); err != nil {
		t.Fatal(err)
	}
	if again := timedRows(t, got); len(again) < len(rows) {
		t.Errorf("%d rows after the compaction, want %d", len(again), len(rows))
	}

	late := slices.Clone(times)
	late[7] = start + int64(1000*DefaultBucket)
	for text, test := range map[string][]int64{"39 times for 40 samples": times[:39], "the time of sample 7": late, "the time of sample 0 is 1970": make([]int64, 40)} {
		before := got.store.Stats().Rows
		_, err := got.Insert(ctx, all, InsertOptions{SampleTimes: test})
		if !errors.Is(err, ErrProfile) || !strings.Contains(err.Error(), text) || got.store.Stats().Rows != before {
			t.Errorf("%v, want %s", err, text)
		}
	}
}
