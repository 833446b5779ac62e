// Package crashfs is a disk.FS in memory that crashes and fails, for simulations.
//
// A file has two states: what programs read, as from the page cache, and what is on the disk.
// They differ in the sectors that were written since the last sync. A crash leaves each such
// sector as it was, or as it became, or torn: a part of each. It does the same to the sizes of
// files, and to the names that were made or removed since the last sync of the directory.
//
//	WriteAt ---> live ---- Sync ---> stable
//	               \                    |
//	                dirty sectors --- Crash: each by dice
//
// A sync that fails is as on Linux: some of the dirty sectors are on the disk, the others are
// not, none is dirty any more, and the next sync succeeds.
//
// Nothing is random but by the seed, so that a run can be repeated.
//
// The package assumes, as the log does, that a crash amid a write changes no bytes outside of it.
package crashfs
