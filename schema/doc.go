// Package schema defines tables: their columns, sorting key and time bucket, and which rows may enter them.
//
// A column is fixed (timestamp) or dynamic: a family (labels) whose concrete columns (labels.pod) come into
// being with their first value. Rows enter as a [Batch] of plain values; [Schema.Check] checks every row.
//
// # The order of rows
//
// The order is defined once, by a byte string per row, its key: rows sort as their keys do under
// bytes.Compare. A bound between granules is such a key, and the sparse index only compares keys.
//
//	key    = [bucket] series suffix
//	bucket = 8 bytes, big endian, sign bit flipped: the start of the bucket, any time
//	series = the leading string columns of the sorting key, the part that all
//	         rows of one profile share
//	suffix = the sorting-key columns after them
//
//	fixed column   00 null | 01 value
//	dynamic family 01 ^name FF value ... 00, concrete columns in name order
//	string, UUID   bytes with 00 as 00 FF, closed by 00 00
//	integer        8 bytes, big endian, sign bit flipped if signed
//	list           4 bytes, big endian: its dictionary code
//
// Names are written with their bits flipped, so that a row that has the first of two columns sorts after a
// row that lacks it: nulls first, in name order.
//
// # Invariants
//
//	S1  Key order is a total order of rows: by sorting-key column, nulls first,
//	    concrete dynamic columns in name order. A column that appears later
//	    never changes the order of rows already there.
//	S2  No key is a proper prefix of another one of the same table, so keys
//	    can be joined and divided without lengths.
//	S3  Rows that pass Check are within the limits of limits.go and fit their
//	    columns; an error names the column and the row.
//	S4  A null and, in a dynamic column, the empty string are the same: no value.
//
// The order departs from the RFC in two ways. Lists of UUIDs (stacks) sort by dictionary code, not by
// bytes: this takes 33 instead of 111 ns a row, and their order means nothing to a reader. A time bucket
// can lead the key, so that pruning by time and retention drop whole granules.
//
// The package does not depend on granules, transactions or Arrow.
package schema
