package columnstore

import (
	"testing"

	"github.com/granarydb/granary/internal/query/filter"
)

// Queries count their reads: a whole table, by one goroutine or several, and less if a condition holds
// for few series or times.
func TestCounts(t *testing.T) {
	collectRarely(t)
	store, table := open(t, Options{Manual: true, FutureLimit: -1, GenerationBuckets: 1}, stackSamples())
	manyStacks(t, table, 3)
	if err := store.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	snap := snapshot(t, store)
	var all [3]int64
	for g, err := range table.Inspect(t.Context(), snap) {
		if err != nil {
			t.Fatal(err)
		}
		all[0], all[1], all[2] = all[0]+1, all[1]+int64(len(g.Parts)), all[2]+int64(g.Rows)
	}
	if all[0] < 3 || all[2] != store.Stats().Rows {
		t.Fatalf("%v of %d rows", all, store.Stats().Rows)
	}
	for name, where := range map[string]Expr{"all": {}, "a pod": Equal("labels.pod", "pod-7"), "a time": Equal("time", int64(105)), "none": Equal("kind", "no")} {
		for question, ask := range map[string]func(*filter.Counts) int64{
			"sums": func(counts *filter.Counts) (rows int64) {
				groups, err := table.Aggregate(filter.Counting(t.Context(), counts), snap, AggregateOptions{Sum: "value", By: []string{"stack"}, Where: where})
				if err != nil {
					t.Fatal(err)
				}
				for _, n := range groups.Counts {
					rows += n
				}
				return rows
			},
			"scan": func(counts *filter.Counts) (rows int64) {
				for rec, err := range table.Scan(filter.Counting(t.Context(), counts), snap, ScanOptions{Columns: []string{"value"}, Where: where}) {
					if err != nil {
						t.Fatal(err)
					}
					rows += rec.NumRows()
					rec.Release()
				}
				return rows
			},
		} {
			var counts filter.Counts
			rows := ask(&counts)
			got := [3]int64{counts.Granules.Load(), counts.Parts.Load(), counts.Rows.Load()}
			if counts.Chosen.Load() != rows || got[2] < rows {
				t.Errorf("%s of %s: %d of %d rows chosen, want %d", question, name, counts.Chosen.Load(), got[2], rows)
			}
			if isAll := name == "all"; isAll != (got == all) || got[0] > all[0] || got[2] > all[2] {
				t.Errorf("%s of %s: %v of %v", question, name, got, all)
			}
			if name == "none" && got != [3]int64{} {
				t.Errorf("%s of nothing: %v", question, got)
			}
		}
	}
}
