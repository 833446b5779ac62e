//go:build cgo

// Command granary-sql answers SQL about pprof profiles: it loads files, directories and
// http URLs into a store in memory, and DuckDB asks the store.
//
// It is built in a clone of the repository, with cgo and a C++ compiler:
//
//	cd compat/duckdb && CGO_ENABLED=1 go build ./cmd/granary-sql
//
// It exits with 0 when it did what was asked, with 1 when something failed (what could be
// answered is still printed), and with 2 when it was called wrongly, wrong SQL included.
package main
