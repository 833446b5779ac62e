package server

import (
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/page"
)

// inspect asks for the index and the cost of a question.
func (a *asker) inspect(parameters ...string) *page.InspectAnswer {
	a.t.Helper()
	out := &page.InspectAnswer{}
	if status, text, _ := a.page("inspect", out, parameters...); status != http.StatusOK {
		a.t.Fatalf("%q: status %d: %s", parameters, status, text)
	}
	return out
}

// TestPage_Inspect compares the index with that of the store, in pages, and what a question touches with its answer.
func TestPage_Inspect(t *testing.T) {
	a := newAsker(t, Options{})
	a.insertMade()
	a.insert(madeAt.Add(-48*time.Hour), cpuType, map[string]string{profile.NameLabel: "process_cpu"}, made{stack: "f main", value: 1})
	all := a.inspect("rows", "1000")
	var want []page.InspectGranule
	if err := a.db.Store().View(t.Context(), func(snap *columnstore.Snapshot) error {
		for g, err := range a.db.Table().Inspect(t.Context(), snap) {
			if err != nil {
				return err
			}
			want = append(want, page.NewInspectGranule(&g))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	same := func(a, b page.InspectGranule) bool {
		return slices.Equal(a.From, b.From) && slices.Equal(a.To, b.To) && a.Rows == b.Rows && slices.Equal(a.Parts, b.Parts)
	}
	rows, parts := 0, 0
	for _, g := range all.Granules {
		rows += g.Rows
		parts += len(g.Parts)
	}
	if !slices.EqualFunc(all.Granules, want, same) || len(want) < 2 || int64(rows) != all.All.Rows || parts != all.All.Parts || len(want) != all.All.Granules {
		t.Errorf("%d granules, %d parts, %d rows of %+v", len(all.Granules), parts, rows, all.All)
	}
	if all.Command != "" || all.Touched != (page.Touched{}) || all.Commit == 0 {
		t.Errorf("without a question: %+v, %q", all.Head, all.Command)
	}
	second := a.inspect("rows", "1", "offset", "1")
	if len(second.Granules) != 1 || second.Offset != 1 || !same(second.Granules[0], want[1]) {
		t.Errorf("the second granule is %+v", second)
	}
	if none := a.inspect("offset", "100000"); len(none.Granules) != 0 {
		t.Errorf("beyond the last: %d", len(none.Granules))
	}
	asked, top := a.inspect("t", "cpu", "rows", "0"), a.top("t", "cpu")
	if asked.Touched != top.Touched || asked.Touched.Rows == 0 || asked.Touched.Rows > asked.All.Rows || asked.Commit != top.Commit || len(asked.Granules) != 0 {
		t.Errorf("%+v, want %+v", asked.Head, top.Head)
	}
}

// TestPage_Command is about the words of a command, which a shell reads back.
func TestPage_Command(t *testing.T) {
	a := newAsker(t, Options{})
	a.insertMade()
	for _, test := range []struct {
		ask  []string
		want []string // URL stands for that of the server
	}{
		{[]string{"t", "cpu"}, []string{"granary", "top", "URL/pprof?type=cpu"}},
		{
			[]string{"t", "cpu", "q", `{job="a"}`, "from", "2020-01-01T00:00:00.000000007Z", "to", "2100-01-01T00:00:00Z"},
			[]string{"granary", "top", "URL/pprof?from=2020-01-01T00%3A00%3A00.000000007Z&selector=%7Bjob%3D%22a%22%7D&to=2100-01-01T00%3A00%3A00Z&type=cpu"},
		},
		{
			[]string{"t", "cpu", "bq", `{pod="pod-1"}`, "norm", "1", "hide", "it's; $(x) `y`"},
			[]string{"granary", "diff", "--normalize", "--hide=it's; $(x) `y`", "URL/pprof?selector=%7Bpod%3D%22pod-1%22%7D&type=cpu", "URL/pprof?type=cpu"},
		},
		{[]string{"t", "cpu", "function", "a.(*B).c"}, []string{"granary", "peek", "--", `^a\.\(\*B\)\.c$`, "URL/pprof?type=cpu"}},
		{[]string{"t", "cpu", "focus", "-x\\", "ignore", "ü"}, []string{"granary", "top", "--focus=-x\\\\", "--ignore=ü", "URL/pprof?type=cpu"}},
	} {
		ask := slices.Clone(test.ask)
		for i := range ask {
			ask[i] = strings.ReplaceAll(ask[i], `-x\`, `-x\\`)
		}
		line := a.inspect(ask...).Command
		out, err := exec.Command("sh", "-c", "printf '%s\\n' "+line).Output()
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
		for i := range got {
			got[i] = strings.ReplaceAll(got[i], a.url, "URL")
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%q: %q, want %q", test.ask, got, test.want)
		}
	}
	var sorted page.CommandAnswer
	if a.page("command", &sorted, "t", "cpu", "sort", "cum", "hide", "x"); sorted.Command != "granary top --hide=x --sort=cum '"+a.url+"/pprof?type=cpu'" {
		t.Errorf("sorted: %q", sorted.Command)
	}
	if a.page("command", &sorted, "t", "cpu", "sort", "flat", "s", "f"); sorted.Command != a.inspect("t", "cpu").Command || sorted.Touched.Chosen != 0 {
		t.Errorf("%+v", sorted)
	}
	for _, hostile := range []string{"\x1b", "a\nb", "\u202egnp", "\x7f"} {
		if line := a.inspect("t", "cpu", "hide", hostile).Command; line != "" {
			t.Errorf("%q: %q", hostile, line)
		}
	}
	space := profile.Type{Sample: "inuse_space", SampleUnit: "bytes", Period: "space", PeriodUnit: "bytes"}
	a.insert(madeAt, space, map[string]string{profile.NameLabel: "memory"}, made{stack: "f main", value: 1})
	if line := a.inspect("t", "inuse_space").Command; line == "" {
		t.Error("the mean of a gauge has no command")
	}
	if line := a.inspect("t", "inuse_space", "sum", "1").Command; line != "" {
		t.Errorf("the sum of a gauge: %q", line)
	}
}

// TestPage_InspectStates asks for the cost of a choice by state, which no command has.
func TestPage_InspectStates(t *testing.T) {
	m := newMadeStates(t, 3, Options{})
	for _, more := range [][]string{{"status", "no label"}, {"state", "null"}} {
		question := append([]string{"t", "cpu", "h", "threads", "p", "Threads/{tid}"}, more...)
		var got page.InspectAnswer
		var want flameAnswer
		m.get("inspect", &got, question...)
		m.get("flame", &want, question...)
		if got.Command != "" || got.Touched != want.Touched || got.Touched.Rows == 0 {
			t.Errorf("%q: %+v, want %+v: %q", more, got.Touched, want.Touched, got.Command)
		}
	}
}

// TestPage_InspectNewest asks for times before the newest profile of a store that takes profiles: to find it costs few
// rows of many.
func TestPage_InspectNewest(t *testing.T) {
	now := madeAt.Add(time.Hour)
	a := newAsker(t, Options{Now: func() time.Time { return now }})
	labels := map[string]string{profile.NameLabel: "process_cpu"}
	for i := range 50 {
		a.insert(now.Add(-time.Duration(i+2)*time.Minute), cpuType, labels, made{stack: "f main", value: 1}, made{stack: "g main", value: 1})
	}
	a.insert(now.Add(-time.Second), cpuType, labels, made{stack: "f main", value: 1})
	got := a.inspect("t", "cpu", "from", "latest-10s")
	if got.Touched.Rows > 5 || got.Touched.Chosen != 2 || got.All.Rows != 101 {
		t.Errorf("%+v of %+v", got.Touched, got.All)
	}
}
