// Package mirror keeps the directory of a store in an object store too, so that what is durable survives the loss of the disk.
//
// An [FS] is a [disk.FS] over another one. A sync returns once its bytes are in both. So a store of columnstore.SyncEach
// acknowledges a commit once the object store has it, and what the object store has is at all times a directory as a crash of the
// machine can leave it. [Open] makes that directory again, and the store recovers as after a crash: rows, units and their ids come
// back from its log and files. Nothing here knows rows.
//
//	store -> sync of the log   -> disk, then a segment: the bytes since the last sync -> journal/SEQUENCE
//	      -> sync of a file    -> disk, then all of it                               -> files/EPOCH/NAME
//	      -> removal of a file -> disk, and later                                    -> its objects
//
// # The objects
//
//	journal/SEQUENCE         a segment of a file of the log, or a claim; each is made once, and none is replaced
//	files/EPOCH/NAME.SUM   a file that does not change: its size and its checksum, CRC32C, are in the name
//	files/EPOCH/NAME         the begin of a file of the log, whose segments are joined there, or a file that has changed
//	whole/EPOCH              files/EPOCH, the objects that this one names, and the segments behind it are a whole directory
//	beside/EPOCH/...         files beside those of the store, which FS.Keep was called for (besideFolder)
//	claims/SEQUENCE          empty: if there is such an object in the journal, it is a claim
//
// Numbers have 16 hexadecimal digits. An epoch is the life of one FS. It begins with a claim, whose sequence is its number, and
// copies those files of the directory that have no object with their sum. The others it shares with earlier epochs: whole/EPOCH
// names them, and is added then. What else earlier epochs left is removed.
//
// An earlier owner that does not know yet that it was followed must not remove an object that is shared. So an owner removes one
// only after a segment that began after the file was removed. It is followed after that, if at all, and the directory of the one that
// follows has what the file was removed for.
//
// # One owner
//
// Each object of the journal is made under the next number, and only if there is none. So a claim ends the epoch before it: the
// owner of that one, which may be a process that hangs or a machine behind a broken network, finds its next number taken, and
// makes nothing durable any more ([ErrFenced]). The claims of the last thousand epochs stay for that. A claim counts if no object of
// the journal is behind it, because the number of a segment that was removed is free again. So the newest object is never removed.
//
// The directory has a file mirror.EPOCH for the epochs that it has been. A directory with files, and without that of the newest whole
// epoch, was followed by another one, and is refused ([ErrStale]).
//
// # Invariants
//
//	M1  A sync, or a Keep, that returned without an error is in the object store. After it, Open with an empty directory finds its bytes.
//	M2  What Open makes is a directory as a crash could leave it: each file that a sync made durable and nobody removed,
//	    with at least the bytes of its last sync. Files can be there that were removed.
//	M3  After Open returned, no FS that was opened before makes anything durable.
//	M4  A sync waits until the object store answers. It does not return an error because the object store is away,
//	    unless Finish was called: a commit that is visible and not durable would be pushed again, and count twice.
//	M5  At most mergeAt segments of a file of the log, and one that is on its way, are not joined, while the object store takes
//	    writes and removals.
//
// # Mutable state
//
//	the files beside those of the store         a lock that is held by Keep, outside of the next one
//	the sequence, and the segment on its way    a lock that is held while a segment is written
//	segments that are not joined, figures, work of the goroutine    a lock, a leaf
package mirror
