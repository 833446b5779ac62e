// Package cold reads and writes a table's rows in files, bucket by bucket. A bucket whose rows are in a
// file can be cold: its rows are not in memory (catalog.Cold). A read takes the granules that it needs, and
// the dictionaries, through a cache. Later rows are in granules of the table. Their bounds differ from the
// bounds in the file, so a read joins them to the file's granules.
//
//	file     |  a .. f  |  f .. m  |   m .. z   |
//	memory   |     a .. k     |     k .. z      |    rows since
//	read     |  a .. f  |  f .. m  |   m .. z   |    each with its rows from both
//
// A read without wide columns (granule.IsWide) skips their bytes, unless rows in memory are joined to the
// granule, because a merge needs all columns. A search for an id reads a page of each granule first
// (Files.FindID).
//
// Writing a bucket reads it the same way, one granule at a time.
//
// # Invariants
//
//	S1  A read of a bucket yields each of its rows once, whether it is in memory or in the file.
//	S2  A file stays while the current root, or a root that is read, has cold rows in it.
//	S3  A cached value keeps no dictionaries in memory, except dictionaries that the cache counts.
//
// Files that older roots can need are listed under a lock, a leaf (Obsolete).
package cold
