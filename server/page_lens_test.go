package server

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/page"
)

// framesOf returns the names of a sample's frames, leaf first.
func framesOf(s *pprof.Sample, name func(l *pprof.Location, line pprof.Line) string) (out []string) {
	for _, l := range s.Location {
		for _, line := range l.Line {
			out = append(out, name(l, line))
		}
	}
	return out
}

// TestPage_Granularity compares the table of a real profile by function, line, file and binary with its samples one by one.
func TestPage_Granularity(t *testing.T) {
	a := newAsker(t, Options{})
	data := file(t, "etcd/cpu-1.pb.gz")
	if _, err := a.db.InsertEncoded(t.Context(), data, profile.InsertOptions{}); err != nil {
		t.Fatal(err)
	}
	p, err := pprof.Parse(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for by, name := range map[string]func(*pprof.Location, pprof.Line) string{
		"":         func(_ *pprof.Location, l pprof.Line) string { return l.Function.Name },
		"function": func(_ *pprof.Location, l pprof.Line) string { return l.Function.Name },
		"line":     func(_ *pprof.Location, l pprof.Line) string { return fmt.Sprint(l.Function.Name, ":", l.Line) },
		"file":     func(_ *pprof.Location, l pprof.Line) string { return l.Function.Filename },
		"binary":   func(l *pprof.Location, _ pprof.Line) string { return l.Mapping.File },
	} {
		flat, cum, total := map[string]int64{}, map[string]int64{}, int64(0)
		for _, s := range p.Sample {
			v := s.Value[len(s.Value)-1]
			total += v
			names := framesOf(s, name)
			flat[names[0]] += v
			slices.Sort(names)
			for _, n := range slices.Compact(names) {
				cum[n] += v
			}
		}
		top := a.top("t", "cpu", "granularity", by, "rows", "10000")
		if top.All != len(cum) {
			t.Errorf("%s: %d rows, want %d", by, top.All, len(cum))
		}
		for _, f := range top.Functions {
			if f.Flat[0] != flat[f.Name] || f.Cum[0] != cum[f.Name] {
				t.Errorf("%s: %s has %d and %d, want %d and %d", by, f.Name, f.Flat[0], f.Cum[0], flat[f.Name], cum[f.Name])
			}
		}
		tree := a.flame("t", "cpu", "granularity", by, "max_nodes", "100000")
		names := map[string]bool{}
		for _, f := range tree.Tree.Function[1:] {
			names[tree.Tree.Names[f]] = true
		}
		if tree.Total[0] != total || len(names) != len(cum) || !maps.EqualFunc(names, cum, func(bool, int64) bool { return true }) {
			t.Errorf("%s: the tree has %d names and %d, want %d and %d", by, len(names), tree.Total[0], len(cum), total)
		}
		found := int64(0)
		for _, s := range p.Sample {
			if slices.ContainsFunc(framesOf(s, name), func(n string) bool { return strings.Contains(n, "proc") }) {
				found += s.Value[len(s.Value)-1]
			}
		}
		if got := a.top("t", "cpu", "granularity", by, "s", "proc"); got.Found[0] != found {
			t.Errorf("%s: %d are found, want %d", by, got.Found[0], found)
		}
	}
}

// TestPage_Group compares the trees below the values of a label with the trees of their profiles, from a store and from older
// profiles. A front refuses.
func TestPage_Group(t *testing.T) {
	for name, url := range everywhere(t) {
		a := &asker{t: t, url: url}
		if strings.Contains(name, "front") {
			if status, text, _ := a.page("flame", nil, "t", cpuID, "group", "pod"); status != http.StatusNotImplemented || !strings.Contains(text, "without group") {
				t.Errorf("front: status %d: %s", status, text)
			}
			continue
		}
		for _, inv := range []string{"0", "1"} {
			got, want := a.flame("t", "cpu", "group", "pod", "inv", inv), map[string]int64{}
			for _, pod := range []string{"pod-0", "pod-1"} {
				for path, v := range a.flame("t", "cpu", "q", `{pod="`+pod+`"}`, "inv", inv).Tree.byPath() {
					want["/pod="+pod+path] = v
				}
			}
			if has := got.Tree.byPath(); !maps.Equal(has, want) || len(want) < 8 {
				t.Errorf("%s, inv=%s: %v, want %v", name, inv, has, want)
			}
			if all := a.flame("t", "cpu").Total[0]; got.Total[0] != all {
				t.Errorf("%s: the total is %d, want %d", name, got.Total[0], all)
			}
		}
	}
}

// byPath returns the values of nodes by the names that lead to them, without zeros.
func (c *flameColumns) byPath() map[string]int64 {
	out := map[string]int64{}
	var path []string
	for i, depth := range c.Depth {
		if path = append(path[:depth], c.Names[c.Function[i]]); c.Self[0][i] != 0 {
			path[0] = ""
			out[strings.Join(path, "/")] += c.Self[0][i]
		}
	}
	return out
}

// TestPage_GroupLimit groups by a label of more values than a tree shows: the others are one frame, and nothing is lost.
func TestPage_GroupLimit(t *testing.T) {
	a := newAsker(t, Options{})
	for i := range 130 {
		a.insert(madeAt.Add(time.Duration(i)*time.Millisecond), cpuType, map[string]string{profile.NameLabel: "process_cpu", "pod": fmt.Sprint("p", i)}, made{stack: "f main", value: int64(1000 - i)})
	}
	a.insert(madeAt, cpuType, map[string]string{profile.NameLabel: "process_cpu"}, made{stack: "f main", value: 5000})
	got := a.flame("t", "cpu", "group", "pod")
	first := map[string]bool{}
	for i, depth := range got.Tree.Depth {
		if depth == 1 {
			first[got.Tree.Names[got.Tree.Function[i]]] = true
		}
	}
	if len(first) != 100 || !first["no pod"] || !first["pod=p0"] || !first["32 other values of pod"] || first["pod=p129"] {
		t.Errorf("the first level has %d frames: %v", len(first), first)
	}
	sum := int64(0)
	for _, v := range got.Tree.Self[0] {
		sum += v
	}
	if sum != got.Total[0] {
		t.Errorf("the frames have %d, want %d", sum, got.Total[0])
	}
}

// TestPage_Fold merges a function that calls itself.
func TestPage_Fold(t *testing.T) {
	a := newAsker(t, Options{})
	a.insert(madeAt, cpuType, map[string]string{profile.NameLabel: "process_cpu"}, made{stack: "walk walk walk main", value: 3}, made{stack: "leaf walk walk main", value: 4}, made{stack: "walk leaf walk main", value: 5})
	want := map[string]int64{"/main/walk": 3, "/main/walk/leaf": 4, "/main/walk/leaf/walk": 5}
	if got := a.flame("t", "cpu", "fold", "1").Tree.byPath(); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := a.flame("t", "cpu").Tree.byPath(); got["/main/walk/walk/walk"] != 3 || len(got) != 3 {
		t.Errorf("without a fold: %v", got)
	}
}

// TestPage_LensRefused asks for what is no way to read stacks, or too much.
func TestPage_LensRefused(t *testing.T) {
	a := newAsker(t, Options{})
	a.insertMade()
	for query, want := range map[string]string{
		"granularity=lines": "parameter granularity: want function, line, file, package or binary, not", "fold=2": "parameter fold: want 1 or 0",
		"group=pod&function=f": "parameter group: ask without function", "group=pod&bto=latest-1s": "parameter group: ask without bq, bfrom or bto",
		"group=pod&state=running": "parameter group: ask without h, p, state", "group=a&group=b": "group",
	} {
		for _, path := range []string{"flame", "top", "command"} {
			if path != "flame" && !strings.HasPrefix(query, "granularity") {
				continue
			}
			if status, text := fetched(t, a.url+"/api/v1/"+path+"?t=cpu&"+query); status != http.StatusBadRequest || !strings.Contains(text, want) {
				t.Errorf("%s?%s: status %d: %s", path, query, status, text)
			}
		}
	}
	r := newReceiver(t, Options{Limits: Limits{QueryBytes: 256 << 10}}, columnstore.Options{FutureLimit: -1})
	r.want(http.StatusOK, "rows", r.request(http.MethodPost, "/pprof?job=a", file(t, "etcd/cpu-1.pb.gz")))
	for _, query := range []string{"granularity=line", "granularity=line&fold=1", "group=job"} {
		r.want(http.StatusUnprocessableEntity, "functions on call paths", r.request(http.MethodGet, "/api/v1/flame?t=cpu&"+query, nil))
	}
	if status, text, _ := a.page("command", nil, "t", "cpu", "granularity", "line"); status != http.StatusOK || !strings.Contains(text, `"command":""`) {
		t.Errorf("command: status %d: %s", status, text)
	}
}

// TestPage_CallGraph asks for the functions of the greatest values and their calls, everywhere.
func TestPage_CallGraph(t *testing.T) {
	for name, url := range everywhere(t) {
		a := &asker{t: t, url: url}
		var got page.CallGraphAnswer
		if status, text, _ := a.page("callgraph", &got, "t", cpuID); status != http.StatusOK {
			t.Fatalf("%s: status %d: %s", name, status, text)
		}
		calls := map[string]int64{}
		for _, c := range got.Calls {
			calls[got.Functions[c.Caller].Name+" "+got.Functions[c.Callee].Name] = c.Value
		}
		total := got.Total[0] // of 11 parts: leaf f main, 2 f main, 3 leaf g main, 5 main g f
		part := func(n int64) int64 { return total * n / 11 }
		want := map[string]int64{"main f": part(3), "f leaf": part(1), "main g": part(3), "g leaf": part(3), "g main": part(5), "f g": part(5)}
		if !maps.Equal(calls, want) {
			t.Errorf("%s: %v, want %v", name, calls, want)
		}
		top := a.top("t", cpuID, "sort", "cum")
		for _, f := range top.Functions {
			if !slices.Contains(got.Functions, page.GraphFunction{Name: f.Name, Flat: f.Flat[0], Cum: f.Cum[0]}) {
				t.Errorf("%s: %+v lacks %+v", name, got.Functions, f)
			}
		}
		if status, text, _ := a.page("callgraph", nil, "t", cpuID, "nodes", "201"); status != http.StatusUnprocessableEntity || !strings.Contains(text, "at most 200") {
			t.Errorf("%s: status %d: %s", name, status, text)
		}
		if status, text, _ := a.page("callgraph", nil, "t", cpuID, "bto", "latest-1s"); status != http.StatusBadRequest || !strings.Contains(text, "no side before") {
			t.Errorf("%s: status %d: %s", name, status, text)
		}
		if a.page("callgraph", &got, "t", cpuID, "nodes", "2", "granularity", "file"); len(got.Functions) != 2 || got.Functions[0].Name != "f.go" && got.Functions[0].Name != "main.go" {
			t.Errorf("%s: %+v", name, got.Functions)
		}
	}
}
