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
	"cmd/granary":                  {"trace/golang", "cmd/granary/internal/cli", "cmd/granary/internal/chart", "cmd/granary/internal/check", "cmd/granary/internal/formats", "cmd/granary/internal/states", "cmd/granary/internal/dbdir", "cmd/granary/internal/dirs", "cmd/granary/internal/serve", "cmd/granary/internal/soak", "cmd/granary/internal/replay", "cmd/granary/parquet", "render", "export", "trace", "profile", "profile/tree", "profile/pgo", "profile/format", "server", "server/otlp", "columnstore", "profile/pprof", "internal/debugfiles", "internal/debuginfo", "internal/disk", "internal/input", "internal/timetext", "testdata", "internal/opened", "internal/stackfile", "history", "internal/attrpath"},
	"cmd/granary/internal/dirs":    {"cmd/granary/internal/cli", "cmd/granary/internal/dbdir", "profile", "columnstore", "internal/repair", "internal/disk", "internal/input"},
	"cmd/granary/internal/serve":   {"profile/format", "cmd/granary/internal/cli", "cmd/granary/internal/dbdir", "server", "server/self", "profile", "columnstore", "internal/disk", "internal/input"},
	"cmd/granary/node":             {"cmd/granary/internal/cli", "cmd/granary/internal/serve"},
	"cmd/granary/internal/soak":    {"cmd/granary/internal/cli", "cmd/granary/internal/serve"}, // its tests start serve
	"cmd/granary/internal/states":  {"profile", "internal/attrpath", "internal/stats", "cmd/granary/internal/cli", "cmd/granary/internal/dbdir", "render", "export", "trace", "internal/ihs", "columnstore", "history", "internal/tile", "history/file", "history/summary", "history/partial", "history/partial/partialfile", "history/union", "internal/disk", "internal/input", "internal/timetext", "trace/format", "trace/golang"},
	"cmd/granary/internal/formats": {"cmd/granary/internal/cli", "profile", "profile/tree"},
	"cmd/granary/internal/replay":  {},
	"cmd/granary/internal/check":   {"cmd/granary/internal/cli", "profile", "profile/tree"},
	"cmd/granary/internal/chart":   {"cmd/granary/internal/cli", "profile"},
	"cmd/granary/internal/dbdir":   {"cmd/granary/internal/cli", "server", "profile", "columnstore", "internal/disk"},
	"cmd/granary/internal/cli":     {"profile", "columnstore", "internal/stackfile", "internal/timetext"},
	"cmd/granary/internal/clitest": {"cmd/granary/internal/cli"}, // tests alone import it
	"cmd/granary/parquet":          {"profile"},

	"server":         {"server/ui", "internal/debugfiles", "internal/debuginfo", "profile", "columnstore", "internal/disk", "server/internal/fanout", "server/internal/fault", "server/internal/marks", "server/internal/archive", "server/internal/page", "server/internal/push", "server/internal/querier", "server/internal/question", "server/internal/source", "server/internal/web", "internal/opened", "server/internal/listing", "server/internal/replace", "server/internal/rules"},
	"server/self":    {"profile", "columnstore", "history", "trace/golang"},
	"server/otlp":    {"profile", "profile/format", "server/internal/fault", "server/internal/web"},
	"server/ui":      {},
	"export":         {"profile"},
	"internal/input": {"profile", "profile/format", "internal/foreign"},
	"render":         {"profile", "profile/tree", "history", "history/summary", "internal/timetext"},
	"profile":        {"columnstore", "history", "schema", "encoding", "encoding/dict", "profile/pprof", "internal/rows", "internal/selector", "internal/attrpath", "internal/symbols", "internal/means", "internal/pattern", "profile/tree"},
	"columnstore":    {"internal/query", "internal/query/filter", "internal/catalog", "internal/dictionaries", "internal/files", "internal/entries", "internal/cold", "internal/cache", "internal/disk", "history", "granule", "txn", "arrowconv", "schema", "encoding", "encoding/dict", "internal/query/order"},

	"internal/query":        {"internal/query/filter", "internal/catalog", "history", "granule", "txn", "arrowconv", "schema", "encoding", "encoding/dict", "internal/query/order"},
	"internal/query/filter": {"internal/catalog", "internal/pattern", "granule", "txn", "schema", "encoding", "encoding/dict"},
	"internal/query/order":  {"internal/query/filter", "granule", "schema", "encoding"},
	"internal/repair":       {"internal/catalog", "internal/dictionaries", "internal/files", "internal/entries", "internal/disk", "granule", "history", "schema"},
	"internal/entries":      {"internal/catalog", "internal/disk", "internal/files", "granule", "schema", "internal/fields"},
	"internal/cold":         {"internal/catalog", "internal/dictionaries", "internal/files", "internal/disk", "granule", "txn", "schema", "internal/cache"},
	"internal/dictionaries": {"internal/files", "internal/entries", "internal/disk", "granule", "schema", "txn"},
	"internal/files":        {"internal/catalog", "granule", "internal/disk", "schema", "internal/fields"},
	"internal/catalog":      {"internal/invariants", "history", "granule", "index", "txn", "schema", "encoding"},
	"granule":               {"internal/invariants", "schema", "encoding", "encoding/dict"},
	"arrowconv":             {"schema", "encoding", "encoding/dict"},
	"history":               {"internal/names", "internal/tile", "internal/fields"},
	"internal/tile":         {},
	"internal/names":        {"internal/fields"},
	"trace":                 {"history", "internal/attrpath", "internal/ihs", "internal/timetext"},
	"trace/golang":          {"history", "trace"},
	"trace/chrome":          {"internal/tracks", "trace"},
	"trace/format":          {"trace", "trace/chrome", "trace/golang", "trace/jfr", "trace/linux", "trace/perfetto", "trace/spans"},
	"trace/jfr":             {"internal/jfr", "internal/tracks", "trace"},
	"trace/spans":           {"internal/protobuf", "internal/tracks", "trace"},
	"trace/perfetto":        {"internal/protobuf", "internal/tracks", "trace"},
	"internal/jfr":          {},
	"internal/protobuf":     {},
	"internal/tracks":       {"history", "trace"},
	"trace/linux":           {"history", "trace"},
	"internal/ihs":          {},
	"schema":                {"encoding"},
	"index":                 {},
	"internal/disk":         {},
	"txn":                   {"internal/invariants"},
	"internal/invariants":   {},
	"encoding":              {"encoding/dict", "internal/fields"},
	"encoding/dict":         {"internal/fields"},
	"testdata":              {},
	"":                      {},

	"history/partial/partialfile": {"history/file", "history/partial"},

	"server/tutorial":     {"render", "profile", "columnstore"},
	"server/self/example": {"server", "server/self", "columnstore"},
	"history/partial":     {"history", "internal/fields"},
	"history/union":       {"history", "internal/names", "history/partial"},
	"history/summary":     {"history", "internal/tile", "internal/fields"},
	"history/file":        {"history", "internal/tile", "internal/disk", "internal/fields"},

	"profile/tree":       {"columnstore"},
	"profile/pgo":        {},
	"profile/pprof":      {"encoding/dict", "internal/foreign"},
	"internal/rows":      {"schema", "encoding", "profile/pprof"},
	"internal/means":     {"internal/query", "encoding", "internal/rows"},
	"internal/symbols":   {"encoding/dict", "internal/pattern", "profile/pprof"},
	"internal/foreign":   {},
	"internal/pattern":   {},
	"internal/selector":  {"internal/pattern"},
	"internal/attrpath":  {"history"},
	"internal/stats":     {"history", "internal/attrpath"},
	"internal/fields":    {},
	"internal/cache":     {},
	"internal/change":    {},
	"internal/timetext":  {},
	"internal/opened":    {"columnstore", "profile"},
	"internal/stackfile": {"columnstore", "profile"},

	"internal/debugfiles": {"internal/debuginfo"},
	"internal/debuginfo":  {},

	"internal/crashfs":          {"internal/disk"}, // tests alone import these
	"internal/damaged":          {"internal/effort"},
	"internal/gzipped":          {},
	"internal/effort":           {},
	"internal/faultclock":       {},
	"internal/house":            {},
	"internal/events":           {"history", "history/partial", "internal/ihs", "internal/recorded"},
	"internal/beside":           {},
	"internal/recorded":         {"internal/ihs", "internal/beside"},
	"internal/oracle":           {},
	"internal/planted":          {},
	"internal/script":           {},
	"internal/heldtest":         {"history", "trace"},
	"internal/querytest":        {"internal/catalog", "encoding", "granule", "internal/oracle", "internal/query/filter", "schema", "txn"},
	"profile/format":            {"columnstore", "profile", "internal/foreign", "internal/jfr", "trace/golang"},
	"server/internal/fanout":    {"columnstore", "encoding", "encoding/dict", "internal/fields", "profile", "schema", "internal/means", "server/internal/fault", "server/internal/web"},
	"server/internal/fault":     {"columnstore", "internal/disk", "profile"},
	"server/internal/callgraph": {"profile/tree"},
	"server/internal/flametest": {"profile"},
	"server/internal/marks":     {"server/internal/fault", "server/internal/replace"},
	"server/internal/replace":   {},
	"server/internal/page":      {"server/internal/callgraph", "server/internal/marks", "internal/change", "internal/selector", "internal/stats", "history/union", "columnstore", "history", "history/summary", "internal/attrpath", "profile", "internal/rows", "profile/tree", "internal/query/filter", "server/internal/fault", "server/internal/question", "server/internal/source", "server/internal/web", "trace", "server/internal/listing", "internal/stackfile", "render", "trace/golang"},
	"server/internal/push":      {"columnstore", "history", "trace", "trace/golang", "internal/disk", "internal/timetext", "profile", "profile/format", "server/internal/fault", "server/internal/web", "server/otlp", "trace/format", "internal/input", "internal/opened"},
	"server/internal/archive":   {"server/internal/listing"},
	"server/internal/listing":   {},
	"server/internal/rules":     {"columnstore", "profile", "internal/means", "internal/pattern", "server/internal/question"},
	"server/internal/querier":   {"server/internal/callgraph", "columnstore", "export", "profile", "profile/pgo", "profile/tree", "schema", "server/internal/fanout", "server/internal/fault", "server/internal/question", "server/internal/source", "server/internal/web"},
	"server/internal/question":  {"internal/pattern", "internal/selector", "internal/timetext", "profile", "server/internal/fault"},
	"server/internal/source":    {"columnstore", "history", "history/summary", "profile", "schema", "server/internal/fanout", "server/internal/fault", "server/internal/question", "server/internal/web"},
	"server/internal/web":       {"server/internal/fault"},
}

