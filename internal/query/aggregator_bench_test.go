package query

import (
	"testing"

	"github.com/granarydb/granary/internal/query/filter"
	"github.com/granarydb/granary/internal/querytest"
)

// BenchmarkAggregate_SmallSeries sums half of 16,000 series of four rows, by time too.
func BenchmarkAggregate_SmallSeries(b *testing.B) {
	table := querytest.Open(b, querytest.Options{}, querytest.Stacks())
	table.FewRowsEach(16_000, 4)
	r := table.Read()
	where := filter.And(filter.Not(filter.Equal("labels.pod", "")), filter.AtLeast("time", 2), filter.Func("labels.pod", isOdd))
	for b.Loop() {
		if _, err := GroupRows(b.Context(), r, AggregateOptions{Sum: "value", By: []string{"stack"}, Where: where}); err != nil {
			b.Fatal(err)
		}
	}
}

// isOdd chooses every other pod of FewRowsEach.
func isOdd(pod any) bool {
	name, ok := pod.(string)
	return ok && name[len(name)-1] == '1'
}
