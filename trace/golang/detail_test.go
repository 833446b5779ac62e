package golang

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime"
	rt "runtime/trace"
	"strings"
	"sync"
	"testing"

	"golang.org/x/exp/trace"

	"github.com/granarydb/granary/history"
	ours "github.com/granarydb/granary/trace"
)

// stay is an attribute with a value.
type stay struct{ attribute, value string }

// spent is the slow oracle of details: how long each attribute has each value, by golang.org/x/exp/trace. Each event
// changes a map of the values, and the time to it is added for all of them.
func spent(t testing.TB, data []byte) map[stay]int64 {
	t.Helper()
	r, err := trace.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	of, now := map[stay]int64{}, map[string]string{}
	stacks, running := map[string][]string{}, map[trace.GoID]string{}
	var begin, last int64
	for {
		e, err := r.ReadEvent()
		if errors.Is(err, io.EOF) {
			return of
		}
		if err != nil {
			t.Fatal(err)
		}
		at := int64(e.Time())
		if e.Kind() == trace.EventSync {
			if last == 0 {
				begin, last = at, at
			}
			continue
		}
		for name, value := range now {
			of[stay{name, value}] += at - last
			if strings.HasSuffix(name, "log") {
				of[stay{name, value}] += 1 - (at - last) // an instant
				delete(now, name)
			}
		}
		last = at
		goroutine := fmt.Sprintf("Goroutines/%d/", e.Goroutine())
		switch e.Kind() {
		case trace.EventStateTransition:
			change := e.StateTransition()
			if change.Resource.Kind != trace.ResourceGoroutine {
				continue
			}
			from, to := change.Goroutine()
			if from == to {
				continue
			}
			id := change.Resource.Goroutine()
			name := fmt.Sprintf("Goroutines/%d/", id)
			if from == trace.GoWaiting && to == trace.GoRunnable {
				delete(now, name+"woken by")
				if e.Goroutine() != trace.NoGoroutine {
					now[name+"woken by"] = fmt.Sprint(int64(e.Goroutine()))
				}
			}
			if on, is := running[id]; is {
				delete(now, on)
				delete(running, id)
			}
			if to == trace.GoRunning && e.Proc() != trace.NoProc {
				running[id] = fmt.Sprintf("Procs/%d/goroutine", e.Proc())
				now[running[id]] = fmt.Sprint(int64(id))
				if from == trace.GoUndetermined {
					of[stay{running[id], now[running[id]]}] += at - begin
				}
			}
			if to == trace.GoNotExist {
				for other := range now {
					if strings.HasPrefix(other, name) {
						delete(now, other)
					}
				}
			}
		case trace.EventTaskBegin:
			task := fmt.Sprintf("Tasks/%s/%d", e.Task().Type, e.Task().ID)
			if now[task] = "running"; e.Task().Parent != trace.BackgroundTask && e.Task().Parent != trace.NoTask {
				now[task+"/parent"] = fmt.Sprint(uint64(e.Task().Parent))
			}
		case trace.EventTaskEnd:
			task := fmt.Sprintf("Tasks/%s/%d", e.Task().Type, e.Task().ID)
			delete(now, task)
			delete(now, task+"/parent")
		case trace.EventRegionBegin:
			open := append(stacks[goroutine], e.Region().Type)
			stacks[goroutine], now[goroutine+"regions"] = open, fmt.Sprint(len(open))
			now[fmt.Sprintf("%sregions/%d", goroutine, len(open))] = e.Region().Type
		case trace.EventRegionEnd:
			open := stacks[goroutine]
			delete(now, fmt.Sprintf("%sregions/%d", goroutine, len(open)))
			if stacks[goroutine] = open[:len(open)-1]; len(open) == 1 {
				delete(now, goroutine+"regions")
			} else {
				now[goroutine+"regions"] = fmt.Sprint(len(open) - 1)
			}
		case trace.EventLog:
			now[goroutine+"log"] = strings.TrimPrefix(e.Log().Category+": "+e.Log().Message, ": ")
		case trace.EventLabel:
			now[fmt.Sprintf("Goroutines/%d/label", e.Label().Resource.Goroutine())] = e.Label().Label
		case trace.EventMetric:
			now["Metrics/"+metricName(e.Metric().Name)] = fmt.Sprint(int64(e.Metric().Value.Uint64()))
		case trace.EventRangeBegin, trace.EventRangeActive, trace.EventRangeEnd:
			of := e.Range()
			var name string
			switch {
			case strings.HasPrefix(of.Name, "stop-the-world"), of.Scope.Kind == trace.ResourceNone:
				continue
			case of.Scope.Kind == trace.ResourceProc:
				name = fmt.Sprintf("Procs/%d/range", of.Scope.Proc())
			default:
				name = fmt.Sprintf("Goroutines/%d/range", of.Scope.Goroutine())
			}
			if delete(now, name); e.Kind() != trace.EventRangeEnd {
				now[name] = of.Name
			}
		}
	}
}

