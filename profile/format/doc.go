// Package format detects and decodes the formats of profiles. A format is a file here. Input that bytes
// alone do not identify, such as OTLP, is decoded where it arrives, into the same Decoded.
//
// Decode returns profiles, and Insert inserts them. pprof stays encoded on this way. The other formats become profiles in
// memory: a text by sampleBuilder, which interns locations and joins samples that are equal.
//
// # Invariants
//
//	F1  A format is detected by its content, gzipped or not, and never by the name of a file. A few that content does not
//	    tell are decoded only for a sender that names them: Pyroscope's trie, tree and lines.
//	F2  Memory is bounded by the limits before it is allocated. No input panics.
//	F3  Other bytes are taken for pprof, because its decoder says what is wrong with them: profile.ErrProfile.
//	F4  Names that are not UTF-8 pass as they are, because a DB mends and counts them.
//	F5  A product or a sum beyond 64 bits is an error. It never wraps.
package format
