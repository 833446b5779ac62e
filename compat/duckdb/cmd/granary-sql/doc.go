//go:build cgo

// Command granary-sql queries pprof profiles in SQL: it loads files, directories and http URLs into a store
// in memory, and runs DuckDB over the store.
//
// It is built in a clone of the repository, with cgo and a C++ compiler:
//
//	cd compat/duckdb && CGO_ENABLED=1 go build ./cmd/granary-sql
//
// The exit code is 0 on success, 1 on a failure (after the output that succeeded), and 2 on wrong use,
// wrong SQL included.
package main
