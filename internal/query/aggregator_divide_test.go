package query

import (
	"fmt"
	"maps"
	"testing"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/query/filter"
	"github.com/granarydb/granary/internal/querytest"
	"github.com/granarydb/granary/schema"
)

// A few chosen rows of a series, far apart in time, are grouped by time like other rows of the
// granule, with lists and without.
func TestAggregate_FarApart(t *testing.T) {
	table := querytest.Open(t, querytest.Options{}, querytest.Samples(0))
	const profiles, each = 200, 6
	want := map[string]int64{}
	for at := range int64(profiles) {
		for i := range int64(each) {
			for pod, value := range map[string]int64{"all": 1000 + at + i, "few": at*each + i} {
				table.Insert(schema.Batch{Rows: 1, Columns: map[string]encoding.Vector{
					"kind": encoding.Strings("k"), "labels.pod": encoding.Strings(pod), "stack": encoding.UUIDLists([]uuid.UUID{{byte(i)}}),
					"time": encoding.Int64s(at * at), "value": encoding.Int64s(value),
				}})
				if pod == "all" || value < 3 || value == profiles*each-1 {
					want[fmt.Sprint(pod, " ", at*at)] += value
				}
			}
		}
	}
	table.Compact()
	where := filter.Or(filter.Equal("labels.pod", "all"), filter.Less("value", int64(3)), filter.Equal("value", int64(profiles*each-1)))
	for _, by := range [][]string{{"labels.pod", "time"}, {"labels.pod", "time", "stack"}} {
		for _, sum := range []string{"value", ""} {
			groups, err := GroupRows(t.Context(), table.Read(), AggregateOptions{Sum: sum, By: by, Where: where})
			if err != nil {
				t.Fatal(err)
			}
			got, rows := map[string]int64{}, int64(0)
			for i := range groups.Sums {
				got[fmt.Sprint(groups.Columns[0].Values.Strings[i], " ", groups.Columns[1].Values.Int64s[i])] += groups.Sums[i]
				rows += groups.Counts[i]
			}
			if sum != "" && !maps.Equal(got, want) || len(got) != len(want) || rows != profiles*each+4 {
				t.Errorf("by %q: %d groups of %d rows, want %d of %d:\n%v", by, len(got), rows, len(want), profiles*each+4, got)
			}
		}
	}
}
