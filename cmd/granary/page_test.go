package main

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/tree"
	"github.com/granarydb/granary/server"
)

// asked is what a server answers to GET /api/v1/top.
type asked struct {
	Total, Magnitude []int64
	Mean             bool
	All              int
	Functions        []askedFunction
}

type askedFunction struct {
	Name      string
	Flat, Cum []int64
}

// valuesOf returns the parameters of a URL from names and values.
func valuesOf(named []string) url.Values {
	of := url.Values{}
	for i := 0; i < len(named); i += 2 {
		of.Set(named[i], named[i+1])
	}
	return of
}

// pageOf returns a server of the profiles of some folders of testdata, each with the label job, and a function that
// asks it.
func pageOf(t *testing.T, folders ...string) (types []profile.Type, ask func(parameters ...string) asked) {
	t.Helper()
	_, types, ask = serverOf(t, folders...)
	return types, ask
}

// serverOf is pageOf with the server.
func serverOf(t *testing.T, folders ...string) (s *server.Server, types []profile.Type, ask func(parameters ...string) asked) {
	t.Helper()
	store, err := columnstore.Open(columnstore.Options{Manual: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	s, err = server.New(store, server.Options{})
	if err != nil {
		t.Fatal(err)
	}
	db, err := profile.Open(store, profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		names, err := filepath.Glob(filepath.Join("../../testdata/profiles", folder, "*.pb.gz"))
		if err != nil || len(names) == 0 {
			t.Fatalf("no profiles in %s: %v", folder, err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := db.InsertEncoded(t.Context(), data, profile.InsertOptions{Labels: map[string]string{"job": folder}, Origin: name, Time: time.Now()}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := store.View(t.Context(), func(snap *columnstore.Snapshot) (err error) {
		types, err = db.Types(t.Context(), snap)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return s, types, func(parameters ...string) (out asked) {
		t.Helper()
		askPage(t, s, "top", append([]string{"rows", "100000"}, parameters...), &out)
		return out
	}
}

// askPage decodes the answer of a server to GET /api/v1/question.
func askPage(t *testing.T, s *server.Server, question string, parameters []string, out any) {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/api/v1/"+question+"?"+valuesOf(parameters).Encode(), nil)
	r.Host = "localhost"
	if s.ServeHTTP(w, r); w.Code != 200 {
		t.Fatalf("%s %q: status %d: %s", question, parameters, w.Code, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), out); err != nil {
		t.Fatal(err)
	}
}

// TestPage_Top compares the functions that a page of a server shows with those of granary top, for every type of real
// profiles, sums and means.
func TestPage_Top(t *testing.T) {
	effort.Long(t)
	compared, means := 0, 0
	folders := []string{"etcd", "staticcheck"}
	if effort.Full {
		folders = append(folders, "compile", "nats-server", "pebble")
	}
	for _, folder := range folders {
		types, ask := pageOf(t, folder)
		for _, typ := range types {
			for _, sum := range []string{"0", "1"} {
				args := []string{"top", "--json", "--cumulative", "sum", "--sum-kinds", "--sample-index", typ.String(), filepath.Join("../../testdata/profiles", folder)}
				named := []string{"t", typ.String(), "sum", sum}
				if sum == "1" {
					args = append(args, "--sum")
				}
				if typ.Sample == "contentions" || typ.Sample == "delay" { // of two kinds
					args = append(args, "--selector", `{__name__="mutex"}`)
					named = append(named, "q", `{__name__="mutex"}`)
				}
				r := granary(t, args...)
				var want struct {
					Total, Magnitude int64
					Functions        []profile.Function
				}
				if err := json.Unmarshal([]byte(r.stdout), &want); r.code != 0 || err != nil {
					t.Fatalf("%q: %d, %v: %s", args, r.code, err, r.stderr)
				}
				got := ask(named...)
				functions := []profile.Function{}
				for _, f := range got.Functions {
					functions = append(functions, profile.Function{Name: f.Name, Flat: f.Flat[0], Cum: f.Cum[0]})
				}
				if !reflect.DeepEqual(functions, want.Functions) || got.Total[0] != want.Total || got.Magnitude[0] != want.Magnitude || got.All != len(functions) {
					t.Errorf("%s of %s, sum %s: %d functions of %d, want %d of %d", typ, folder, sum, len(functions), got.Total[0], len(want.Functions), want.Total)
				}
				if compared++; got.Mean {
					means++
				}
			}
		}
	}
	if compared < 15 || means < 2 {
		t.Errorf("%d answers, %d means", compared, means)
	}
}

// TestPage_Diff compares differences with those of granary diff, absolute and scaled.
func TestPage_Diff(t *testing.T) {
	_, ask := pageOf(t, "etcd", "pebble")
	for _, typ := range []string{"cpu", "alloc_space", "inuse_space"} {
		for _, norm := range []string{"0", "1"} {
			args := []string{"diff", "--json", "--cumulative", "sum", "--sample-index", typ, filepath.Join("../../testdata/profiles", "etcd"), filepath.Join("../../testdata/profiles", "pebble")}
			if norm == "1" {
				args = append(args, "--normalize")
			}
			r := granary(t, args...)
			var want struct{ Functions []profile.FunctionChange }
			if err := json.Unmarshal([]byte(r.stdout), &want); r.code != 0 || err != nil {
				t.Fatalf("%q: %d, %v: %s", args, r.code, err, r.stderr)
			}
			changes := []profile.FunctionChange{}
			for _, f := range ask("t", typ, "bq", `{job="etcd"}`, "q", `{job="pebble"}`, "norm", norm).Functions {
				changes = append(changes, profile.FunctionChange{
					Function: profile.Function{Name: f.Name, Flat: f.Flat[1] - f.Flat[0], Cum: f.Cum[1] - f.Cum[0]},
					Before:   profile.FunctionCost{Flat: f.Flat[0], Cum: f.Cum[0]}, After: profile.FunctionCost{Flat: f.Flat[1], Cum: f.Cum[1]},
				})
			}
			if !reflect.DeepEqual(changes, want.Functions) || len(changes) < 100 {
				t.Errorf("%s, norm %s: %d changes, want %d", typ, norm, len(changes), len(want.Functions))
			}
		}
	}
}

// TestPage_Command runs the commands that a server answers with, as a shell reads them: they print what the server answers.
func TestPage_Command(t *testing.T) {
	s, _, ask := serverOf(t, "etcd", "pebble")
	web := httptest.NewServer(s)
	defer web.Close()
	const function = "runtime.mallocgc"
	for _, named := range [][]string{
		{"t", "cpu", "q", `{job="etcd"}`, "hide", "^runtime[.]"},
		{"t", "alloc_objects", "from", "latest-1h"},
		{"t", "alloc_space", "focus", "etcd"},
		{"t", "cpu", "bq", `{job="etcd"}`, "q", `{job="pebble"}`},
		{"t", "cpu", "ignore", "it's", "function", function},
	} {
		var of askedCommand
		resp, err := web.Client().Get(web.URL + "/api/v1/inspect?" + valuesOf(named).Encode())
		if err != nil {
			t.Fatal(err)
		}
		err = json.NewDecoder(resp.Body).Decode(&of)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		words, err := exec.Command("sh", "-c", "printf '%s\\n' "+of.Command).Output()
		if err != nil {
			t.Fatal(err)
		}
		args := strings.Split(strings.TrimSuffix(string(words), "\n"), "\n")[1:]
		r := granary(t, append([]string{args[0], "--json"}, args[1:]...)...)
		var got struct {
			Functions []struct {
				Name          string
				Flat, Cum     int64
				Before, After profile.FunctionCost
			}
		}
		if err := json.Unmarshal([]byte(r.stdout), &got); r.code != 0 || err != nil {
			t.Fatalf("%q: %d, %v: %s", args, r.code, err, r.stderr)
		}
		isPeek := named[len(named)-1] == function
		if isPeek {
			named = named[:len(named)-2]
		}
		want := ask(named...).Functions
		if isPeek {
			want = want[slices.IndexFunc(want, func(f askedFunction) bool { return f.Name == function }):][:1]
		}
		for i, f := range want {
			values := []int64{f.Flat[0], f.Cum[0], 0, 0, 0, 0}
			if len(f.Flat) == 2 {
				values = []int64{f.Flat[1] - f.Flat[0], f.Cum[1] - f.Cum[0], f.Flat[0], f.Cum[0], f.Flat[1], f.Cum[1]}
			}
			if i >= len(got.Functions) {
				break
			}
			g := got.Functions[i]
			if is := []int64{g.Flat, g.Cum, g.Before.Flat, g.Before.Cum, g.After.Flat, g.After.Cum}; g.Name != f.Name || !slices.Equal(is, values) {
				t.Fatalf("%s: %s %v, want %s %v", of.Command, g.Name, is, f.Name, values)
			}
		}
		if len(got.Functions) != len(want) || len(want) == 0 {
			t.Errorf("%s: %d functions, want %d", of.Command, len(got.Functions), len(want))
		}
	}
}

// askedCommand is what a server answers to GET /api/v1/inspect.
type askedCommand struct{ Command string }

// TestPage_Flame compares the trees of a server with the trees that granary flamegraph and granary diff write.
func TestPage_Flame(t *testing.T) {
	effort.Slow(t)
	var s *server.Server
	folder := func(job string) string { return filepath.Join("../../testdata/profiles", job) }
	type answer struct {
		SampleType             string `json:"sample_type"`
		Unit                   string
		Mean                   bool
		Total, Magnitude       []int64
		Tree, Callers, Callees *tree.NodeColumns
	}
	compared := 0
	compare := func(args, named []string) {
		t.Helper()
		var want, got answer
		var stdout, stderr bytes.Buffer // which tells of means
		code := run(t.Context(), args, &stdout, &stderr)
		if err := json.Unmarshal(stdout.Bytes(), &want); code != 0 || err != nil {
			t.Fatalf("%q: %d, %v: %s", args, code, err, &stderr)
		}
		askPage(t, s, "flame", named, &got)
		if want.Callers == nil { // a command writes one of two trees
			got.Callers = nil
		}
		if want.Callees == nil {
			got.Callees = nil
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q: another tree", named)
		}
		for _, c := range []*tree.NodeColumns{want.Tree, want.Callers, want.Callees} {
			if c != nil && len(c.Depth) > 5 {
				compared++
			}
		}
	}
	const function = "runtime.mallocgc"
	folders := []string{"etcd"}
	if effort.Full {
		folders = append(folders, "compile", "nats-server", "pebble", "staticcheck")
	}
	for _, job := range folders {
		var types []profile.Type
		s, types, _ = serverOf(t, job)
		for _, typ := range types {
			if typ.Sample == "contentions" || typ.Sample == "delay" { // of two kinds
				continue
			}
			named := []string{"t", typ.String(), "q", `{job="` + job + `"}`}
			args := []string{"flamegraph", "--cumulative", "sum", "--sample-index", typ.String(), "-o", "-", "--format", "json"}
			for _, most := range []string{"100000", "40"} {
				for flags, parameters := range map[string][]string{
					"": nil, "--invert": {"inv", "1"}, "--callers=" + function: {"function", function}, "--callees=" + function: {"function", function}, "--hide=^runtime": {"hide", "^runtime"},
				} {
					compare(append(slices.Clip(args), append(strings.Fields(flags), "--max-nodes", most, folder(job))...), append(slices.Clip(named), append(parameters, "max_nodes", most)...))
				}
			}
		}
	}
	s, _, _ = serverOf(t, "etcd", "pebble")
	for _, typ := range []string{"cpu", "inuse_space"} {
		for flag, norm := range map[string]string{"--width=600": "0", "--normalize": "1"} {
			compare([]string{"diff", "--cumulative", "sum", "--sample-index", typ, flag, "-o", "-", "--format", "json", folder("etcd"), folder("pebble")},
				[]string{"t", typ, "bq", `{job="etcd"}`, "q", `{job="pebble"}`, "norm", norm, "max_nodes", "100000"})
		}
	}
	if compared < 40 {
		t.Errorf("%d trees with nodes", compared)
	}
}

// TestFlamegraph_Files is about the file's suffix, and flags that exclude each other.
func TestFlamegraph_Files(t *testing.T) {
	input, name := file(t, "a.pb.gz", service()), filepath.Join(t.TempDir(), "tree.JSON")
	if r := granary(t, "flamegraph", "-o", name, input); r.code != 0 {
		t.Fatalf("%d: %s", r.code, r.stderr)
	}
	if data, err := os.ReadFile(name); err != nil || !json.Valid(data) {
		t.Errorf("%v: %.100s", err, data)
	}
	if r := granary(t, "flamegraph", "-o", "-", "--callees", "main.main", input); r.code != 0 || !strings.Contains(r.stdout, "<svg") {
		t.Errorf("%d: %.300s", r.code, r.stdout)
	}
	for _, args := range [][]string{
		{"flamegraph", "-o", name, "--format", "svg", input},
		{"flamegraph", "-o", "-", "--callers", "a", "--callees", "a", input},
		{"flamegraph", "-o", "-", "--invert", "--callees", "a", input},
		{"flamegraph", "-o", "-", "--format", "png", input},
		{"diff", "--format", "json", input, input},
	} {
		if r := granary(t, args...); r.code != cli.ExitUsage {
			t.Errorf("%q: exit code %d", args, r.code)
		}
	}
}

// TestFlamegraph_Invert draws a profile inverted, and one whose stacks are reversed: the pictures are the same.
func TestFlamegraph_Invert(t *testing.T) {
	p := service()
	input := file(t, "a.pb.gz", p)
	for _, s := range p.Sample {
		slices.Reverse(s.Location)
	}
	reversed := file(t, "b.pb.gz", p)
	for _, flags := range [][]string{nil, {"--max-nodes", "3"}, {"--hide", "handle"}} {
		args := append([]string{"flamegraph", "-o", "-", "--sample-index", "cpu"}, flags...)
		got, want := granary(t, append(args, "--invert", input)...), granary(t, append(args, reversed)...)
		if got.stdout != want.stdout || got.code != 0 || !strings.Contains(got.stdout, "compress") {
			t.Errorf("%q: %d: %.300s", flags, got.code, got.stdout)
		}
		if plain := granary(t, append(args, input)...); plain.stdout == got.stdout {
			t.Errorf("%q: inverted it is the same", flags)
		}
	}
}