// goList runs go list over the modules of go.work.
func goList(t *testing.T, args ...string) []string {
	t.Helper()
	return goListIn(t, "", args...)
}

// goListAlone runs go list over the root module alone, as an embedder has it.
func goListAlone(t *testing.T, args ...string) []string {
	t.Helper()
	return goListIn(t, "off", args...)
}

func goListIn(t *testing.T, work string, args ...string) []string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Env = append(os.Environ(), "GOWORK="+work)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list %v: %v", args, err)
	}
	return strings.Fields(string(out))
}

func TestImportsRunOneWay(t *testing.T) {
	const pairs = `{{$p := .ImportPath}}{{$p}}> {{range .Imports}}{{$p}}>{{.}} {{end}}`
	for _, pair := range goList(t, "-f", pairs, "work", module+"/testdata") {
		p, imported, _ := strings.Cut(pair, ">")
		name := strings.TrimPrefix(strings.TrimPrefix(p, module), "/")
		allowed, known := below[name]
		if !known && imported == "" {
			t.Errorf("package %s is not in the table of this test: say what it may import", name)
		}
		if below, ours := strings.CutPrefix(imported, module+"/"); ours && known && !slices.Contains(allowed, below) {
			t.Errorf("%s imports %s: imports run down only", p, below)
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
	store := slices.Concat(arrow, []string{"github.com/google/btree", "github.com/google/uuid", "github.com/zeebo/xxh3", "github.com/gofrs/flock", "github.com/klauspost/compress"})
	for name, allowed := range map[string][]string{
		"columnstore": store,
		"history":     {"github.com/zeebo/xxh3", "github.com/klauspost/cpuid/v2"},
		"profile":     slices.Concat(store, []string{"github.com/google/pprof", "github.com/ianlancetaylor/demangle"}),
	} {
		modules := goListAlone(t, "-deps", "-f", `{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}`, "./"+name)
		slices.Sort(modules)
		modules = slices.Compact(modules)
		for _, m := range modules {
			if !slices.Contains(allowed, m) {
				t.Errorf("package %s builds module %s, which is not on its list", name, m)
			}
		}
		if most := linked[name]; len(modules) > most {
			t.Errorf("package %s builds %d modules, at most %d: %v", name, len(modules), most, modules)
		}
		for _, p := range goListAlone(t, "-deps", "./"+name) {
			if strings.HasPrefix(p, module+"/server") || strings.HasPrefix(p, module+"/cmd") {
				t.Errorf("package %s builds %s", name, p)
			}
		}
	}
}

// linked is the most modules that a program with one package builds.
var linked = map[string]int{"columnstore": 11, "history": 2, "profile": 13}

// TestEmbedderPinsFewModules bounds the module graph that an embedder's own versions have
// to agree with.
func TestEmbedderPinsFewModules(t *testing.T) {
	const most = 100
	if modules := goListAlone(t, "-m", "-f", "{{.Path}}", "all"); len(modules) > most {
		t.Errorf("the root module has %d modules in its graph, at most %d", len(modules), most)
	}
}

// TestDocsNameFilesThatExist reads the names of files and folders in code
// spans: `granule/merge.go`, `columnstore/`. Names are from the root, as on the
// pages at the root; files in docs/decisions link each other by their folder.
func TestDocsNameFilesThatExist(t *testing.T) {
	span := regexp.MustCompile("`([a-zA-Z0-9_./-]+(?:\\.(?:go|md|yml|sh|mod)|/))`")
	pages, err := filepath.Glob("docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("docs has %d pages: %v", len(pages), err)
	}
	for _, doc := range append(pages, "ARCHITECTURE.md", "README.md", "CONTRIBUTING.md") {
		names := span.FindAllStringSubmatch(readFile(t, doc), -1)
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

// TestReliabilityNamesTests holds the tests that RELIABILITY.md names to those there are.
func TestReliabilityNamesTests(t *testing.T) {
	tests := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err := filepath.WalkDir(".", func(path string, _ os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, "_test.go") {
			for _, m := range declared.FindAllStringSubmatch(readFile(t, path), -1) {
				tests[m[1]] = true
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(readFile(t, "RELIABILITY.md"), -1)
	if len(named) < 15 {
		t.Errorf("RELIABILITY.md names %d tests: the pattern of this test must be wrong", len(named))
	}
	for _, m := range named {
		if !tests[m[1]] {
			t.Errorf("RELIABILITY.md names %s, which no file has", m[1])
		}
	}
}

// TestLinksLead follows the relative links and pictures of all Markdown files.
func TestLinksLead(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#: ]+)\)`)
	followed := 0
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".md" {
			return err
		}
		for _, m := range link.FindAllStringSubmatch(readFile(t, path), -1) {
			followed++
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), filepath.FromSlash(m[1]))); err != nil {
				t.Errorf("%s links %s: %v", path, m[1], err)
			}
		}
		return nil
	})
	if err != nil || followed < 20 {
		t.Errorf("%d links: %v: the pattern of this test must be wrong", followed, err)
	}
}

// TestDecisionsAreListed holds the index of decisions to the files: each has a row
// with its number, title and status.
func TestDecisionsAreListed(t *testing.T) {
	index := readFile(t, "docs/decisions/README.md")
	files, err := filepath.Glob("docs/decisions/[0-9]*.md")
	if err != nil || len(files) < 20 {
		t.Fatalf("docs/decisions has %d decisions: %v", len(files), err)
	}
	heading := regexp.MustCompile(`^# (\d{4}) (.+)\n\n\d{4}-\d\d-\d\d, ([a-z]+)`)
	for _, name := range files {
		m := heading.FindStringSubmatch(readFile(t, name))
		if m == nil {
			t.Errorf("%s does not begin with number, title, date and status", name)
			continue
		}
		row := "| [" + m[1] + "](" + filepath.Base(name) + ") | " + m[2] + " | " + m[3] + " |"
		if !strings.Contains(index, row) {
			t.Errorf("docs/decisions/README.md has no row %q", row)
		}
	}
}

// TestDocsShowTestedCode holds each Go block of README.md and docs to an example that
// runs.
func TestDocsShowTestedCode(t *testing.T) {
	examples, err := filepath.Glob("*/example*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var tested strings.Builder
	for _, name := range append(examples, "example_test.go", "server/tutorial/main.go", "server/self/example/main.go") {
		tested.WriteString(flat(readFile(t, name)))
	}
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, "README.md") {
		blocks := goBlocks(t, page)
		if page == "README.md" && len(blocks) == 0 {
			t.Errorf("%s has no Go block", page)
		}
		for _, b := range blocks {
			if !strings.Contains(tested.String(), flat(b)) {
				t.Errorf("%s shows code that no example runs:\n%s", page, b)
			}
		}
	}
}

// TestTutorialIsItsProgram holds the blocks of docs/tutorial.md, one after the other, to
// the program that server/tutorial tests.
func TestTutorialIsItsProgram(t *testing.T) {
	page, program := strings.Join(goBlocks(t, "docs/tutorial.md"), "\n"), readFile(t, "server/tutorial/main.go")
	if flat(page) != flat(program) {
		t.Errorf("the blocks of docs/tutorial.md are not server/tutorial/main.go:\n%s", page)
	}
}

// goBlocks returns the Go blocks of a page.
func goBlocks(t *testing.T, page string) (blocks []string) {
	t.Helper()
	for _, m := range regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(readFile(t, page), -1) {
		blocks = append(blocks, m[1])
	}
	return blocks
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// flat drops white space, so that indentation does not count.
func flat(text string) string { return strings.Join(strings.Fields(text), " ") }

// TestGoroutinesHaveOwners counts the places that start goroutines outside of
// tests: each must be waited for, except the reader of standard input, and the list says by whom.
func TestGoroutinesHaveOwners(t *testing.T) {
	want := map[string]int{
		"columnstore/store_open.go":               2, // a store's maintainer and flusher: Close waits
		"internal/disk/log.go":                    1, // the writer of a log: its Close waits
		"internal/query/aggregate.go":             1, // parts of a large aggregation, which waits
		"history/summary/parts.go":                1, // parts of a question about many attributes, which waits
		"profile/tree/batches.go":                 1, // the reader of the stacks of a tree or table, which waits
		"profile/tree/merger.go":                  1, // the merger of a part of a tree: the one that shares waits
		"render/timegraph_shares.go":              1, // parts of a picture of many attributes, which waits
		"server/internal/fanout/node.go":          1, // questions to nodes: the answer waits
		"server/internal/fanout/stalled.go":       1, // asks a node whether it is alive: the exchange waits
		"server/self/example/main.go":             1, // the server of the example, which waits
		"internal/input/read.go":                  1, // reads standard input, which nothing can cancel
		"cmd/granary/fleet.go":                    1, // the demo's writers: the demo waits
		"cmd/granary/internal/serve/listen.go":    1, // the accepter: serve waits at its end
		"cmd/granary/internal/serve/symbols.go":   1, // what fetches symbols, and what reads rules: serve waits at its end
		"cmd/granary/internal/serve/self.go":      1, // serve's profiles of itself: serve waits at its end
		"cmd/granary/internal/soak/server.go":     1, // the reader of a server's log: its end waits
		"cmd/granary/internal/soak/soak.go":       4, // pushers, askers, measuring: the load waits at its end
		"cmd/granary/internal/serve/view.go":      1, // what fills the store of demo --serve, which waits at its end
		"compat/arrow18/reader.go":                1, // a scan: Release waits
		"compat/duckdb/scan.go":                   1, // a scan: the end of its query waits
		"compat/iceberg/mirror/open.go":           1, // what tidies the objects: FS.Finish waits
		"compat/iceberg/mirror/tidy.go":           1, // requests at a time: each waits
		"compat/parca/cmd/granary-parca/serve.go": 1, // Parca's server: the command waits at its end
	}
	starts := regexp.MustCompile(`(?m)^\s*go |\.Go\(`)
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
