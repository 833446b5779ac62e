package self

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	pb "github.com/google/pprof/profile"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/profile"
)

// opened is a store for one test, with a history.
type opened struct {
	*columnstore.Store
	t      *testing.T
	states *columnstore.History

	mu   sync.Mutex
	told []error
}

func open(t *testing.T, opts columnstore.Options) *opened {
	t.Helper()
	store, err := columnstore.Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	h, err := store.CreateHistory("self", columnstore.HistoryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return &opened{Store: store, t: t, states: h}
}

func (o *opened) notify(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.told = append(o.told, err)
}

// errors returns what was told.
func (o *opened) errors() []error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.told)
}

// during profiles the process while f runs.
func (o *opened) during(opts Options, f func()) {
	o.t.Helper()
	o.while(func(ctx context.Context, opts Options) error { return Profile(ctx, o.Store, opts) }, opts, f)
}

// while profiles in a way while f runs.
func (o *opened) while(way func(context.Context, Options) error, opts Options, f func()) {
	o.t.Helper()
	ctx, stop := context.WithCancel(o.t.Context())
	defer stop()
	opts.Notify = o.notify
	done := make(chan error, 1)
	go func() { done <- way(ctx, opts) }()
	f()
	stop()
	if err := <-done; err != nil {
		o.t.Fatal(err)
	}
}

// merge returns the stacks of a name's type, of profiles of a kind.
func (o *opened) merge(kind, sample string) *profile.Stacks {
	o.t.Helper()
	db, snap, typ := o.find(kind, sample)
	defer snap.Close()
	stacks, err := db.Merge(o.t.Context(), snap, typ, query(o.t, kind))
	if err != nil {
		o.t.Fatal(err)
	}
	return stacks
}

func query(t *testing.T, kind string) profile.Query {
	t.Helper()
	matchers, err := profile.ParseSelector(`{__name__="` + kind + `"}`)
	if err != nil {
		t.Fatal(err)
	}
	return profile.Query{Selector: matchers}
}

func (o *opened) find(kind, sample string) (*profile.DB, *columnstore.Snapshot, profile.Type) {
	o.t.Helper()
	db, err := openTable(o.Store)
	if err != nil {
		o.t.Fatal(err)
	}
	snap, err := o.Snapshot()
	if err != nil {
		o.t.Fatal(err)
	}
	kinds, err := db.Kinds(o.t.Context(), snap, profile.Query{})
	if err != nil {
		o.t.Fatal(err)
	}
	for _, k := range kinds {
		for _, typ := range k.Types {
			if k.Name == kind && typ.Sample == sample {
				return db, snap, typ
			}
		}
	}
	o.t.Fatalf("there is no %s of %s in %v", sample, kind, kinds)
	return nil, nil, profile.Type{}
}

// share returns the share of a sum that a function of this package is in.
func share(s *profile.Stacks, function string) float64 {
	for _, f := range s.Top() {
		if strings.HasSuffix(f.Name, "self."+function) {
			return float64(f.Cum) / float64(max(1, s.Total))
		}
	}
	return 0
}

var kept [][]byte

//go:noinline
func leakBytes() {
	for range 64 {
		kept = append(kept, make([]byte, 1<<20))
	}
}

//go:noinline
func hotLoop(until time.Time) (n int) {
	for time.Now().Before(until) {
		for range 1000 {
			n++
		}
	}
	return n
}

//go:noinline
func lockLong(lock *sync.Mutex, until time.Time) {
	for time.Now().Before(until) {
		lock.Lock()
		time.Sleep(5 * time.Millisecond)
		lock.Unlock()
	}
}

//go:noinline
func waitForever(end <-chan struct{}) { <-end }

func hang(all *sync.WaitGroup, end <-chan struct{}) {
	defer all.Done()
	waitForever(end)
}

