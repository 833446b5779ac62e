package ui

import (
	"bytes"
	"compress/gzip"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestHandlers: the page names files that are there, and each has the headers of its kind.
func TestHandlers(t *testing.T) {
	all := Handlers()
	page := ask(t, all["/"], http.MethodGet)
	if got := page.Header().Get("Cache-Control"); got != "no-cache" {
		t.Errorf("the page is kept: %s", got)
	}
	named := regexp.MustCompile(`(?:href|src)="([^"]+)"`).FindAllStringSubmatch(page.Body.String(), -1)
	if len(named)+1 != len(all) {
		t.Errorf("the page names %d files of %d", len(named), len(all)-1)
	}
	for _, m := range named {
		h, ok := all["/"+m[1]]
		if !ok {
			t.Errorf("the page names %s, which is not there", m[1])
			continue
		}
		w := ask(t, h, http.MethodGet)
		if got := w.Header().Get("Cache-Control"); w.Code != 200 || !strings.Contains(got, "immutable") {
			t.Errorf("%s: %d, Cache-Control %s", m[1], w.Code, got)
		}
		if head := ask(t, h, http.MethodHead); head.Code != 200 || head.Body.Len() != 0 {
			t.Errorf("HEAD %s: %d with %d bytes", m[1], head.Code, head.Body.Len())
		}
		if post := ask(t, h, http.MethodPost); post.Code != http.StatusMethodNotAllowed {
			t.Errorf("POST %s: %d", m[1], post.Code)
		}
	}
}

// ask asks for a file, whose headers it checks.
func ask(t *testing.T, h http.Handler, method string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, "/", nil))
	if method == http.MethodPost {
		return w
	}
	for name, part := range map[string]string{
		"Content-Security-Policy": "trusted-types 'none'", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
		"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "Content-Type": "/",
	} {
		if got := w.Header().Get(name); !strings.Contains(got, part) {
			t.Errorf("header %s is %q, without %q", name, got, part)
		}
	}
	return w
}

// TestSizes holds the page to its budget: 108 KB of JavaScript and 12 KB of CSS, gzipped, and 6,000 lines of source. The first flame graph must
// come no later when the page grows (TestFirstFlame).
func TestSizes(t *testing.T) {
	for pattern, most := range map[string]int{"dist/*.js": 108_000, "dist/*.css": 12_000} {
		var zipped bytes.Buffer
		z, _ := gzip.NewWriterLevel(&zipped, gzip.BestCompression) // the level is a known one
		for _, data := range files(t, pattern) {
			if _, err := z.Write(data); err != nil {
				t.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d bytes gzipped, at most %d", pattern, zipped.Len(), most)
		if zipped.Len() > most {
			t.Errorf("%s: %d bytes gzipped, at most %d", pattern, zipped.Len(), most)
		}
	}
	lines := 0
	for _, data := range files(t, "src/*") {
		lines += bytes.Count(data, []byte("\n"))
	}
	t.Logf("%d lines of source, at most 6,000", lines)
	if lines > 6000 {
		t.Errorf("%d lines of source, at most 6,000", lines)
	}
}

// TestSourcesMakeNoHTML: names are text, and text becomes neither HTML nor code.
func TestSourcesMakeNoHTML(t *testing.T) {
	for _, data := range files(t, "src/*.ts*") {
		if found := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|dangerously|document\.write|\beval\(|new Function`).Find(data); found != nil {
			t.Errorf("a source has %s", found)
		}
	}
}

// TestSourcesHaveNoCircle: no file of the page imports itself, by way of others. Imports of types count: a reader follows them too.
func TestSourcesHaveNoCircle(t *testing.T) {
	names, err := filepath.Glob("src/*.ts*")
	if err != nil || len(names) < 30 {
		t.Fatal(names, err)
	}
	imported := regexp.MustCompile(`(?m)^(?:import|export) .*from "\./(\w+)"`)
	imports := map[string][]string{}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		from := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(name), "x"), ".ts")
		for _, m := range imported.FindAllStringSubmatch(string(data), -1) {
			imports[from] = append(imports[from], m[1])
		}
	}
	if len(imports["app"]) < 10 {
		t.Fatalf("app imports %v", imports["app"])
	}
	done := map[string]bool{}
	var follow func(path []string)
	follow = func(path []string) {
		at := path[len(path)-1]
		if i := slices.Index(path, at); i < len(path)-1 {
			t.Errorf("a circle: %s", strings.Join(path[i:], " imports "))
			return
		}
		if done[at] {
			return
		}
		for _, next := range imports[at] {
			follow(append(slices.Clip(path), next))
		}
		done[at] = true
	}
	for _, from := range slices.Sorted(maps.Keys(imports)) {
		follow([]string{from})
	}
}

func files(t *testing.T, pattern string) (all [][]byte) {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, data)
	}
	return all
}
