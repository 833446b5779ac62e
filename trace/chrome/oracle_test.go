package chrome

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/granarydb/granary/internal/beside"
	"github.com/granarydb/granary/internal/heldtest"
)

// slowEvent is an event as encoding/json reads it.
type slowEvent struct {
	Ph, Name, Cat string
	TS, Dur       json.Number
	PID, TID, ID  any
	Args          map[string]any
	start, end    int64
	order         int
	isOpen        bool
}

// slow reads a trace without regard to time: the slices of threads, as lines that begin with process and thread.
func slow(t testing.TB, data []byte) (lines []string) {
	t.Helper()
	var file struct {
		TraceEvents         []*slowEvent
		BaseTimeNanoseconds int64
	}
	if data[0] == '[' {
		data = []byte(`{"traceEvents":` + string(data) + `}`)
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	last := int64(0)
	var events []*slowEvent
	for i, e := range file.TraceEvents {
		pid, tid := fmt.Sprint(e.PID), fmt.Sprint(e.TID)
		switch {
		case e.Ph == "M" && e.Name == "process_name":
			names[pid] = fmt.Sprint(e.Args["name"], " ")
		case e.Ph == "M" && e.Name == "thread_name":
			names[pid+"/"+tid] = fmt.Sprint(e.Args["name"], " ")
		case e.Ph == "X" || e.Ph == "B" || e.Ph == "E":
			e.order, e.start = i, nanos(t, e.TS)
			e.end = e.start
			if e.Ph == "X" {
				e.end = max(nanos(t, e.TS, e.Dur), e.start+1)
			}
			events = append(events, e)
		}
		if e.Ph == "M" {
			continue
		}
		end := nanos(t, e.TS)
		switch e.Ph {
		case "X":
			end = e.end - 1
		case "E", "e":
			end--
		}
		last = max(last, end)
	}
	slices.SortStableFunc(events, func(a, b *slowEvent) int { return cmp.Compare(a.start, b.start) })
	for i, e := range events {
		if e.Ph != "E" {
			e.isOpen = e.Ph == "B"
			continue
		}
		for _, b := range slices.Backward(events[:i]) {
			if b.isOpen && b.PID == e.PID && b.TID == e.TID && (e.Name == "" || e.Name == b.Name) {
				b.end, b.isOpen = max(e.start, b.start+1), false
				break
			}
		}
	}
	for _, e := range events {
		if e.isOpen {
			e.end = last + 1
		}
		if e.Ph == "E" {
			continue
		}
		pid, tid := fmt.Sprint(e.PID), fmt.Sprint(e.TID)
		lines = append(lines, fmt.Sprintf("Processes/%s%s/Threads/%s%s %d-%d %s", names[pid], pid, names[pid+"/"+tid], tid, e.start+file.BaseTimeNanoseconds, e.end-1+file.BaseTimeNanoseconds, e.Name))
	}
	slices.Sort(lines)
	return lines
}

// nanos returns the nanoseconds of a sum of microseconds.
func nanos(t testing.TB, micros ...json.Number) int64 {
	t.Helper()
	sum := new(big.Rat)
	for _, m := range micros {
		r, ok := new(big.Rat).SetString(m.String())
		if !ok {
			t.Fatalf("%q is no number", m)
		}
		sum.Add(sum, r)
	}
	sum.Mul(sum, big.NewRat(1000, 1))
	return new(big.Int).Div(sum.Num(), sum.Denom()).Int64() // rounds down
}

// ofThreads returns the slices of threads in a history, without levels, as slow does.
func ofThreads(all []heldtest.Held) (lines []string) {
	for _, h := range all {
		path := strings.Split(strings.ReplaceAll(h.Path, `\/`, "\x00"), "/")
		if len(path) > 4 && path[2] == "Threads" && path[4] != "instants" {
			h.Path = strings.ReplaceAll(strings.Join(path[:4], "/"), "\x00", "/")
			lines = append(lines, h.String())
		}
	}
	slices.Sort(lines)
	return lines
}

// TestImport_Recorded holds real traces to a slow reader of another make: each slice with its thread, name, start and
// end, and nothing else.
func TestImport_Recorded(t *testing.T) {
	for name, least := range map[string]int{"node.json": 90, "torch.json": 200} {
		data, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		compareRecorded(t, name, data, least)
	}
}

// TestImport_Node does so for a longer trace of Node.
func TestImport_Node(t *testing.T) {
	data, err := os.ReadFile(beside.Data(t, "traces/node_trace.json"))
	if err != nil {
		t.Fatal(err)
	}
	compareRecorded(t, "node_trace.json", data, 211)
}

// compareRecorded compares a history with the slow reader. It has at least some slices.
func compareRecorded(t *testing.T, name string, data []byte, least int) {
	t.Helper()
	view, outcome, err := imported(strings.NewReader(string(data)))
	if err != nil {
		t.Fatal(name, err)
	}
	got, want := ofThreads(heldtest.All(t, view)), slow(t, data)
	if !slices.Equal(got, want) || len(want) < least {
		t.Errorf("%s: %d slices, want %d", name, len(got), len(want))
		for i := range min(len(got), len(want)) {
			if got[i] != want[i] {
				t.Errorf("%s, want %s", got[i], want[i])
				break
			}
		}
	}
	t.Logf("%s: %d slices, %v", name, len(got), outcome.LeftOut())
}
