// Package encoding holds the physical columns of the store: immutable sequences of values in a few compact
// layouts. Package dict holds coded columns' dictionaries.
//
// A value takes three forms:
//
//   - [Vector]: plain Go slices, one value per row. Inserts take vectors and queries return them.
//     A vector is mutable and owned by its creator.
//   - [Words]: the encoded form, an immutable sequence of 64-bit words. Every type of the store
//     is reduced to words: an integer is its own word, a float its bits, and a string, a UUID or a
//     list of UUIDs is its code in a dictionary.
//   - [Column]: words with their meaning: the type, the null rows and the dictionary.
//
// Words have ten layouts. [Encode] takes a schema's encoding and picks its smallest layout. [Pack] is faster,
// for words that are encoded again soon.
//
//	plain    w0 w1 w2 ...                       8 bytes per word
//	packed   min | scale | (w-min)/scale in width bits, end to end
//	runs     value of each run, in blocks | end of each run, packed
//	sparse   a bit per word, 1 where it is not 0 | nonzero words, in blocks
//	lookup   a table of words | the index of each row in the table
//
// A block has 128 words. Each block has its own reference and width, and exceptions if a few words need more
// bits than the others (patched frame of reference, PFOR). After `low` and `scale` are taken off, the packed
// values are
//
//	blocks   the words
//	rises    differences of neighbours, most of which are not negative
//	changes  differences of neighbours, zigzag
//	bends    differences of differences, zigzag
//	sliced   the words, bit by bit: the lowest of 64 words, the next of all of them, ...
//
// A column's scale is the greatest common divisor of its distances, because CPU times are multiples of the
// sampling period, and sizes follow an allocator's steps.
//
// The *.golden files of testdata show each layout byte by byte.
//
// A long column of UUIDs that stores its own values, such as trace ids, has a filter (blocked Bloom) and an
// index by hash. A query for one id skips the parts without it, and compares a few hundred ids in a part that
// has it.
//
// Words and columns can be written as an image for a file, and are used in place where it was read
// ([ImageWriter], [ImageReader]). docs/format/part.md draws the bytes.
//
// A dictionary code is 1 or more; the code 0 is null. A dictionary column therefore needs no presence bits,
// and nulls are also the first in code order.
//
// # Invariants
//
//	E1  Decoding is the inverse of encoding: for every layout, At(i), Append, Pick
//	    and Cursor return the words that Encode was given.
//	E2  Words, Column and every slice inside them never change after they are
//	    built, so any number of goroutines may read them without a lock.
//
//	E7  Decoding is the inverse of encoding for an image too. For any image that is
//	    read without an error, all ways of reading its words return the same
//	    words, within the bounds that the reader asked for, without a panic.
//
// Package dict states E3 to E6.
//
// The package makes no compatibility promise, except for the types, encodings and vectors of schemas and
// batches. It does not depend on column names, the meaning of rows, transactions or Arrow.
package encoding
