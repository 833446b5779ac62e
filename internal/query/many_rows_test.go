package query

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/query/filter"
	"github.com/granarydb/granary/internal/querytest"
)

// largeTable is a table with enough rows for an Aggregate of several goroutines, over four
// generations with the same lists, and its expected sums.
type largeTable struct {
	table *querytest.Table
	r     *filter.Read
	rows  int
	want  map[string][2]int64 // pod, list, bucket -> sum, count
}

const (
	manyPods  = 5
	manyLists = 700
	manyWidth = 100
)

// manyRowsWanted rows are enough for a second goroutine (parallelRows of package query).
const manyRowsWanted = 1 << 18

func newLargeTable(t *testing.T, opts querytest.Options) *largeTable {
	t.Helper()
	m := &largeTable{want: map[string][2]int64{}}
	opts.GenerationBuckets, opts.GranuleRows = 1, 10_000
	m.table = querytest.Open(t, opts, querytest.Samples(manyWidth))
	rng := rand.New(rand.NewPCG(3, 15))
	const n = 10_000
	for m.rows < (3-boolInt(effort.Brief()))*manyRowsWanted {
		bucket, pod := int64(rng.IntN(4)), rng.IntN(manyPods)
		lists, values := make([][]uuid.UUID, n), make([]int64, n)
		for i := range n {
			list := rng.IntN(manyLists)
			lists[i] = []uuid.UUID{{1, byte(list % 7)}, {2, byte(list), byte(list >> 8)}}
			values[i] = int64(rng.IntN(1000))
			key := fmt.Sprint(pod, " ", list, " ", bucket)
			m.want[key] = [2]int64{m.want[key][0] + values[i], m.want[key][1] + 1}
		}
		m.table.Insert(querytest.Many(bucket*manyWidth+int64(rng.IntN(manyWidth)), pod, lists, values))
		m.rows += n
	}
	m.r = m.table.Read()
	return m
}

// options groups by pod, list and bucket.
func (m *largeTable) options(where filter.Expr) AggregateOptions {
	return AggregateOptions{Sum: "value", By: []string{"labels.pod", "stack", "time"}, Step: manyWidth, Where: where}
}

// answer returns groups as pod, list, bucket -> sum, count.
func (m *largeTable) answer(t *testing.T, g *Groups) map[string][2]int64 {
	t.Helper()
	out := map[string][2]int64{}
	lists := g.Column("stack")
	for i, pod := range g.Column("labels.pod").Values.Strings {
		ids := lists.Lists.UUIDs(nil, lists.Codes[i])
		key := fmt.Sprint(pod, " ", int(ids[1][1])+int(ids[1][2])<<8, " ", g.Column("time").Values.Int64s[i]/manyWidth)
		if _, twice := out[key]; twice {
			t.Errorf("group %s comes twice", key)
		}
		out[key] = [2]int64{g.Sums[i], g.Counts[i]}
	}
	return out
}

// Several goroutines get the same sums as one goroutine: over several generations, in fresh parts and in
// bases, with a condition and without, and with a condition that calls a function.
func TestQueries_ManyRows(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	m := newLargeTable(t, querytest.Options{})
	calls := 0 // only by the reading goroutine
	for _, when := range []string{"fresh", "compacted", "held"} {
		r := m.r
		if when != "held" {
			r = m.table.Read()
		}
		for _, test := range []struct {
			name  string
			where filter.Expr
			pods  []string
		}{
			{"all", filter.Expr{}, []string{"0", "1", "2", "3", "4"}},
			{"one pod", filter.Equal("labels.pod", "3"), []string{"3"}},
			{"not one pod", filter.Not(filter.Equal("labels.pod", "2")), []string{"0", "1", "3", "4"}},
			{"not two pods", filter.Not(filter.In("labels.pod", "3", "0")), []string{"1", "2", "4"}},
			{"function", filter.Func("labels.pod", func(v any) bool { calls++; return v == "1" || v == "2" }), []string{"1", "2"}},
			{"element", filter.And(filter.HasElement("stack", func(uuid.UUID, []byte) bool { calls++; return true }), filter.Equal("labels.pod", "4")), []string{"4"}},
		} {
			g, err := GroupRows(t.Context(), r, m.options(test.where))
			if err != nil {
				t.Fatal(err)
			}
			got, want := m.answer(t, g), map[string][2]int64{}
			for key, of := range m.want {
				if slices.Contains(test.pods, key[:1]) {
					want[key] = of
				}
			}
			if len(got) != len(want) {
				t.Errorf("%s, %s: %d groups, want %d", when, test.name, len(got), len(want))
			}
			for key, of := range want {
				if got[key] != of {
					t.Fatalf("%s, %s: group %s has sum and count %v, want %v", when, test.name, key, got[key], of)
				}
			}
		}
		if when == "fresh" {
			m.table.Compact()
		}
	}
	m.checkLimits(t)
}

