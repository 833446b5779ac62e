package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/server/internal/page"
)

// linesOf asks for the lines of a function.
func (r *receiver) linesOf(query string) (out page.SourceAnswer) {
	r.t.Helper()
	status, text := r.send(r.request(http.MethodGet, "/api/v1/lines?"+query, nil))
	if err := json.Unmarshal([]byte(text), &out); err != nil || status != http.StatusOK {
		r.t.Fatalf("%s: status %d, %v: %.300s", query, status, err, text)
	}
	return out
}

// pprofLines returns the self and the total of each line of a function in profiles, as google/pprof reads them.
func pprofLines(t *testing.T, function string, names ...string) map[string][2]int64 {
	t.Helper()
	sums := map[string][2]int64{}
	for _, name := range names {
		p, err := pprof.ParseData(file(t, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range p.Sample {
			counted, depth := map[string]bool{}, 0
			for _, l := range s.Location {
				for _, line := range l.Line {
					if line.Function.Name == function {
						at, value := fmt.Sprint(line.Function.Filename, ":", line.Line), s.Value[len(s.Value)-1]
						sum := sums[at]
						if depth == 0 {
							sum[0] += value
						}
						if !counted[at] {
							sum[1] += value
						}
						counted[at], sums[at] = true, sum
					}
					depth++
				}
			}
		}
	}
	return sums
}

// TestPage_Source compares the lines of functions with what google/pprof reads of the profiles, and their sums with the table.
func TestPage_Source(t *testing.T) {
	r := newReceiver(t, Options{}, columnstore.Options{FutureLimit: -1})
	r.want(http.StatusOK, "rows", r.request(http.MethodPost, "/pprof?side=before", file(t, "etcd/cpu-1.pb.gz")))
	r.want(http.StatusOK, "rows", r.request(http.MethodPost, "/pprof?side=after", file(t, "etcd/cpu-2.pb.gz")))
	for _, function := range []string{"runtime.mallocgc", "runtime.memmove", "runtime.mcall", "none"} {
		got := r.linesOf("t=cpu&function=" + function)
		want := pprofLines(t, function, "etcd/cpu-1.pb.gz", "etcd/cpu-2.pb.gz")
		self := int64(0)
		for _, l := range got.Lines {
			if w := want[fmt.Sprint(l.File, ":", l.Line)]; w != [2]int64{l.Self[0], l.Total[0]} {
				t.Errorf("%s: %+v, want %d", function, l, w)
			}
			self += l.Self[0]
		}
		if len(got.Lines) != len(want) || got.All != len(want) || got.Texts != nil {
			t.Errorf("%s: %d of %d lines, want %d", function, len(got.Lines), got.All, len(want))
		}
		var top page.TopAnswer
		_, text := r.send(r.request(http.MethodGet, "/api/v1/top?t=cpu&s=^"+function+"$", nil))
		if err := json.Unmarshal([]byte(text), &top); err != nil || len(top.Functions) > 0 && top.Functions[0].Flat[0] != self {
			t.Errorf("%s: %v, the lines have %d, the table %+v", function, err, self, top.Functions)
		}
	}
	sides := "t=cpu&function=runtime.mallocgc&q=" + url.QueryEscape(`{side="after"}`) + "&bq=" + url.QueryEscape(`{side="before"}`)
	before, after := pprofLines(t, "runtime.mallocgc", "etcd/cpu-1.pb.gz"), pprofLines(t, "runtime.mallocgc", "etcd/cpu-2.pb.gz")
	for _, l := range r.linesOf(sides).Lines {
		at := fmt.Sprint(l.File, ":", l.Line)
		if !slices.Equal(l.Self, []int64{before[at][0], after[at][0]}) || !slices.Equal(l.Total, []int64{before[at][1], after[at][1]}) {
			t.Errorf("%+v, want %d and %d", l, before[at], after[at])
		}
	}
	all := r.linesOf("t=cpu&function=runtime.mallocgc")
	some := r.linesOf("t=cpu&function=runtime.mallocgc&rows=3")
	if len(some.Lines) != 3 || some.All != all.All || !slices.IsSortedFunc(some.Lines, func(a, b page.SourceLine) int { return int(a.Line - b.Line) }) {
		t.Errorf("%+v", some)
	}
	if why := r.linesOf("t=cpu&function=runtime.mallocgc&texts=1").Texts; len(why) != 1 || why[0].Lines != nil || !strings.Contains(why[0].Why, "no directory of sources") {
		t.Errorf("%+v", why)
	}
	r.want(http.StatusBadRequest, "parameter function", r.request(http.MethodGet, "/api/v1/lines?t=cpu", nil))
}

// lineProfile returns a profile of a function with a sample in each of some lines of a file.
func lineProfile(t *testing.T, file string, lines ...int64) []byte {
	t.Helper()
	f := &pprof.Function{ID: 1, Name: "main.work", Filename: file}
	p := &pprof.Profile{SampleType: []*pprof.ValueType{{Type: "n", Unit: "count"}}, Function: []*pprof.Function{f}}
	for i, line := range lines {
		l := &pprof.Location{ID: uint64(i + 1), Address: uint64(i + 1), Line: []pprof.Line{{Function: f, Line: line}}}
		p.Location, p.Sample = append(p.Location, l), append(p.Sample, &pprof.Sample{Location: []*pprof.Location{l}, Value: []int64{1}})
	}
	return encoded(t, p)
}

// TestPage_SourceTexts shows the text of mapped files, by the version of the profiles, and nothing of other files, whatever a
// profile names.
func TestPage_SourceTexts(t *testing.T) {
	base := t.TempDir()
	for name, text := range map[string]string{"src/1.0/main.go": "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\n", "src/2.0/main.go": "new\n", "secret": "outside\n"} {
		at := filepath.Join(base, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(base, "secret"), filepath.Join(base, "src", "1.0", "link.go")); err != nil {
		t.Skip(err)
	}
	opts := Options{Sources: []SourceDir{{Prefix: "/build", Dir: filepath.Join(base, "src", "{version}")}}, Tokens: Tokens{Read: []string{"r"}, Write: []string{"w"}}}
	r := newReceiver(t, opts, columnstore.Options{})
	asRead, asWrite := []string{"Authorization", "Bearer r"}, []string{"Authorization", "Bearer w"}
	for labels, body := range map[string][]byte{
		"job=a&version=1.0": lineProfile(t, "/build/main.go", 6, 7), "job=b&version=2.0": lineProfile(t, "/build/main.go", 3), "job=c": lineProfile(t, "/build/main.go", 1),
		"job=link&version=1.0": lineProfile(t, "/build/link.go", 1), "job=up&version=1.0": lineProfile(t, "/build/../../secret", 1), "job=version&version=..": lineProfile(t, "/build/secret", 1),
		"job=abs&version=1.0": lineProfile(t, filepath.Join(base, "secret"), 1), "job=line&version=1.0": lineProfile(t, "/build/main.go", 1<<62, -5, 0),
	} {
		r.want(http.StatusOK, "rows", r.request(http.MethodPost, "/pprof?"+labels, body, asWrite...))
	}
	ask := func(job string) (int, string) {
		return r.send(r.request(http.MethodGet, "/api/v1/lines?t=n&function=main.work&texts=1&q="+url.QueryEscape(job), nil, asRead...))
	}
	for job, want := range map[string]string{
		`{job="a"}`: `"texts":[{"file":"/build/main.go","first":2,"lines":["b","c","d","e","f","g","h","i","j","k"]}]`, `{job="b"}`: `"lines":["new"]`, `{job="c"}`: "has a version, and the profiles have none",
		`{job=~"a|b"}`: "or several", `{job="link"}`: "not among the sources", `{job="up"}`: "not among the sources", `{job="version"}`: "has a version", `{job="abs"}`: "no directory of sources is mapped", `{job="line"}`: `"first":1,"lines":["a","b"`,
	} {
		status, text := ask(job)
		if status != http.StatusOK || !strings.Contains(text, want) || strings.Contains(text, "outside") {
			t.Errorf("%s: status %d: %s, want %s", job, status, text, want)
		}
	}
	for _, token := range []string{"", "Bearer w"} {
		r.want(http.StatusUnauthorized, "token", r.request(http.MethodGet, "/api/v1/lines?function=main.work&texts=1", nil, "Authorization", token))
	}
	if _, err := New(r.store, Options{Sources: []SourceDir{{Prefix: "x", Dir: filepath.Join(base, "none")}}}); err == nil {
		t.Error("a directory that is not there is taken")
	}
}

// TestPage_SourceFront asks a front, which has the lines of its nodes, and its own directories.
func TestPage_SourceFront(t *testing.T) {
	node := newReceiver(t, Options{}, columnstore.Options{})
	node.want(http.StatusOK, "rows", node.request(http.MethodPost, "/pprof?job=a", lineProfile(t, "main.go", 1, 2)))
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte("text of the front\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	front, err := NewFront(Nodes{URLs: []string{node.url}}, Options{Sources: []SourceDir{{Dir: dir}}})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	front.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/api/v1/lines?t=n&function=main.work&texts=1", nil))
	if text := w.Body.String(); w.Code != http.StatusOK || !strings.Contains(text, `{"file":"main.go","line":2,"self":[1],"total":[1]}`) || !strings.Contains(text, "text of the front") {
		t.Errorf("status %d: %s", w.Code, text)
	}
	if err := front.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}
