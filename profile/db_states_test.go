package profile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/effort"
)

// changes writes states of threads, each at its time and in the given order. It closes the
// history at end, unless end is 0.
func changes(t testing.TB, db *DB, h *columnstore.History, end int64, of ...string) {
	t.Helper()
	tx := db.store.Begin()
	w, err := tx.History(h)
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range of {
		var at int64
		var thread, state string
		if _, err := fmt.Sscan(change, &at, &thread, &state); err != nil {
			t.Fatal(change, err)
		}
		a, err := w.Attribute("Threads", thread)
		if err == nil {
			err = w.Change(start+at, a, history.String(state))
		}
		if err != nil {
			t.Fatal(change, err)
		}
	}
	if end != 0 {
		if err := w.Close(start + end); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

func createHistory(t testing.TB, db *DB, from int64) *columnstore.History {
	t.Helper()
	h, err := db.store.CreateHistory("states", columnstore.HistoryOptions{Start: from})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// threadSamples returns one sample of each stack in each thread.
func threadSamples(at int64, stacks, threads int) (all []stack) {
	for i := range stacks {
		for thread := range threads {
			all = append(all, stack{
				frames: fmt.Sprintf("f%d main", i), values: []int64{1 + at*int64(i)},
				labels: map[string][]string{"tid": {fmt.Sprint(thread)}},
			})
		}
	}
	return all
}

// Granules of one bucket ask for the states at the same times, or at some of them. The answers
// for one granule are used for the next.
func TestMergeByState_ManyGranules(t *testing.T) {
	db := testDB(t, Options{})
	h := createHistory(t, db, start)
	var of []string
	for at := range int64(9) {
		insert(t, db, makeProfile(start+at, "n:count", threadSamples(at, 30, 3)...))
		for thread := range int64(3) {
			of = append(of, fmt.Sprint(at, thread, " s", (at*at+thread)%5))
		}
	}
	changes(t, db, h, 0, of...)
	if err := db.store.Compact(ctx); err != nil {
		t.Fatal(err)
	}
	if granules := db.store.Stats().Granules; granules < 40 {
		t.Fatalf("%d granules", granules)
	}
	snap := view(t, db)
	view, err := snap.History(h)
	if err != nil {
		t.Fatal(err)
	}
	want, got := map[string]int64{}, map[string]int64{}
	for at := range int64(9) {
		for thread := range 3 {
			a, err := view.Lookup("Threads", fmt.Sprint(thread))
			if err != nil {
				t.Fatal(err)
			}
			in, err := view.At(a, start+at)
			if err != nil {
				t.Fatal(err)
			}
			for i := range int64(30) {
				want[fmt.Sprint(in.Value.Text(), " f", i)] += 1 + at*i
			}
		}
	}
	groups, err := db.MergeByState(ctx, snap, cpuCount, Query{}, States{History: h, Path: []string{"Threads", "{tid}"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		for frames, value := range g.Stacks.All() {
			got[fmt.Sprint(g.State.Text(), " ", frames[0].Function)] += value
		}
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// Invalid queries return errors, and some valid ones return empty answers.
func TestMergeByState_Errors(t *testing.T) {
	db := testDB(t, Options{})
	h := createHistory(t, db, start)
	other := testDB(t, Options{})
	insert(t, db, makeProfile(start, "n:count", threadSamples(1, 2, 2)...))
	snap := view(t, db)
	closed, err := db.store.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	path := []string{"Threads", "{tid}"}
	for _, test := range []struct {
		name   string
		ctx    context.Context
		snap   *columnstore.Snapshot
		states States
		want   error
		text   string
	}{
		{"no history", ctx, snap, States{Path: path}, columnstore.ErrQuery, "History is nil"},
		{"no path", ctx, snap, States{History: h}, columnstore.ErrQuery, "path is empty"},
		{"open brace", ctx, snap, States{History: h, Path: []string{"a", "{tid"}}, columnstore.ErrQuery, `path element "{tid": brace without a label at "{tid"`},
		{"closing brace", ctx, snap, States{History: h, Path: []string{"{tid}}"}}, columnstore.ErrQuery, `brace without a label at "}"`},
		{"empty label", ctx, snap, States{History: h, Path: []string{"x{}"}}, columnstore.ErrQuery, `brace without a label at "{}"`},
		{"brace in a label", ctx, snap, States{History: h, Path: []string{"{a{b}"}}, columnstore.ErrQuery, `brace without a label at "{a{b}"`},
		{"history of another store", ctx, snap, States{History: createHistory(t, other, 0), Path: path}, columnstore.ErrTable, "different stores"},
		{"closed snapshot", ctx, closed, States{History: h, Path: path}, columnstore.ErrSnapshotClosed, ""},
		{"cancelled", cancelled, snap, States{History: h, Path: path}, context.Canceled, ""},
	} {
		groups, err := db.MergeByState(test.ctx, test.snap, cpuCount, Query{}, test.states)
		if groups != nil || !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: %v, %v", test.name, groups, err)
		}
	}
	if groups, err := db.MergeByState(ctx, snap, cpuCount, Query{To: start}, States{History: h, Path: path}); len(groups) != 0 || err != nil {
		t.Errorf("of no samples: %v, %v", groups, err)
	}
	if groups, err := db.MergeByState(ctx, snap, Type{Sample: "none"}, Query{}, States{History: h, Path: path}); len(groups) != 0 || err != nil {
		t.Errorf("of no type: %v, %v", groups, err)
	}
}

// stateTotals returns each group's total, by status or state.
func stateTotals(t *testing.T, db *DB, snap *columnstore.Snapshot, states States) map[string]int64 {
	t.Helper()
	groups, err := db.MergeByState(ctx, snap, cpuCount, Query{}, states)
	if err != nil {
		t.Fatal(err)
	}
	totals := map[string]int64{}
	for _, g := range groups {
		name := g.State.Text()
		if g.Status != StateKnown || g.State.IsNull() {
			name = fmt.Sprint(g.Status, " ", g.State)
		}
		totals[name] += g.Stacks.Total
	}
	return totals
}

// A state holds from its first to its last instant, both inclusive, in open and in closed
// histories. A snapshot keeps its states.
func TestMergeByState_Boundaries(t *testing.T) {
	db := testDB(t, Options{})
	h := createHistory(t, db, start+10)
	for i, at := range []int64{9, 10, 19, 20, 29, 30, 31, 40, 41} {
		insert(t, db, makeProfile(start+at, "n:count", stack{frames: "f", values: []int64{1 << i}, nums: map[string][]int64{"tid": {7}}}))
	}
	states := States{History: h, Path: []string{"Threads", "{tid}"}}
	check := func(when string, snap *columnstore.Snapshot, want map[string]int64) {
		t.Helper()
		if diff := gocmp.Diff(want, stateTotals(t, db, snap, states)); diff != "" {
			t.Errorf("%s: -want +got\n%s", when, diff)
		}
	}
	empty := view(t, db)
	check("before any state", empty, map[string]int64{"no attribute null": 1<<9 - 1})
	tx := db.store.Begin()
	if w, err := tx.History(h); err != nil {
		t.Fatal(err)
	} else if _, err := w.Attribute("Threads", "7"); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	check("an attribute without a state", view(t, db), map[string]int64{"no instant null": 1<<9 - 1})
	changes(t, db, h, 0, "20 7 running", "30 7 blocked")
	first := view(t, db)
	check("open", first, map[string]int64{"no instant null": 1 | 1<<6 | 1<<7 | 1<<8, "known null": 1<<1 | 1<<2, "running": 1<<3 | 1<<4, "blocked": 1 << 5})
	changes(t, db, h, 40, "31 7 running")
	want := map[string]int64{"no instant null": 1 | 1<<8, "known null": 1<<1 | 1<<2, "running": 1<<3 | 1<<4 | 1<<6 | 1<<7, "blocked": 1 << 5}
	check("closed", view(t, db), want)
	if err := db.store.Compact(ctx); err != nil {
		t.Fatal(err)
	}
	check("compacted", view(t, db), want)
	check("before any state, later", empty, map[string]int64{"no attribute null": 1<<9 - 1})
	check("open, later", first, map[string]int64{"no instant null": 1 | 1<<6 | 1<<7 | 1<<8, "known null": 1<<1 | 1<<2, "running": 1<<3 | 1<<4, "blocked": 1 << 5})
}

// Memory for groups, labels and states is bounded. Under the smallest sufficient limit the
// answer is the same.
func TestMergeByState_Memory(t *testing.T) {
	effort.Long(t)
	db := testDB(t, Options{})
	h := createHistory(t, db, start)
	var of []string
	for at := range int64(20) {
		insert(t, db, makeProfile(start+at, "n:count", threadSamples(at, 4, 50)...))
		for thread := range 50 {
			of = append(of, fmt.Sprint(at, " ", thread, " ", strings.Repeat("s", 100), at, "of", thread))
		}
	}
	changes(t, db, h, 0, of...)
	snap := view(t, db)
	states := States{History: h, Path: []string{"Threads", "{tid}"}}
	failed, least := 0, int64(0)
	for limit := int64(1); least == 0; limit += limit/2 + 1 {
		groups, err := db.MergeByState(ctx, snap, cpuCount, Query{MaxBytes: limit}, states)
		switch {
		case err == nil && len(groups) == 1000:
			least = limit
		case !errors.Is(err, columnstore.ErrQueryMemory) || limit > 1<<30:
			t.Fatalf("within %d bytes: %d groups, %v", limit, len(groups), err)
		default:
			failed++
		}
	}
	allocated := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			if _, err := db.MergeByState(ctx, snap, cpuCount, Query{}, states); err != nil {
				b.Fatal(err)
			}
		}
	}).AllocedBytesPerOp()
	if t.Logf("%d limits were too low, %d were enough, %d bytes were allocated", failed, least, allocated); least < allocated/4 || least > 4*allocated {
		t.Errorf("%d bytes are enough, and %d are allocated", least, allocated)
	}
}

// Each goroutine of a query has its own finder. All finders give a state the same number.
func TestStateFinders(t *testing.T) {
	db := testDB(t, Options{})
	h := createHistory(t, db, start)
	var of []string
	var times []int64
	for at := range int64(100) {
		of = append(of, fmt.Sprint(at, " 1 s", at%17))
		times = append(times, start+at)
	}
	changes(t, db, h, 0, of...)
	j, err := newStateJoin(db, view(t, db), States{History: h, Path: []string{"Threads", "1"}})
	if err != nil {
		t.Fatal(err)
	}
	asOf := j.asOf()
	var wg sync.WaitGroup
	found := make([][]uint32, 8)
	for i := range found {
		found[i] = make([]uint32, len(times))
		wg.Go(func() {
			finder := asOf.New(func(int64) error { return nil })
			from := i * 10 // each begins at another time
			if err := errors.Join(finder.Groups(0, times[from:], found[i][from:]), finder.Groups(0, times, found[i])); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i, groups := range found {
		if !slices.Equal(groups, found[0]) {
			t.Errorf("finder %d says %v, another %v", i, groups, found[0])
		}
	}
	if len(j.values) != 17 {
		t.Errorf("%d states, want 17", len(j.values))
	}
}
