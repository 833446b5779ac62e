package query

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/query/filter"
	"github.com/granarydb/granary/internal/querytest"
	"github.com/granarydb/granary/schema"
)

// TestAllOfSeries compares And of conditions on columns of few and of many values, in any
// order, with the conditions one by one.
func TestAllOfSeries(t *testing.T) {
	table := querytest.Open(t, querytest.Options{}, querytest.Stacks())
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
		table.Insert(b)
	}
	conditions := func() filter.Expr {
		switch rng.IntN(8) {
		case 0:
			return filter.Equal("labels.pod", fmt.Sprint("pod-", rng.IntN(pods)))
		case 1:
			return filter.Match("labels.pod", regexp.MustCompile(fmt.Sprintf("-%d", rng.IntN(10))))
		case 2:
			return filter.Equal("kind", []string{"cpu", "heap", "wall", "none"}[rng.IntN(4)])
		case 3:
			return filter.Equal("labels.zone", []string{"a", "f", "g"}[rng.IntN(3)])
		case 4:
			return filter.IsNull("labels.zone")
		case 5:
			return filter.Not(filter.Match("labels.zone", regexp.MustCompile("[abc]")))
		case 6:
			return filter.Less("labels.pod", fmt.Sprint("pod-", rng.IntN(pods)))
		}
		return filter.AtLeast("time", 0)
	}
	r := table.Read()
	for range effort.Less(300, 10) {
		var each []filter.Expr
		for range 1 + rng.IntN(4) {
			each = append(each, conditions())
		}
		checkAllOfSeries(t, r, each)
	}
}

// checkAllOfSeries compares the series of And with those of each of its conditions alone.
func checkAllOfSeries(t *testing.T, r *filter.Read, each []filter.Expr) {
	t.Helper()
	pods := func(where filter.Expr) (names []string) {
		all, err := ListSeries(t.Context(), r, where)
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
	if got := pods(filter.And(each...)); !slices.Equal(got, want) {
		t.Errorf("%v: %d series %v, want %d %v", filter.And(each...), len(got), got, len(want), want)
	}
}
