package profile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	pprof "github.com/google/pprof/profile"
	"pgregory.net/rapid"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/effort"
	codec "github.com/granarydb/granary/profile/pprof"
)

// valuesOf returns a profile's values by stack and labels.
func valuesOf(p *pprof.Profile) map[string][]int64 {
	out := map[string][]int64{}
	for _, s := range p.Sample {
		var key strings.Builder
		for _, l := range s.Location {
			fmt.Fprintf(&key, "%x", l.Address)
			for _, ln := range l.Line {
				fmt.Fprintf(&key, " %s:%d", ln.Function.Name, ln.Line)
			}
			key.WriteByte('\n')
		}
		fmt.Fprint(&key, s.Label, s.NumLabel)
		values := out[key.String()]
		if values == nil {
			values = make([]int64, len(s.Value))
		}
		for i, v := range s.Value {
			values[i] += v
		}
		out[key.String()] = values
	}
	for key, values := range out {
		if !slices.ContainsFunc(values, func(v int64) bool { return v != 0 }) {
			delete(out, key)
		}
	}
	return out
}

// differenceOf is the oracle: cur less prev, as google/pprof merges them. Values measured at an
// instant are those of cur.
func differenceOf(t *testing.T, prev, cur *pprof.Profile) *pprof.Profile {
	t.Helper()
	less := prev.Copy()
	for _, s := range less.Sample {
		for i, typ := range less.SampleType {
			s.Value[i] = -s.Value[i]
			if strings.HasPrefix(typ.Type, "inuse_") {
				s.Value[i] = 0
			}
		}
	}
	out, err := pprof.Merge([]*pprof.Profile{less, cur})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Successive profiles of real processes become the differences that google/pprof computes.
func TestDeltasEqualPprof(t *testing.T) {
	compared := 0
	for _, program := range []string{"etcd", "nats-server"} {
		for _, kind := range []string{"heap", "block", "mutex"} {
			for _, encoded := range []bool{false, true} {
				db, deltas := testDB(t, Options{}), NewDeltas(DeltaOptions{})
				opts := InsertOptions{Labels: map[string]string{"job": program}, Deltas: deltas}
				var prev *pprof.Profile
				for i := 1; i <= 3; i++ {
					name := filepath.FromSlash(fmt.Sprintf("../testdata/profiles/%s/%s-%d.pb.gz", program, kind, i))
					data, err := os.ReadFile(name)
					if err != nil {
						t.Fatal(err)
					}
					p, err := pprof.ParseData(data)
					if err != nil {
						t.Fatal(err)
					}
					insert := func() (int, error) { return db.Insert(ctx, p, opts) }
					if encoded {
						insert = func() (int, error) { return db.InsertEncoded(ctx, data, opts) }
					}
					if _, err := insert(); err != nil {
						t.Fatalf("%s: %v", name, err)
					}
					if prev != nil {
						got, err := db.Profile(ctx, view(t, db), Query{From: p.TimeNanos, To: p.TimeNanos + 1})
						if err != nil {
							t.Fatal(err)
						}
						want := differenceOf(t, prev, p)
						if diff := cmp.Diff(valuesOf(want), valuesOf(got)); diff != "" {
							t.Errorf("%s: -pprof +granary\n%.3000s", name, diff)
						}
						if got.DurationNanos != p.TimeNanos-prev.TimeNanos && len(got.Sample) > 0 {
							t.Errorf("%s: a duration of %d, want the time between the profiles, %d", name, got.DurationNanos, p.TimeNanos-prev.TimeNanos)
						}
						compared += len(got.Sample)
					}
					prev = p
				}
			}
		}
	}
	if compared < 1000 {
		t.Errorf("compared %d samples", compared)
	}
	t.Logf("compared %d samples", compared)
}

// cumulative returns a heap profile with one value of each type for each stack.
func cumulative(at int64, alloc, inuse []int64) *pprof.Profile {
	stacks := make([]stack, len(alloc))
	for i := range stacks {
		stacks[i] = stack{frames: fmt.Sprintf("f%d main", i), values: []int64{alloc[i], inuse[i]}}
	}
	return makeTotals(start+at, "alloc_space:bytes inuse_space:bytes", stacks...)
}

// makeTotals is makeProfile for values since the start of a process, which have no duration.
func makeTotals(at int64, types string, stacks ...stack) *pprof.Profile {
	p := makeProfile(at, types, stacks...)
	p.DurationNanos = 0
	return p
}

func TestDeltas(t *testing.T) {
	for _, whole := range []bool{false, true} {
		db, deltas := testDB(t, Options{}), NewDeltas(DeltaOptions{MaxGap: 100})
		var since Subtraction
		opts := InsertOptions{Labels: map[string]string{"pod": "a"}, Deltas: deltas, FirstWhole: whole, Subtracted: &since}
		ask := func(at int64) string {
			p, err := db.Profile(ctx, view(t, db), Query{From: start + at, To: start + at + 1, SumGauges: true})
			if err != nil {
				t.Fatal(err)
			}
			return samplesText(p)
		}
		for _, tc := range []struct {
			what         string
			at           int64
			alloc, inuse []int64
			counted      string
			want, whole  string
		}{
			{"the first has no time before it", 1, []int64{100, 10}, []int64{5, 6}, "first", "f0 main [0 5], f1 main [0 6]", "f0 main [100 5], f1 main [10 6]"},
			{"values since then", 2, []int64{150, 10}, []int64{7, 0}, "growth", "f0 main [50 7]", ""},
			{"nothing happened", 3, []int64{150, 10}, []int64{0, 0}, "growth", "", ""},
			{"a new stack", 4, []int64{150, 10, 3}, []int64{0, 0, 1}, "growth", "f2 main [3 1]", ""},
			{"late", 0, []int64{140, 10, 2}, []int64{0, 0, 1}, "late", "f2 main [0 1]", ""},
			{"the process started anew: f0 is lower", 5, []int64{20, 30, 4}, []int64{0, 0, 1}, "restart", "f2 main [0 1]", "f0 main [20 0], f1 main [30 0], f2 main [4 1]"},
			{"since the start", 6, []int64{21, 30, 4}, []int64{0, 0, 0}, "growth", "f0 main [1 0]", ""},
			{"a stack is gone: started anew", 7, []int64{25, 31}, []int64{1, 0}, "restart", "f0 main [0 1]", "f0 main [25 1], f1 main [31 0]"},
			{"after a gap", 108, []int64{26, 31}, []int64{1, 0}, "gap", "f0 main [0 1]", "f0 main [26 1], f1 main [31 0]"},
			{"after the gap", 208, []int64{26, 33}, []int64{0, 0}, "growth", "f1 main [2 0]", ""},
		} {
			if _, err := db.Insert(ctx, cumulative(tc.at, tc.alloc, tc.inuse), opts); err != nil {
				t.Fatalf("%s: %v", tc.what, err)
			}
			want := tc.want
			if whole && since.Counted.IsAnew() {
				want = tc.whole
			}
			if got := ask(tc.at); got != want || since.Counted.String() != tc.counted {
				t.Errorf("%s, whole %t: %s, %s; want %s, %s", tc.what, whole, got, since.Counted, want, tc.counted)
			}
		}
		if s := deltas.Stats(); s.Counted[codec.CountedGrowth] != 5 || s.Counted[codec.CountedRestart] != 2 || s.Counted[codec.CountedLate] != 1 || s.Sources != 1 || s.Bytes == 0 {
			t.Errorf("%+v", s)
		}
		// Other labels, other types and another program are other sources.
		opts.Labels = map[string]string{"pod": "b"}
		other := cumulative(11, []int64{7}, []int64{9})
		other.Mapping[0].File = "/usr/bin/other"
		for i, p := range []*pprof.Profile{cumulative(10, []int64{7}, []int64{9}), other} {
			opts.FirstWhole = false
			if _, err := db.Insert(ctx, p, opts); err != nil {
				t.Fatal(err)
			}
			if got := ask(int64(10 + i)); got != "f0 main [0 9]" || since.Counted != codec.CountedFirst {
				t.Errorf("the first of another source: %s, %s", got, since.Counted)
			}
		}
		p := makeTotals(start+1, "cpu:nanoseconds", stack{frames: "f", values: []int64{3}})
		if rows, err := db.Insert(ctx, p, opts); err != nil || rows != 1 || since.Counted != codec.CountedAsSent {
			t.Errorf("a profile without cumulative types: %d, %v, %s", rows, err, since.Counted)
		}
		// A profile with a duration is a difference already.
		p = cumulative(12, []int64{5}, []int64{0})
		p.DurationNanos = 1
		if _, err := db.Insert(ctx, p, opts); err != nil || since.Counted != codec.CountedAsSent || ask(12) != "f0 main [5 0]" {
			t.Errorf("a difference: %s, %v, %s", ask(12), err, since.Counted)
		}
	}
}

// Labels that do not tell sources apart make no source.
func TestDeltasWithout(t *testing.T) {
	db, deltas := testDB(t, Options{Without: []string{"file"}}), NewDeltas(DeltaOptions{})
	for i := range int64(3) {
		opts := InsertOptions{Labels: map[string]string{"file": fmt.Sprint(i)}, Deltas: deltas}
		if _, err := db.Insert(ctx, cumulative(i, []int64{10 + i}, []int64{0}), opts); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := db.Merge(ctx, view(t, db), Type{"alloc_space", "bytes", "cpu", "nanoseconds"}, Query{}); err != nil || got.Total != 2 {
		t.Errorf("%d, %v; want 2", got.Total, err)
	}
}

// After an error a series is as it was.
func TestDeltasAfterErrors(t *testing.T) {
	db := openDBIn(t, columnstore.Options{}, Options{})
	defer db.store.Close()
	opts := InsertOptions{Labels: map[string]string{"pod": "a"}, Deltas: NewDeltas(DeltaOptions{})}
	put := func(at, alloc int64) error {
		_, err := db.Insert(ctx, cumulative(at, []int64{alloc}, []int64{0}), opts)
		return err
	}
	if err := put(1, 100); err != nil {
		t.Fatal(err)
	}
	for _, at := range []int64{0, 1} {
		if err := put(at, 110); err != nil { // late: it counts nothing
			t.Errorf("at %d: %v", at, err)
		}
	}
	const future = int64(100 * 365 * 24 * time.Hour)
	if err := put(future, 150); !errors.Is(err, columnstore.ErrFuture) {
		t.Fatalf("in the future: %v", err)
	}
	opts.Labels = map[string]string{"pod": "b"}
	if err := put(future, 1); !errors.Is(err, columnstore.ErrFuture) { // the first of its series
		t.Fatalf("in the future: %v", err)
	}
	opts.Labels = map[string]string{"pod": "a"}
	if _, err := db.InsertEncoded(ctx, []byte("no profile"), opts); !errors.Is(err, ErrProfile) {
		t.Fatal(err)
	}
	if err := put(3, 170); err != nil {
		t.Fatal(err)
	}
	got, err := db.Merge(ctx, view(t, db), Type{"alloc_space", "bytes", "cpu", "nanoseconds"}, Query{})
	if err != nil || got.Total != 70 {
		t.Errorf("%d, %v; want the 70 since the last insert without an error", got.Total, err)
	}
	// A transaction of the caller takes its profiles back if it does not commit.
	tx := db.store.Begin()
	var since [2]Subtraction
	for i := range since {
		opts.Subtracted = &since[i]
		if _, err := db.InsertTx(ctx, tx, cumulative(4+int64(i), []int64{180}, []int64{0}), opts); err != nil {
			t.Fatal(err)
		}
	}
	tx.Abort()
	since[1].Drop()
	since[0].Drop()
	if err := put(5, 185); err != nil {
		t.Fatal(err)
	}
	if got, err = db.Merge(ctx, view(t, db), got.Type, Query{}); err != nil || got.Total != 85 {
		t.Errorf("%d, %v; want 85", got.Total, err)
	}
}

// The differences of any sequence add up to the growth between restarts.
func TestDeltasAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		db := openDB(t, Options{})
		defer db.store.Close()
		deltas, whole := NewDeltas(DeltaOptions{Types: []string{"n"}}), rapid.Bool().Draw(t, "whole")
		type process struct {
			first bool
			now   []int64
		}
		pods, want := map[string]*process{}, map[string]int64{}
		for at := range rapid.IntRange(1, 30).Draw(t, "profiles") {
			pod := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "pod")
			p := pods[pod]
			if p == nil {
				p = &process{first: true, now: []int64{1, 1, 1}}
				pods[pod] = p
			}
			restart := !p.first && p.now[0] > 0 && rapid.IntRange(0, 5).Draw(t, "restart") == 0
			if restart {
				p.now = []int64{p.now[0] - 1, 0, 0}
			}
			for i := range p.now {
				grown := rapid.Int64Range(0, 3).Draw(t, "growth")
				if restart && i == 0 {
					grown = 0 // lower than before, so that the restart shows
				}
				p.now[i] += grown
				switch {
				case restart || p.first:
					if whole {
						want[fmt.Sprint("f", i)] += p.now[i]
					}
				default:
					want[fmt.Sprint("f", i)] += grown
				}
			}
			p.first = false
			var stacks []stack
			for i, n := range p.now {
				half := rapid.Int64Range(0, n).Draw(t, "part")
				frames := fmt.Sprint("f", i)
				stacks = append(stacks, stack{frames: frames, values: []int64{half}}, stack{frames: frames, values: []int64{n - half}})
			}
			opts := InsertOptions{Labels: map[string]string{"pod": pod}, Deltas: deltas, FirstWhole: whole}
			if _, err := db.Insert(ctx, makeTotals(start+int64(at), "n:count", stacks...), opts); err != nil {
				t.Fatal(err)
			}
		}
		snap, err := db.store.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		defer snap.Close()
		merged, err := db.Merge(ctx, snap, Type{"n", "count", "cpu", "nanoseconds"}, Query{})
		if err != nil {
			t.Fatal(err)
		}
		got := stackSums(merged)
		for name, sum := range want {
			if got[name] != sum {
				t.Fatalf("%v, want %v", got, want)
			}
		}
	})
}

