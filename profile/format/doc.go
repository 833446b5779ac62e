// Package format detects and decodes the formats of profiles. A format is a file here. Input that bytes
// alone do not identify, such as OTLP, is decoded where it arrives, into the same Decoded.
//
//	F1  A format is detected by its content, gzipped or not, and never by the name of a file.
//	F2  Memory is bounded by the limits before it is allocated. No input panics.
//	F3  Other bytes are taken for pprof, because its decoder says what is wrong with them: profile.ErrProfile.
package format
