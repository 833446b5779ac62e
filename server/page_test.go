package server

import (
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/tree"
	"github.com/granarydb/granary/server/internal/page"
)

// flameAnswer is page.FlameAnswer as a client reads it.
type flameAnswer struct {
	page.Head
	page.Type
	Tree    *flameColumns     `json:"tree"`
	Callers *flameColumns     `json:"callers"`
	Callees *flameColumns     `json:"callees"`
	Shares  []page.ShareGroup `json:"shares"`
}

// flameColumns are the nodes of a tree.
type flameColumns struct{ tree.NodeColumns }

// page asks GET /api/v1/ with parameters, as names and values, and decodes the answer.
func (a *asker) page(path string, into any, parameters ...string) (status int, text string, h http.Header) {
	a.t.Helper()
	of := url.Values{}
	headers := http.Header{}
	for i := 0; i < len(parameters); i += 2 {
		if name, isHeader := strings.CutPrefix(parameters[i], "header "); isHeader {
			headers.Set(name, parameters[i+1])
			continue
		}
		of.Set(parameters[i], parameters[i+1])
	}
	req, err := http.NewRequestWithContext(a.t.Context(), http.MethodGet, a.url+"/api/v1/"+path+"?"+of.Encode(), nil)
	if err != nil {
		a.t.Fatal(err)
	}
	req.Header = headers
	transport := &http.Transport{DisableCompression: true}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body := io.Reader(resp.Body)
	if resp.Header.Get("Content-Encoding") == "gzip" {
		if body, err = gzip.NewReader(body); err != nil {
			a.t.Fatal(err)
		}
	}
	data, err := io.ReadAll(body)
	if err != nil {
		a.t.Fatal(err)
	}
	if resp.StatusCode == http.StatusOK && into != nil {
		strict := json.NewDecoder(strings.NewReader(string(data)))
		strict.DisallowUnknownFields()
		if err := strict.Decode(into); err != nil {
			a.t.Fatalf("%s: %v: %.300s", path, err, data)
		}
	}
	return resp.StatusCode, string(data), resp.Header
}

// flame asks for a tree, which must be there.
func (a *asker) flame(parameters ...string) *flameAnswer {
	a.t.Helper()
	out := &flameAnswer{}
	if status, text, _ := a.page("flame", out, parameters...); status != http.StatusOK {
		a.t.Fatalf("%q: status %d: %s", parameters, status, text)
	}
	return out
}

func (a *asker) top(parameters ...string) *page.TopAnswer {
	a.t.Helper()
	out := &page.TopAnswer{}
	if status, text, _ := a.page("top", out, parameters...); status != http.StatusOK {
		a.t.Fatalf("%q: status %d: %s", parameters, status, text)
	}
	return out
}

// totals returns the totals of the nodes of a side, as a page makes them.
func (c *flameColumns) totals(side int) []int64 {
	out := slices.Clone(c.Self[side])
	var parents []int
	for i, depth := range c.Depth {
		parents = append(parents[:depth], i)
		for _, p := range parents[:depth] {
			out[p] += c.Self[side][i]
		}
	}
	return out
}

// lines returns the nodes of a side, one a line.
func (c *flameColumns) lines(side int) (lines []string) {
	totals := c.totals(side)
	for i, depth := range c.Depth {
		f := c.Function[i]
		lines = append(lines, fmt.Sprintf("%d %s %s %d/%d", depth, c.Names[f], c.Texts[c.Files[f]], c.Self[side][i], totals[i]))
	}
	return lines
}

// linesOf returns the nodes of a tree of package profile as flameColumns.lines does.
func linesOf(root *profile.FlameNode) (lines []string) {
	var walk func(n *profile.FlameNode, depth int)
	walk = func(n *profile.FlameNode, depth int) {
		lines = append(lines, fmt.Sprintf("%d %s %s %d/%d", depth, n.Name, n.File, n.Self, n.Total))
		for _, c := range n.Children {
			walk(c, depth+1)
		}
	}
	walk(root, 0)
	return lines
}

