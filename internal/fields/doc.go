// Package fields writes and reads the numbers and strings that describe an image: varints (of
// protocol buffers: 7 bits a byte, the lowest first) and bytes, one after the other. A field has
// no tag; writer and reader agree on the order.
//
// The reader trusts nothing. It has a limit for each field, and allocates nothing.
package fields
