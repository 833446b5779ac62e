// Package duckdb queries a store's tables in SQL. DuckDB runs inside the process: it parses, plans and
// executes, and reads a snapshot's rows where the query needs them. The SQL is DuckDB's: joins, windows,
// lists, time, JSON, Parquet.
//
//	db, err := duckdb.Open(duckdb.Options{MemoryLimit: 1 << 30})
//	rows, err := db.Query(ctx, snap, []duckdb.Table{{Table: profiles, Elements: profile.FunctionNames}},
//		`SELECT stacktrace[1] AS function, sum(value) FROM profiles WHERE sample_type = 'cpu' GROUP BY 1 ORDER BY 2 DESC`)
//
// A row is a value with one sample type. A sum needs a condition on sample_type, because otherwise it adds
// nanoseconds to bytes and counts.
//
// # How a table is read
//
// Each table is a view over a table function in this package, and each place in a query that names the
// table calls the function anew:
//
//	SQL     FROM profiles p JOIN profiles q
//	              |               |
//	bind    columns of the table in the snapshot
//	init    a scan of the        a scan of the         a goroutine each; the
//	        columns p needs      columns q needs       snapshot is the same
//	run     records, one at a time, to DuckDB's threads
//	        | numbers are copied
//	        | texts, UUIDs and lists are copied once a record, as a dictionary vector
//
// DuckDB's alternative, its Arrow scan, promises the planner to filter rows and to project columns, does
// neither through the C interface, and can be read only once. It answers wrongly, without an error, as soon
// as a query filters, names a second column, or the table twice (upstream_test.go shows that it still
// does). This package does not use it.
//
// # Types
//
//	Int64 Uint64 Float64 Bool   BIGINT UBIGINT DOUBLE BOOLEAN
//	String                      VARCHAR
//	UUID                        UUID
//	UUIDList                    UUID[], or VARCHAR[] with Table.Elements
//
// A column is named as in the table: "labels.pod" needs its double quotes in SQL. Names are
// case-insensitive in DuckDB. Columns whose names differ only in case get the suffixes _1, _2 and so on,
// all of them, so that none is taken for another.
//
// # Trust
//
// SQL reaches nothing outside the process unless Options.Files allows it. It can use all of DuckDB's memory
// and processors; Options and ctx bound that. A query that commits can leave tables in DuckDB for later
// queries to see. DuckDB is in the process: its crash ends both.
//
// # Invariants
//
//	D1  A query sees one snapshot, however often and in whatever order it names tables.
//	D2  A scan reads only the columns that a query needs, and all rows that satisfy
//	    Table.Where: DuckDB drops the others.
//	D3  A query's tables and views are gone when its rows are closed, unless its SQL
//	    commits.
//	D4  A query leaks no goroutine and no record, whether it ends, fails or is cancelled.
//	D5  DuckDB keeps no reference to Go memory: values are copied.
//
// # Building
//
// The package needs cgo and a C++ compiler. There is a DuckDB for Linux and macOS on amd64 and arm64, and
// for Windows on amd64. Without cgo the package is empty. The build tag duckdb_arrow is for
// upstream_test.go only.
package duckdb
