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
// Words come in four layouts. [Encode] takes the encoding that a schema asks
// for and picks the smallest layout that keeps its promise:
//
//	plain    w0 w1 w2 ...                       8 bytes a word
//	packed   min | width | (w-min) in width bits, end to end
//	runs     value of each run, packed | end of each run, packed
//	delta    every 128th word, plain | zigzag(w[i]-w[i-1]), packed
//
// A dictionary code is 1 or more; the code 0 is null. So a dictionary column
// needs no presence bits, and nulls sort first by code too.
//
// # Invariants
//
//	E1  Decoding is the inverse of encoding: for every layout, At(i), Append
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
