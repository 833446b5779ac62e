package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// arrow is a use, in the file `from`, of a name that the file `to` declares.
type arrow struct{ from, to string }

// room is a package with the arrows between its files.
type room struct {
	path   string
	lines  int
	arrows map[arrow]string // a name that the arrow uses
	back   []arrow          // the arrows that point back up, in the order of the files with the fewest of them
}

// listed is the description of a package from go list.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	DepOnly                 bool
}

// printArrows prints the arrows between the files of each package, and the number of them that point back up.
// It searches for an order of the files in which most arrows point down.
func printArrows(w io.Writer, args []string) error {
	flags := flag.NewFlagSet("arrows", flag.ContinueOnError)
	list := flags.Bool("list", false, "print each arrow that runs back up, with a name that it stands for")
	least := flags.Int("least", 0, "leave out rooms with fewer lines")
	if err := flags.Parse(args); err != nil {
		return err
	}
	patterns := flags.Args()
	if len(patterns) == 0 {
		patterns = []string{"work"}
	}
	packages, exports, err := listPackages(patterns)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "lines arrows back share  room\n")
	for _, p := range packages {
		r, err := readRoom(p, exports)
		if err != nil {
			return err
		}
		if len(r.arrows) == 0 || r.lines < *least {
			continue
		}
		fmt.Fprintf(w, "%5d %6d %4d %4.0f%%  %s\n", r.lines, len(r.arrows), len(r.back), 100*float64(len(r.back))/float64(len(r.arrows)), r.path)
		if *list {
			for _, a := range r.back {
				fmt.Fprintf(w, "        %s -> %s: %s\n", a.from, a.to, r.arrows[a])
			}
		}
	}
	return nil
}

// listPackages returns the packages that match patterns, and the files in which the compiler has left the
// exported names of each package that they import.
func listPackages(patterns []string) ([]listed, map[string]string, error) {
	cmd := exec.Command("go", append([]string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,DepOnly"}, patterns...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, nil, fmt.Errorf("go list: %w", err)
	}
	var packages []listed
	exports := map[string]string{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, nil, fmt.Errorf("go list: %w", err)
		}
		exports[p.ImportPath] = p.Export
		if !p.DepOnly {
			packages = append(packages, p)
		}
	}
	slices.SortFunc(packages, func(a, b listed) int { return cmp.Compare(a.ImportPath, b.ImportPath) })
	return packages, exports, nil
}

// readRoom type-checks a package, because only then the target of a method or field is known.
func readRoom(p listed, exports map[string]string) (room, error) {
	fset := token.NewFileSet()
	r := room{path: p.ImportPath, arrows: map[arrow]string{}}
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return room{}, err
		}
		files = append(files, f)
		r.lines += fset.File(f.Pos()).LineCount()
	}
	lookup := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", lookup)}
	pkg, err := config.Check(p.ImportPath, fset, files, info)
	if err != nil {
		return room{}, err
	}
	for use, object := range info.Uses {
		if object.Pkg() != pkg {
			continue
		}
		a := arrow{filepath.Base(fset.Position(use.Pos()).Filename), filepath.Base(fset.Position(object.Pos()).Filename)}
		if a.from != a.to && (r.arrows[a] == "" || object.Name() < r.arrows[a]) {
			r.arrows[a] = object.Name()
		}
	}
	r.back = backArrows(slices.SortedFunc(maps.Keys(r.arrows), func(a, b arrow) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
	}))
	return r, nil
}

// backArrows orders files so that few arrows point from a later file to an earlier one, and returns these
// arrows. Finding the fewest is NP-hard; instead, files move one by one to their best place until no move
// helps.
func backArrows(arrows []arrow) []arrow {
	var order []string
	for _, a := range arrows {
		order = append(order, a.from, a.to)
	}
	slices.Sort(order)
	order = slices.Compact(order)
	for gained := true; gained; {
		gained = false
		for _, name := range slices.Clone(order) {
			if place := bestPlace(order, name, arrows); place >= 0 {
				at := slices.Index(order, name)
				order = slices.Insert(slices.Delete(order, at, at+1), place, name)
				gained = true
			}
		}
	}
	var back []arrow
	for _, a := range arrows {
		if slices.Index(order, a.from) > slices.Index(order, a.to) {
			back = append(back, a)
		}
	}
	return back
}

// bestPlace returns the place of name among the other files with the fewest arrows that point back up, or -1
// if no place has fewer than the present one.
func bestPlace(order []string, name string, arrows []arrow) int {
	down, up := map[string]bool{}, map[string]bool{}
	for _, a := range arrows {
		if a.from == name {
			down[a.to] = true
		}
		if a.to == name {
			up[a.from] = true
		}
	}
	// At place 0, the arrows from all files that use name point back up.
	at, back := slices.Index(order, name), len(up)
	today, best, place := -1, back, 0
	others := 0
	for i := 0; i <= len(order); i++ {
		if i == at {
			today = back
		}
		if back < best {
			best, place = back, others
		}
		if i == len(order) || order[i] == name {
			continue
		}
		if up[order[i]] {
			back--
		}
		if down[order[i]] {
			back++
		}
		others++
	}
	if best < today {
		return place
	}
	return -1
}
