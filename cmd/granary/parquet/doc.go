// Package parquet writes the records of scans as Parquet files. It is in the command's module, because its
// library would otherwise set a minimum version for every embedder
// (docs/decisions/0014-arrow-sql-parquet.md). A program that accepts github.com/parquet-go/parquet-go v0.32
// may import it.
//
// Columns have the types that other engines read without a hint:
//
//	timestamp        TIMESTAMP, nanoseconds, not adjusted to UTC: a time without a zone
//	int64, uint64    INT64
//	UTF-8            BYTE_ARRAY, STRING
//	fixed binary     BYTE_ARRAY
//	list             LIST of optional elements
//	dictionary       the type of its values
//
// All columns except values and ids are dictionary encoded. Pages are compressed with zstd.
package parquet
