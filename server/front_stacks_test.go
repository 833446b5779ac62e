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
// true. wanted is the number of stacks that are asked for, 0 for sums.
func changing(t *testing.T, node string, change func(w http.ResponseWriter, wanted int) bool) string {
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
			if change(w, len(q.Wanted)) {
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
		bad := changing(t, good, func(w http.ResponseWriter, wanted int) bool {
			switch {
			case wanted == 0:
				return false
			case answer == "":
				http.Error(w, "out of order", http.StatusInternalServerError)
			default:
				w.Header().Set("Content-Type", fanout.BytesMedia)
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
		bad := changing(t, good, func(w http.ResponseWriter, _ int) bool {
			w.Header().Set("Content-Type", fanout.BytesMedia)
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
	node := changing(t, one, func(_ http.ResponseWriter, stacks int) bool {
		if stacks > 0 {
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
	node := changing(t, one, func(_ http.ResponseWriter, stacks int) bool {
		if stacks > 0 {
			wanted.Add(1)
		}
		return false
	})
	_, front := newFront(t, Nodes{URLs: []string{node}}, Options{Limits: Limits{QueryBytes: 2 << 20, Queries: 2}})
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
	node := changing(t, one, func(w http.ResponseWriter, wanted int) bool {
		if wanted > 0 && fails.Load() {
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

// A stack whose values cancel out over sources is in the sums of each, and in no answer.
func TestFrontStacks_Cancels(t *testing.T) {
	s := newServer(t, Options{})
	for pod, sign := range map[string]int64{"a": 1, "b": -1} {
		bytes := &pprof.ValueType{Type: "inuse_space", Unit: "bytes"}
		p := &pprof.Profile{SampleType: []*pprof.ValueType{bytes}, PeriodType: &pprof.ValueType{Type: "space", Unit: "bytes"}, TimeNanos: queryAt * 1e6}
		for i, name := range []string{"f", "g"} {
			f := &pprof.Function{ID: uint64(i + 1), Name: name}
			p.Function = append(p.Function, f)
			p.Location = append(p.Location, &pprof.Location{ID: uint64(i + 1), Line: []pprof.Line{{Function: f}}})
			p.Sample = append(p.Sample, &pprof.Sample{Location: p.Location[i:], Value: []int64{7 - int64(i)*2*sign}}) // 5 and 9 of g
		}
		p.Sample[0].Value[0] *= sign
		if _, err := s.db().Insert(t.Context(), p, profile.InsertOptions{Labels: map[string]string{profile.NameLabel: "memory", "pod": pod}}); err != nil {
			t.Fatal(err)
		}
	}
	one := serve(t, s)
	_, front := newFront(t, Nodes{URLs: []string{one}}, Options{})
	want, _, err := frontPaths(t, one, "memory:inuse_space:bytes:space:bytes")
	if err != nil || strings.Contains(want, "f") {
		t.Fatal(want, err)
	}
	for range 2 {
		if got, _, err := frontPaths(t, front, "memory:inuse_space:bytes:space:bytes"); err != nil || got != want {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	}
}

// A node whose rows go between the two questions is asked for its sums once more. If it lacks stacks again, it is away.
func TestFrontStacks_Changed(t *testing.T) {
	s, good := filled(t, Options{})
	isFirst := true
	node := changing(t, good, func(_ http.ResponseWriter, wanted int) bool {
		if wanted > 0 && isFirst {
			isFirst = false
			q := profile.Query{From: (queryAt + 10_000) * 1e6, To: (queryAt + 20_000) * 1e6}
			if n, err := s.db().Delete(t.Context(), q); err != nil || n == 0 {
				t.Errorf("%d rows deleted: %v", n, err)
			}
		}
		return false
	})
	_, front := newFront(t, Nodes{URLs: []string{node}}, Options{})
	got, _, err := frontPaths(t, front, cpuID)
	if want, _, err2 := frontPaths(t, good, cpuID); err != nil || err2 != nil || got != want || isFirst {
		t.Errorf("%.300s, %v\nwant %.300s, %v", got, err, want, err2)
	}
	node = changing(t, good, func(w http.ResponseWriter, wanted int) bool {
		if wanted == 0 {
			return false
		}
		w.Header().Set("Content-Type", fanout.BytesMedia)
		_, _ = w.Write(fanout.EncodeLocated(&profile.StackLocations{Stacks: make([][]uint32, wanted)}))
		return true
	})
	_, front = newFront(t, Nodes{URLs: []string{node}}, Options{})
	if _, _, err := frontPaths(t, front, cpuID); err == nil || !strings.Contains(err.Error(), node+": its profiles changed meanwhile") {
		t.Errorf("%v, want that %s changed", err, node)
	}
}

// A node that answers without the kinds of its profiles is missing in a partial answer, and an error in another.
func TestFrontStacks_NoKinds(t *testing.T) {
	_, good := filled(t, Options{})
	bad := changing(t, good, func(w http.ResponseWriter, _ int) bool {
		w.Header().Set("Content-Type", fanout.BytesMedia)
		_, _ = io.WriteString(w, "\x010123456789abcdef\x01\x00\x00\x01\x00\x02")
		return true
	})
	const id = "profile:cpu:nanoseconds:cpu:nanoseconds" // of no name, so that kinds count
	_, strict := newFront(t, Nodes{URLs: []string{good, bad}}, Options{})
	if _, _, err := frontPaths(t, strict, id); connect.CodeOf(err) != connect.CodeUnavailable || !strings.Contains(err.Error(), bad+": an answer without the kinds") {
		t.Errorf("%v, want an error with %s", err, bad)
	}
	_, partial := newFront(t, Nodes{URLs: []string{good, bad}, PartialAnswers: true}, Options{})
	want, _, err := frontPaths(t, good, id)
	if err != nil {
		t.Fatal(err)
	}
	if got, missing, err := frontPaths(t, partial, id); err != nil || missing != 1 || got != want {
		t.Errorf("%d missing, %v: %.300s\nwant %.300s", missing, err, got, want)
	}
}
