package self

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"runtime/trace"
	"slices"
	"strings"
	"testing"
	"time"

	pb "github.com/google/pprof/profile"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/trace/golang"
)

// simulated is a process whose clock moves when it waits. Its profiles are real ones with other values and times,
// and its windows a real one at later times.
type simulated struct {
	t      *testing.T
	at     time.Time
	cycles int
	end    func() // called after all cycles
	each   func()
	left   int
	base   map[string]*pb.Profile
	window *shiftable
	cpu    io.Writer
}

func simulate(t *testing.T, cycles int) *simulated {
	t.Helper()
	s := &simulated{t: t, left: cycles, base: map[string]*pb.Profile{}, window: newShiftable(t), each: func() {}}
	s.at = s.window.wall.Add(time.Minute)
	for name, file := range map[string]string{"cpu": "cpu-1", "heap": "heap-1", "goroutine": "goroutine-1", "mutex": "mutex-1", "block": "block-1"} {
		data, err := os.ReadFile("../../testdata/profiles/etcd/" + file + ".pb.gz")
		if err != nil {
			t.Fatal(err)
		}
		if s.base[name], err = pb.ParseData(data); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// write writes a profile of the simulated time. Values that count from the start of the process grow.
func (s *simulated) write(name string, w io.Writer) error {
	p := s.base[name]
	p.TimeNanos = s.at.UnixNano()
	for i, sample := range p.Sample {
		for k := range sample.Value {
			if (i+s.cycles)%5 == 0 && !strings.HasPrefix(p.SampleType[k].Type, "inuse") {
				sample.Value[k] += int64(1 + s.cycles%7)
			}
		}
	}
	return p.WriteUncompressed(w)
}

// WriteTo writes a window that ends now.
func (s *simulated) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(s.window.by(s.at.Add(-time.Second).Sub(s.window.wall)))
	return int64(n), err
}

func (s *simulated) Stop() {}

func (s *simulated) process() process {
	return process{
		now: func() time.Time { return s.at },
		wait: func(_ context.Context, d time.Duration) {
			if s.at = s.at.Add(d); d < 2*time.Second { // the end of a cycle
				s.cycles++
				s.each()
				if s.left--; s.left == 0 {
					s.end()
				}
			}
		},
		startCPU: func(w io.Writer) error { s.cpu = w; return nil },
		stopCPU: func() {
			if err := s.write("cpu", s.cpu); err != nil {
				s.t.Error(err)
			}
		},
		lookup: func(name string) func(w io.Writer) error {
			if s.base[name] == nil {
				return nil
			}
			return func(w io.Writer) error { return s.write(name, w) }
		},
		record: func(trace.FlightRecorderConfig) (recorder, error) { return s, nil },
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestProfile_Day simulates a day, or an hour of it, in a budget of 64 MiB, and some days of fewer profiles in one that
// is too small for them: the store stays within it, the rest of the heap is flat, the newest profiles are there, and
// states are kept for ten minutes.
func TestProfile_Day(t *testing.T) {
	effort.Slow(t)
	parts := 24
	if effort.Race { // one goroutine writes, and takes ten times as long
		parts *= 4
	}
	simulateDays(t, 64<<20, 10*time.Second, effort.Part(8640, parts))
}

func TestProfile_Evicts(t *testing.T) {
	effort.Slow(t)
	if effort.Race {
		t.Skip("fewer days than fill the budget show nothing, and TestProfile_Day has the same goroutines")
	}
	if o := simulateDays(t, 3<<20, 5*time.Minute, 400); o.Stats().EvictedRows == 0 {
		t.Error("no rows were evicted")
	}
}

func simulateDays(t *testing.T, budget int64, every time.Duration, cycles int) *opened {
	t.Helper()
	s := simulate(t, cycles)
	o := open(t, columnstore.Options{MemoryBudget: budget, Now: func() time.Time { return s.at }})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	s.end = stop
	var most int64
	var heaps []int64
	s.each = func() {
		most = max(most, o.Stats().Bytes())
		if s.cycles%(cycles/8) == 0 {
			heaps = append(heaps, heap()-o.Stats().Bytes())
		}
	}
	notify := func(err error) { // the windows of the simulation do not overlap
		if !errors.Is(err, ErrSkipped) || !strings.Contains(err.Error(), "of states") {
			o.notify(err)
		}
	}
	if err := run(ctx, o.Store, Options{Every: every, States: o.states, Notify: notify}, s.process()); err != nil {
		t.Fatal(err)
	}
	if most > budget {
		t.Errorf("the store had %d bytes, of %d", most, budget)
	}
	t.Logf("%d cycles; at most %d bytes in the store; the rest of the heap %d", cycles, most, heaps)
	// The third of four, because a rewrite in progress on a busy machine holds a megabyte or two at one instant.
	third := func(of []int64) int64 { return slices.Sorted(slices.Values(of))[2] }
	if first, last := third(heaps[:4]), third(heaps[4:]); last > first+1<<20 {
		t.Errorf("the rest of the heap grows: %d", heaps)
	}
	for _, err := range o.errors() {
		t.Errorf("told: %v", err)
	}
	checkDay(t, o, s, every)
	return o
}

// checkDay looks for the newest profiles and for states.
func checkDay(t *testing.T, o *opened, s *simulated, every time.Duration) {
	t.Helper()
	for kind, sample := range map[string]string{"process_cpu": "cpu", "memory": "alloc_space", "goroutine": "goroutine", "mutex": "delay", "block": "delay", "goroutine_cpu": "oncpu"} {
		db, snap, typ := o.find(kind, sample)
		infos, err := db.Profiles(t.Context(), snap, typ, query(t, kind))
		snap.Close()
		if err != nil {
			t.Fatal(err)
		}
		if len(infos) < 50 || s.at.UnixNano()-infos[len(infos)-1].Time > int64(3*every) {
			t.Errorf("%s: %d profiles, the last at %v of %v", kind, len(infos), time.Unix(0, infos[len(infos)-1].Time), s.at)
		}
	}
	snap, err := o.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	view, err := snap.History(o.states)
	if err != nil {
		t.Fatal(err)
	}
	if kept := time.Duration(view.End() - view.Start()); kept < 10*time.Minute || kept > 12*time.Minute+2*every {
		t.Errorf("%v of states are kept", kept)
	}
	if view.Len() > 200 {
		t.Errorf("%d attributes: goroutines that end leave their places", view.Len())
	}
}

// TestProfile_Busy runs while the history is being written by someone else: it is told, and goes on.
func TestProfile_Busy(t *testing.T) {
	s := simulate(t, 3)
	o := open(t, columnstore.Options{Now: func() time.Time { return s.at }})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	s.end = stop
	tx := o.Begin()
	if _, err := tx.History(o.states); err != nil {
		t.Fatal(err)
	}
	s.each = func() {
		if s.cycles == 1 {
			tx.Abort()
		}
	}
	if err := run(ctx, o.Store, Options{States: o.states, Notify: o.notify}, s.process()); err != nil {
		t.Fatal(err)
	}
	if told := o.errors(); len(told) == 0 || !strings.Contains(told[0].Error(), "has a writer") {
		t.Errorf("told %v", told)
	}
	if o.merge("goroutine_cpu", "oncpu").Total == 0 {
		t.Error("no samples of the later windows")
	}
}

func eventsOf(t *testing.T, data []byte) (events []golang.Event) {
	t.Helper()
	r, err := golang.NewReader(bytes.NewReader(data), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for {
		ev, err := r.Next()
		if errors.Is(err, io.EOF) {
			return events
		}
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, ev)
	}
}

// TestShift holds a shifted trace to the recorded one.
func TestShift(t *testing.T) {
	s := newShiftable(t)
	want, got := eventsOf(t, s.data), eventsOf(t, s.by(time.Hour))
	if len(want) != len(got) || len(want) < 100 {
		t.Fatalf("%d events, want %d", len(got), len(want))
	}
	for i, ev := range got {
		// The units of time are no nanoseconds.
		if shift := ev.Time - want[i].Time; shift < int64(time.Hour)-1000 || shift > int64(time.Hour)+1000 {
			t.Fatalf("event %d is %v later", i, time.Duration(shift))
		}
		if ev.Kind != want[i].Kind || ev.ID != want[i].ID || ev.State != want[i].State {
			t.Fatalf("event %d is %v, want %v", i, ev, want[i])
		}
	}
}
