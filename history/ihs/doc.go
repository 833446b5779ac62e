// Package ihs reads and writes interval sets: recorded state histories, as files
// to import, to export, to test with and to measure with.
//
// A set is two files. NAME.ihs.gz has the intervals, in the order in which they
// ended; NAME.attrs.tsv.gz has the tree of attributes that they belong to. Both are
// compressed with gzip. In the first, numbers of several bytes are little-endian, uv
// is an unsigned varint as of encoding/binary, zz a signed one:
//
//	"IHS1"                  what the file is
//	uv   keys               attributes are numbered from 0
//	uv   intervals
//	i64  start of the set   nanoseconds
//	i64  end of the set     inclusive
//	then of each interval
//	uv   key
//	zz   end - end of the interval before (of the first: - start of the set)
//	uv   end - start        both inclusive
//	u8   kind               0 null, 1 int, 2 long, 3 float, 4 string
//	     value              null: nothing; int, long: zz; float: its 8 bytes;
//	                        string: uv length, bytes
//
// The second is text: a line that heads the columns, then a line for each key in order,
// "key TAB parent TAB name"; a parent of -1 is the root.
//
// [Reader] and [Writer] go through a set interval by interval and hold none of them;
// [Set] is one in memory, as columns. [Synth] makes sets of any size from a formula.
// Nothing here knows package history: what reads a set decides what becomes of it.
//
// # Invariants
//
//	S1  What a Reader gives is sound by itself: the key is below the number of
//	    keys, start <= end, both within the set, ends do not decrease, an
//	    int has 32 bits, a string is UTF-8 and within the limits.
//	S2  Memory follows what was read, never what a count in the input promises.
//	S3  What a Writer took without an error, a Reader gives back.
//	S4  In a set that Check finds nothing wrong with, each key has exactly one
//	    interval at each instant from the start of the set to its end.
package ihs
