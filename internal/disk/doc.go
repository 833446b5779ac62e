// Package disk keeps entries and files so that a crash loses nothing that was durable, and damage is
// noticed. It knows files, checksums and the log, and neither rows nor tables.
//
// There are two kinds of files, in one flat directory ([FS]). A file that is written once ([FileWriter],
// [FileReader]) is durable before anything names it, and never changes. The log ([Log], [Reader]) is
// segments of entries, of which the newest grows. Numbers in names only rise, no file is renamed, and no
// old file is written to, because operating systems differ in these.
//
// # The log
//
//	Reserve          may wait: for space in the queue, for the disk
//	lock {
//	    Append       queues the entry: the order of the log is the order under the lock
//	}
//	Wait             as the policy requires
//
// One goroutine writes the queued entries and syncs all that wait with one call. After a sync of several
// entries it waits for the released goroutines to commit again, at most three times as long as the sync
// took (gather.go). An entry stays in the queue until it is durable.
//
//	queue      | written, not synced | not written |  <- Append
//	            \                     \
//	segment    | synced   | written    | zeros, reserved    |     spare segment | zeros |
//
// Each entry records how far its segment was durable when it was written. A crash can leave anything behind
// that offset, so an entry that is not whole ends the log. But if a later entry is whole and records that
// those bytes were durable, they have changed since: the log is damaged, and durable entries are lost.
//
//	            p: not whole
//	| entry | entry | ????? | entry, synced <= p |      torn: the log ends at p
//	| entry | entry | ????? | entry, synced > p  |      damaged
//
// After a failed sync, the segment is given up, because bytes may be lost although the next sync succeeds.
// The next segment begins with the entries that were not durable. A segment's header records its
// predecessor and where that ended. It is written last: a crash before it leaves the old segment as the end
// of the log, a crash after it the new one. OpenLog begins a segment in the same way, with the entries that
// were read and may not be durable.
//
//	segment 1  | header | a | b | c | d   the sync behind b failed
//	segment 2  | header | c | d | e       follows 1, whose entries end behind b
//
// docs/format/log.md draws the bytes.
//
// # Invariants
//
// The numbers count invariants in the whole store. Users of this package keep D3 and D4, about files and
// dictionaries.
//
//	D1  After a crash a reader gets a prefix of the appended entries, in their order,
//	    unchanged. The prefix has all entries that were durable: by Sync, by Close, by Wait with
//	    SyncEach, or because they were read before OpenLog.
//	D2  A finished file is whole and durable, and never changes.
//	D5  Bytes are used only after their checksum was compared. A checksum includes the file, and
//	    an entry's checksum also its place in the file.
//	D6  A durable entry that is missing is an error that names the place. The exception are
//	    entries of the last sync, while no entry was written after it.
//	D7  After a write or a sync of a segment failed, nothing is written to it and it is not synced.
//	    Its entries that were not durable go to the next segment from memory.
//	D8  A segment is removed only by RemoveBelow, or if it is not part of the log.
//
// # What a disk must do
//
// A sync returns when the bytes survive a loss of power. A crash amid a write changes no bytes outside it.
// Without the first, nothing is durable. Without the second, a torn write can destroy an earlier entry in
// the same sector, which is then reported as damage.
//
// Files of earlier versions stay readable, because they carry their format version.
//
// # Mutable state
//
//	the log's queue, and its waiters        a lock, a leaf; it is not held during a wait or a system call
//	segments                                the lock of a step, which writes and syncs; their list an atomic pointer
//	times that the log took                 atomics
//	sizes of files, with a disk budget      a lock, a leaf; the sum an atomic
package disk
