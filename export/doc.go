// Package export writes the records of scans as files for other engines. [ArrowWriter] writes an Arrow
// IPC stream, the format of .arrows files. [Stacks] makes a column of whole locations from the stacks of
// an aggregation.
//
// The times of profiles become Arrow timestamps. Everything else is written as the scan returned it. The
// package never reads Arrow, because decoding stored or untrusted IPC is not safe (package arrowconv
// explains why).
//
// Package parquet in the command's module writes Parquet, because here its library would set a minimum
// version for every embedder (docs/decisions/0014-arrow-sql-parquet.md).
package export
