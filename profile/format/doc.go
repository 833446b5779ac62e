// Package format knows the formats of profiles: which one bytes have, and how to decode them. A format is a file here.
// What a program sends or names in another way than by bytes alone, such as OTLP, is decoded where it arrives, into the
// same Decoded.
//
//	F1  A format is known by its content, gzipped or not, and never by the name of a file.
//	F2  Memory is bounded by the limits before it is allocated. No input panics.
//	F3  Bytes in no other format are taken for pprof, whose decoder says what is wrong with them: profile.ErrProfile.
package format
