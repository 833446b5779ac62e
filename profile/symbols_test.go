package profile

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/schema"
)

// generationsDB returns a table in which each bucket of one second is a generation.
func generationsDB(t testing.TB) *DB {
	t.Helper()
	store, err := columnstore.Open(columnstore.Options{Manual: true, FutureLimit: -1, GenerationBuckets: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	db, err := Open(store, Options{Bucket: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// A location of several generations is one location in pprof files, lists and graphs.
func TestLocationsOfGenerationsAreOne(t *testing.T) {
	db := generationsDB(t)
	for i := range 5 {
		insert(t, db, makeProfile(start+int64(i)*int64(time.Second), "n:count",
			stack{frames: "b a", values: []int64{1}}, stack{frames: fmt.Sprintf("x%d b a", i), values: []int64{10}}))
	}
	for _, when := range []string{"fresh", "compacted"} {
		snap := view(t, db)
		p, err := db.Profile(ctx, snap, Query{})
		if err != nil || p.CheckValid() != nil || len(p.Location) != 2+5 || len(p.Function) != 2+5 || len(p.Mapping) != 1 || len(p.Sample) != 1+5 {
			t.Errorf("%s: %v, %v", when, p, err)
		}
		s, err := db.Merge(ctx, snap, cpuCount, Query{})
		if err != nil || s.Len() != 6 {
			t.Fatal(s, err)
		}
		if top := s.Top(); len(top) != 7 || top[5] != (Function{"b", 5, 55}) || top[6] != (Function{"a", 0, 55}) {
			t.Errorf("%s: %v", when, top)
		}
		if root := s.FlameGraph(FlameGraphOptions{}); len(root.Children) != 1 || len(root.Children[0].Children) != 1 || len(root.Children[0].Children[0].Children) != 5 {
			t.Errorf("%s: %+v", when, root)
		}
		if len(s.symbols.Functions()) != 7 {
			t.Errorf("%s: %d functions", when, len(s.symbols.Functions()))
		}
		if err := db.store.Compact(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

// A location without a record in one generation gets its name from another. All questions give
// the same name.
func TestRecordOfAnotherGeneration(t *testing.T) {
	db := generationsDB(t)
	p := makeProfile(start, "n:count", stack{frames: "f", values: []int64{1}})
	insert(t, db, p)
	_, id := locationRecord(nil, p.Location[0], p.Mapping[0])
	for i, at := range []int64{-1e9, 1e9} { // one generation before and one after
		rows := schema.Batch{Rows: 1, Columns: map[string]encoding.Vector{
			ColumnSampleType: encoding.Strings("n"), ColumnSampleUnit: encoding.Strings("count"),
			ColumnPeriodType: encoding.Strings("cpu"), ColumnPeriodUnit: encoding.Strings("nanoseconds"),
			ColumnStacktrace: encoding.UUIDLists([]uuid.UUID{id, {1}}), ColumnTimestamp: encoding.Int64s(start + at),
			ColumnDuration: encoding.Int64s(1), ColumnPeriod: encoding.Int64s(1), ColumnValue: encoding.Int64s(int64(10 + 90*i)),
		}}
		if _, err := db.Table().Insert(ctx, rows); err != nil {
			t.Fatal(err)
		}
	}
	s, err := db.Merge(ctx, view(t, db), cpuCount, Query{})
	if err != nil {
		t.Fatal(err)
	}
	want := []Function{{"f", 111, 111}, {"<unknown>", 0, 110}}
	if diff := cmp.Diff(want, s.Top()); diff != "" {
		t.Error(diff)
	}
	if found := searched(t, s, regexp.MustCompile("^f$")); found.Total != 111 {
		t.Errorf("found %d", found.Total)
	}
	out, err := db.Profile(ctx, view(t, db), Query{})
	if err != nil || len(out.Location) != 2 {
		t.Errorf("%v, %v", out, err)
	}
}

// A malformed record in one generation is replaced by that of another. All questions give the
// same name.
func TestMalformedRecordOfAGeneration(t *testing.T) {
	db := generationsDB(t)
	p := makeProfile(start, "n:count", stack{frames: "f", values: []int64{1}})
	insert(t, db, p)
	record, id := locationRecord(nil, p.Location[0], p.Mapping[0])
	codes, err := db.Table().Codes(start - 1e9)
	if err != nil {
		t.Fatal(err)
	}
	elements, err := codes.Elements(nil, []uuid.UUID{id, {1}}, [][]byte{record[:len(record)-1], nil})
	if err != nil {
		t.Fatal(err)
	}
	lists, err := codes.Lists(nil, [][]uint32{elements})
	if err != nil {
		t.Fatal(err)
	}
	tx := db.store.Begin()
	if err := tx.InsertCodes(ctx, codes, schema.Batch{Rows: 1, Columns: map[string]encoding.Vector{
		ColumnSampleType: encoding.Strings("n"), ColumnSampleUnit: encoding.Strings("count"),
		ColumnPeriodType: encoding.Strings("cpu"), ColumnPeriodUnit: encoding.Strings("nanoseconds"),
		ColumnStacktrace: encoding.ListCodes(lists...), ColumnTimestamp: encoding.Int64s(start - 1e9),
		ColumnDuration: encoding.Int64s(1), ColumnPeriod: encoding.Int64s(1), ColumnValue: encoding.Int64s(10),
	}}); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	s, err := db.Merge(ctx, view(t, db), cpuCount, Query{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Function{{"f", 11, 11}, {"<unknown>", 0, 10}}, s.Top()); diff != "" {
		t.Error(diff)
	}
	if found := searched(t, s, regexp.MustCompile("^f$")); found.Total != 11 {
		t.Errorf("found %d, want 11", found.Total)
	}
}

// Stacks answer concurrent questions. A merge looks up no symbols before they are needed.
func TestStacksAreSafeForConcurrentUse(t *testing.T) {
	db := generationsDB(t)
	for i := range 6 {
		insert(t, db, makeProfile(start+int64(i)*int64(time.Second), "n:count",
			stack{frames: "c b a", values: []int64{1}}, stack{frames: "in +b a", values: []int64{2}}, stack{frames: "? a", values: []int64{3}}))
	}
	s, err := db.Merge(ctx, view(t, db), cpuCount, Query{})
	if err != nil || len(s.symbols.Functions()) != 0 {
		t.Fatalf("%d functions looked up, %v", len(s.symbols.Functions()), err)
	}
	q := Query{Function: regexp.MustCompile("^c$")}
	where := q.Expr(cpuCount) // may be shared too
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if top := s.Top(); len(top) != 5 {
				t.Errorf("%v", top)
			}
			if n := s.FlameGraph(FlameGraphOptions{MaxNodes: 2}); n.Total != 36 {
				t.Errorf("%+v", n)
			}
			found := searched(t, s, regexp.MustCompile("^in$"))
			if d, err := DiffTop(s, found); err != nil || len(d) != 4 {
				t.Errorf("%+v, %v", d, err)
			}
			for range found.All() {
				s.Top() // nested
			}
			groups, err := db.table.Aggregate(ctx, view(t, db), columnstore.AggregateOptions{Sum: ColumnValue, Where: where})
			if err != nil || groups.Sums[0] != 6 {
				t.Errorf("%v, %v", groups, err)
			}
		})
	}
	wg.Wait()
}

// A merge allocates little more than its answer.
func TestMergeAllocatesLittle(t *testing.T) {
	if testing.Short() || effort.Race {
		t.Skip("inserts 80,000 stacks; under the race detector the store keeps less")
	}
	db := testDB(t, Options{})
	const profiles, stacks = 4, 20_000
	for i := range profiles {
		var all []stack
		for k := range stacks {
			n := i*stacks + k
			all = append(all, stack{frames: fmt.Sprintf("f%d g%d h%d main", n%97, n/97%89, n/97/89), values: []int64{1}})
		}
		insert(t, db, makeProfile(start, "n:count", all...), "pod", fmt.Sprint(i))
	}
	if err := db.store.Compact(ctx); err != nil {
		t.Fatal(err)
	}
	snap := view(t, db)
	least := uint64(math.MaxUint64) // the store keeps the memory of sums for the next query
	for range 10 {
		least = min(least, effort.Allocated(func() {
			if s, err := db.Merge(ctx, snap, cpuCount, Query{}); err != nil || s.Len() != profiles*stacks {
				t.Fatal(s.Len(), err)
			}
		}))
	}
	if result := uint64(12 * profiles * stacks); least > 2*result {
		t.Errorf("%d bytes for an answer of %d", least, result)
	}
}

// Every question returns an error if it exceeds the memory limit, and an answer otherwise.
func TestMaxBytes(t *testing.T) {
	db := testDB(t, Options{})
	for i := range 50 {
		insert(t, db, makeProfile(start+int64(i), "n:count",
			stack{frames: "f g", values: []int64{1}, labels: map[string][]string{"k": {fmt.Sprint(i)}}}), "pod", fmt.Sprint(i))
	}
	snap := view(t, db)
	for name, ask := range map[string]func(q Query) error{
		"Merge":       func(q Query) error { _, err := db.Merge(ctx, snap, cpuCount, q); return err },
		"MergeBy":     func(q Query) error { _, err := db.MergeBy(ctx, snap, cpuCount, q, "pod"); return err },
		"Range":       func(q Query) error { _, err := db.Range(ctx, snap, cpuCount, q, RangeOptions{}); return err },
		"Profiles":    func(q Query) error { _, err := db.Profiles(ctx, snap, cpuCount, q); return err },
		"Profile":     func(q Query) error { _, err := db.Profile(ctx, snap, q); return err },
		"LabelValues": func(q Query) error { _, err := db.LabelValues(ctx, snap, "k", q); return err },
		"DefaultType": func(q Query) error { _, err := db.DefaultType(ctx, snap, q); return err },
	} {
		if err := ask(Query{MaxBytes: 1}); !errors.Is(err, columnstore.ErrQueryMemory) {
			t.Errorf("%s in a byte: %v", name, err)
		}
		if err := ask(Query{MaxBytes: 64 << 20}); err != nil {
			t.Errorf("%s in 64 MiB: %v", name, err)
		}
	}
	// The answer counts in addition to its 50 groups.
	groups, err := db.table.Aggregate(ctx, snap, columnstore.AggregateOptions{By: []string{ColumnTimestamp, ColumnTraceID, ColumnStacktrace, ColumnSampleType}})
	if err != nil {
		t.Fatal(err)
	}
	const rows = 50 * (16 + 8 + 16 + 1 + 4 + 16)
	for most, want := range map[int64]error{0: nil, -1: nil, rows + 100: nil, rows + 99: columnstore.ErrQueryMemory} {
		if err := db.plan(t.Context(), snap, Query{MaxBytes: most}).fits(groups, 100); !errors.Is(err, want) {
			t.Errorf("%d bytes: %v, want %v", most, err, want)
		}
	}
}

// A difference has one type, and matches equal functions of any stores.
func TestDiffTop(t *testing.T) {
	merge := func(types string, stacks ...stack) *Stacks { return merged(t, makeProfile(start, types, stacks...)) }
	before := merge("n:count", stack{frames: "b a", values: []int64{5}}, stack{frames: "a", values: []int64{2}}, stack{frames: "gone", values: []int64{1}})
	after := merge("n:count", stack{frames: "b a", values: []int64{3}}, stack{frames: "a", values: []int64{2}}, stack{frames: "new", values: []int64{9}}, stack{frames: "gone", values: []int64{0}})
	changes := func(before, after *Stacks) []FunctionChange {
		t.Helper()
		all, err := DiffTop(before, after)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	want := []FunctionChange{
		{Function{"new", 9, 9}, FunctionCost{}, FunctionCost{9, 9}},
		{Function{"b", -2, -2}, FunctionCost{5, 5}, FunctionCost{3, 3}},
		{Function{"gone", -1, -1}, FunctionCost{1, 1}, FunctionCost{}},
		{Function{"a", 0, -2}, FunctionCost{2, 7}, FunctionCost{2, 5}},
	}
	if diff := cmp.Diff(want, changes(before, after)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if got := changes(after, before); len(got) != 4 || got[0].Flat != -9 {
		t.Errorf("the other way: %v", got)
	}
	if got := changes(&Stacks{Type: cpuCount}, after); len(got) != 3 || got[0] != want[0] {
		t.Errorf("of nothing before: %v", got)
	}
	if got := changes(after, after); len(got) != 0 {
		t.Errorf("of itself: %v", got)
	}
	if got, err := DiffTop(after, new(Stacks)); !errors.Is(err, ErrMixed) || got != nil || !strings.Contains(err.Error(), cpuCount.String()) {
		t.Errorf("of two types: %v, %v", got, err)
	}
	none := new(Stacks)
	for range none.All() {
		t.Error("a stack of none")
	}
	if none.Len() != 0 || len(none.Top()) != 0 || searched(t, none, regexp.MustCompile("")).Len() != 0 {
		t.Error("the zero Stacks has stacks")
	}
}
