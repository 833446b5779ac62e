package server

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"connectrpc.com/connect"
	pprof "github.com/google/pprof/profile"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/fanout"
)

// changing returns the address of a node whose answers to questions for stacks go through change, which can write one of its own: it then returns
// true. isWanted tells the questions for stacks with ids from those for sums.
func changing(t *testing.T, node string, change func(w http.ResponseWriter, isWanted bool) bool) string {
	t.Helper()
	to, err := url.Parse(node)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	return serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == fanout.StacksPath {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			q, err := fanout.DecodeStackQuestion(body)
			if err != nil {
				t.Error(err)
			}
			if change(w, len(q.Wanted) > 0) {
				return
			}
			r.Body = io.NopCloser(strings.NewReader(string(body)))
		}
		proxy.ServeHTTP(w, r)
	}))
}

// frontPaths returns the flame graph of a type, and the number of missing nodes.
func frontPaths(t *testing.T, at, id string) (paths string, missing int, err error) {
	t.Helper()
	answer, err := clients(t, at)["connect"].SelectMergeStacktraces(t.Context(), connect.NewRequest(&querierv1.SelectMergeStacktracesRequest{ProfileTypeID: id}))
	if err != nil {
		return "", 0, err
	}
	return (&oracle{t: t}).paths(answer.Msg.GetFlamegraph()), len(answer.Header().Values(fanout.WarningHeader)), nil
}

// A node that answers the question for sums, and not the one for its stacks, is missing in the answer as a whole: stacks that it was asked for
// and other nodes have too come from these.
func TestFrontStacks_AwayLater(t *testing.T) {
	_, good := filled(t, Options{}) // three nodes with the same profiles
	_, other := filled(t, Options{})
	for name, answer := range map[string]string{"an error": "", "nothing": "\x00\x00", "garbage": "garbage"} {
		bad := changing(t, good, func(w http.ResponseWriter, isWanted bool) bool {
			switch {
			case !isWanted:
				return false
			case answer == "":
				http.Error(w, "out of order", http.StatusInternalServerError)
			default:
				w.Header().Set("Content-Type", fanout.StacksMedia)
				_, _ = io.WriteString(w, answer)
			}
			return true
		})
		_, strict := newFront(t, Nodes{URLs: []string{bad, other}}, Options{})
		if _, _, err := frontPaths(t, strict, cpuID); connect.CodeOf(err) != connect.CodeUnavailable || !strings.Contains(err.Error(), bad) {
			t.Errorf("%s: %v, want an error with %s", name, err, bad)
		}
		_, partial := newFront(t, Nodes{URLs: []string{bad, other}, PartialAnswers: true}, Options{})
		want, _, err := frontPaths(t, other, cpuID)
		if err != nil {
			t.Fatal(err)
		}
		if got, missing, err := frontPaths(t, partial, cpuID); err != nil || missing != 1 || got != want {
			t.Errorf("%s: %d missing, %v: %.300s\nwant %.300s", name, missing, err, got, want)
		}
		if got, missing, err := frontPaths(t, partial, cpuID); err != nil || missing != 0 || got == want { // all stacks are known now
			t.Errorf("%s, again: %d missing, %v", name, missing, err)
		}
	}
}

// Sums that a node cannot have are errors of the node.
func TestFrontStacks_HostileSums(t *testing.T) {
	_, good := filled(t, Options{})
	for name, c := range map[string]struct{ answer, says string }{
		"nothing":               {"", "message is no number"},
		"no stack":              {"\x00\x01\x00\x00\x01\x00\x02", "stack 0 of 0"},
		"a source":              {"\x00\x01\x01\x01a\x01b\x00\x00", "a source of cpu at 0 times"},
		"times":                 {"\x00\x01\x00\x03\x00", "a source of cpu at 3 times"},
		"more":                  {"\x00\x01\x00\x00\x00\x00", "behind the end"},
		"more than there is":    {"\xff\xff\x03", "ids is 65535"},
		"more stacks than this": {"\x00\x01\x00\x00\xff\x01", "sums is 255"},
	} {
		bad := changing(t, good, func(w http.ResponseWriter, _ bool) bool {
			w.Header().Set("Content-Type", fanout.StacksMedia)
			w.Header().Set(fanout.KindsHeader, "[]")
			_, _ = io.WriteString(w, c.answer)
			return true
		})
		_, front := newFront(t, Nodes{URLs: []string{good, bad}}, Options{})
		says := c.says
		if name == "nothing" {
			says = "ids is no number"
		}
		if _, _, err := frontPaths(t, front, cpuID); connect.CodeOf(err) != connect.CodeUnavailable || !strings.Contains(err.Error(), bad) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q of %s", name, err, says, bad)
		}
	}
}