// detailSpent is spent of a history.
func detailSpent(t testing.TB, v *history.View) map[stay]int64 {
	t.Helper()
	of := map[stay]int64{}
	for a := range history.Attribute(v.Len()) {
		path, err := v.Path(a)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.Join(path, "/")
		plain := len(path) <= 2 && path[0] != Tasks && path[0] != Metrics || path[0] == GC || strings.HasSuffix(name, "/function")
		if plain {
			continue
		}
		for in, err := range v.Range(a, v.Start(), v.End(), history.RangeOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			if !in.Value.IsNull() {
				of[stay{name, strings.Trim(fmt.Sprint(in.Value), `"`)}] += in.End - in.Start + 1
			}
		}
	}
	return of
}

// tasked returns a trace of work with tasks, regions and logs.
func tasked(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := rt.Start(&out); err != nil {
		t.Fatal(err)
	}
	ctx, outer := rt.NewTask(context.Background(), "batch")
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			ctx, task := rt.NewTask(ctx, "request")
			defer task.End()
			rt.WithRegion(ctx, "parse", func() {
				rt.Logf(ctx, "step", "item %d", i)
				rt.WithRegion(ctx, "check", func() { runtime.KeepAlive(make([]byte, 1<<20)) })
			})
			rt.Log(ctx, "", "no category")
		})
	}
	all.Wait()
	work(20_000_000)
	outer.End()
	rt.Stop()
	return out.Bytes()
}

// TestImport_Details holds all that a trace says besides states to the oracle.
func TestImport_Details(t *testing.T) {
	for name, data := range map[string][]byte{"recorded once": file(t), "of tasks": tasked(t), "of generations": goroutineGenerations(t)} {
		view, _ := imported(t, data)
		want, got := spent(t, data), detailSpent(t, view)
		maps.DeleteFunc(want, func(_ stay, ns int64) bool { return ns == 0 })
		// The last event's instant belongs to the history.
		for of, ns := range want {
			if got[of] != ns && got[of] != ns+1 {
				t.Errorf("%s: %v for %d ns, want %d", name, of, got[of], ns)
			}
		}
		for of, ns := range got {
			if _, is := want[of]; !is && ns > 1 {
				t.Errorf("%s: %v for %d ns, want none", name, of, ns)
			}
		}
		if len(want) < 20 {
			t.Errorf("%s: %d values", name, len(want))
		}
	}
}

// TestImport_TaskFromBefore gives a task that ends, and of which the trace has no begin, the time since the begin of the
// trace.
func TestImport_TaskFromBefore(t *testing.T) {
	_, task := rt.NewTask(context.Background(), "old")
	if rt.IsEnabled() {
		t.Fatal("a trace is recorded")
	}
	var out bytes.Buffer
	if err := rt.Start(&out); err != nil {
		t.Fatal(err)
	}
	work(1_000_000)
	task.End()
	rt.Stop()
	view, _ := imported(t, out.Bytes())
	tasks, err := view.Match(history.Literal(Tasks), history.Any, history.Any)
	if err != nil || len(tasks) != 1 {
		t.Fatalf("%d tasks, %v", len(tasks), err)
	}
	first, err := view.At(tasks[0], view.Start())
	if err != nil || first.Value.Text() != "running" || first.End <= first.Start || first.End >= view.End() {
		t.Errorf("the task is %+v, %v", first, err)
	}
}

// TestImport_LeftOut counts what is not in the history.
func TestImport_LeftOut(t *testing.T) {
	data := file(t)
	s := replayed(t, data)
	var outcome ours.Outcome
	_, err := ours.Build(func(to ours.Target) (err error) {
		outcome, err = Import(t.Context(), bytes.NewReader(data), to)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := outcome.LeftOut(); len(got) != 1 || got[0] != (ours.LeftOut{What: "CPU samples", Count: len(s.samples)}) {
		t.Errorf("%v, want %d samples", got, len(s.samples))
	}
}
