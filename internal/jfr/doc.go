// Package jfr reads recordings of Java's Flight Recorder, by the JDK or async-profiler, chunk by chunk: their events, and the
// constants that events name. What the events mean is up to its callers.
//
// # Invariants
//
//	J1  A chunk describes the classes of its values. A value is read by its class, whatever the version of the JDK. Fields
//	    that no caller needs are skipped.
//	J2  Bytes that are no chunk are ErrFormat, too many names or elements ErrLimit. The first error of a chunk stays. No
//	    bytes panic. Memory is in proportion to the chunk.
package jfr
