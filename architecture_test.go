package granary

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/granarydb/granary"

// below says what each package may import of this module: imports run down.
var below = map[string][]string{
	"cmd/granary":    {"profile", "columnstore", "history", "history/ihs", "internal/input", "testdata"},
	"internal/input": {"profile"},
	"profile":        {"columnstore", "history", "schema", "encoding"},
	"columnstore":    {"history", "granule", "index", "txn", "arrowconv", "schema", "encoding"},
	"granule":        {"schema", "encoding"},
	"arrowconv":      {"schema", "encoding"},
	"history":        {"encoding"},
	"history/ihs":    {},
	"schema":         {"encoding"},
	"index":          {},
	"txn":            {},
	"encoding":       {},
	"testdata":       {},
	"":               {},
}

func goList(t *testing.T, args ...string) []string {
	t.Helper()
	out, err := exec.Command("go", append([]string{"list"}, args...)...).Output()
	if err != nil {
		t.Fatalf("go list %v: %v", args, err)
	}
	return strings.Fields(string(out))
}

func TestImportsRunOneWay(t *testing.T) {
	packages := append(goList(t, "./..."), module+"/testdata")
	for _, p := range packages {
		name := strings.TrimPrefix(strings.TrimPrefix(p, module), "/")
		allowed, known := below[name]
		if !known {
			t.Errorf("package %s is not in the table of this test: say what it may import", name)
		}
		for _, imported := range goList(t, "-f", `{{join .Imports " "}}`, p) {
			if name, ours := strings.CutPrefix(imported, module+"/"); ours && !slices.Contains(allowed, name) {
				t.Errorf("%s imports %s: imports run down only", p, name)
			}
		}
	}
}

// TestEmbedderBuildsNoServer holds what a program that embeds the store has to
// build to a short list of modules.
func TestEmbedderBuildsNoServer(t *testing.T) {
	arrow := []string{
		"github.com/apache/arrow/go/v14", "github.com/goccy/go-json", "github.com/google/flatbuffers",
		"golang.org/x/xerrors", "golang.org/x/sys", "github.com/klauspost/cpuid/v2",
	}
	store := slices.Concat(arrow, []string{"github.com/google/btree", "github.com/google/uuid", "github.com/zeebo/xxh3"})
	// The parser of selectors is Prometheus' own (decision 0002).
	selectors := []string{
		"github.com/prometheus/prometheus", "github.com/prometheus/common", "github.com/prometheus/client_model",
		"github.com/prometheus/client_golang", "github.com/prometheus/procfs", "github.com/grafana/regexp",
		"github.com/beorn7/perks", "github.com/cespare/xxhash/v2", "github.com/dennwc/varint", "github.com/munnerz/goautoneg",
		"go.uber.org/atomic", "golang.org/x/text", "google.golang.org/protobuf",
	}
	for name, allowed := range map[string][]string{
		"columnstore": store,
		"history":     {"github.com/zeebo/xxh3", "github.com/klauspost/cpuid/v2", "github.com/google/uuid", "golang.org/x/sys"},
		"profile":     slices.Concat(store, selectors, []string{"github.com/google/pprof", "github.com/klauspost/compress"}),
	} {
		modules := goList(t, "-deps", "-f", `{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}`, "./"+name)
		slices.Sort(modules)
		for _, m := range slices.Compact(modules) {
			if !slices.Contains(allowed, m) {
				t.Errorf("package %s builds module %s, which is not on its list", name, m)
			}
		}
		for _, p := range goList(t, "-deps", "./"+name) {
			if strings.HasPrefix(p, module+"/server") || strings.HasPrefix(p, module+"/cmd") {
				t.Errorf("package %s builds %s", name, p)
			}
		}
	}
}

// TestDocsNameFilesThatExist reads the names of files and folders in code
// spans: `granule/merge.go`, `columnstore/`.
func TestDocsNameFilesThatExist(t *testing.T) {
	span := regexp.MustCompile("`([a-zA-Z0-9_./-]+(?:\\.(?:go|md|yml|sh|mod)|/))`")
	for _, doc := range []string{"ARCHITECTURE.md", "README.md", "CONTRIBUTING.md"} {
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		names := span.FindAllStringSubmatch(string(text), -1)
		if doc == "ARCHITECTURE.md" && len(names) < 20 {
			t.Errorf("%s names %d files: the pattern of this test must be wrong", doc, len(names))
		}
		for _, m := range names {
			if _, err := os.Stat(filepath.FromSlash(m[1])); err != nil {
				t.Errorf("%s names %s: %v", doc, m[1], err)
			}
		}
	}
}

// TestReadmeShowsTestedCode holds each Go block of README.md to the body of an
// example that runs.
func TestReadmeShowsTestedCode(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var examples strings.Builder
	files, err := filepath.Glob("*/example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(files, "example_test.go") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		examples.WriteString(flat(string(text)))
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(readme), -1)
	if len(blocks) < 2 {
		t.Fatalf("README.md has %d Go blocks, want at least 2", len(blocks))
	}
	for _, b := range blocks {
		if !strings.Contains(examples.String(), flat(b[1])) {
			t.Errorf("README.md shows code that no example runs:\n%s", b[1])
		}
	}
}

// flat drops white space, so that indentation does not count.
func flat(text string) string { return strings.Join(strings.Fields(text), " ") }

// TestGoroutinesHaveOwners counts the places that start goroutines outside of
// tests: each must be waited for, and ARCHITECTURE.md must list it.
func TestGoroutinesHaveOwners(t *testing.T) {
	starts := regexp.MustCompile(`(?m)^\s*go |\.Go\(`)
	want := map[string]int{"columnstore/store.go": 1, "columnstore/aggregate.go": 1, "cmd/granary/fleet.go": 1, "compat/arrow18/reader.go": 1, "compat/duckdb/scan.go": 1}
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		path = filepath.ToSlash(path)
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
			strings.HasPrefix(path, "testdata/") || strings.HasPrefix(path, "bench/") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if n := len(starts.FindAll(text, -1)); n != want[path] {
			t.Errorf("%s starts goroutines in %d places, want %d", path, n, want[path])
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