// checkLimits aggregates with limits: beyond them the error is ErrQueryMemory, within them the answer is
// the same. A query's allocations are near the least sufficient limit.
func (m *largeTable) checkLimits(t *testing.T) {
	t.Helper()
	failed := 0
	for limit := int64(1); ; limit *= 2 {
		opts := m.options(filter.Expr{})
		opts.MaxBytes = limit
		g, err := GroupRows(t.Context(), m.r, opts)
		if err == nil {
			if len(m.answer(t, g)) != len(m.want) {
				t.Errorf("within %d bytes there are %d groups, want %d", limit, len(g.Counts), len(m.want))
			}
			break
		}
		if failed++; !errors.Is(err, ErrQueryMemory) || g != nil || limit > 1<<32 {
			t.Fatalf("within %d bytes: %v, %v", limit, g, err)
		}
	}
	if failed < 10 {
		t.Errorf("only %d limits were too low", failed)
	}
}

// A cancelled query visits no granules beyond those in progress.
func TestQueries_CancelledSoon(t *testing.T) {
	const workers = 4
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(workers))
	// The lock makes one step of the count and the cancellation. A granule counted after the last granule
	// sees the cancellation on any schedule, and so each goroutine counts at most one more.
	var mu sync.Mutex
	var granules, last int64 // visited, and the count at cancellation
	var cancel context.CancelCauseFunc
	m := newLargeTable(t, querytest.Options{Yield: func(point string) {
		if point != "read/granule" {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if granules++; granules == last {
			runtime.Gosched() // the others wait meanwhile
			cancel(errors.New("the cause"))
		}
	}})
	m.table.Compact()
	m.r = m.table.Read()
	all := int64(m.table.State().Granules.Len())
	if all < 8*workers {
		t.Fatalf("%d granules", all)
	}
	for name, query := range map[string]func(ctx context.Context) error{
		"aggregate": func(ctx context.Context) error {
			g, err := GroupRows(ctx, m.r, m.options(filter.Expr{}))
			if err != nil && g != nil {
				t.Errorf("groups with the error %v", err)
			}
			return err
		},
		"aggregate by one goroutine": func(ctx context.Context) error {
			_, err := GroupRows(ctx, m.r, m.options(filter.Func("value", func(any) bool { return true })))
			return err
		},
		"scan": func(ctx context.Context) error {
			return scanError(t, ctx, m.r, ScanOptions{Columns: []string{"value"}})
		},
		"ordered scan": func(ctx context.Context) error {
			return scanError(t, ctx, m.r, ScanOptions{Columns: []string{"value"}, Ordered: true})
		},
	} {
		for _, after := range []int64{1, 5, all / 2, 0} {
			ctx, stop := context.WithCancelCause(t.Context())
			granules, last, cancel = 0, after, stop // no query runs
			err := query(ctx)
			stop(nil)
			switch n := granules; {
			case after == 0 && (err != nil || n != all):
				t.Errorf("%s: %d granules of %d, %v", name, n, all, err)
			case after > 0 && (!errors.Is(err, context.Canceled) || n > after+workers-1):
				t.Errorf("%s, cancelled at granule %d: went on to %d of %d, %v", name, after, n, all, err)
			}
		}
	}
}
