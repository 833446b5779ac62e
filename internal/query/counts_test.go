package query

import (
	"testing"

	"github.com/granarydb/granary/internal/query/filter"
	"github.com/granarydb/granary/internal/querytest"
)

// Queries count their reads: a whole table, by one goroutine or several, and less if a condition holds
// for few series or times.
func TestCounts(t *testing.T) {
	table := querytest.Open(t, querytest.Options{GenerationBuckets: 1, GranuleRows: 1 << 16}, querytest.Stacks())
	manyStacks(table, 3)
	table.Compact()
	r := table.Read()
	var all [3]int64
	for _, g := range r.State.Granules.All() {
		all[0], all[1], all[2] = all[0]+1, all[1]+int64(g.Parts()), all[2]+int64(g.Rows())
	}
	if all[0] < 3 || all[2] != r.State.Rows {
		t.Fatalf("%v of %d rows", all, r.State.Rows)
	}
	for name, where := range map[string]filter.Expr{"all": {}, "a pod": filter.Equal("labels.pod", "pod-7"), "a time": filter.Equal("time", int64(105)), "none": filter.Equal("kind", "no")} {
		for question, ask := range map[string]func(*filter.Counts) int64{
			"sums": func(counts *filter.Counts) (rows int64) {
				groups, err := GroupRows(filter.Counting(t.Context(), counts), r, AggregateOptions{Sum: "value", By: []string{"stack"}, Where: where})
				if err != nil {
					t.Fatal(err)
				}
				for _, n := range groups.Counts {
					rows += n
				}
				return rows
			},
			"scan": func(counts *filter.Counts) (rows int64) {
				for rec, err := range scanned(filter.Counting(t.Context(), counts), r, ScanOptions{Columns: []string{"value"}, Where: where}) {
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
