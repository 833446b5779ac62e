package columnstore

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// Sums by list are those of a map: of a hash table, of one that became an array, of an
// array from the start, of several put together; with counts and without. What has been
// summed in is zero for the next.
func TestListSums(t *testing.T) {
	const most = 5000
	memory := &queryMemory{ctx: t.Context(), most: math.MaxInt64}
	rng := rand.New(rand.NewPCG(1, 8))
	for _, test := range []struct {
		name         string
		hint         int // rows that come at first
		rows, others int
		array, after bool // at first, and in the end
	}{
		{"hash table", 10, 100, 50, false, false},
		{"becomes an array", 10, 5000, 0, false, true},
		{"array", most / 2, 3000, 0, true, true},
		{"array of few rows", most / 2, 3, 0, true, true},
		{"two arrays", most / 2, 3000, 3000, true, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			for range 3 {
				want := map[uint32]tally{}
				filled := func(rows int) *listSums {
					s := newListSums(most, test.hint)
					if isArray := s.codes == nil; isArray != test.array {
						t.Fatalf("an array at first: %v", isArray)
					}
					codes, values := make([]uint64, rows), make([]uint64, rows)
					for i := range codes {
						codes[i], values[i] = uint64(rng.IntN(most+1)), uint64(rng.IntN(100)-50)
						c := want[uint32(codes[i])]
						c.add(tally{int64(values[i]), 1})
						want[uint32(codes[i])] = c
					}
					if err := s.add(codes, values, memory); err != nil {
						t.Fatal(err)
					}
					return s
				}
				s := filled(test.rows)
				if test.others > 0 {
					other := filled(test.others)
					if err := s.merge(other, nil, memory); err != nil {
						t.Fatal(err)
					}
					other.done()
				}
				if isArray := s.codes == nil; isArray != test.after {
					t.Fatalf("an array in the end: %v", isArray)
				}
				checkMoved(t, s, want, memory, rng.IntN(2) == 0)
			}
		})
	}
}

// checkMoved moves sums behind those of others that are there, and gives them back.
func checkMoved(t *testing.T, s *listSums, want map[uint32]tally, memory *queryMemory, counted bool) {
	t.Helper()
	n := s.len()
	for code := range uint32(s.most + 1) {
		if _, has := want[code]; s.has(code) != has {
			t.Fatalf("it has list %d: %v", code, !has)
		}
	}
	codes, sums, counts := append(make([]uint32, 0, n+2), 7), append(make([]int64, 0, n+2), 8), []int64(nil)
	if counted {
		counts = append(make([]int64, 0, n+2), 9)
	}
	codes, sums, counts, err := s.moveTo(codes, sums, counts, memory)
	if err != nil || n != len(want) || len(codes) != n+1 || len(sums) != n+1 || counted && len(counts) != n+1 || !counted && counts != nil {
		t.Fatalf("%d of %d lists: %d codes, %d sums, %d counts, %v", n, len(want), len(codes), len(sums), len(counts), err)
	}
	if codes[0] != 7 || sums[0] != 8 || counted && counts[0] != 9 {
		t.Errorf("what was there is %d, %d, %d", codes[0], sums[0], counts[0])
	}
	for i, code := range codes[1:] {
		if sums[i+1] != want[code].sum || counted && counts[i+1] != want[code].count {
			t.Fatalf("list %d has sum %d, want %+v", code, sums[i+1], want[code])
		}
		delete(want, code) // it comes once
	}
	cells := s.cells
	s.done()
	for i, c := range cells[:cap(cells)] {
		if c != (tally{}) {
			t.Fatalf("cell %d is given back as %+v", i, c)
		}
	}
}

