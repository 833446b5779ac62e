package granary

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sharedNouns are the exported nouns that stand in several packages, each with its reason.
// One word has one meaning: a new entry needs a better reason than convenience.
var sharedNouns = map[string]string{
	// A sentinel error is one of its package: errors.Is tells them apart.
	"ErrClosed": "sentinel of each package",
	"ErrDone":   "sentinel of each package",
	"ErrImage":  "sentinel of each package",
	"ErrFormat": "sentinel of each package",
	"ErrLimit":  "sentinel of each package",
	"ErrQuery":  "sentinel of each package",
	// Settings, and questions about time, are named as Go's own libraries do it.
	"Options":      "settings of the package",
	"RangeOptions": "a range of a view, and a range of a profile's series: the same question",
	"Limits":       "bounds on the input of a codec",
	"Reader":       "reads the format of its package",
	"Writer":       "writes the states of a history, in memory or in a file",
	// Users call the forms of records columnstore.Plain and columnstore.Dictionary.
	"Plain":      "a form of records, and an encoding of columns",
	"Dictionary": "a form of records, and an encoding of columns",
	// The same thing, on its way through the packages.
	"Attribute":  "trace/ihs has the history's attributes in a file",
	"Interval":   "trace/ihs has the history's intervals in a file",
	"Kind":       "trace/ihs has the history's kinds in a file",
	"KindFloat":  "as Kind",
	"KindInt":    "as Kind",
	"KindNull":   "as Kind",
	"KindString": "as Kind",
	"History":    "the handle of a store on a history",
	"Column":     "a column as declared (schema), encoded (encoding), and with its name in a part (granule)",
	"Value":      "a value of a history, and the values that a condition compares with",
	"Type":       "the type of a column, and the type of a profile's values: both fixed by users' code",
	"Version":    "a version of the index and of the root: a root has one of each index",
	"Chunk":      "the word of JFR's format for a part of a recording (internal/jfr), beside that of tiles",
	"Cursor":     "a place that moves: in words, and in time",
}

// sharedTypes are the unexported types whose names stand in more than two packages, each with its reason.
var sharedTypes = map[string]string{
	"node":     "of a tree, and a server of several that are asked together: the word of each field",
	"column":   "a column in the form of its package",
	"span":     "a range: of rows, or of instants",
	"process":  "a process of the system: this one, and those of recordings",
	"event":    "of a recording, in the packages of formats below trace/, and of a run",
	"importer": "turns the events of a recording into states, in the packages of formats below trace/",
	"thread":   "of a recording, in the packages of formats below trace/",
}

// fieldWords are words with one meaning in all pages, and the folders whose types have their names. A type of
// another package that is called so misleads its readers.
var fieldWords = map[string][]string{
	"part":        {"granule"},
	"granule":     {"granule"},
	"bucket":      {"schema"},
	"snapshot":    {"columnstore"},
	"tx":          {"columnstore"},
	"transaction": {},
	"commit":      {},
	"compaction":  {},
	"split":       {},
	"interval":    {"history", "internal/ihs"},
	"attribute":   {"internal/ihs", "internal/names"},
	"state":       {"history/summary", "trace/golang"},
	"stack":       {},
	"series":      {"internal/query", "server/internal/push"},
}

// declarations returns the general declarations in the files of a folder, tests apart.
func declarations(t *testing.T, dir string) (decls []*ast.GenDecl) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.FromSlash(dir), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if d, ok := d.(*ast.GenDecl); ok {
				decls = append(decls, d)
			}
		}
	}
	return decls
}

// exportedNouns returns the exported nouns of a folder (types, constants and variables), unless they stand for
// the same name of another package.
func exportedNouns(t *testing.T, dir string) (nouns []string) {
	t.Helper()
	for _, d := range declarations(t, dir) {
		for _, spec := range d.Specs {
			nouns = append(nouns, nounsOf(spec)...)
		}
	}
	return nouns
}

// typesOf returns the types that a folder declares, exported or not. Names for types of other packages do not count.
func typesOf(t *testing.T, dir string) (names []string) {
	t.Helper()
	for _, d := range declarations(t, dir) {
		for _, spec := range d.Specs {
			if spec, ok := spec.(*ast.TypeSpec); ok && !spec.Assign.IsValid() {
				names = append(names, spec.Name.Name)
			}
		}
	}
	return names
}

