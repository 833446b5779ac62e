// Package txn assigns transaction ids and publishes the state of the database: one immutable root behind
// one atomic pointer.
//
// A transaction has two ids from one counter, as in the RFC: a begin id and a commit id. It prepares its
// writes privately. Its commit derives a new root from the current one under the commit lock and publishes
// it with one atomic store. A snapshot is one atomic load.
//
//	writer    Begin ...... prepare ...... Commit[ derive root -> publish ]
//	rewriter             prepare ........ Rewrite[ check, derive -> publish ]
//	reader                Snapshot: load ------------ the same root -------->
//
// The package is generic in the contents of a root. It tracks which roots are being read, and so accounts
// for memory that only readers hold: a publish lists the items that the new root no longer reaches
// ([Garbage]), and each is charged to the newest replaced root that reaches it and is still being read.
//
//	version      5      6      7      8      9 (current)
//	read           x             x
//	thing     [--------------)                 since 5, gone with 7: pinned by 6
//	thing                 [---------)          since 7, gone with 9: pinned by 8
//	thing          [---------)      ...        as long as one of its readers is
//
// # Invariants
//
//	T1  A root never changes after publication. A snapshot therefore gives the
//	    same answers until it is closed or expires.
//	T2  Commit ids grow in the order in which roots are published. Every snapshot
//	    taken after Commit returns includes that commit.
//	T3  A transaction is atomic. A root contains all of its writes or none; none
//	    are reachable before its commit or after an abort.
//	T4  A rewrite commits nothing: its root keeps the previous root's commit id.
//	T5  A publish callback that returns an error leaves the root unchanged.
//	T6  A snapshot and its reads take no lock of this package and wait for nobody.
//	T7  Pinned is at least the number of bytes that reads reach and the current
//	    root does not. It is exact after Sweep.
//	T8  An expired snapshot answers only with ErrSnapshotExpired.
//
// The guarantee is snapshot isolation with linearizable commits. Transactions only insert, so no two of
// them conflict and none is retried.
//
// # Mutable state
//
//	transaction ids          an atomic counter
//	the published root       an atomic pointer, set under the commit lock
//	the root of a handle     an atomic pointer, cleared by Close
//	the readers of a root    an atomic counter that the first reader allocates; expiry releases the root
//	pinned garbage           lists under the commit lock, their sum an atomic
package txn
