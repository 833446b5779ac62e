package server

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/page"
)

// madeStates is a store with a history and profiles, and all that was written as plain lists.
type madeStates struct {
	*asker
	start, end int64 // of the history, the latter behind it
	handle     *columnstore.History
	changes    map[string][]madeChange // by path, in the order of time
	paths      []string                // in the order of creation
	samples    []madeSample
}

type madeChange struct {
	at    int64
	value history.Value
}

// madeSample is a sample, one row of the table.
type madeSample struct {
	at            int64
	thread, where string // the value of the label, and which label has it
	leaf          string
	value         int64
}

// statesWritten are values of made histories, some of which look like others.
var statesWritten = []history.Value{{}, history.String("running"), history.String("waiting (chan receive)"), history.String("null"), history.String("7")}

// newMadeStates writes a history of threads, a counter, and profiles of threads in one store, at random.
func newMadeStates(t testing.TB, seed uint64, opts Options) *madeStates {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 23))
	m := &madeStates{asker: newAsker(t, opts), start: madeAt.UnixNano(), changes: map[string][]madeChange{}}
	m.end = m.start + 2000 + rng.Int64N(2000)
	store := m.db.Store()
	var err error
	if m.handle, err = store.CreateHistory("threads", columnstore.HistoryOptions{Start: m.start}); err != nil {
		t.Fatal(err)
	}
	for i := range 12 {
		m.paths = append(m.paths, fmt.Sprintf("Threads/%d", i))
	}
	m.paths = append(m.paths, "Count", "Threads/idle")
	m.change(rng)
	for n := range 60 {
		at, thread := m.start-100+rng.Int64N(m.end-m.start+200), fmt.Sprint(rng.IntN(14))
		where := []string{"profile", "sample", "number", "none"}[rng.IntN(4)]
		m.insertSample(madeSample{at, thread, where, fmt.Sprintf("leaf%d", n%5), 1 + rng.Int64N(9)})
	}
	return m
}

// change writes random changes, in transactions.
func (m *madeStates) change(rng *rand.Rand) {
	m.t.Helper()
	now := m.start
	for now < m.end {
		tx := m.db.Store().Begin()
		w, err := tx.History(m.handle)
		if err != nil {
			m.t.Fatal(err)
		}
		for _, path := range m.paths {
			if _, err := w.Attribute(split2(path)...); err != nil {
				m.t.Fatal(err)
			}
		}
		until := min(m.end, now+500)
		for ; now < until; now += 1 + rng.Int64N(20) {
			path := m.paths[rng.IntN(len(m.paths)-1)] // the last one never has a value
			v := statesWritten[rng.IntN(len(statesWritten))]
			if path == "Count" {
				v = history.Int(rng.Int64N(3))
			}
			a, err := w.Attribute(split2(path)...)
			if err == nil {
				err = w.Change(now, a, v)
			}
			if err != nil {
				m.t.Fatal(err)
			}
			m.changes[path] = append(m.changes[path], madeChange{now, v})
		}
		now = max(now, until)
		if now >= m.end {
			a, _ := w.Attribute("Count")
			if err := w.Change(m.end-1, a, history.Int(5)); err != nil {
				m.t.Fatal(err)
			}
			m.changes["Count"] = append(m.changes["Count"], madeChange{m.end - 1, history.Int(5)})
		}
		if _, err := tx.Commit(); err != nil {
			m.t.Fatal(err)
		}
	}
}

func (m *madeStates) insertSample(s madeSample) {
	m.t.Helper()
	f := &pprof.Function{ID: 1, Name: s.leaf}
	l := &pprof.Location{ID: 1, Line: []pprof.Line{{Function: f}}}
	sample := &pprof.Sample{Value: []int64{s.value}, Location: []*pprof.Location{l}, Label: map[string][]string{}, NumLabel: map[string][]int64{}, NumUnit: map[string][]string{}}
	labels := map[string]string{profile.NameLabel: "process_cpu"}
	switch s.where {
	case "profile":
		labels["tid"] = s.thread
		sample.Label["tid"] = []string{"11"} // the label of the profile counts
	case "sample":
		sample.Label["tid"] = []string{s.thread}
		sample.NumLabel["tid"] = []int64{11}
	case "number":
		n, err := strconv.ParseInt(s.thread, 10, 64)
		if err != nil {
			m.t.Fatal(err)
		}
		sample.NumLabel["tid"], sample.NumUnit["tid"] = []int64{n}, []string{[]string{"id", ""}[n%2]}
	}
	p := &pprof.Profile{
		SampleType: []*pprof.ValueType{{Type: "cpu", Unit: "nanoseconds"}}, PeriodType: &pprof.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period: 1, TimeNanos: s.at, DurationNanos: 40, Function: []*pprof.Function{f}, Location: []*pprof.Location{l}, Sample: []*pprof.Sample{sample},
	}
	if _, err := m.db.Insert(m.t.Context(), p, profile.InsertOptions{Labels: labels}); err != nil {
		m.t.Fatal(err)
	}
	m.samples = append(m.samples, s)
}

// split2 returns the names of a path of made states.
func split2(path string) (names []string) {
	for i := range len(path) {
		if path[i] == '/' {
			return []string{path[:i], path[i+1:]}
		}
	}
	return []string{path}
}

// state returns the state of an attribute at an instant: slow, and plain.
func (m *madeStates) state(path string, at int64) (v history.Value) {
	for _, c := range m.changes[path] {
		if c.at <= at {
			v = c.value
		}
	}
	return v
}

// group returns the status and the state of a sample.
func (m *madeStates) group(s madeSample) (status, state string) {
	switch {
	case s.where == "none":
		return "no label", ""
	case s.thread == "12" || s.thread == "13":
		return "no attribute", ""
	case s.at < m.start || s.at >= m.end:
		return "no instant", ""
	}
	return "known", page.StateName(m.state("Threads/"+s.thread, s.at))
}

// get asks a question, which must have an answer.
func (m *madeStates) get(path string, into any, parameters ...string) {
	m.t.Helper()
	if status, text, _ := m.page(path, into, parameters...); status != http.StatusOK {
		m.t.Fatalf("%s %q: status %d: %s", path, parameters, status, text)
	}
}

// instant formats a time for a parameter.
func instant(at int64) string { return time.Unix(0, at).UTC().Format(time.RFC3339Nano) }

// parsed is the inverse of instant.
func (m *madeStates) parsed(text string) int64 {
	m.t.Helper()
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		m.t.Fatal(err)
	}
	return at.UnixNano()
}
