package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
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

// isProduct reports whether a file is part of the product: not in bench or compat, and not only for tests.
func isProduct(name string) bool {
	for _, dir := range []string{"bench/", "compat/", "testdata/", "internal/sim/", "internal/house/"} {
		if strings.HasPrefix(name, dir) {
			return false
		}
	}
	return true
}

// printLines prints the number of lines in each package, without tests.
func printLines(w io.Writer) error {
	files, err := goFiles()
	if err != nil {
		return err
	}
	rooms := map[string]int{}
	product, all := 0, 0
	for _, name := range files {
		lines, err := countLines(name)
		if err != nil {
			return err
		}
		rooms[path.Dir(name)] += lines
		all += lines
		if isProduct(name) {
			product += lines
		}
	}
	names := make([]string, 0, len(rooms))
	for name := range rooms {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return rooms[b] - rooms[a] })
	for _, name := range names {
		fmt.Fprintf(w, "%7d  %s\n", rooms[name], name)
	}
	fmt.Fprintf(w, "%7d  in all\n%7d  without bench, compat, testdata and the simulator\n", all, product)
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
