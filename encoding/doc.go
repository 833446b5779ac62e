// Package encoding holds the physical columns of the store: immutable
// sequences of values in one of a few compact layouts, and the append-only
// dictionaries that their codes point into.
//
// Three shapes follow each other in the life of a value:
//
//   - [Vector]: plain Go slices, one value a row. What a caller gives and what
//     an answer is made of. Mutable, owned by whoever made it.
//   - [Words]: the encoded form, an immutable sequence of 64-bit words. Every
//     type of the store is reduced to words: an integer is its own word, a
//     float its bits, a string, a UUID or a list of UUIDs the code it has in a
//     [Dict].
//   - [Column]: words together with what they mean: the type, which rows are
//     null, the dictionary.
//
// Words come in ten layouts. [Encode] takes the encoding that a schema asks
// for and picks the smallest of the layouts that it stands for; [Pack] is quicker,
// for what will soon be encoded again:
//
//	plain    w0 w1 w2 ...                       8 bytes a word
//	packed   min | scale | (w-min)/scale in width bits, end to end
//	runs     value of each run, in blocks | end of each run, packed
//	sparse   a bit a word, 1 where it is not 0 | words that are not 0, in blocks
//	lookup   a table of words | of each row, which of them it has
//
// Blocks are of 128 words, each with a reference and a width of its own, and
// exceptions where a few words need more bits than the others (patched frame of
// reference, PFOR). What is packed in them, after low and scale were taken off, are
//
//	blocks   the words
//	rises    differences of neighbours, most of which are not negative
//	changes  differences of neighbours, zigzag
//	bends    differences of differences, zigzag
//	sliced   the words, bit by bit: the lowest of 64 words, the next of all of them, ...
//
// The greatest common divisor of a column's distances is its scale: CPU times are
// multiples of the sampling period, and sizes of an allocator's steps.
//
// [Words.Dump] shows what lies where, byte by byte; testdata has a *.golden of each layout.
//
// A column of UUIDs that keeps its values itself, as trace ids do, has a filter (blocked
// Bloom) and an index by hash once it is long: a query for one id passes over parts that do
// not have it, and looks at a few hundred ids of one that has.
//
// A dictionary code is 1 or more; the code 0 is null. So a dictionary column
// needs no presence bits, and nulls sort first by code too.
//
// # Invariants
//
//	E1  Decoding is the inverse of encoding: for every layout, At(i), Append, Pick
//	    and Cursor give back the words that Encode was given.
//	E2  Words, Column and every slice inside them never change after they are
//	    built, so any number of goroutines may read them without a lock.
//	E3  A dictionary only grows. A code, once given, stands for the same value
//	    for as long as the dictionary lives; equal values have equal codes.
//	E4  Reading a dictionary by code takes no lock.
//
// The package knows nothing of column names, rows' meaning, transactions or
// Arrow.
package encoding