// stacks returns the answer of package profile.
func (a *asker) stacks(t profile.Type, q profile.Query) (s *profile.Stacks) {
	a.t.Helper()
	a.view(func(ctx context.Context, snap *columnstore.Snapshot) (err error) {
		s, err = a.db.Merge(ctx, snap, t, q)
		return err
	})
	return s
}

// TestPage_Flame compares trees of real profiles, whole and cut, with those of package profile.
func TestPage_Flame(t *testing.T) {
	a := newAsker(t, Options{})
	a.insertFiles("etcd")
	a.insertFiles("pebble")
	etcd := a.stacks(cpuType, profile.Query{Selector: selects(t, `{job="etcd"}`)})
	for _, most := range []int{1, 50, 1000, 100_000} {
		got := a.flame("t", "cpu", "q", `{job="etcd"}`, "max_nodes", fmt.Sprint(most), "s", "^runtime[.]")
		want := etcd.FlameGraph(profile.FlameGraphOptions{MaxNodes: most})
		if !slices.Equal(got.Tree.lines(0), linesOf(want)) {
			t.Fatalf("%d nodes: %q, want %q", most, got.Tree.lines(0)[:2], linesOf(want)[:2])
		}
		matching, err := etcd.Search(t.Context(), compiled("^runtime[.]"))
		if err != nil {
			t.Fatal(err)
		}
		found := matching.Total
		head := []any{got.SampleType, got.Unit, got.Mean, got.Total, got.Magnitude, got.Found}
		if wanted := []any{"cpu", "nanoseconds", false, []int64{etcd.Total}, []int64{etcd.Magnitude}, []int64{found}}; !reflect.DeepEqual(head, wanted) || found == 0 {
			t.Errorf("%v, want %v", head, wanted)
		}
		if got.Touched.Rows < got.Touched.Chosen || got.Touched.Chosen < int64(etcd.Len()) || got.Touched.Granules < 1 || got.Commit == 0 {
			t.Errorf("%+v", got.Head)
		}
	}
	name := etcd.Top()[0].Name
	got, want := a.flame("t", cpuID, "q", `{job="etcd"}`, "function", name), etcd.Sandwich(name)
	if !slices.Equal(got.Callers.lines(0), linesOf(want.Above)) || !slices.Equal(got.Callees.lines(0), linesOf(want.Below)) || got.Tree != nil {
		t.Errorf("the sandwich of %s is another", name)
	}
	inverted, flat := a.flame("t", "cpu", "q", `{job="etcd"}`, "inv", "1", "max_nodes", "100000"), map[string]int64{}
	for i, total := range inverted.Tree.totals(0) {
		if inverted.Tree.Depth[i] == 1 {
			flat[inverted.Tree.Names[inverted.Tree.Function[i]]] += total
		}
	}
	for _, f := range etcd.Top() {
		if flat[f.Name] != f.Flat {
			t.Errorf("inverted, %s has %d, want %d", f.Name, flat[f.Name], f.Flat)
		}
	}
}