// Goroutines insert profiles of the same few series, while a bound forgets them all the time. One
// source has its profiles in order.
func TestDeltasAtOnce(t *testing.T) {
	db, deltas := testDB(t, Options{}), NewDeltas(DeltaOptions{MaxBytes: 1})
	var mu sync.Mutex
	at := int64(0)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 50 {
				mu.Lock()
				at++
				now := at
				_, err := db.Insert(ctx, cumulative(now, []int64{now}, []int64{1}), InsertOptions{Deltas: deltas})
				mu.Unlock()
				if err != nil {
					t.Error(err)
					return
				}
				other := InsertOptions{Deltas: deltas, Labels: map[string]string{"pod": fmt.Sprint(now % 3)}}
				if _, err := db.Insert(ctx, cumulative(now, []int64{now}, []int64{1}), other); err != nil && !errors.Is(err, ErrProfile) {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

// The memory of a Deltas is bounded, for many series and for large ones.
func TestDeltasMemory(t *testing.T) {
	effort.Long(t)
	if effort.Race {
		t.Skip("the race detector takes memory of its own")
	}
	const bound = 2 << 20
	db := openDBIn(t, columnstore.Options{FutureLimit: -1, MemoryBudget: 16 << 20}, Options{})
	defer db.store.Close()
	for _, tc := range []struct{ series, stacks int }{{10_000, 1}, {100, 2000}} {
		stacks := make([]stack, tc.stacks)
		for i := range stacks {
			stacks[i] = stack{frames: fmt.Sprint("f", i), values: []int64{1}}
		}
		p := makeTotals(start, "alloc_space:bytes", stacks...)
		before := liveHeap()
		deltas := NewDeltas(DeltaOptions{MaxBytes: bound})
		for i := range tc.series { // first profiles have no rows
			if _, err := db.Insert(ctx, p, InsertOptions{Deltas: deltas, Labels: map[string]string{"pod": fmt.Sprint(i)}}); err != nil {
				t.Fatal(err)
			}
		}
		took := liveHeap() - before
		if took > bound*5/4 || took < bound/3 {
			t.Errorf("%d series of %d samples take %d bytes, the bound is %d", tc.series, tc.stacks, took, bound)
		}
		t.Logf("%d series of %d samples: %.1f MiB", tc.series, tc.stacks, float64(took)/(1<<20))
		runtime.KeepAlive(deltas)
	}
}

func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// ExampleNewDeltas inserts two heap profiles of a process. The store has the bytes allocated
// between them.
func ExampleNewDeltas() {
	store, err := columnstore.Open(columnstore.Options{FutureLimit: -1})
	if err != nil {
		panic(err)
	}
	defer store.Close()
	db, err := Open(store, Options{})
	if err != nil {
		panic(err)
	}
	deltas := NewDeltas(DeltaOptions{})
	for i, allocated := range []int64{1000, 1800} {
		heap := cumulative(int64(i)*int64(time.Minute), []int64{allocated}, []int64{0})
		if _, err := db.Insert(context.Background(), heap, InsertOptions{Labels: map[string]string{"pod": "api-1"}, Deltas: deltas}); err != nil {
			panic(err)
		}
	}
	err = store.View(context.Background(), func(snap *columnstore.Snapshot) error {
		t, err := db.FindType(context.Background(), snap, "alloc_space")
		if err != nil {
			return err
		}
		stacks, err := db.Merge(context.Background(), snap, t, Query{})
		fmt.Println(FormatValue(stacks.Total, t.SampleUnit))
		return err
	})
	if err != nil {
		panic(err)
	}
	// Output: 800 B
}
