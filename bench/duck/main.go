package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/granarydb/granary/bench/peers"
)

// stores are the ways to open DuckDB, by the peer's name. They exist with cgo and the tag duckdb_arrow. The
// directory is empty, and stays until the store is closed.
var stores = map[string]func(dir string) (peers.Store, error){}

func main() {
	rows := flag.Int64("rows", 1_000_000, "rows to insert")
	name := flag.String("name", "", "store: "+strings.Join(slices.Sorted(maps.Keys(stores)), ", "))
	workload := flag.String("workload", "fleet", "workload of bench -peers")
	answers := flag.Bool("answers", true, "print digests of the answers")
	flag.Parse()
	if err := run(*name, *workload, *rows, *answers); err != nil {
		fmt.Fprintln(os.Stderr, "duck:", err)
		os.Exit(1)
	}
}

// run measures a store and prints its figures.
func run(name, workload string, rows int64, answers bool) error {
	open := stores[name]
	if open == nil {
		return fmt.Errorf("unknown store %q: want some of %s; they need cgo and the tag duckdb_arrow", name, strings.Join(slices.Sorted(maps.Keys(stores)), ", "))
	}
	dir, err := os.MkdirTemp("", "granary-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	return peers.MeasureOther(name, workload, rows, answers, func() (peers.Store, error) { return open(dir) })
}
