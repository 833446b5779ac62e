// Package planted tests test suites. It plants a bug in shipped code and expects a named test to fail.
//
// A bug is a file testdata/planted/NAME.diff beside the suite that must find it:
//
//	# An eviction takes the newest bucket.
//	found by: TestSimulation
//	--- a/columnstore/memory.go
//	+++ b/columnstore/memory.go
//	@@ -200,7 +200,7 @@
//	...
//
// The first lines are the story. The test follows, and then a unified diff of files below the module's
// root. Hunks are located by their code, so line numbers and comments in their context may differ. Bugs are
// built with an overlay, which leaves the sources unchanged.
//
// The flag -planted.update rewrites the diffs from the current sources and runs no test. It follows code
// that has moved, even to another file, as long as the lines that the bug changes are the same.
package planted

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var (
	update = flag.Bool("planted.update", false, "rewrite the diffs of planted bugs from the current sources")
	only   = flag.String("planted.only", "", "plant only the `bugs` of these names, with commas between them")
)

// Suite describes how to run a package's tests.
type Suite struct {
	// Drawn names the randomized tests. Their failures must name the seed, as "seed 12".
	Drawn []string
	// Args are arguments for the test binary in the search.
	Args []string
	// Again returns the arguments that repeat a run with a seed. The seed is 1 for a test that is not
	// randomized. Nil means no arguments.
	Again func(seed string) []string
}

// Run plants the bugs of the package in the current folder. For each bug it runs the test that must find
// it, which must fail, and then repeats the run without the bug, which must pass. Bugs that change only
// function bodies are built into one binary, and each other into its own. The bugs are parallel subtests,
// GOMAXPROCS at a time.
func Run(t *testing.T, s Suite) {
	t.Helper()
	tree, err := newTree()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/planted/*.diff")
	if err != nil || len(files) == 0 {
		t.Fatalf("no planted bugs: %v", err)
	}
	if *update {
		for _, file := range files {
			if err := tree.update(file); err != nil {
				t.Error(err)
			}
		}
		return
	}
	if *only != "" { // CI plants some of the bugs at each commit
		files = slices.DeleteFunc(files, func(file string) bool { return !slices.Contains(strings.Split(*only, ","), bugName(file)) })
		if len(files) == 0 {
			t.Fatalf("no planted bug is one of %s", *only)
		}
	}
	binaries := tree.buildTogether(t, files)
	search := &search{Suite: s, runs: map[string]func() ([]byte, error){}}
	for _, file := range files {
		name := bugName(file)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, err := readBug(file)
			if err != nil {
				t.Fatal(err)
			}
			if binaries.has[name] {
				search.find(t, b, run{binaries.many, name}, run{binaries.many, ""})
				return
			}
			changed, err := tree.plant(b)
			if err != nil {
				t.Fatal(err)
			}
			search.find(t, b, run{tree.buildOne(t, changed), ""}, run{binaries.sound, ""})
		})
	}
}

// bugName returns the name of a file's bug.
func bugName(file string) string { return strings.TrimSuffix(filepath.Base(file), ".diff") }

// tree is the module's sources, and the folder of the suite's package.
type tree struct {
	root, pkg string
}

// newTree finds the module's root above the current folder.
func newTree() (*tree, error) {
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	for root := here; ; root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			pkg, err := filepath.Rel(root, here)
			return &tree{root, pkg}, err
		}
		if root == filepath.Dir(root) {
			return nil, fs.ErrNotExist
		}
	}
}

func (tr *tree) read(file string) (*source, error) {
	text, err := os.ReadFile(filepath.Join(tr.root, filepath.FromSlash(file)))
	if at := (*fs.PathError)(nil); errors.As(err, &at) {
		return nil, fmt.Errorf("%s: %w", file, at.Err) // the error without the root's path
	}
	if err != nil {
		return nil, err
	}
	return newSource(string(text)), nil
}

// goFiles returns the module's Go files except tests: the files to which code can have moved.
func (tr *tree) goFiles() (files []string, err error) {
	err = filepath.WalkDir(tr.root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != tr.root:
			_, err := os.Stat(filepath.Join(path, "go.mod"))
			if err == nil || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") {
				return filepath.SkipDir
			}
		case strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go"):
			file, err := filepath.Rel(tr.root, path)
			files = append(files, filepath.ToSlash(file))
			return err
		}
		return nil
	})
	return files, err
}

func sorted[V any](m map[string]V) []string {
	var keys []string
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
