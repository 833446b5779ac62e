package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
)

// All mutants of a package are in one binary. The variable MUTANT of the environment has the ID of the active one. The
// names of the mutants that a run reaches go to the file MUTANT_HITS.
const switches = `package %s

import (
	"os"
	"strconv"
	"sync/atomic"
)

var (
	mutantActive, _ = strconv.Atoi(os.Getenv("MUTANT"))
	mutantHits, _   = os.OpenFile(os.Getenv("MUTANT_HITS"), os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o644)
	mutantSeen      [%d]atomic.Bool
)

func mutantIs(id int) bool {
	if mutantHits != nil && !mutantSeen[id].Swap(true) {
		mutantHits.WriteString(strconv.Itoa(id) + "\n")
	}
	return id == mutantActive
}

func mutantPick[T any](id int, a, b T) T {
	if mutantIs(id) {
		return b
	}
	return a
}
`

// listed is a package as go list prints it.
type listed struct {
	ImportPath, Dir, Name, Export string
	GoFiles                       []string
}

func list(args ...string) (packages []listed, err error) {
	cmd := exec.Command("go", append([]string{"list", "-tags", tags, "-json=ImportPath,Dir,Name,Export,GoFiles"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); err == io.EOF {
			return packages, nil
		} else if err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
}

// tags are the build tags: the checks of invariants are code too, and they kill mutants.
const tags = "invariants"

// compile writes a package with its mutants to dir, with an overlay that puts the files in place, and the test binary.
func compile(path, dir string) ([]mutant, error) {
	packages, err := list(path)
	if err != nil {
		return nil, err
	}
	p := packages[0]
	c, files, err := check(p)
	if err != nil {
		return nil, err
	}
	for without := map[place]bool{}; ; { // a few mutants do not compile, mostly because of constants without a type
		mutants, err := c.write(p, files, dir, without)
		if err != nil {
			return nil, err
		}
		text, err := build(path, dir, 0)
		if err == nil {
			return mutants, nil
		}
		before := len(without)
		for _, at := range compileError.FindAllStringSubmatch(text, -1) {
			line, _ := strconv.Atoi(at[2])
			without[place{at[1], line}] = true
		}
		if len(without) == before {
			return nil, fmt.Errorf("go test -c: %w: %s", err, text)
		}
	}
}

var compileError = regexp.MustCompile(`(\w+\.go):(\d+):\d+: `)

// place is a line of a file of the package.
type place struct {
	file string
	line int
}

// build builds the test binary of a package, in the way of the overlay, as number n.
func build(path, dir string, n int) (text string, err error) {
	out, err := exec.Command("go", "test", "-c", "-tags", tags, "-gcflags=-e", "-vet=off", "-ldflags=-s -w",
		"-overlay", filepath.Join(dir, "overlay.json"), "-o", binary(dir, n), path).CombinedOutput()
	return string(out), err
}

func binary(dir string, n int) string { return filepath.Join(dir, strconv.Itoa(n)+".test") }

// check parses a package and finds the types of its expressions.
func check(p listed) (*changer, []*ast.File, error) {
	below, err := list("-export", "-deps", p.ImportPath)
	if err != nil {
		return nil, nil, err
	}
	exports := map[string]string{}
	for _, b := range below {
		exports[b.ImportPath] = b.Export
	}
	c := &changer{fset: token.NewFileSet(), types: map[ast.Expr]types.TypeAndValue{}}
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(c.fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, nil, err
		}
		files = append(files, f)
	}
	open := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	conf := types.Config{Importer: importer.ForCompiler(c.fset, "gc", open)}
	_, err = conf.Check(p.ImportPath, c.fset, files, &types.Info{Types: c.types})
	return c, files, err
}

// write writes the files of a package with all mutants but those of some places, and the overlay.
func (c *changer) write(p listed, files []*ast.File, dir string, without map[place]bool) ([]mutant, error) {
	c.mutants, c.without = nil, without
	replace := map[string]string{}
	put := func(name string, text []byte) error {
		replace[filepath.Join(p.Dir, name)] = filepath.Join(dir, name)
		return os.WriteFile(filepath.Join(dir, name), text, 0o644)
	}
	for i, f := range files {
		text, err := os.ReadFile(filepath.Join(p.Dir, p.GoFiles[i]))
		if err != nil {
			return nil, err
		}
		if err := put(p.GoFiles[i], c.change(f, text)); err != nil {
			return nil, err
		}
	}
	if err := put("mutant_switches.go", fmt.Appendf(nil, switches, p.Name, len(c.mutants)+1)); err != nil {
		return nil, err
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, err
	}
	return c.mutants, os.WriteFile(filepath.Join(dir, "overlay.json"), text, 0o644)
}
