// Package ihs reads and writes interval sets: recorded state histories in files, for import, export, tests
// and benchmarks.
//
// A set is two gzip files. NAME.ihs.gz holds the intervals, ordered by end; NAME.attrs.tsv.gz holds the
// attribute tree. In the first file, fixed-size numbers are little-endian, uv is an unsigned varint as in
// encoding/binary, and zz is a signed one:
//
//	"IHS1"                  magic
//	uv   keys               attributes are numbered from 0
//	uv   intervals
//	i64  start of the set   nanoseconds
//	i64  end of the set     inclusive
//	then for each interval
//	uv   key
//	zz   end - previous interval's end (first: - start of the set)
//	uv   end - start        both inclusive
//	u8   kind               0 null, 1 int, 2 long, 3 float, 4 string
//	     value              null: nothing; int, long: zz; float: its 8 bytes;
//	                        string: uv length, bytes
//
// The second file is text: a heading, then a line for each key in order, "key TAB parent TAB name". A
// parent of -1 is the root.
//
// [Reader] and [Writer] stream a set's intervals and keep none of them. [Set] is a set in memory, as columns.
// [Synth] computes sets of any size from a formula. The package does not depend on package history.
//
// # Invariants
//
//	S1  Each interval from a Reader is valid alone: the key is below the number of
//	    keys, start <= end, both are within the set, ends do not decrease, an int has
//	    32 bits, a string is UTF-8 and within the limits.
//	S2  Memory is proportional to the bytes read, never to a count in the input.
//	S3  A Reader returns exactly the intervals that a Writer accepted.
//	S4  In a set that passes Check, each key has exactly one interval at each instant
//	    from the start of the set to its end.
package ihs
