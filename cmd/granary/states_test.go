package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/pprof"
	"runtime/trace"
	"strings"
	"sync"
	"testing"
	"time"

	exp "golang.org/x/exp/trace"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
)

// recordedStates returns a trace with CPU samples while a goroutine runs and others wait for a lock and a channel.
func recordedStates(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := pprof.StartCPUProfile(io.Discard); err != nil {
		t.Fatal(err)
	}
	defer pprof.StopCPUProfile()
	if err := trace.Start(&out); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	turn := make(chan bool)
	all.Go(func() {
		for range turn {
			mu.Lock()
			for end := time.Now().Add(80 * time.Millisecond); time.Now().Before(end); {
			}
			mu.Unlock()
		}
	})
	all.Go(func() {
		for range 4 {
			turn <- true
			time.Sleep(20 * time.Millisecond)
			mu.Lock()
			mu.Unlock() //nolint:staticcheck // waits
		}
		close(turn)
	})
	all.Wait()
	trace.Stop()
	return out.Bytes()
}

// statesAtSamples returns how many samples there are in each state of their goroutine, and in each state of each goroutine.
func statesAtSamples(t *testing.T, data []byte) (own map[string]int, meanwhile map[exp.GoID]map[string]int) {
	t.Helper()
	r, err := exp.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	now := map[exp.GoID]string{}
	own, meanwhile = map[string]int{}, map[exp.GoID]map[string]int{}
	for {
		ev, err := r.ReadEvent()
		if errors.Is(err, io.EOF) {
			return own, meanwhile
		}
		if err != nil {
			t.Fatal(err)
		}
		switch ev.Kind() {
		case exp.EventStateTransition:
			change := ev.StateTransition()
			if change.Resource.Kind != exp.ResourceGoroutine {
				continue
			}
			from, to := change.Goroutine()
			if from == to {
				continue
			}
			state := strings.ToLower(to.String())
			if to == exp.GoWaiting && change.Reason != "" {
				state = fmt.Sprintf("waiting (%s)", change.Reason)
			}
			now[change.Resource.Goroutine()] = state
		case exp.EventStackSample:
			if g := ev.Goroutine(); g != exp.NoGoroutine {
				own[now[g]]++
			}
			for g, state := range now {
				if meanwhile[g] == nil {
					meanwhile[g] = map[string]int{}
				}
				meanwhile[g][state]++
			}
		}
	}
}

// TestStates_Samples holds top, merge and flamegraph with --state to golang.org/x/exp/trace: samples by the state of their
// goroutine, and of each other goroutine, of a file and of a store.
func TestStates_Samples(t *testing.T) {
	data := recordedStates(t)
	own, meanwhile := statesAtSamples(t, data)
	for range 20 { // a busy machine gives few samples
		if own["running"] >= 5 {
			break
		}
		data = recordedStates(t)
		own, meanwhile = statesAtSamples(t, data)
	}
	dir := t.TempDir()
	file, db := filepath.Join(dir, "app.trace"), filepath.Join(dir, "db")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := granary(t, "load", "--db", db, file); r.code != cli.ExitOK {
		t.Fatalf("%+v", r)
	}
	if own["running"] < 5 {
		t.Fatalf("%d samples while running", own["running"])
	}
	const each = 10_000_000
	blocked := 0
	for _, of := range [][]string{{file}, {"--db", db}} {
		for state, n := range own {
			if got := granaryTop(t, append([]string{"--state", state}, of...)...); got.Total != int64(n)*each {
				t.Errorf("%q: %s: %d, want %d samples", of, state, got.Total, n)
			}
		}
		for g, states := range meanwhile {
			for state, n := range states {
				if state == "notexist" || state == "undetermined" {
					continue
				}
				if strings.HasPrefix(state, "waiting (sync") || strings.HasPrefix(state, "waiting (chan") {
					blocked += n
				}
				args := append([]string{"--state", state, "--of", fmt.Sprint("Goroutines/", g)}, of...)
				if got := granaryTop(t, args...); got.Total != int64(n)*each {
					t.Errorf("%q: %d, want %d samples", args, got.Total, n)
				}
			}
		}
	}
	if blocked == 0 {
		t.Errorf("no goroutine waits while others run: %v", meanwhile)
	}
	folded, graph, merged := filepath.Join(dir, "x.folded"), filepath.Join(dir, "x.svg"), filepath.Join(dir, "x.pb.gz")
	for _, args := range [][]string{{"merge", "-o", folded}, {"merge", "-o", merged}, {"flamegraph", "-o", graph}} {
		if r := granary(t, append(args, "--state", "running", file)...); r.code != cli.ExitOK {
			t.Errorf("%+v", r)
		}
	}
	for _, name := range []string{merged, folded} {
		index := []string{"--sample-index", "cpu", name}
		if name == folded {
			index = []string{name}
		}
		if got := granaryTop(t, index...); got.Total != int64(own["running"])*each {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if text, err := os.ReadFile(graph); err != nil || !strings.Contains(string(text), "while running") {
		t.Errorf("the title does not say the state: %v", err)
	}
}

// TestStates_Errors asks for states that there are not.
func TestStates_Errors(t *testing.T) {
	db := filepath.Join(t.TempDir(), "db")
	if r := granary(t, "load", "--db", db, goTrace, goTrace); r.code != cli.ExitOK {
		t.Fatalf("%+v", r)
	}
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--of", "x", goTrace}, cli.ExitUsage, "--of and --history are for --state"},
		{[]string{"--state", "sleeping", goTrace}, cli.ExitFailed, `was "sleeping"; there are: running 60 ms`},
		{[]string{"--state", "running", "../../testdata/profiles/etcd/cpu-1.pb.gz"}, cli.ExitFailed, "there are no states"},
		{[]string{"--state", "running", "--of", "Goroutines/*", goTrace}, cli.ExitUsage, "without * and .."},
		{[]string{"--state", "running", "--of", "Goroutines/{", goTrace}, cli.ExitUsage, "--of"},
		{[]string{"--state", "running", "--of", "Threads/1", goTrace}, cli.ExitFailed, "no attribute"},
		{[]string{"--state", "running", "--db", db}, cli.ExitUsage, "want one of small.trace, small.trace (2)"},
		{[]string{"--state", "running", "--history", "small.trace", "--selector", `{file!~".*2."}`, "--db", db}, cli.ExitOK, "total 60 ms"},
	} {
		if r := granary(t, append([]string{"top"}, test.args...)...); r.code != test.code || !strings.Contains(r.stdout+r.stderr, test.want) {
			t.Errorf("%q: %+v, want %d and %q", test.args, r, test.code, test.want)
		}
	}
}