// TestPage_Difference compares both sides of a difference with trees of one side each.
func TestPage_Difference(t *testing.T) {
	effort.Alone(t)
	a := newAsker(t, Options{})
	a.insertFiles("etcd")
	a.insertFiles("pebble")
	paths := func(c *flameColumns, side int) map[string]int64 {
		out, totals := map[string]int64{}, c.totals(side)
		var path []string
		for i, depth := range c.Depth {
			f := c.Function[i]
			path = append(path[:depth], c.Names[f]+"\t"+c.Texts[c.Files[f]])
			if totals[i] != 0 {
				out[strings.Join(path, "\n")] += totals[i]
			}
		}
		return out
	}
	for _, more := range [][]string{nil, {"inv", "1"}} {
		both := a.flame(append(more, "t", "cpu", "q", `{job="pebble"}`, "bq", `{job="etcd"}`, "max_nodes", "100000")...)
		before := a.flame(append(more, "t", "cpu", "q", `{job="etcd"}`, "max_nodes", "100000")...)
		after := a.flame(append(more, "t", "cpu", "q", `{job="pebble"}`, "max_nodes", "100000")...)
		if !reflect.DeepEqual(paths(both.Tree, 0), paths(before.Tree, 0)) || !reflect.DeepEqual(paths(both.Tree, 1), paths(after.Tree, 0)) {
			t.Errorf("%v: sides are others", more)
		}
		if both.Total[0] != before.Total[0] || both.Total[1] != after.Total[0] || len(both.Tree.Depth) < 500 {
			t.Errorf("%v: totals %v, of %v and %v", more, both.Total, before.Total, after.Total)
		}
		cut := a.flame(append(more, "t", "cpu", "q", `{job="pebble"}`, "bq", `{job="etcd"}`, "max_nodes", "20")...)
		if cut.Tree.totals(0)[0] != both.Total[0] || cut.Tree.totals(1)[0] != both.Total[1] || cut.Tree.Omitted == 0 {
			t.Errorf("%v: a cut tree of %d and %d", more, cut.Tree.totals(0)[0], cut.Tree.totals(1)[0])
		}
	}
	etcd, pebble := a.stacks(cpuType, profile.Query{Selector: selects(t, `{job="etcd"}`)}), a.stacks(cpuType, profile.Query{Selector: selects(t, `{job="pebble"}`)})
	for _, norm := range []string{"0", "1"} {
		got := a.top("t", "cpu", "q", `{job="pebble"}`, "bq", `{job="etcd"}`, "norm", norm, "rows", "100000")
		after := pebble
		if norm == "1" {
			var err error
			if after, err = pebble.Normalize(etcd); err != nil {
				t.Fatal(err)
			}
		}
		want, err := profile.DiffTop(etcd, after)
		if err != nil || len(got.Functions) != len(want) || got.All != len(want) || got.Total[1] != after.Total {
			t.Fatalf("%d functions, total %v; want %d, %d: %v", len(got.Functions), got.Total, len(want), after.Total, err)
		}
		for i, f := range got.Functions {
			if c := want[i]; f.Name != c.Name || !slices.Equal(f.Flat, []int64{c.Before.Flat, c.After.Flat}) || !slices.Equal(f.Cum, []int64{c.Before.Cum, c.After.Cum}) {
				t.Fatalf("%+v, want %+v", f, c)
			}
		}
	}
	testChange(a)
	less := false
	size, last := func(f page.TopFunction) int64 { return max(f.Cum[1]-f.Cum[0], f.Cum[0]-f.Cum[1]) }, int64(math.MaxInt64)
	for _, f := range a.top("t", "cpu", "q", `{job="pebble"}`, "bq", `{job="etcd"}`, "sort", "cum", "rows", "100").Functions {
		if less = less || f.Cum[1] < f.Cum[0]; size(f) > last {
			t.Fatalf("%+v changed more than one before it", f)
		}
		last = size(f)
	}
	if !less {
		t.Error("no function of the first 100 costs less than before")
	}
}

// testChange asks for functions of one side alone, and of both: each function is in one of the three answers.
func testChange(a *asker) {
	a.t.Helper()
	ask := func(more ...string) *page.TopAnswer { // of names and values, the last counts
		return a.top(append([]string{"t", "cpu", "q", `{job="pebble"}`, "bq", `{job="etcd"}`, "rows", "100000"}, more...)...)
	}
	all, parts := ask(), map[string]string{}
	for change, has := range map[string][2]bool{"new": {false, true}, "gone": {true, false}, "both": {true, true}} {
		got := ask("change", change)
		if got.All != all.All || got.Matching != len(got.Functions) || len(got.Functions) < 10 {
			a.t.Errorf("%s: %d functions, %d match, of %d", change, len(got.Functions), got.Matching, got.All)
		}
		for _, f := range got.Functions {
			if got := [2]bool{f.Cum[0] != 0, f.Cum[1] != 0}; got != has || parts[f.Name] != "" {
				a.t.Fatalf("%+v is %s, and %q", f, change, parts[f.Name])
			}
			parts[f.Name] = change
		}
	}
	if len(parts) != len(all.Functions) {
		a.t.Errorf("%d functions are new, gone or both, of %d", len(parts), len(all.Functions))
	}
	if some := ask("change", "new", "s", "pebble", "rows", "3"); some.Matching < 4 || len(some.Functions) != 3 || parts[some.Functions[0].Name] != "new" {
		a.t.Errorf("%d new functions match, %d are there", some.Matching, len(some.Functions))
	}
}

