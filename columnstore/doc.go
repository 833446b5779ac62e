// Package columnstore is the embeddable store: tables with a dynamic schema, transactions, snapshots,
// scans and aggregations, and the maintenance that keeps parts few and granules small. It implements
// Parca RFC-001, "Column Store for Profiling Data".
//
// Most programs need four types:
//
//   - [Store] is the database. [Open] starts it, [Store.Close] ends it.
//   - [Table] is a handle on one table. Rows go in with [Table.Insert], or with [Tx] if several
//     inserts belong together.
//   - [Snapshot] is the state of the whole database after one commit. It does not change until
//     it is closed, whatever is inserted, compacted or split.
//   - [Expr] is a condition that selects the rows of a [Table.Scan] or a [Table.Aggregate].
//
// A [History] holds states beside the rows. [HistoryScan] returns them as Arrow records.
//
// # How it fits together
//
//	root -> table -> index: bound -> granule -> parts   (immutable, published)
//	             \-> bucket -> series that have rows there, file of its cold rows
//	table -> generation -> dictionaries                 (append-only)
//
// A write builds parts privately and publishes a new root. A read loads the root and walks it.
// Maintenance rewrites a granule privately and publishes the result, or drops it if the granule was
// rewritten meanwhile.
//
// Package catalog has the root: the database as a value, and its edits. Package txn publishes it. Package
// query answers scans and aggregations; its documentation describes the steps. This package orders these
// steps, accounts for memory, and runs maintenance.
//
// # Invariants
//
//	C1  A snapshot sees all rows of a transaction or none, over all tables.
//	C2  A snapshot gives the same rows every time, whatever happens meanwhile,
//	    or ErrSnapshotExpired, or the error of a file that cannot be read.
//	C3  Rows out = rows committed at or before the snapshot: none lost, none
//	    twice, each within the bounds of its granule.
//	C4  Every snapshot taken after a commit returns has its rows.
//	C5  An error means that nothing happened: no row, no series, no column.
//	C6  Granules of one bucket have adjoining bounds that cover it. The first
//	    begins at the bucket's own bound, so a key below all others has a place.
//	C7  Readers never wait for commits or rewrites. They take short locks: of a dictionary, to
//	    find a code by its value; of a generation, in the first query after new series came; of
//	    the cache, for rows in files, where they can also wait for another's read of the same.
//	C8  Yield points are outside of every lock.
//	C9  The memory that the store accounts for is within the memory budget: rows and
//	    dictionaries in memory, the cache of files, memory that only snapshots hold, and the
//	    reservations of inserts, rewrites and files in progress.
//	C10 A floor never falls. No root has rows below it, and none get in.
//	C11 A bucket begins at the start of a range of the schema's width, or inside it if
//	    the range was cut (Options.BucketRows). Its rows have times from its start to
//	    the end of the range; those of a late bucket, any times of the range.
//	C12 Of a store with a log, a restart brings back a prefix of the commits, whole
//	    ones, and all that the policy promised (disk.SyncPolicy). A code means the
//	    same as before.
//	C13 Each row of a snapshot is in exactly one bucket of Table.Units. A unit has the
//	    same rows in each snapshot that has it.
//
// # Departures from the RFC
//
// The index version is part of the published root, so it is transactional. The RFC leaves that open.
// Readers compare no ids, so there is no list of active transactions, but each part still has its two
// ids. Aborted writes were never reachable. The key begins with a time bucket and ascends (decision 0051), series
// are factored out of the rows (package granule), and stacks sort by code. Trace and span ids are
// nullable UUIDs outside the key. The RFC has the trace id in the key in one sentence, and not in its
// list. A split makes as many granules as are due (decision 0001), a merge uses a loser tree, and the store
// filters rows. Timestamps are int64 and delta-encoded, not uint64 and plain. Types and units have
// dictionaries (decision 0009). Only rewritten parts have runs, because runs save bytes only there (decision 0001).
//
// # A directory
//
// With Options.Dir each commit goes into a log before it returns (log.go). When the log is large, the
// flusher writes everything committed into files, which replace it (flush.go, package internal/files).
// Rows are cold if only files have them: after Open (recover.go), and after the budget unloads them
// (account_unload.go). Queries read cold rows through a cache (package internal/cold).
//
//	commit -> log                 in the order of commits
//	flusher -> files of buckets and dictionaries -> manifest -> old files and segments go
//	open   =  newest whole manifest + the log from there on
//	budget -> buckets that files have become cold; if files have none, they are written first
//
// Without a directory all rows are in memory, the budget evicts them, and Close discards them.
//
// # Mutable state
//
// The root is immutable; this is not:
//
//	tables and histories by name             store.go     tables lock
//	the writer of a history                  history.go   an atomic flag, of one transaction or of an eviction
//	files of a table; bounds of the bucket
//	of its last insert                       table.go     atomic pointers; files are set after a manifest
//	due granules                             queue.go     queue lock
//	bytes of dictionaries, histories and
//	pending work                             account.go   atomics
//	the manifest, files of a run that did
//	not end                                  flusher.go   the lock of flushes
//	counters, whether it is closed           stats.go, store.go   atomics
//
// A store has two goroutines, a maintainer and with a directory a flusher. Open starts them, and Close waits for them. ARCHITECTURE.md has
// the order of the locks.
package columnstore