// A front asks for a stack once, also if several questions at once want it, and the rows of a question do not get into another's answer.
func TestFrontStacks_Shelf(t *testing.T) {
	one, _ := split(t, 3, 11)
	var wanted atomic.Int64
	node := changing(t, one, func(_ http.ResponseWriter, isWanted bool) bool {
		if isWanted {
			wanted.Add(1)
		}
		return false
	})
	_, front := newFront(t, Nodes{URLs: []string{node}}, Options{})
	want := map[string]string{}
	for _, id := range frontTypes[:6] {
		paths, _, err := frontPaths(t, one, id)
		if err != nil {
			t.Fatal(err)
		}
		want[id] = paths
	}
	var asking sync.WaitGroup
	for i := range 6 {
		asking.Go(func() {
			for k := range 4 {
				id := frontTypes[(i+k)%6]
				if got, _, err := frontPaths(t, front, id); err != nil || got != want[id] {
					t.Errorf("%s: %.300s, %v\nwant %.300s", id, got, err, want[id])
				}
			}
		})
	}
	asking.Wait()
	if n := wanted.Load(); n > 6*6 {
		t.Errorf("%d questions for stacks", n)
	}
	wanted.Store(0)
	for id := range want {
		if got, _, err := frontPaths(t, front, id); err != nil || got != want[id] {
			t.Errorf("%s again: %.300s, %v", id, got, err)
		}
	}
	if n := wanted.Load(); n > 0 {
		t.Errorf("%d questions for stacks that are known", n)
	}
}

// A front whose memory its stacks fill begins anew with the next question, and an answer beyond its memory is an error.
func TestFrontStacks_Full(t *testing.T) {
	s := newServer(t, Options{})
	deep := func(job, stacks int) {
		of := &pprof.ValueType{Type: "cpu", Unit: "nanoseconds"}
		p := &pprof.Profile{SampleType: []*pprof.ValueType{of}, PeriodType: of, TimeNanos: queryAt*1e6 + int64(job)}
		for i := range 40 + stacks {
			f := &pprof.Function{ID: uint64(i + 1), Name: fmt.Sprintf("job%d.f%d", job, i)}
			p.Function = append(p.Function, f)
			p.Location = append(p.Location, &pprof.Location{ID: uint64(i + 1), Line: []pprof.Line{{Function: f}}})
		}
		for i := range stacks {
			p.Sample = append(p.Sample, &pprof.Sample{Location: p.Location[i : i+40], Value: []int64{1}})
		}
		labels := map[string]string{profile.NameLabel: "process_cpu", "job": fmt.Sprint(job)}
		if _, err := s.db().Insert(t.Context(), p, profile.InsertOptions{Labels: labels}); err != nil {
			t.Fatal(err)
		}
	}
	for job := range 8 {
		deep(job, 800)
	}
	deep(8, 12_000)
	one := serve(t, s)
	var wanted atomic.Int64
	node := changing(t, one, func(_ http.ResponseWriter, isWanted bool) bool {
		if isWanted {
			wanted.Add(1)
		}
		return false
	})
	_, front := newFront(t, Nodes{URLs: []string{node}}, Options{Limits: Limits{QueryBytes: 1 << 20, Queries: 2}})
	top := func(at string, job int) (int, string) {
		return fetched(t, at+"/api/v1/top?t=cpu&rows=10&q="+url.QueryEscape(fmt.Sprintf(`{job="%d"}`, job)))
	}
	for round := range 2 {
		wanted.Store(0)
		for job := range 8 {
			_, want := top(one, job)
			if code, got := top(front, job); code != http.StatusOK || rows(got) != rows(want) {
				t.Fatalf("job %d: %d %.300s\nwant %.300s", job, code, got, want)
			}
		}
		if code, text := top(front, 8); code != http.StatusUnprocessableEntity || !strings.Contains(text, "memory of a query") {
			t.Errorf("12,000 stacks: %d %.300s, want the limit", code, text)
		}
		if n := wanted.Load(); n < 9 {
			t.Errorf("round %d: %d questions for stacks, want one for each job: the memory was full", round, n)
		}
	}
}

// rows returns the functions of the answer of GET /api/v1/top.
func rows(answer string) string {
	_, rows, _ := strings.Cut(answer, `"functions"`)
	return rows
}

// A front keeps nothing that it did not get: after an error of a node the next answer is whole.
func TestFrontStacks_Again(t *testing.T) {
	one, _ := split(t, 2, 3)
	var fails atomic.Bool
	node := changing(t, one, func(w http.ResponseWriter, isWanted bool) bool {
		if isWanted && fails.Load() {
			http.Error(w, "busy", http.StatusServiceUnavailable)
			return true
		}
		return false
	})
	_, front := newFront(t, Nodes{URLs: []string{node}}, Options{})
	fails.Store(true)
	if _, _, err := frontPaths(t, front, cpuID); err == nil || errors.Is(err, t.Context().Err()) {
		t.Fatal(err)
	}
	fails.Store(false)
	want, _, err := frontPaths(t, one, cpuID)
	if err != nil {
		t.Fatal(err)
	}
	if got, _, err := frontPaths(t, front, cpuID); err != nil || got != want {
		t.Errorf("%.300s, %v\nwant %.300s", got, err, want)
	}
}
