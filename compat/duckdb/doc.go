// Package duckdb asks a store's tables in SQL. DuckDB runs inside the process: it parses,
// plans and executes, and reads the rows of a snapshot where the query needs them. The
// SQL is DuckDB's: joins, windows, lists, time, JSON, Parquet.
//
//	db, err := duckdb.Open(duckdb.Options{MemoryLimit: 1 << 30})
//	rows, err := db.Query(ctx, snap, []duckdb.Table{{Table: profiles, Elements: profile.FunctionNames}},
//		`SELECT stacktrace[1] AS function, sum(value) FROM profiles GROUP BY 1 ORDER BY 2 DESC`)
//
// # How a table is read
//
// Each table is a view over a table function of this package, and each place in a query
// that names the table calls the function anew:
//
//	SQL     FROM profiles p JOIN profiles q
//	              |               |
//	bind    columns of the table in the snapshot
//	init    a scan of the        a scan of the         a goroutine each; the
//	        columns p needs      columns q needs       snapshot is the same
//	run     records, one at a time, to DuckDB's threads
//	        | numbers are copied
//	        | words are put into a dictionary vector, each once a record
//
// DuckDB's other way in, its Arrow scan, promises the planner that it leaves out rows and
// columns, does neither through the C interface, and can be read once only: it answers
// wrongly, without an error, as soon as a query filters, names a second column, or the
// table twice (upstream_test.go shows that it still does). Nothing here relies on it.
//
// # Types
//
//	Int64 Uint64 Float64 Bool   BIGINT UBIGINT DOUBLE BOOLEAN
//	String                      VARCHAR
//	UUID                        UUID
//	UUIDList                    UUID[], or VARCHAR[] with Table.Elements
//
// A column is named as in the table: "labels.pod" wants its double quotes in SQL. DuckDB
// does not tell capitals from small letters: columns that differ in nothing else get _1, _2
// and so on behind their names, all of them, lest one is taken for another.
//
// # Whom to let in
//
// SQL reaches nothing outside of the process unless Options.Files says so. It can ask for
// all of DuckDB's memory and processors: Options and ctx bound that. A query that commits
// can leave tables behind in DuckDB, for later queries to see. And DuckDB is in the process:
// a fault of its own would be the end of both.
//
// # Invariants
//
//	D1  A query sees one snapshot, however often and in whatever order it names tables.
//	D2  Only columns that a query needs are scanned, and all rows that Table.Where lets
//	    through: DuckDB drops the others.
//	D3  What a query makes in DuckDB, tables and views, is gone when its rows are closed,
//	    unless its SQL commits.
//	D4  A query leaves no goroutine and no record behind, whether it ends, fails or is
//	    cancelled.
//	D5  Nothing of Go's memory is kept by DuckDB: values are copied.
//
// # Building
//
// The package needs cgo and a C++ compiler, and there is a DuckDB for Linux and macOS on
// amd64 and arm64 and for Windows on amd64. Without cgo the package is empty. The build tag
// duckdb_arrow is for upstream_test.go only.
package duckdb
