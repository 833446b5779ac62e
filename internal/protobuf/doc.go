// Package protobuf reads messages of protocol buffers field by field, without their definitions, for the readers of
// recordings. It copies no bytes, and allocates none but for the lists of Numbers.
//
// # Invariants
//
//	B1  Malformed bytes set Message.Bad, and end the message. No bytes panic.
//	B2  Messages reads one message at a time. Its memory grows with the bytes that are there, not with those that are
//	    announced.
package protobuf
