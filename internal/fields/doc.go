// Package fields writes and reads the numbers and strings that describe an image: varints (of
// protocol buffers: 7 bits a byte, the lowest first) and bytes, one after the other. A field has
// no tag; writer and reader agree on the order. A Dump draws an image:
//
//	0000  ac 02           rows 300        Uint
//	0002  03              low -2          Int, zigzag
//	0003  04              text 4          Text: its length,
//	0004  6e 61 6d 65     text            and its bytes
//
// # Invariants
//
//	F1  What a Writer writes, a Reader reads: TestRoundTrip.
//	F2  A number has one form. A Reader refuses one in more bytes than it needs.
//	F3  A Reader trusts nothing. It has a limit for each field, allocates nothing but its error,
//	    and reads nothing behind the first error, which names the structure, the field and the place.
package fields
