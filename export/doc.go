// Package export writes the records of scans as files for other engines. [ArrowWriter] writes
// an Arrow IPC stream, the format of .arrows files.
//
// The times of profiles become Arrow timestamps. Everything else is written as the scan
// returned it. The package writes Arrow and never reads it: stored or untrusted IPC is not
// decoded (package arrowconv explains why).
//
// Parquet is written by package parquet in the command's module. Here its library would set a
// minimum version for every embedder (docs/decisions/0016-parquet.md).
package export
