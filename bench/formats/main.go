package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"
)

// figures are one format's figures; package bench/peers explains the keys.
type figures map[string]float64

// report is the output that bench reads.
type report struct {
	Figures figures `json:"figures"`
	Module  string  `json:"module"`
}

// measured maps a format's name to the function that measures it, in an empty directory.
var measured = map[string]func(dir string, rows int64) (report, error){
	"parquet":        func(dir string, rows int64) (report, error) { return measureParquet(dir, rows, false) },
	"parquet-stacks": func(dir string, rows int64) (report, error) { return measureParquet(dir, rows, true) },
}

func main() {
	rows := flag.Int64("rows", 1_000_000, "rows to write")
	name := flag.String("name", "", "format: "+strings.Join(slices.Sorted(maps.Keys(measured)), ", "))
	flag.Parse()
	if err := run(*name, *rows); err != nil {
		fmt.Fprintln(os.Stderr, "formats:", err)
		os.Exit(1)
	}
}

func run(name string, rows int64) error {
	measure, ok := measured[name]
	if !ok {
		return fmt.Errorf("unknown format %q: want %s", name, strings.Join(slices.Sorted(maps.Keys(measured)), ", "))
	}
	if rows < 1 {
		return errors.New("want at least one row")
	}
	dir, err := os.MkdirTemp("", "granary-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	r, err := measure(dir, rows)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

// moduleVersion returns a module's version in this program.
func moduleVersion(path string) string {
	info, _ := debug.ReadBuildInfo()
	for _, m := range info.Deps {
		if m.Path == path {
			return m.Path + "@" + m.Version
		}
	}
	return path
}
