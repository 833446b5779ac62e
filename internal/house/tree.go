package main

import (
	"bufio"
	"bytes"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
)

// goFiles returns the Go files that git tracks below the working directory, without tests and generated
// files.
func goFiles() ([]string, error) {
	out, err := exec.Command("git", "ls-files", "*.go").Output()
	if err != nil {
		return nil, fmt.Errorf("list the files of git: %w", err)
	}
	var files []string
	for name := range strings.Lines(string(out)) {
		name = strings.TrimSuffix(name, "\n")
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if os.IsNotExist(err) {
			continue // removed, but the removal is not committed yet
		}
		if err != nil {
			return nil, err
		}
		if !bytes.HasPrefix(text, []byte("// Code generated")) {
			files = append(files, name)
		}
	}
	return files, nil
}

// isProduct reports whether a file is not in a folder of benchmarks, of other systems' clients or of tools.
func isProduct(name string) bool {
	for _, dir := range []string{".ci/", "bench/", "compat/", "testdata/", "internal/house/"} {
		if strings.HasPrefix(name, dir) {
			return false
		}
	}
	return true
}

// usedRooms returns the folders of the product that something else than tests uses: the packages outside of internal
// folders, because users import them, and all that these import.
func usedRooms(files []string) (map[string]bool, error) {
	const module = "github.com/granarydb/granary/"
	imports := map[string][]string{}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return nil, err
		}
		room := path.Dir(name)
		imports[room] = slices.Grow(imports[room], len(f.Imports))
		for _, spec := range f.Imports {
			if in, ok := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module); ok {
				imports[room] = append(imports[room], in)
			}
		}
	}
	used := map[string]bool{}
	var use func(room string)
	use = func(room string) {
		if used[room] || !isProduct(room+"/") {
			return
		}
		used[room] = true
		for _, other := range imports[room] {
			use(other)
		}
	}
	for room := range imports {
		if !strings.Contains("/"+room+"/", "/internal/") {
			use(room)
		}
	}
	return used, nil
}

// printLines prints the number of lines in each package, without tests.
func printLines(w io.Writer) error {
	files, err := goFiles()
	if err != nil {
		return err
	}
	used, err := usedRooms(files)
	if err != nil {
		return err
	}
	rooms := map[string]int{}
	all, product, onlyTests := 0, 0, 0
	for _, name := range files {
		lines, err := countLines(name)
		if err != nil {
			return err
		}
		room := path.Dir(name)
		rooms[room] += lines
		all += lines
		switch {
		case used[room]:
			product += lines
		case isProduct(name):
			onlyTests += lines
		}
	}
	names := slices.SortedFunc(maps.Keys(rooms), func(a, b string) int { return rooms[b] - rooms[a] })
	for _, name := range names {
		note := ""
		if isProduct(name+"/") && !used[name] {
			note = " (only tests use it)"
		}
		fmt.Fprintf(w, "%7d  %s%s\n", rooms[name], name, note)
	}
	fmt.Fprintf(w, "%7d  in all\n%7d  of the product\n%7d  of packages that only tests use\n", all, product, onlyTests)
	return nil
}

func countLines(name string) (int, error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	n := 0
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		n++
	}
	return n, s.Err()
}