// TestPage_Top compares tables of real profiles with those of package profile, in all orders and in pages.
func TestPage_Top(t *testing.T) {
	a := newAsker(t, Options{})
	a.insertFiles("etcd")
	stacks := a.stacks(cpuType, profile.Query{})
	want, names := stacks.Top(), map[string]profile.Function{}
	for _, f := range want {
		names[f.Name] = f
	}
	all := a.top("t", "cpu", "rows", "100000").Functions
	if len(all) != len(want) || len(all) < 200 {
		t.Fatalf("%d functions, want %d", len(all), len(want))
	}
	withFile, withBinary := 0, 0
	for i, f := range all {
		if w := want[i]; f.Name != w.Name || f.Flat[0] != w.Flat || f.Cum[0] != w.Cum {
			t.Fatalf("%+v, want %+v", f, w)
		}
		if f.File != "" && f.Line > 0 {
			withFile++
		}
		if f.Binary != "" {
			withBinary++
		}
	}
	if withFile < len(all)*9/10 || withBinary == 0 {
		t.Errorf("%d of %d functions have a file and a line, %d a binary", withFile, len(all), withBinary)
	}
	for order, compare := range map[string]func(f, g page.TopFunction) int{
		"cum":  func(f, g page.TopFunction) int { return cmp.Compare(g.Cum[0], f.Cum[0]) },
		"name": func(f, g page.TopFunction) int { return cmp.Compare(f.Name, g.Name) },
		"flat": func(f, g page.TopFunction) int { return cmp.Compare(g.Flat[0], f.Flat[0]) },
	} {
		var pages []page.TopFunction
		for offset := 0; ; offset += 211 {
			page := a.top("t", "cpu", "sort", order, "rows", "211", "offset", fmt.Sprint(offset))
			if page.All != len(want) || page.Total[0] != stacks.Total {
				t.Fatalf("%s at %d: %d functions, total %v", order, offset, page.All, page.Total)
			}
			if pages = append(pages, page.Functions...); len(page.Functions) == 0 {
				break
			}
		}
		if !slices.IsSortedFunc(pages, compare) || len(pages) != len(want) {
			t.Errorf("by %s: %d functions", order, len(pages))
		}
	}
	some := a.top("t", "cpu", "s", "^runtime[.]", "rows", "5")
	for _, f := range some.Functions {
		if !strings.HasPrefix(f.Name, "runtime.") || names[f.Name].Flat != f.Flat[0] {
			t.Errorf("%+v", f)
		}
	}
	if some.Matching <= 5 || some.Matching >= some.All || len(some.Functions) != 5 {
		t.Errorf("%d of %d functions match, %d are there", some.Matching, some.All, len(some.Functions))
	}
}

