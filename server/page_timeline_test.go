package server

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/server/internal/page"
)

// stackAt returns the stack of a column, from the root.
func stackAt(a *page.TimelineAnswer, column int) string {
	var names []string
	for n := a.Node[column]; n >= 0; n = a.Parent[n] {
		names = append(names, a.Names[a.Function[n]])
	}
	slices.Reverse(names)
	return strings.Join(names, " ")
}

// TestPage_Timeline: columns have the largest stack of their times, in order.
func TestPage_Timeline(t *testing.T) {
	a := newAsker(t, Options{})
	for i, stack := range []string{"leaf f main", "leaf f main", "g main", "leaf g main"} {
		a.insert(madeAt.Add(time.Duration(i)*time.Second), cpuType, map[string]string{"pod": "a"},
			made{stack: stack, value: int64(10 + i), labels: []string{"thread", "1"}}, made{stack: "other", value: 3, labels: []string{"thread", "2"}})
	}
	ask := func(parameters ...string) (out page.TimelineAnswer) {
		t.Helper()
		from := madeAt.Format(time.RFC3339)
		if status, text, _ := a.page("timeline", &out, append([]string{"t", "cpu", "from", from}, parameters...)...); status != http.StatusOK {
			t.Fatalf("%q: status %d: %s", parameters, status, text)
		}
		return out
	}
	got := ask("to", madeAt.Add(4*time.Second).Format(time.RFC3339), "pixels", "4")
	var lines []string
	for i := range got.Node {
		lines = append(lines, fmt.Sprint(stackAt(&got, i), " ", got.Value[i], "/", got.Total[i], " ", got.Stacks[i]))
	}
	if want := []string{"main f leaf 10/13 2", "main f leaf 11/14 2", "main g 12/15 2", "main g leaf 13/16 2"}; !slices.Equal(lines, want) || got.Step != int64(time.Second) || got.Time[3] != "2026-01-31T09:00:03Z" {
		t.Errorf("%q, step %d, want %q", lines, got.Step, want)
	}
	if len(got.Parent) != 5 || got.Node[0] != got.Node[1] { // main, f, leaf, g, leaf
		t.Errorf("%d nodes, of columns %d", len(got.Parent), got.Node)
	}
	if got := ask("focus", "other"); len(got.Time) != 4 || stackAt(&got, 0) != "other" || got.SampleType != "cpu" {
		t.Errorf("a stack: %+v", got)
	}
	if got := ask("q", `{thread="1"}`, "pixels", "1"); len(got.Time) > 2 || stackAt(&got, 0) != "main f leaf" {
		t.Errorf("of one pixel: %+v", got)
	}
	if got := ask("to", madeAt.Add(time.Millisecond).Format(time.RFC3339Nano), "q", `{pod="none"}`); len(got.Time) != 0 {
		t.Errorf("of nothing: %+v", got)
	}
}

// TestPage_TimelineLimits asks for what is not answered, and beyond each limit.
func TestPage_TimelineLimits(t *testing.T) {
	r := newReceiver(t, Options{Limits: Limits{QueryBytes: 200 << 10}}, columnstore.Options{FutureLimit: -1})
	r.want(http.StatusOK, "rows", r.request(http.MethodPost, "/pprof?job=a", file(t, "etcd/cpu-1.pb.gz")))
	for query, want := range map[string]struct {
		status int
		text   string
	}{
		"t=cpu": {400, "parameter from is missing"}, "t=cpu&from=latest-1h&pixels=4001": {422, "at most 4000"}, "t=cpu&from=latest-1h&pixels=0": {422, "at least 1"},
		"t=cpu&from=latest-1h&h=x&p=y&attribute=z": {404, "no such history"}, "t=cpu&from=latest-1h&rows=3": {400, "rows"},
	} {
		r.want(want.status, want.text, r.request(http.MethodGet, "/api/v1/timeline?"+query, nil))
	}
	small := newReceiver(t, Options{Limits: Limits{QueryBytes: 4 << 10}}, columnstore.Options{FutureLimit: -1})
	small.want(http.StatusOK, "rows", small.request(http.MethodPost, "/pprof?job=a", file(t, "etcd/cpu-1.pb.gz")))
	small.want(422, "the memory of a query", small.request(http.MethodGet, "/api/v1/timeline?t=cpu&from=latest-1h", nil))
}
