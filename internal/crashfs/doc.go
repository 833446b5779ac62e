// Package crashfs is a disk.FS in memory that crashes and fails, for simulations.
//
// A file has two states: the bytes that programs read, as from the page cache, and the bytes on the disk.
// They differ in the sectors that were written since the last sync. A crash leaves each such sector with
// its old or its new bytes, or torn: a part of each. It does the same to file sizes, and to the names that
// were made or removed since the last sync of the directory.
//
//	WriteAt ---> live ---- Sync ---> stable
//	               \                    |
//	                dirty sectors --- Crash: each by dice
//
// A sync that fails is as on Linux: some dirty sectors are on the disk, the others are not, none is dirty
// any more, and the next sync succeeds.
//
// All randomness comes from the seed, so that a run can be repeated.
//
// The package assumes, as the log does, that a crash amid a write changes no bytes outside it.
package crashfs