// TestPage_Selects chooses samples by time, labels and frames.
func TestPage_Selects(t *testing.T) {
	a := newAsker(t, Options{Now: func() time.Time { return madeAt.Add(time.Hour) }})
	a.insertMade()
	sum := func(of ...int) (n int64) {
		for _, i := range of {
			n += 11 * (20*int64(i) + 3)
		}
		return n
	}
	all := sum(0, 1, 2, 3, 4, 5)
	at := func(d time.Duration) string { return madeAt.Add(d).Format(time.RFC3339Nano) }
	for name, test := range map[string]struct {
		parameters []string
		want       []int64
	}{
		"all":               {nil, []int64{all}},
		"a type":            {[]string{"t", "cpu:nanoseconds"}, []int64{all}},
		"an id":             {[]string{"t", cpuID}, []int64{all}},
		"another name":      {[]string{"t", strings.Replace(cpuID, "process_cpu", "other", 1)}, []int64{0}},
		"a pod":             {[]string{"q", `{pod="pod-1"}`}, []int64{11 * (2 + 12 + 22 + 32 + 42 + 52)}},
		"before the newest": {[]string{"from", "latest-30s"}, []int64{sum(4, 5) - 11*41}}, // the newest is a millisecond after the half minute
		"before now":        {[]string{"from", "-59m"}, []int64{sum(2, 3, 4, 5)}},
		"before now alone":  {[]string{"from", "1h", "to", "now-59m"}, []int64{sum(0, 1)}},
		"days":              {[]string{"from", "latest-1d"}, []int64{all}},
		"absolute":          {[]string{"from", at(time.Minute), "to", at(2 * time.Minute)}, []int64{sum(2, 3)}},
		"milliseconds":      {[]string{"from", fmt.Sprint(madeAt.Add(time.Minute).UnixMilli()), "to", at(2 * time.Minute)}, []int64{sum(2, 3)}},
		"one profile":       {[]string{"from", at(30 * time.Second), "to", at(30*time.Second + 1)}, []int64{11 * 11}},
		"focus":             {[]string{"focus", "^leaf$"}, []int64{4 * all / 11}},
		"ignore":            {[]string{"ignore", "^leaf$"}, []int64{7 * all / 11}},
		"hide":              {[]string{"hide", "^leaf$|^main$|^g$"}, []int64{8 * all / 11}},
		"show":              {[]string{"show", "^leaf"}, []int64{4 * all / 11}},
		"two times":         {[]string{"from", at(time.Minute), "bfrom", at(0), "bto", at(time.Minute)}, []int64{sum(0, 1), sum(2, 3, 4, 5)}},
		"two pods":          {[]string{"q", `{pod="pod-1"}`, "bq", `{pod="pod-0"}`, "to", at(time.Second)}, []int64{11, 22}},
		"against all":       {[]string{"q", `{pod="pod-1"}`, "bq", `{}`, "to", at(time.Second)}, []int64{33, 22}},
	} {
		tree, top := a.flame(test.parameters...), a.top(test.parameters...)
		if !slices.Equal(tree.Total, test.want) || !slices.Equal(top.Total, test.want) {
			t.Errorf("%s: totals %v and %v, want %v", name, tree.Total, top.Total, test.want)
		}
		for side, want := range test.want {
			if got := tree.Tree.totals(side)[0]; got != want {
				t.Errorf("%s: a tree of %d, want %d", name, got, want)
			}
		}
	}
}

// TestPage_Gauges answers with means, unless sums are asked for.
func TestPage_Gauges(t *testing.T) {
	a := newAsker(t, Options{})
	heap := profile.Type{Sample: "inuse_space", SampleUnit: "bytes", Period: "space", PeriodUnit: "bytes"}
	for i := range 4 {
		a.insert(madeAt.Add(time.Duration(i)*time.Minute), heap, map[string]string{profile.NameLabel: "memory"}, made{stack: "f main", value: int64(10 * (i + 1))})
	}
	if got := a.flame("t", "inuse_space"); !got.Mean || got.Total[0] != 25 || got.Tree.totals(0)[0] != 25 {
		t.Errorf("%+v", got)
	}
	if got := a.top("t", "inuse_space", "sum", "1"); got.Mean || got.Total[0] != 100 || got.Functions[0].Flat[0] != 100 {
		t.Errorf("%+v", got)
	}
}