// TestProfile_Finds runs a program with a leak, a lock, goroutines that hang and a loop: each is what the
// profiles show most of, and the states say which goroutines ran and which waited.
func TestProfile_Finds(t *testing.T) {
	effort.Slow(t)
	before := runtime.SetMutexProfileFraction(1)
	defer runtime.SetMutexProfileFraction(before)
	o := open(t, columnstore.Options{MemoryBudget: 64 << 20})
	o.during(Options{Every: 500 * time.Millisecond, States: o.states, Labels: map[string]string{"job": "test"}}, func() {
		until := time.Now().Add(1800 * time.Millisecond)
		var all sync.WaitGroup
		var lock sync.Mutex
		end := make(chan struct{})
		leakBytes()
		runtime.GC()
		all.Go(func() { hotLoop(until) })
		for range 3 {
			all.Go(func() { lockLong(&lock, until) })
		}
		for range 100 {
			all.Add(1)
			go hang(&all, end) // the history has its name, and not that of WaitGroup.Go
		}
		time.Sleep(time.Until(until))
		close(end)
		all.Wait()
	})
	kept = nil
	for _, want := range []struct {
		kind, sample, function string
		least                  float64
	}{
		{"process_cpu", "cpu", "hotLoop", 0.5},
		{"goroutine_cpu", "oncpu", "hotLoop", 0.5},
		{"memory", "inuse_space", "leakBytes", 0.5},
		{"memory", "alloc_space", "leakBytes", 0.3},
		{"mutex", "delay", "lockLong", 0.9},
		{"goroutine", "goroutine", "waitForever", 0.5},
	} {
		if got := share(o.merge(want.kind, want.sample), want.function); got < want.least {
			t.Errorf("%s has %.2f of %s, want at least %.2f", want.function, got, want.sample, want.least)
		}
	}
	for _, err := range o.errors() {
		t.Errorf("told: %v", err)
	}
	checkJoin(t, o)
}

// checkJoin holds the samples to the states of their goroutines.
func checkJoin(t *testing.T, o *opened) {
	t.Helper()
	db, snap, typ := o.find("goroutine_cpu", "oncpu")
	defer snap.Close()
	groups, err := db.MergeByState(t.Context(), snap, typ, query(t, "goroutine_cpu"), profile.States{History: o.states, Path: []string{"Goroutines", "{track}"}})
	if err != nil {
		t.Fatal(err)
	}
	running, all := int64(0), int64(0)
	for _, g := range groups {
		t.Logf("%v %s: %d", g.Status, g.State, g.Stacks.Total)
		all += g.Stacks.Total
		if g.State.Equal(history.String("running")) {
			running += g.Stacks.Total
		}
	}
	if all < 5*samplePeriod || float64(running) < 0.8*float64(all) {
		t.Errorf("of %d ns in samples %d are of goroutines that ran", all, running)
	}
	view, err := snap.History(o.states)
	if err != nil {
		t.Fatal(err)
	}
	waiting := 0
	top, err := view.Lookup("Goroutines")
	if err != nil {
		t.Fatal(err)
	}
	for a := range view.Children(top) {
		fn, err := view.LookupFrom(a, "function")
		if err != nil {
			t.Fatal(err)
		}
		at := view.End() - int64(300*time.Millisecond)
		in, err := view.At(fn, at)
		if err != nil {
			t.Fatal(err)
		}
		if state, err := view.At(a, at); err == nil && strings.HasSuffix(in.Value.Text(), "self.hang") && strings.HasPrefix(state.Value.Text(), "waiting") {
			waiting++
		}
	}
	if waiting < 100 {
		t.Errorf("%d goroutines of the test wait for a channel, want 100", waiting)
	}
}

// TestProfile_Ends ends with its context at any time, once at a time, and leaves profilers to others.
func TestProfile_Ends(t *testing.T) {
	o := open(t, columnstore.Options{})
	for _, after := range []time.Duration{0, time.Millisecond, 50 * time.Millisecond, 190 * time.Millisecond} {
		begin := time.Now()
		o.during(Options{Every: 200 * time.Millisecond, States: o.states}, func() {
			time.Sleep(after)
			if after > 10*time.Millisecond {
				if err := Profile(t.Context(), o.Store, Options{}); !errors.Is(err, ErrRunning) {
					t.Errorf("a second one: %v", err)
				}
			}
		})
		if took := time.Since(begin); took > after+effort.Patience {
			t.Errorf("it took %v to end", took-after)
		}
		free(t)
	}
	for _, err := range o.errors() {
		t.Errorf("told: %v", err)
	}
}

// free checks that no profiler runs.
func free(t *testing.T) {
	t.Helper()
	if err := pprof.StartCPUProfile(io.Discard); err != nil {
		t.Error(err)
	}
	pprof.StopCPUProfile()
	r := trace.NewFlightRecorder(trace.FlightRecorderConfig{})
	if err := r.Start(); err != nil {
		t.Error(err)
	}
	r.Stop()
}

// TestProfile_Errors refuses what makes no sense, and ends with its store.
func TestProfile_Errors(t *testing.T) {
	o := open(t, columnstore.Options{})
	if err := Profile(t.Context(), o.Store, Options{Every: time.Millisecond}); !errors.Is(err, ErrOptions) {
		t.Errorf("every millisecond: %v", err)
	}
	other := open(t, columnstore.Options{})
	if err := Profile(t.Context(), o.Store, Options{States: other.states}); !errors.Is(err, columnstore.ErrTable) {
		t.Errorf("the history of another store: %v", err)
	}
	tx := o.Begin()
	w, err := tx.History(o.states)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(1); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := Profile(t.Context(), o.Store, Options{States: o.states}); !errors.Is(err, history.ErrClosed) {
		t.Errorf("a closed history: %v", err)
	}
	closing, err := columnstore.Open(columnstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- Profile(t.Context(), closing, Options{Every: 100 * time.Millisecond}) }()
	time.Sleep(50 * time.Millisecond)
	if err := closing.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, columnstore.ErrClosed) {
		t.Errorf("a store that was closed: %v", err)
	}
	free(t)
}

