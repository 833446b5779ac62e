package order

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/oracle"
	"github.com/granarydb/granary/internal/query/filter"
	"github.com/granarydb/granary/internal/querytest"
)

func anyBytes(int64) error { return nil }

// compareRows compares rows as an order says.
func compareRows(by []By, x, y oracle.Row) int {
	for _, o := range by {
		order := oracle.CompareKeys(x[o.Column], y[o.Column])
		if o.Descending {
			order = -order
		}
		if order != 0 {
			return order
		}
	}
	return 0
}

// randomOrder makes an order of one to three columns.
func randomOrder(rng *rand.Rand) (by []By) {
	for len(by) == 0 || len(by) < 3 && rng.IntN(3) == 0 {
		name := querytest.Columns[rng.IntN(len(querytest.Columns))]
		if rng.IntN(4) == 0 {
			name = "time"
		}
		if name != "stack" {
			by = append(by, By{Column: name, Descending: rng.IntN(2) == 0})
		}
	}
	return by
}

// TestFirstRows holds the first rows of random tables, conditions and orders to a stable sort of the rows in the order of a
// scan, and their values to the oracle. So equal rows stay in the order of a scan (O1), however many are kept.
func TestFirstRows(t *testing.T) {
	effort.Slow(t)
	for seed := range effort.Less(uint64(36), 6) {
		table, rng := querytest.New(t, seed), rand.New(rand.NewPCG(seed, 3))
		table.Fill(int(seed % 24))
		r := table.Read()
		for range 25 {
			cond := table.Condition(2)
			if rng.IntN(3) == 0 {
				cond = &oracle.Cond[string]{Op: "all"}
			}
			if wrong := checkFirst(t, table, r, cond, randomOrder(rng), 1+rng.IntN(60)); wrong != "" {
				t.Fatalf("seed %d: %s", seed, wrong)
			}
		}
	}
}

// checkFirst asks for the first rows and says what is wrong with them.
func checkFirst(t *testing.T, table *querytest.Random, r *filter.Read, cond *oracle.Cond[string], by []By, limit int) string {
	t.Helper()
	where := querytest.Expr(cond)
	question := fmt.Sprintf("the first %d by %v where %s", limit, by, cond.Text(func(name string) string { return name }))
	selections, err := FirstRows(t.Context(), r, where, true, by, limit, anyBytes)
	if err != nil {
		return question + ": " + err.Error()
	}
	var got, sorted []oracle.Row
	for s := range selections {
		got = append(got, querytest.RowsOf(r, &s, querytest.Columns...)...)
	}
	for s, err := range r.Chosen(t.Context(), where, true, true) {
		if err != nil {
			return err.Error()
		}
		sorted = append(sorted, querytest.RowsOf(r, &s, querytest.Columns...)...)
	}
	slices.SortStableFunc(sorted, func(x, y oracle.Row) int { return compareRows(by, x, y) })
	chosen := table.Chosen(cond)
	slices.SortStableFunc(chosen, func(x, y oracle.Row) int { return compareRows(by, x, y) })
	if want := min(limit, len(chosen)); len(got) != want || len(sorted) != len(chosen) {
		return fmt.Sprintf("%s: %d rows, want %d; %d in all, want %d", question, len(got), want, len(sorted), len(chosen))
	}
	for i, row := range got {
		if oracle.Text(row) != oracle.Text(sorted[i]) || compareRows(by, row, chosen[i]) != 0 {
			return fmt.Sprintf("%s: row %d is\n%s, want\n%s; the oracle has\n%s", question, i, oracle.Text(row), oracle.Text(sorted[i]), oracle.Text(chosen[i]))
		}
	}
	return ""
}

// Each selection is of one part and series, of rows that ascend: a scan copies them as they are.
func TestFirstRows_Selections(t *testing.T) {
	table := querytest.New(t, 5)
	table.Fill(20)
	selections, err := FirstRows(t.Context(), table.Read(), filter.Expr{}, false, []By{{Column: "labels.pod"}}, 500, anyBytes)
	if err != nil {
		t.Fatal(err)
	}
	rows, most := 0, 0
	for s := range selections {
		at := s.AppendRows(nil)
		series := slices.Compact(s.Words(nil, s.Part.Series()))
		if !slices.IsSorted(at) || len(at) != s.Rows || len(series) != 1 {
			t.Fatalf("rows %v of series %v", at, series)
		}
		rows, most = rows+s.Rows, max(most, s.Rows)
	}
	if rows != 500 || most < 2 {
		t.Errorf("%d rows, at most %d in a selection", rows, most)
	}
	selections, err = FirstRows(t.Context(), table.Read(), filter.Expr{}, false, []By{{Column: "value"}}, 50, anyBytes)
	if err != nil {
		t.Fatal(err)
	}
	for range selections {
		break // a reader may stop
	}
}

