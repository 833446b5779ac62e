package parca_test

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestImports: Parca can import the package when it has no FrostDB, and its own tests of these packages can
// (PA6).
func TestImports(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, error %v", len(files), err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Imports {
			path, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			for _, not := range []string{"github.com/polarsignals/", "/pkg/parcacol", "/pkg/query", "/pkg/profilestore", "/pkg/parca"} {
				if strings.Contains(path, not) {
					t.Errorf("%s imports %s", name, path)
				}
			}
		}
	}
}
