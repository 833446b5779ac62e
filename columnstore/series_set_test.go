package columnstore

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// TestAllOfSeries compares And of conditions on columns of few and of many values, in any
// order, with the conditions one by one.
func TestAllOfSeries(t *testing.T) {
	store, table := open(t, Options{Manual: true, FutureLimit: -1}, stackSamples())
	rng := rand.New(rand.NewPCG(1, 1))
	const pods = 700
	for lo := 0; lo < pods; lo += 100 {
		b := schema.Batch{Columns: map[string]encoding.Vector{}}
		var kinds, names, zones []string
		for pod := lo; pod < lo+100; pod++ {
			kinds = append(kinds, []string{"cpu", "heap", "wall"}[pod%3])
			names = append(names, fmt.Sprint("pod-", pod))
			zones = append(zones, []string{"", "a", "b", "c", "d", "e", "f"}[rng.IntN(7)])
			b.Rows++
		}
		b.Columns["kind"], b.Columns["labels.pod"], b.Columns["labels.zone"] = encoding.Strings(kinds...), encoding.Strings(names...), encoding.Strings(zones...)
		b.Columns["time"], b.Columns["value"] = encoding.Int64s(make([]int64, b.Rows)...), encoding.Int64s(make([]int64, b.Rows)...)
		b.Columns["stack"] = encoding.UUIDLists(make([][]uuid.UUID, b.Rows)...)
		insert(t, table, b)
	}
	conditions := func() Expr {
		switch rng.IntN(8) {
		case 0:
			return Equal("labels.pod", fmt.Sprint("pod-", rng.IntN(pods)))
		case 1:
			return Match("labels.pod", regexp.MustCompile(fmt.Sprintf("-%d", rng.IntN(10))))
		case 2:
			return Equal("kind", []string{"cpu", "heap", "wall", "none"}[rng.IntN(4)])
		case 3:
			return Equal("labels.zone", []string{"a", "f", "g"}[rng.IntN(3)])
		case 4:
			return IsNull("labels.zone")
		case 5:
			return Not(Match("labels.zone", regexp.MustCompile("[abc]")))
		case 6:
			return Less("labels.pod", fmt.Sprint("pod-", rng.IntN(pods)))
		}
		return AtLeast("time", 0)
	}
	snap := snapshot(t, store)
	for range 300 {
		var each []Expr
		for range 1 + rng.IntN(4) {
			each = append(each, conditions())
		}
		checkAllOfSeries(t, table, snap, each)
	}
}

// checkAllOfSeries compares the series of And with those of each of its conditions alone.
func checkAllOfSeries(t *testing.T, table *Table, snap *Snapshot, each []Expr) {
	t.Helper()
	pods := func(where Expr) (names []string) {
		all, err := table.Series(t.Context(), snap, where)
		if err != nil {
			t.Fatal(err)
		}
		for _, series := range all {
			names = append(names, series.Value("labels.pod"))
		}
		return names
	}
	want := pods(each[0])
	for _, one := range each[1:] {
		has := pods(one)
		want = slices.DeleteFunc(want, func(pod string) bool { return !slices.Contains(has, pod) })
	}
	if got := pods(And(each...)); !slices.Equal(got, want) {
		t.Errorf("%v: %d series %v, want %d %v", And(each...), len(got), got, len(want), want)
	}
}
