// Package protobuf reads messages of protocol buffers field by field, without their definitions, for the readers of
// recordings. [Message] reads bytes in memory. [Messages] reads a stream whose top message is a list:
//
//	0a 05 0d 01 00 00 00     the tag 0a: field 1, of bytes; the size 5; five bytes, which are the first message
//	0a 02 18 07              the next one
//	10 80 01                 another field of the top message, a varint, which is skipped
//
// A varint has 7 bits a byte, the lowest first. Package profile/pprof has a reader of its own, which works on strings and is inlined, and
// internal/fields one that refuses numbers in more bytes than they need.
//
// # Invariants
//
//	B1  Malformed bytes set Message.Bad, and end the message. For Messages they are an error with the byte. No bytes panic.
//	B2  Message copies no bytes, and allocates none but for the lists of Numbers, which have 8 bytes a number.
//	B3  Messages has one message in memory, of at most MaxMessage. Memory grows with the bytes that are there, not with
//	    the length that is announced.
package protobuf
