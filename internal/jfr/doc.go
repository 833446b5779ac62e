// Package jfr reads recordings of Java's Flight Recorder, by the JDK or async-profiler, chunk by chunk: their events, and the
// constants that events name. What the events mean is up to its callers, trace/jfr and profile/format. A recording is
// chunks behind each other:
//
//	header     68 bytes: FLR and 0, version, size of the chunk, places of pools and metadata, start, ticks a second
//	event      its size, its class, its fields; such events follow each other, among them
//	metadata   an event with the classes: names, then a tree of elements that have names as attributes
//	pools      an event with constants by class and id, and the distance to the pools before it
//
// Numbers behind the header have 7 bits a byte, the lowest first, and 8 bits in a ninth byte.
//
// # Invariants
//
//	J1  A chunk describes the classes of its values. A value is read by its class, whatever the version of the JDK. Fields
//	    that no caller needs are skipped.
//	J2  Bytes that are no chunk are ErrFormat, too many names or elements ErrLimit. The first error of a chunk stays. No
//	    bytes panic.
//	J3  Memory is in proportion to the chunk, and so is the time of Read and Events. TextAt and Record read a constant again in
//	    each call, which may have most of the chunk's bytes: callers keep what they read, by its id. Label and Class do.
package jfr
