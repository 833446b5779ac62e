package columnstore

import (
	"fmt"
	"maps"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// fewRowsEach fills a table with series of a few rows each, in one granule.
func fewRowsEach(t testing.TB, store *Store, table *Table, series, rows int) {
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
		insert(t, table, b)
	}
	compact(t, store)
}

// isOdd chooses every other pod of fewRowsEach.
func isOdd(pod any) bool {
	name, ok := pod.(string)
	return ok && name[len(name)-1] == '1'
}

// TestChoose_Stretches queries rows of every other series by time: a part's header is evaluated once for
// all series.
func TestChoose_Stretches(t *testing.T) {
	store, table := open(t, Options{Manual: true, FutureLimit: -1}, stackSamples())
	const series, rows = 2000, 8
	fewRowsEach(t, store, table, series, rows)
	snap := snapshot(t, store)
	calls := 0
	late := Func("time", func(at any) bool {
		calls++
		time, ok := at.(int64)
		return ok && time >= 4
	})
	groups, err := table.Aggregate(t.Context(), snap, AggregateOptions{
		Sum: "value", By: []string{"kind"}, Where: And(Func("labels.pod", isOdd), late),
	})
	if err != nil || len(groups.Sums) != 1 || groups.Counts[0] != series/2*rows/2 {
		t.Fatalf("%v, %v; want one group of %d rows", groups, err, series/2*rows/2)
	}
	most := series*rows + 2*series + 10 // each header once, and both ends of the part for each stretch
	if calls > most {
		t.Errorf("times were looked at %d times, want at most %d", calls, most)
	}
}

// TestChoose_Picks chooses single rows in some series, and all rows in others: an answer has both, each
// row with its series.
func TestChoose_Picks(t *testing.T) {
	store, table := open(t, Options{Manual: true, FutureLimit: -1}, stackSamples())
	const series, rows = 60, 40
	fewRowsEach(t, store, table, series, rows)
	snap := snapshot(t, store)
	third := func(at any) bool { time, _ := at.(int64); return time%3 == 1 }
	last := func(at any) bool { return at == int64(rows-1) }
	for name, where := range map[string]Expr{
		"odd whole":  Or(Func("labels.pod", isOdd), Func("time", third)),
		"even whole": Or(Not(Func("labels.pod", isOdd)), Func("time", third)),
		"picks only": Func("time", third),
		"odd only":   And(Func("labels.pod", isOdd), Func("time", third)),
		"few of all": Func("time", last),
		"not":        Not(Func("time", third)),
	} {
		t.Run(name, func(t *testing.T) {
			groups, err := table.Aggregate(t.Context(), snap, AggregateOptions{Sum: "value", By: []string{"labels.pod", "time"}, Where: where})
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
	store, table := open(t, Options{Manual: true, FutureLimit: -1}, stackSamples())
	fewRowsEach(t, store, table, 300, 20)
	snap := snapshot(t, store)
	codes, err := table.Codes(0)
	if err != nil {
		t.Fatal(err)
	}
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
			if _, err := codes.UUIDLists(nil, [][]uuid.UUID{{id}}); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for range 50 {
		groups, err := table.Aggregate(t.Context(), snap, AggregateOptions{
			By: []string{"kind"}, Where: HasElement("stack", func(uuid.UUID, []byte) bool { return true }),
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
	store, table := open(b, Options{Manual: true, FutureLimit: -1}, stackSamples())
	fewRowsEach(b, store, table, 16_000, 4)
	snap := snapshot(b, store)
	where := And(Not(Equal("labels.pod", "")), AtLeast("time", 2), Func("labels.pod", isOdd))
	for b.Loop() {
		if _, err := table.Aggregate(b.Context(), snap, AggregateOptions{Sum: "value", By: []string{"stack"}, Where: where}); err != nil {
			b.Fatal(err)
		}
	}
}
