// Package tile writes and reads the tiles of a history (package history): the intervals of up to 64
// attributes that end in one span of time, as packed numbers. It knows bytes, and neither
// attributes nor views.
//
// A Sealer makes tiles of intervals that have ended, in the memory of Chunks. A Ref is the entry of a
// directory: where a tile is, and the widths of its numbers. Open finds the parts of a tile from it
// without a look at the tile. Tiles never change, so any number of goroutines may read them.
//
// # A tile in bytes
//
// Little endian. An end is kept as a number of w bits that counts from a base: the latest
// end less 2^w - 1. The directory has w, the bits of a code and of a word, and flags for
// nulls, a dictionary, and wide counts.
//
//	+0   u64  the least word
//	+8   u16  words in the dictionary
//	+10  u8   entries of each slot in the mask; u16 if counts are wide
//	     u8   high byte of each end (all of it if w < 9)
//	     w-8 bits of each end, packed
//	     words of the dictionary less the least, packed
//	     codes: words less the least, or places in the dictionary; packed
//
// With nulls, code 0 is null and the others are one more. A word stands for a value: an
// int, a float's bits, the code of a text in the history's interner. The high bytes are
// searched eight at a time with plain 64-bit arithmetic.
//
// # Pages
//
// A chunk of a history that is in a file is a page: Pages writes it once it is full, and lets it leave the
// memory. A Ref of such a tile has the flag Apart, and its page in the place of its chunk. Open reads the
// page if need be, and panics if it cannot, so that the many loops over tiles have no way of errors. Catch
// makes an error of that at the edge of a query.
//
// Offsets come from this package alone: it wrote the header of each tile, or package history has
// checked it (Ref.Size), or it has checked the tile of a page itself, before a tile is opened. Therefore
// loads are not checked against bounds.
//
// Each page is an atomic pointer; a lock is around which pages stay in memory.
package tile
