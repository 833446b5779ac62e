// Package columnstore is the embeddable store: tables with a dynamic schema,
// transactions, snapshots, scans and aggregations, and the maintenance that
// keeps parts few and granules small. It implements Parca RFC-001, "Column
// Store for Profiling Data".
//
// Four types are all that most programs need:
//
//   - [Store] is the database. [Open] starts it, [Store.Close] ends it.
//   - [Table] is a handle on one table. Rows go in with [Table.Insert], or with
//     [Tx] where several inserts belong together.
//   - [Snapshot] is the state of the whole database after one commit. It stays
//     as it is until it is closed, whatever is inserted, compacted or split.
//   - [Expr] says which rows a [Table.Scan] or [Table.Aggregate] is about.
//
// States beside the rows are a [History]; [HistoryScan] has them as Arrow records.
//
// # How it fits together
//
//	root -> table -> index: bound -> granule -> parts   (immutable, published)
//	             \-> bucket -> series that have rows there
//	table -> generation -> dictionaries                 (append-only)
//
// A write builds parts privately and publishes a new root; a read loads the
// root and walks it; maintenance rewrites a granule privately and publishes, or
// drops its work if the granule was rewritten meanwhile.
//
// # How a query is answered
//
// On codes, and from the outside in: what says something of many rows at once is asked
// first, and rows are looked at last.
//
//	condition on labels -> set of series      a bit each, each distinct value once
//	          on times  -> buckets            of those, the ones with such series
//	series, or bounds   -> granules           by the index, filters of trace ids
//	granule             -> parts              by their range of times, missing columns,
//	                                          indexes of trace ids
//	part                -> runs of series     all rows, none, or those that ...
//	run                 -> rows               ... the rest of the condition holds for
//
// What is chosen is spans of rows, each of one series; of rows here and there, their
// numbers. A scan turns their words into
// Arrow; an aggregation adds them up: by the columns of series once a span, by the time
// of profiles once a header, by stacks into cells by code. No stack is looked at.
//
// # Invariants
//
//	C1  A snapshot sees all rows of a transaction or none, over all tables.
//	C2  A snapshot gives the same rows every time, whatever happens meanwhile,
//	    or ErrSnapshotExpired.
//	C3  Rows out = rows committed at or before the snapshot: none lost, none
//	    twice, each within the bounds of its granule.
//	C4  When a commit has returned, every later snapshot has its rows.
//	C5  An error means that nothing happened: no row, no series, no column.
//	C6  Granules of one bucket have adjoining bounds that cover it; the first
//	    is bounded by the bucket itself, so a key below all others has a place.
//	C7  Readers take no lock but those of dictionaries' look-ups by value, and the
//	    first to ask after new series have come, one of their generation.
//	C8  Yield points are outside of every lock.
//	C9  What the store keeps alive by its own account is within the memory
//	    budget: rows, dictionaries, what only snapshots hold, and what inserts
//	    and rewrites under way have reserved.
//	C10 A floor never falls. No root has rows before it, and none get in.
//	C11 A bucket begins at the start of a range of the schema's width, or amid it if it was
//	    cut (Options.BucketRows). Its rows are of times from there to the end of the range.
//
// # Departures from the RFC
//
// The index version is part of the published root, so it is transactional: the
// RFC leaves that open. Aborted writes were never reachable, so no reader has to
// skip them. The sorting key is led by a time bucket; series are factored out
// of the rows (package granule); a merge is a loser tree, not a min-heap.
//
// Everything is in memory: Close forgets it.
package columnstore