// TestPage_Profiles lists profiles, and asks for each of them alone.
func TestPage_Profiles(t *testing.T) {
	a := newAsker(t, Options{})
	a.insertMade()
	ask := func(parameters ...string) (out page.ProfilesAnswer) {
		if status, text, _ := a.page("profiles", &out, parameters...); status != http.StatusOK {
			t.Fatalf("status %d: %s", status, text)
		}
		return out
	}
	all := ask("t", "cpu")
	if all.All != 12 || len(all.Profiles) != 12 || all.Unit != "nanoseconds" || all.Commit == 0 || all.Touched.Chosen != 48 {
		t.Fatalf("%+v", all)
	}
	for i, p := range all.Profiles {
		n := int64(10*(i/2) + i%2 + 1)
		want := page.ProfileDot{
			Time: madeAt.Add(time.Duration(i/2)*30*time.Second + time.Duration(i%2)*time.Millisecond).Format(time.RFC3339Nano), Until: p.Until, Duration: 1e9, Total: 11 * n, Rows: 4,
			Labels: map[string]string{profile.NameLabel: "process_cpu", "job": "made", "pod": fmt.Sprint("pod-", i%2)}, Selector: p.Selector,
		}
		if !reflect.DeepEqual(p, want) {
			t.Errorf("%+v, want %+v", p, want)
		}
		if got := a.flame("t", "cpu", "q", p.Selector, "from", p.Time, "to", p.Until); got.Total[0] != p.Total {
			t.Errorf("alone it has %v, want %d", got.Total, p.Total)
		}
	}
	some := ask("t", "cpu", "q", `{pod="pod-1"}`, "rows", "2", "to", madeAt.Add(2*time.Minute).Format(time.RFC3339))
	if some.All != 4 || len(some.Profiles) != 2 || some.Profiles[1].Total != 11*32 {
		t.Errorf("%+v", some)
	}
	binned := ask("t", "cpu", "pixels", "7", "rows", "0")
	sum := 0
	for _, n := range binned.Counts {
		sum += n
	}
	if len(binned.Counts) != 7 || sum != binned.All || len(binned.Profiles) != 0 || binned.Counts[0] == 0 || binned.Counts[6] == 0 {
		t.Errorf("%+v", binned)
	}
	from, to := all.Profiles[0].Time, all.Profiles[0].Until // one nanosecond
	if one := ask("t", "cpu", "pixels", "3", "from", from, "to", to); len(one.Counts) != 3 || one.Counts[0] != one.All || one.CountsFrom != from || one.CountsTo != to {
		t.Errorf("%+v", one)
	}
}

// TestPage_Empty asks a store without profiles, and for what is not there.
func TestPage_Empty(t *testing.T) {
	a := newAsker(t, Options{})
	for _, path := range []string{"flame", "top", "profiles"} {
		for _, typ := range []string{"", "cpu"} {
			if status, text, _ := a.page(path, nil, "t", typ, "from", "latest-1h"); status != http.StatusNotFound || !strings.Contains(text, "parameter t: unknown sample type") {
				t.Errorf("%s: status %d: %s", path, status, text)
			}
		}
	}
	var store page.StoreAnswer
	if status, text, _ := a.page("store", &store); status != http.StatusOK || store.Rows != 0 || store.Newest != "" {
		t.Errorf("status %d: %s", status, text)
	}
	a.insertMade()
	none := a.flame("t", "cpu", "q", `{job="nobody"}`, "function", "f", "from", "latest-1h")
	for _, c := range []*flameColumns{none.Callers, none.Callees} {
		if !slices.Equal(c.lines(0), []string{"0 f  0/0"}) || c.Omitted != 0 {
			t.Errorf("%q", c.lines(0))
		}
	}
	if got := a.top("t", "cpu", "q", `{job="nobody"}`); got.All != 0 || got.Functions == nil {
		t.Errorf("%+v", got)
	}
}

// compiled returns a pattern.
func compiled(pattern string) *regexp.Regexp { return regexp.MustCompile(pattern) }
