package filter_test

import (
	"context"
	"errors"
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

// count returns the number of rows that a condition chooses.
func count(ctx context.Context, r *filter.Read, where filter.Expr) (rows int, err error) {
	for s, err := range r.Chosen(ctx, where, false, false) {
		if err != nil {
			return rows, err
		}
		rows += s.Rows
	}
	return rows, nil
}

// isOdd chooses every other pod of FewRowsEach.
func isOdd(pod any) bool {
	name, ok := pod.(string)
	return ok && name[len(name)-1] == '1'
}

// TestChoose_Stretches asks for rows of every other series by time: the header of a part is
// evaluated once for all of them.
func TestChoose_Stretches(t *testing.T) {
	table := querytest.Open(t, querytest.Options{}, querytest.Stacks())
	const series, rows = 2000, 8
	table.FewRowsEach(series, rows)
	r := table.Read()
	calls := 0
	late := filter.Func("time", func(at any) bool {
		calls++
		time, ok := at.(int64)
		return ok && time >= 4
	})
	if n, err := count(t.Context(), r, filter.And(filter.Func("labels.pod", isOdd), late)); err != nil || n != series/2*rows/2 {
		t.Fatalf("%d rows, %v; want %d", n, err, series/2*rows/2)
	}
	most := series*rows + 2*series + 10 // each header once, and both ends of the part for each stretch
	if calls > most {
		t.Errorf("times were looked at %d times, want at most %d", calls, most)
	}
}

// checkSpans compares the series of a selection's spans with the series of its rows.
func checkSpans(t *testing.T, s *filter.Selection) {
	t.Helper()
	series := s.Words(nil, s.Part.Series())
	for spans := s.Spans; len(spans) > 0; {
		rows, rest := filter.SameSeries(spans)
		for _, code := range series[:rows] {
			if uint32(code) != spans[0].Series {
				t.Fatalf("a span of %d rows is of series %d, its rows of %d", rows, spans[0].Series, series[:rows])
			}
		}
		series, spans = series[rows:], rest
	}
	if len(series) > 0 {
		t.Fatalf("%d rows are in no span", len(series))
	}
}

// TestChoose_Picks chooses single rows of some series, and all rows of others: picked rows and
// whole series come in one answer, each row with its series.
func TestChoose_Picks(t *testing.T) {
	table := querytest.Open(t, querytest.Options{}, querytest.Stacks())
	const series, rows = 60, 40
	table.FewRowsEach(series, rows)
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
			got := map[string]int64{}
			for selection, err := range r.Chosen(t.Context(), where, false, false) {
				if err != nil {
					t.Fatal(err)
				}
				checkSpans(t, &selection)
				for _, row := range querytest.RowsOf(r, &selection, "labels.pod", "time", "value") {
					got[fmt.Sprint(row["labels.pod"], " ", row["time"])] += row["value"].(int64)
				}
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
	table.FewRowsEach(300, 20)
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
		n, err := count(t.Context(), r, filter.HasElement("stack", func(uuid.UUID, []byte) bool { return true }))
		if err != nil || n != 300*20 {
			t.Errorf("%d rows, %v; want %d", n, err, 300*20)
		}
	}
	close(stop)
	running.Wait()
}

// Rows of one id are found, alone and beside conditions on the same rows, in parts with an ID
// filter, in parts without, and in both.
func TestChosen_ByID(t *testing.T) {
	def := querytest.Stacks()
	def.Columns = append(def.Columns[:4:4], schema.Column{Name: "trace", Type: encoding.UUID, Encoding: encoding.Plain, Nullable: true}, def.Columns[4])
	table := querytest.Open(t, querytest.Options{}, def)
	const batches, rows, ids = 8, 400, 500
	idOf := func(batch, row int) uuid.UUID {
		id := (batch*rows + row) * 7 % (ids - 1)
		if batch == batches-1 && row == 17 { // in the fresh part alone
			id = ids - 1
		}
		return uuid.UUID{byte(id), byte(id >> 8), 9: 1}
	}
	for n := range batches {
		trace, stacks, values := make([]uuid.UUID, rows), make([][]uuid.UUID, rows), make([]int64, rows)
		for i := range trace {
			trace[i], stacks[i], values[i] = idOf(n, i), []uuid.UUID{{byte(i * 31), byte(i * 31 >> 8)}}, int64(i%10)
		}
		table.Insert(schema.Batch{Rows: rows, Columns: map[string]encoding.Vector{
			"kind": encoding.Strings("cpu"), "labels.pod": encoding.Strings(fmt.Sprint(n % 2)), "time": encoding.Int64s(int64(n)),
			"value": encoding.Int64s(values...), "trace": encoding.UUIDs(trace...), "stack": encoding.UUIDLists(stacks...),
		}})
		if n == batches-2 {
			table.Compact()
		}
	}
	step := 1
	if testing.Short() {
		step = 5 // the last id is among these
	}
	for _, when := range []string{"a fresh part", "compacted", "cold"} {
		if when == "cold" {
			for _, b := range table.State().Buckets.All() {
				table.Cool(b)
			}
		}
		r := table.Read()
		for id := -1; id < ids; id += step {
			one := uuid.UUID{byte(id), byte(id >> 8), 9: 1}
			for _, tt := range []struct {
				name  string
				where filter.Expr
				holds func(same bool, value int) bool
			}{
				{"is", filter.Equal("trace", one), func(same bool, _ int) bool { return same }},
				{"is, and above", filter.And(filter.AtLeast("value", 5), filter.Equal("trace", one)), func(same bool, value int) bool { return same && value >= 5 }},
				{"is, or above", filter.Or(filter.Equal("trace", one), filter.AtLeast("value", 9)), func(same bool, value int) bool { return same || value >= 9 }},
				{"is not", filter.Not(filter.Equal("trace", one)), func(same bool, _ int) bool { return !same }},
			} {
				want := 0
				for row := range batches * rows {
					if tt.holds(idOf(row/rows, row%rows) == one, row%rows%10) {
						want++
					}
				}
				got, err := count(t.Context(), r, tt.where)
				if err != nil {
					t.Fatal(err)
				}
				if got != want {
					t.Fatalf("%s: %d rows of which trace %s %v; want %d", when, got, tt.name, one, want)
				}
			}
		}
		table.Compact()
	}
}

// Func receives the Go value of each type, and nil for a null.
func TestFuncSeesValues(t *testing.T) {
	table := querytest.Open(t, querytest.Options{}, schema.Definition{Columns: []schema.Column{
		{Name: "s", Type: encoding.String, Encoding: encoding.Dictionary, Nullable: true},
		{Name: "u", Type: encoding.UUID, Encoding: encoding.Plain, Nullable: true},
		{Name: "i", Type: encoding.Int64, Encoding: encoding.Plain, Nullable: true},
		{Name: "n", Type: encoding.Uint64, Encoding: encoding.Plain, Nullable: true},
		{Name: "f", Type: encoding.Float64, Encoding: encoding.Plain, Nullable: true},
		{Name: "b", Type: encoding.Bool, Encoding: encoding.Plain, Nullable: true},
		{Name: "l", Type: encoding.UUIDList, Encoding: encoding.Dictionary, Nullable: true},
	}})
	half := func(v encoding.Vector) encoding.Vector { // the second row is null
		v.Valid = []bool{true, false}
		return v
	}
	table.Insert(schema.Batch{Rows: 2, Columns: map[string]encoding.Vector{
		"s": half(encoding.Strings("x", "")), "u": half(encoding.UUIDs(uuid.UUID{7}, uuid.Nil)),
		"i": half(encoding.Int64s(-3, 0)), "n": half(encoding.Uint64s(1<<63, 0)),
		"f": half(encoding.Float64s(0.5, 0)), "b": half(encoding.Bools(true, false)),
	}})
	r := table.Read()
	for column, want := range map[string]any{"s": "x", "u": uuid.UUID{7}, "i": int64(-3), "n": uint64(1 << 63), "f": 0.5, "b": true} {
		for _, wanted := range []any{want, nil} {
			if n, err := count(t.Context(), r, filter.Func(column, func(v any) bool { return v == wanted })); err != nil || n != 1 {
				t.Errorf("%s: rows equal to %v: %d, %v; want one", column, wanted, n, err)
			}
		}
	}
	for _, bad := range []filter.Expr{filter.Func("l", func(any) bool { return true }), filter.Func("i", nil), filter.Func("none", func(any) bool { return true })} {
		if _, err := count(t.Context(), r, bad); !errors.Is(err, filter.ErrQuery) {
			t.Errorf("a condition that cannot be: %v", err)
		}
	}
}

// TestEqualInt has conditions with untyped constants, which are ints.
func TestEqualInt(t *testing.T) {
	table := querytest.Open(t, querytest.Options{}, querytest.Samples(100))
	for i := range 5 {
		table.Insert(querytest.OneRow(int64(100 * i)))
	}
	for _, test := range []struct {
		name  string
		where filter.Expr
		rows  int
	}{
		{"equal", filter.Equal("time", 300), 1},
		{"at least", filter.AtLeast("time", 300), 2},
		{"less", filter.Less("time", 300), 3},
		{"value", filter.Equal("value", 1), 5},
		{"at most", filter.AtMost("time", 300), 4},
		{"greater", filter.Greater("time", 300), 1},
		{"between", filter.Between("time", 100, 300), 3},
	} {
		if n, err := count(t.Context(), table.Read(), test.where); err != nil || n != test.rows {
			t.Errorf("%s: %d rows, %v; want %d", test.name, n, err, test.rows)
		}
	}
}

// The condition is called once for an element of a list in each generation with the element,
// by the reading goroutine, for any number of rows and lists.
func TestHasElement_AsksOnce(t *testing.T) {
	table := querytest.Open(t, querytest.Options{GenerationBuckets: 1, GranuleRows: 50}, querytest.Samples(100))
	const generations = 3
	for i := range 300 {
		b := querytest.OneRow(int64(i % generations * 100))
		b.Columns["stack"] = encoding.UUIDLists([]uuid.UUID{{1}, {2, byte(i % 50)}, {3, byte(i)}})
		table.Insert(b)
	}
	for _, when := range []string{"fresh", "compacted"} {
		asked := map[uuid.UUID]int{}
		n, err := count(t.Context(), table.Read(), filter.HasElement("stack", func(id uuid.UUID, record []byte) bool {
			asked[id]++
			if record != nil {
				t.Errorf("record %q", record)
			}
			return id == uuid.UUID{2, 7}
		}))
		if err != nil || n != 6 {
			t.Errorf("%s: %d rows, %v; want 6", when, n, err)
		}
		for id, n := range asked {
			if n > generations {
				t.Errorf("%s: asked %d times about %v", when, n, id)
			}
		}
		table.Compact()
	}
}

// The estimate of rows and lists assumes that all series have as many.
func TestChooser_Estimate(t *testing.T) {
	const profiles, rows, stacks = 200, 1500, 4000
	table := querytest.Open(t, querytest.Options{GenerationBuckets: 1}, querytest.Stacks())
	lists := make([][]uuid.UUID, stacks)
	for i := range lists {
		lists[i] = []uuid.UUID{{1, byte(i), byte(i >> 8)}, {2, byte(i % 7)}}
	}
	for p := range profiles {
		of, values := make([][]uuid.UUID, rows), make([]int64, rows)
		for i := range of {
			of[i], values[i] = lists[(p*31+i*7)%stacks], int64(p-i)
		}
		table.Insert(schema.Batch{Rows: rows, Columns: map[string]encoding.Vector{
			"kind": encoding.Strings("cpu"), "labels.pod": encoding.Strings(fmt.Sprint("pod-", p%40)),
			"stack": encoding.UUIDLists(of...), "time": encoding.Int64s(int64(p % 90)), "value": encoding.Int64s(values...),
		}})
	}
	r := table.Read()
	for _, test := range []struct {
		name  string
		where filter.Expr
		rows  int
		want  filter.Estimate
	}{
		{"all", filter.Expr{}, 300_000, filter.Estimate{Rows: 300_000, Lists: 4000, Sure: true, Most: 4000}},
		{"all of some granules", filter.Expr{}, 1000, filter.Estimate{Rows: 1000, Lists: 1000, Sure: true, Most: 4000}},
		{"one pod of forty", filter.Equal("labels.pod", "pod-7"), 300_000, filter.Estimate{Rows: 7500, Lists: 100, Sure: true, Most: 4000}},
		{"no pod", filter.Equal("labels.pod", "none"), 300_000, filter.Estimate{Sure: true, Most: 4000}},
		{"another time", filter.AtLeast("time", int64(1000)), 300_000, filter.Estimate{Sure: true}},
		{"rows decide", filter.Less("value", int64(3)), 300_000, filter.Estimate{Rows: 300_000, Lists: 4000, Most: 4000}},
		{
			"one pod, of which rows decide", filter.And(filter.Equal("labels.pod", "pod-7"), filter.Less("value", int64(3))), 300_000,
			filter.Estimate{Rows: 7500, Lists: 100, Most: 4000},
		},
	} {
		c, err := filter.NewChooser(t.Context(), r, test.where, true)
		if err != nil {
			t.Fatal(err)
		}
		got := c.Estimate(test.rows)
		c.Done()
		if got != test.want {
			t.Errorf("%s, of %d rows: %+v, want %+v", test.name, test.rows, got, test.want)
		}
	}
}
