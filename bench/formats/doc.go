// Command formats measures the rows of the made-up fleet in other formats: DuckDB, and Parquet as granary
// export writes it. It prints one JSON object with one format's figures. Command bench, in the folder
// above, builds and runs it for -workload durable -peers.
//
//	go run . -rows 1000000 -name duckdb
//
// DuckDB needs cgo. The module is apart from bench's, which builds without it, and because Parquet needs
// another version of its library than FrostDB.
package main
