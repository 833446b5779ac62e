// Command duck measures DuckDB as a store of profiles, in memory, in a file, and over Parquet that it wrote
// itself. It prints one JSON object with one store's figures. Command bench, in the folder above, builds
// and runs it for -peers.
//
//	CGO_ENABLED=1 go run -tags duckdb_arrow . -rows 1000000 -name duckdb-memory
//
// DuckDB needs cgo. The module is apart from bench's, which builds without it, and from the module in
// folder formats, because FrostDB, in package peers, needs another version of the Parquet library.
package main
