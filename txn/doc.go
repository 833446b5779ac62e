// Package txn gives transactions their ids and publishes the state of the
// database: one immutable root behind one atomic pointer.
//
// A transaction has two ids, as in the RFC, from one counter: one from when it
// begins and one from when it commits. It prepares its writes privately; its
// commit derives a new root from the current one under the commit lock and
// publishes it with one store of a pointer. A snapshot is one load of it.
//
//	writer    Begin ...... prepare ...... Commit[ derive root -> publish ]
//	rewriter             prepare ........ Rewrite[ check, derive -> publish ]
//	reader                Snapshot: load ------------ the same root -------->
//
// What a root holds is not known here: the package is generic in it. But it
// knows who reads which root, so it keeps the account of what only readers hold:
// a publish tells what its root has no more ([Garbage]), and that is listed with
// the newest replaced root that is read and had it.
//
//	version      5      6      7      8      9 (current)
//	read           x             x
//	thing     [--------------)                 since 5, gone with 7: held by 6
//	thing                 [---------)          since 7, gone with 9: held by 8
//	thing          [---------)      ...        as long as one of its readers is
//
// # Invariants
//
//	T1  A root never changes after it was published. A snapshot therefore gives
//	    the same answers until it is closed or expires.
//	T2  Commit ids grow in the order in which roots are published. When Commit
//	    has returned, every later Snapshot has that commit in it.
//	T3  Nothing of a transaction can be reached before its commit, nor after an
//	    abort: all or none of it is in a root.
//	T4  A rewrite commits nothing: its root keeps the commit id of the one
//	    before.
//	T5  A publish callback that returns an error leaves the root as it was.
//	T6  Readers take no lock and wait for nobody.
//	T7  Held is at least the bytes of what reads can reach and the current root
//	    cannot; after Sweep, exactly.
//	T8  A snapshot that has expired gives no answer but ErrSnapshotExpired.
//
// The guarantee is snapshot isolation with linearizable commits. Transactions
// only insert, so no two of them conflict and none is ever asked to retry.
package txn