// Invalid orders, limits and conditions are errors that name the column or the limit.
func TestFirstRows_Errors(t *testing.T) {
	table := querytest.New(t, 1)
	table.Fill(5)
	for _, test := range []struct {
		name  string
		by    []By
		where filter.Expr
		limit int
		text  string
	}{
		{"no column", []By{{Column: "nope"}}, filter.Expr{}, 1, `order by "nope": no such column`},
		{"a family", []By{{Column: "time"}, {Column: "labels"}}, filter.Expr{}, 1, `order by "labels": no such column`},
		{"lists", []By{{Column: "stack"}}, filter.Expr{}, 1, `order by "stack": lists have no order`},
		{"no limit", []By{{Column: "time"}}, filter.Expr{}, 0, "limit 0: want 1 to 65536 with OrderBy"},
		{"limit too great", []By{{Column: "time"}}, filter.Expr{}, 65537, "limit 65537: want 1 to 65536"},
		{"negative limit", []By{{Column: "time"}}, filter.Expr{}, -1, "limit -1"},
		{"condition", []By{{Column: "time"}}, filter.Equal("nope", 1), 1, `"nope"`},
	} {
		selections, err := FirstRows(t.Context(), table.Read(), test.where, false, test.by, test.limit, anyBytes)
		if selections != nil || !errors.Is(err, filter.ErrQuery) || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: %v, want %s", test.name, err, test.text)
		}
	}
	r := *table.Read()
	r.State = nil // of a snapshot that is older than the table
	selections, err := FirstRows(t.Context(), &r, filter.Expr{}, false, []By{{Column: "time"}}, 1, anyBytes)
	if err != nil {
		t.Fatal(err)
	}
	for s := range selections {
		t.Errorf("%d rows before the table", s.Rows)
	}
}

// A search ends with the error of the memory that it asks for, whenever that fails, and asks for the rows that it keeps
// alone (O2).
func TestFirstRows_Memory(t *testing.T) {
	table := querytest.New(t, 8)
	table.Fill(30)
	by := []By{{Column: "note", Descending: true}, {Column: "kind"}} // few values: ties are decided by sorting keys
	const limit = 20
	calls, bytes := 0, int64(0)
	count := func(n int64) error {
		calls, bytes = calls+1, bytes+n
		return nil
	}
	if _, err := FirstRows(t.Context(), table.Read(), filter.Expr{}, false, by, limit, count); err != nil {
		t.Fatal(err)
	}
	if most := int64(limit * (placeSize + 1000)); calls < limit || bytes < limit*placeSize || bytes > most {
		t.Errorf("%d rows take %d bytes in %d calls, want at most %d", limit, bytes, calls, most)
	}
	full := errors.New("full")
	for fails := 1; fails <= calls; fails++ {
		n := 0
		selections, err := FirstRows(t.Context(), table.Read(), filter.Expr{}, false, by, limit, func(int64) error {
			if n++; n == fails {
				return full
			}
			return nil
		})
		// A comparison that fails has no place for its error until the search returns.
		if !errors.Is(err, full) {
			t.Errorf("call %d of %d fails: %v, %v", fails, calls, selections != nil, err)
		}
	}
}

// A search that is cancelled ends at the granule where it is, and the snapshot that it reads may expire meanwhile.
func TestFirstRows_Cancelled(t *testing.T) {
	granules, last := 0, 0
	var cancel context.CancelFunc
	table := querytest.Open(t, querytest.Options{Yield: func(point string) {
		if point == "read/granule" {
			if granules++; granules == last {
				cancel()
			}
		}
	}}, querytest.Stacks())
	for bucket := range int64(20) {
		b := querytest.OneRow(100 * bucket)
		table.Insert(b)
	}
	r := table.Read()
	for at := range 22 {
		ctx, stop := context.WithCancel(t.Context())
		granules, last, cancel = 0, at, stop
		_, err := FirstRows(ctx, r, filter.Expr{}, false, []By{{Column: "value"}}, 5, anyBytes)
		if stop(); at == 0 || at > 20 {
			if err != nil || granules != 20 {
				t.Errorf("not cancelled: %d granules, %v", granules, err)
			}
		} else if !errors.Is(err, context.Canceled) || granules != at {
			t.Errorf("cancelled at granule %d: %d granules, %v", at, granules, err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	granules, last = 0, 0
	where := filter.HasElement("stack", func(uuid.UUID, []byte) bool { stop(); return true }) // amid a granule
	if _, err := FirstRows(ctx, r, where, false, []By{{Column: "value"}}, 5, anyBytes); !errors.Is(err, context.Canceled) || granules != 1 {
		t.Errorf("cancelled amid a granule: %d granules, %v", granules, err)
	}
}

// An order by time reads the buckets that can have the first rows alone, the latest first if it descends.
func TestFirstRows_FewBuckets(t *testing.T) {
	read := 0
	table := querytest.Open(t, querytest.Options{Yield: func(point string) {
		if point == "read/granule" {
			read++
		}
	}}, querytest.Stacks())
	for bucket := range int64(20) {
		for range 5 {
			b := querytest.OneRow(100*bucket + 7)
			table.Insert(b)
		}
	}
	for _, when := range []string{"fresh", "compacted"} {
		for _, test := range []struct {
			descending bool
			limit      int
			want       int64
			read       int
		}{{false, 3, 7, 1}, {true, 3, 1907, 1}, {false, 5, 7, 1}, {true, 7, 1807, 2}} {
			read = 0
			r := table.Read()
			selections, err := FirstRows(t.Context(), r, filter.Expr{}, false, []By{{Column: "time", Descending: test.descending}}, test.limit, anyBytes)
			if err != nil {
				t.Fatal(err)
			}
			n, last := 0, int64(0)
			at, _ := r.Schema.Resolve("time")
			for s := range selections {
				for _, word := range s.Words(nil, s.Part.Find(at, "time").Words()) {
					n, last = n+1, encoding.ToInt64(word)
				}
			}
			if n != test.limit || last != test.want || read != test.read {
				t.Errorf("%s, the first %d, descending=%v: %d rows up to %d of %d granules, want up to %d of %d", when, test.limit, test.descending, n, last, read, test.want, test.read)
			}
		}
		table.Compact()
	}
}
