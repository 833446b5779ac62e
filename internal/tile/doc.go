// Package tile writes and reads a history's tiles (package history): the intervals of up to 64 attributes
// that end in one span of time, as packed numbers. It knows bytes, and neither attributes nor views.
//
// A Sealer makes tiles from ended intervals, in the memory of Chunks. A Ref is a directory entry: a tile's
// place, and the widths of its numbers. Open finds the tile's parts from it without reading the tile. Tiles
// never change, so any number of goroutines may read them.
//
// # A tile in bytes
//
// Little endian. An end is a w-bit number that counts from a base, which is the latest end minus 2^w - 1.
// The directory has w, the bits in a code and in a word, and flags for nulls, a dictionary, and wide
// counts.
//
//	+0   u64  the least word
//	+8   u16  words in the dictionary
//	+10  u8   entries of each slot in the mask; u16 if counts are wide
//	     u8   high byte of each end (all of it if w < 9)
//	     w-8 bits of each end, packed
//	     words of the dictionary less the least, packed
//	     codes: words less the least, or places in the dictionary; packed
//
// With nulls, code 0 is null and the others are one more. A word stands for a value: an int, a float's
// bits, or a text's code in the history's interner. The high bytes are searched eight at a time with plain
// 64-bit arithmetic.
//
// # Pages
//
// If a history is in a file, its chunks are pages: Pages writes a page once it is full, and lets it leave
// the memory. The Ref of such a tile has the flag Apart, and its page instead of its chunk. Open reads the
// page if need be, and panics if it cannot, because the many loops over tiles have no path for errors.
// Catch turns the panic into an error at the edge of a query.
//
// Loads are not checked against bounds, because offsets come only from this package: it wrote each tile's
// header, or package history has checked it (Ref.Size), or this package has checked the page's tile itself
// before it was opened.
//
// Each page is an atomic pointer; a lock is around which pages stay in memory.
package tile
