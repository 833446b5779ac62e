// Package sqlite is a store of intervals in SQLite, by modernc.org/sqlite (without cgo): one
// table, whose primary key (attribute, start) is the table itself.
//
// # Tuning
//
// What SQLite's documentation advises for such a table and such a load:
//
//	WITHOUT ROWID                 the key's b-tree has the rows: a covering index, and no second tree
//	one transaction, prepared     100 rows an INSERT, in the order of the key, so that pages fill up
//	journal_mode OFF, synchronous OFF, locking_mode EXCLUSIVE
//	                              a load that fails loses the file
//	cache_size 256 MiB, mmap_size 4 GiB
//	                              reads are of the mapped file
//	page_size 32 KiB              pages of 4 to 64 KiB differ little (change pageSize)
//
// ANALYZE is not run: with its samples a statement is prepared again for each new argument,
// which takes longer than a single question, and one index needs no choice.
//
// A 2D question is one statement over json_each(keys). It returns the rows of the keys between
// the first and the last time, and the caller's process selects those at the times: a join
// with a table of times costs a search for each row.
//
// SQLite's R*Tree module is no store of such intervals by itself: its coordinates have 32 bits.
package sqlite
