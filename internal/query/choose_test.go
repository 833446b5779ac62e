package query

import (
	"fmt"
	"maps"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/query/filter"
	"github.com/granarydb/granary/internal/querytest"
	"github.com/granarydb/granary/schema"
)

// fewRowsEach fills a table with series of a few rows each, in one granule.
func fewRowsEach(t testing.TB, table *querytest.Table, series, rows int) {
	t.Helper()
	for lo := 0; lo < series; lo += 500 {
		b := schema.Batch{Columns: map[string]encoding.Vector{}}
		var kinds, pods []string
		var stacks [][]uuid.UUID
		var times, values []int64
		for s := lo; s < min(lo+500, series); s++ {
			for row := range rows {
				kinds, pods = append(kinds, "cpu"), append(pods, fmt.Sprintf("pod-%05d-%d", s, s%2))
				stacks, times, values = append(stacks, []uuid.UUID{{byte(row)}}), append(times, int64(row%40)), append(values, int64(s))
			}
		}
		b.Rows = len(kinds)
		b.Columns["kind"], b.Columns["labels.pod"] = encoding.Strings(kinds...), encoding.Strings(pods...)
		b.Columns["stack"], b.Columns["time"], b.Columns["value"] = encoding.UUIDLists(stacks...), encoding.Int64s(times...), encoding.Int64s(values...)
		table.Insert(b)
	}
	table.Compact()
}

// isOdd chooses every other pod of fewRowsEach.
func isOdd(pod any) bool {
	name, ok := pod.(string)
	return ok && name[len(name)-1] == '1'
}

// TestChoose_Stretches asks for rows of every other series by time: the header of a part is
// evaluated once for all of them.
func TestChoose_Stretches(t *testing.T) {
	table := querytest.Open(t, querytest.Options{}, querytest.Stacks())
	const series, rows = 2000, 8
	fewRowsEach(t, table, series, rows)
	r := table.Read()
	calls := 0
	late := filter.Func("time", func(at any) bool {
		calls++
		time, ok := at.(int64)
		return ok && time >= 4
	})
	groups, err := GroupRows(t.Context(), r, AggregateOptions{
		Sum: "value", By: []string{"kind"}, Where: filter.And(filter.Func("labels.pod", isOdd), late),
	})
	if err != nil || len(groups.Sums) != 1 || groups.Counts[0] != series/2*rows/2 {
		t.Fatalf("%v, %v; want one group of %d rows", groups, err, series/2*rows/2)
	}
	most := series*rows + 2*series + 10 // each header once, and both ends of the part for each stretch
	if calls > most {
		t.Errorf("times were looked at %d times, want at most %d", calls, most)
	}
}

// TestChoose_Picks chooses single rows of some series, and all rows of others: picked rows and
// whole series come in one answer, each row with its series.
func TestChoose_Picks(t *testing.T) {
	table := querytest.Open(t, querytest.Options{}, querytest.Stacks())
	const series, rows = 60, 40
	fewRowsEach(t, table, series, rows)
	r := table.Read()
	third := func(at any) bool { time, _ := at.(int64); return time%3 == 1 }
	last := func(at any) bool { return at == int64(rows-1) }
	for name, where := range map[string]filter.Expr{
		"odd whole":  filter.Or(filter.Func("labels.pod", isOdd), filter.Func("time", third)),
		"even whole": filter.Or(filter.Not(filter.Func("labels.pod", isOdd)), filter.Func("time", third)),
		"picks only": filter.Func("time", third),
		"odd only":   filter.And(filter.Func("labels.pod", isOdd), filter.Func("time", third)),
		"few of all": filter.Func("time", last),
		"not":        filter.Not(filter.Func("time", third)),
	} {
		t.Run(name, func(t *testing.T) {
			groups, err := GroupRows(t.Context(), r, AggregateOptions{Sum: "value", By: []string{"labels.pod", "time"}, Where: where})
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]int64{}
			for i, pod := range groups.Columns[0].Values.Strings {
				got[fmt.Sprint(pod, " ", groups.Columns[1].Values.Int64s[i])] = groups.Sums[i]
			}
			want := map[string]int64{}
			for s := range series {
				odd := s%2 == 1
				for at := range int64(rows) {
					chosen := map[string]bool{
						"odd whole": odd || third(at), "even whole": !odd || third(at), "picks only": third(at),
						"odd only": odd && third(at), "few of all": last(at), "not": !third(at),
					}
					if chosen[name] {
						want[fmt.Sprintf("pod-%05d-%d %d", s, s%2, at)] = int64(s)
					}
				}
			}
			if !maps.Equal(got, want) {
				t.Errorf("%d groups %v,\nwant %d %v", len(got), got, len(want), want)
			}
		})
	}
}

// A search reads all elements of a dictionary while others add elements.
func TestHasElement_WhileInserting(t *testing.T) {
	table := querytest.Open(t, querytest.Options{}, querytest.Stacks())
	fewRowsEach(t, table, 300, 20)
	r := table.Read()
	lists := table.Generation(0).Lists
	stop := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			id := uuid.UUID{1, byte(i), byte(i >> 8), byte(i >> 16)}
			if _, err := lists.InternLists(nil, [][]uuid.UUID{{id}}); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for range 50 {
		groups, err := GroupRows(t.Context(), r, AggregateOptions{
			By: []string{"kind"}, Where: filter.HasElement("stack", func(uuid.UUID, []byte) bool { return true }),
		})
		if err != nil || len(groups.Counts) != 1 || groups.Counts[0] != 300*20 {
			t.Errorf("%v, %v; want %d rows", groups, err, 300*20)
		}
	}
	close(stop)
	running.Wait()
}

// BenchmarkAggregate_SmallSeries sums half of 16,000 series of four rows, by time too.
func BenchmarkAggregate_SmallSeries(b *testing.B) {
	table := querytest.Open(b, querytest.Options{}, querytest.Stacks())
	fewRowsEach(b, table, 16_000, 4)
	r := table.Read()
	where := filter.And(filter.Not(filter.Equal("labels.pod", "")), filter.AtLeast("time", 2), filter.Func("labels.pod", isOdd))
	for b.Loop() {
		if _, err := GroupRows(b.Context(), r, AggregateOptions{Sum: "value", By: []string{"stack"}, Where: where}); err != nil {
			b.Fatal(err)
		}
	}
}