// A goroutine is worth its while if there are many rows for each list, too.
func TestChooser_Estimate(t *testing.T) {
	store, table := open(t, Options{Manual: true, FutureLimit: -1, GenerationBuckets: 1}, stackSamples())
	manyStacks(t, table, 1)
	state := store.log.Root().State.table(table.ordinal)
	for _, test := range []struct {
		name  string
		where Expr
		rows  int
		want  estimate
	}{
		{"all", Expr{}, 300_000, estimate{300_000, 4000, true, 4000}},
		{"all that some granules have", Expr{}, 1000, estimate{1000, 1000, true, 4000}},
		{"one pod of forty", Equal("labels.pod", "pod-7"), 300_000, estimate{7500, 100, true, 4000}},
		{"no pod", Equal("labels.pod", "none"), 300_000, estimate{0, 0, true, 4000}},
		{"another time", AtLeast("time", int64(1000)), 300_000, estimate{sure: true}},
		{"what only rows say", Less("value", int64(3)), 300_000, estimate{300_000, 4000, false, 4000}},
		{"one pod, and what only rows say", And(Equal("labels.pod", "pod-7"), Less("value", int64(3))), 300_000, estimate{7500, 100, false, 4000}},
	} {
		c, err := newChooser(t.Context(), table, test.where)
		if err != nil {
			t.Fatal(err)
		}
		got := c.estimate(state, test.where, test.rows)
		c.done()
		if got != test.want {
			t.Errorf("%s, of %d rows: %+v, want %+v", test.name, test.rows, got, test.want)
		}
	}
}

// skewed fills a table with a series of many rows, of as many lists as said, and one of ten.
func skewed(t testing.TB, table *Table, lists, rows int) {
	t.Helper()
	codes, err := table.Codes(0)
	if err != nil {
		t.Fatal(err)
	}
	all := make([][]uuid.UUID, lists)
	for i := range all {
		all[i] = []uuid.UUID{{1, byte(i), byte(i >> 8), byte(i >> 16)}}
	}
	known, err := codes.UUIDLists(nil, all)
	if err != nil {
		t.Fatal(err)
	}
	for pod, n := range map[string]int{"large": rows, "small": 10} {
		series, err := codes.Series(map[string]string{"kind": "cpu", "labels.pod": pod})
		if err != nil {
			t.Fatal(err)
		}
		of, values := make([]uint32, n), make([]int64, n)
		for i := range of {
			of[i], values[i] = known[i%lists], int64(i)
		}
		b := schema.Batch{Rows: n, Series: series, Columns: map[string]encoding.Vector{"time": encoding.Int64s(1)}}
		b.Columns["stack"], b.Columns["value"] = encoding.ListCodes(of...), encoding.Int64s(values...)
		if _, err := codes.Insert(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
}

// A series of few rows among others of many is summed in a hash table of as few lists, and
// not in an array of all that the dictionary has.
func TestAggregate_SmallSeries(t *testing.T) {
	store, table := open(t, Options{Manual: true, FutureLimit: -1}, stackSamples())
	skewed(t, table, 4000, 20_000)
	compact(t, store)
	state, use, err := snapshot(t, store).read(table)
	if err != nil {
		t.Fatal(err)
	}
	defer use.Done()
	for pod, array := range map[string]bool{"small": false, "large": true} {
		a, err := table.newAggregator(t.Context(), state, AggregateOptions{Sum: "value", By: []string{"stack"}})
		if err != nil {
			t.Fatal(err)
		}
		if err := a.sumAll(t.Context(), state, use, Equal("labels.pod", pod)); err != nil {
			t.Fatal(err)
		}
		if s := a.lists[0][0]; (s.codes == nil) != array || !array && len(s.cells) > 64 {
			t.Errorf("%s: %d cells, an array: %v", pod, len(s.cells), s.codes == nil)
		}
		a.done()
	}
}

// An array that an earlier query left counts with what is wanted of it, not with its length.
func TestAggregate_MaxBytes_KeptArray(t *testing.T) {
	store, table := open(t, Options{Manual: true, FutureLimit: -1}, stackSamples())
	skewed(t, table, 4000, 20_000)
	snap := snapshot(t, store)
	for range 4 {
		for range 10 {
			cells := make([]tally, 1<<20)
			arrays.Put(&cells)
		}
		opts := AggregateOptions{Sum: "value", By: []string{"stack"}, Where: Equal("labels.pod", "large"), MaxBytes: 1 << 20}
		if g, err := table.Aggregate(t.Context(), snap, opts); err != nil || len(g.Sums) != 4000 {
			t.Fatal(err)
		}
	}
}