// TestProfile_SecondProfiler runs beside profilers of the program: theirs are whole, and ours goes without.
func TestProfile_SecondProfiler(t *testing.T) {
	o := open(t, columnstore.Options{})
	var theirs, window bytes.Buffer
	if err := pprof.StartCPUProfile(&theirs); err != nil {
		t.Fatal(err)
	}
	r := trace.NewFlightRecorder(trace.FlightRecorderConfig{})
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	skipped := func() (cpu, states int) {
		for _, err := range o.errors() {
			cpu, states = cpu+strings.Count(err.Error(), "CPU profile: "), states+strings.Count(err.Error(), "states: ")
		}
		return cpu, states
	}
	o.during(Options{Every: 100 * time.Millisecond, States: o.states}, func() {
		hotLoop(begin.Add(450 * time.Millisecond))
		for limit := time.Now().Add(effort.Patience); time.Now().Before(limit); { // a busy machine takes longer
			if cpu, states := skipped(); cpu >= 2 && states >= 2 {
				break
			}
			hotLoop(time.Now().Add(50 * time.Millisecond))
		}
	})
	pprof.StopCPUProfile()
	took := time.Since(begin)
	if _, err := r.WriteTo(&window); err != nil || window.Len() == 0 {
		t.Errorf("their recorder: %d bytes, %v", window.Len(), err)
	}
	r.Stop()
	p, err := pb.ParseData(theirs.Bytes())
	if err != nil || len(p.Sample) == 0 || time.Duration(p.DurationNanos) < took*9/10 {
		t.Errorf("their CPU profile: %v, %v", p, err)
	}
	for _, err := range o.errors() {
		if !errors.Is(err, ErrSkipped) {
			t.Errorf("told: %v", err)
		}
	}
	if cpu, states := skipped(); cpu < 2 || states < 2 {
		t.Errorf("told of %d CPU profiles and %d windows that were skipped", cpu, states)
	}
	if o.merge("goroutine", "goroutine").Total == 0 {
		t.Error("no profiles of goroutines")
	}
	free(t)
}

// TestProfile_StoppedByOthers has a program stop our CPU profile and start its own: that one is not stopped.
func TestProfile_StoppedByOthers(t *testing.T) {
	o := open(t, columnstore.Options{})
	var theirs bytes.Buffer
	var took time.Duration
	of, started := thisProcess(), make(chan struct{}, 10)
	of.startCPU = func(w io.Writer) error {
		err := pprof.StartCPUProfile(w)
		if err == nil {
			started <- struct{}{}
		}
		return err
	}
	way := func(ctx context.Context, opts Options) error { return run(ctx, o.Store, opts, of) }
	o.while(way, Options{Every: time.Second}, func() {
		<-started
		pprof.StopCPUProfile()
		begin := time.Now()
		if err := pprof.StartCPUProfile(&theirs); err != nil {
			t.Fatal(err)
		}
		hotLoop(time.Now().Add(1200 * time.Millisecond)) // longer than a cycle
		pprof.StopCPUProfile()
		took = time.Since(begin)
	})
	p, err := pb.ParseData(theirs.Bytes())
	if err != nil || time.Duration(p.DurationNanos) < 1100*time.Millisecond {
		t.Errorf("their CPU profile, of %v: %v, %v", took, p, err)
	}
	if !slices.ContainsFunc(o.errors(), func(err error) bool { return strings.Contains(err.Error(), "stopped by the program") }) {
		t.Errorf("told %v", o.errors())
	}
}

// TestProfile_Restart goes on in a history that has states of an earlier run.
func TestProfile_Restart(t *testing.T) {
	o := open(t, columnstore.Options{})
	var ends []int64
	for range 2 {
		o.during(Options{Every: 200 * time.Millisecond, States: o.states}, func() { time.Sleep(300 * time.Millisecond) })
		snap, err := o.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		view, err := snap.History(o.states)
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, view.End())
		snap.Close()
	}
	if ends[1] < ends[0]+int64(200*time.Millisecond) {
		t.Errorf("the history ends at %d, then at %d", ends[0], ends[1])
	}
	for _, err := range o.errors() {
		t.Errorf("told: %v", err)
	}
}