// nounsOf returns the exported nouns that a specification declares. A noun that stands for
// the same name of another package is left out.
func nounsOf(spec ast.Spec) (nouns []string) {
	add := func(name *ast.Ident, value ast.Expr) {
		s, ok := value.(*ast.SelectorExpr)
		if name.IsExported() && (!ok || s.Sel.Name != name.Name) {
			nouns = append(nouns, name.Name)
		}
	}
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		if spec.Assign.IsValid() {
			add(spec.Name, spec.Type)
		} else {
			add(spec.Name, nil)
		}
	case *ast.ValueSpec:
		for i, name := range spec.Names {
			var value ast.Expr
			if i < len(spec.Values) {
				value = spec.Values[i]
			}
			add(name, value)
		}
	}
	return nouns
}

// testFolders are the packages below internal/ that tests alone import.
var testFolders = []string{"crashfs", "damaged", "effort", "events", "faultclock", "oracle", "planted", "querytest", "recorded", "script", "sim"}

// libraryFolders returns the folders of the library's packages.
func libraryFolders(t *testing.T) (folders []string) {
	t.Helper()
	for _, p := range goListAlone(t, "./...") {
		name := strings.TrimPrefix(strings.TrimPrefix(p, module), "/")
		if of, inside := strings.CutPrefix(name, "internal/"); name != "" && name != "testdata" && (!inside || !slices.Contains(testFolders, of)) {
			folders = append(folders, name)
		}
	}
	return folders
}

// TestOneWordOneMeaning holds each exported noun to one package.
func TestOneWordOneMeaning(t *testing.T) {
	places := map[string][]string{}
	for _, dir := range libraryFolders(t) {
		nouns := exportedNouns(t, dir)
		slices.Sort(nouns)
		for _, noun := range slices.Compact(nouns) { // files of different build tags have the same ones
			places[noun] = append(places[noun], dir)
		}
	}
	if len(places) < 100 {
		t.Errorf("%d nouns: this test must be blind", len(places))
	}
	for _, noun := range slices.Sorted(maps.Keys(places)) {
		reason := sharedNouns[noun]
		switch dirs := places[noun]; {
		case len(dirs) > 1 && reason == "":
			t.Errorf("%s stands in %s: one word has one meaning", noun, strings.Join(dirs, ", "))
		case len(dirs) == 1 && reason != "":
			t.Errorf("%s stands in %s alone: it needs no exception", noun, dirs[0])
		}
	}
	for noun := range sharedNouns {
		if places[noun] == nil {
			t.Errorf("%s stands nowhere: it needs no exception", noun)
		}
	}
}

// workFolders returns the folders of the packages of go.work that a program can have in it: no tests' tools, no examples.
func workFolders(t *testing.T) (folders []string) {
	t.Helper()
	folders = libraryFolders(t)
	for _, p := range goListIn(t, "", "./server/...", "./cmd/granary/...") {
		name := strings.TrimPrefix(p, module+"/")
		if base := path.Base(name); base != "clitest" && base != "flametest" && base != "tutorial" && base != "example" {
			folders = append(folders, name)
		}
	}
	return folders
}

// TestOneWordOneMeaning_Types holds the names of types, unexported ones too: a word of the field to its packages, and
// any other name to two packages, because a reader goes from one to the next with the word in mind.
func TestOneWordOneMeaning_Types(t *testing.T) {
	places, met := map[string][]string{}, map[string]bool{}
	for _, dir := range workFolders(t) {
		names := typesOf(t, dir)
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			word := strings.ToLower(name)
			if homes, ok := fieldWords[word]; ok && !slices.Contains(homes, dir) {
				t.Errorf("%s of %s has the name of something else, see fieldWords", name, dir)
			}
			met[word+" "+dir] = true
			if !ast.IsExported(name) {
				places[name] = append(places[name], dir)
			}
		}
	}
	for word, homes := range fieldWords {
		for _, dir := range homes {
			if !met[word+" "+dir] {
				t.Errorf("no type of %s is called %s: fieldWords needs no place for it", dir, word)
			}
		}
	}
	if len(places) < 400 {
		t.Errorf("%d unexported types: this test must be blind", len(places))
	}
	for _, name := range slices.Sorted(maps.Keys(places)) {
		switch dirs, reason := places[name], sharedTypes[name]; {
		case len(dirs) > 2 && reason == "":
			t.Errorf("%s stands in %s: one word has one meaning", name, strings.Join(dirs, ", "))
		case len(dirs) <= 2 && reason != "":
			t.Errorf("%s stands in %s alone: it needs no exception", name, strings.Join(dirs, ", "))
		}
	}
}
