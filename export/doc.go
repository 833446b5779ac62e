// Package export writes records of scans as files for other engines. [ArrowWriter] writes
// an Arrow IPC stream, the form of the files that end in .arrows.
//
// The times of profiles become Arrow timestamps; everything else is written as the scan
// made it. The package writes Arrow and never reads it: stored or untrusted IPC is not
// decoded (package arrowconv says why).
//
// Parquet is written by the package parquet of the command's module. Its library would be a
// floor for every embedder's own version (docs/decisions/0016-parquet.md).
package export
