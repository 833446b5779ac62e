// Package jfr reads the states of threads and of the collector in recordings of Java's Flight Recorder, by the JDK or
// async-profiler. Package profile/format reads their samples.
//
//	Threads/main 1/1         why the thread waits: parked (CLASS), sleeping, entering a monitor (CLASS), waiting on a
//	                         monitor (CLASS), reading or writing a socket or a file; null if it does not
//	GC/collections/1         a collection: its collector and cause
//	GC/pauses/1              a pause of all threads, for a collection
//
// A thread is called by its name and its number in Java, or in the system if it is none of Java. Package internal/tracks has
// the rules of lanes and times.
//
// # Invariants
//
//	J1  A state is there if its event is: the JDK records only waits that are longer than a threshold, 20 ms by default, and
//	    10 ms in its profile settings. Null does not mean that a thread runs.
//	J2  Times are dates, by the start of each chunk and its ticks.
//	J3  A recording that breaks off is imported up to its last whole chunk, and Outcome.Lost says so. Bytes without a whole
//	    chunk are ErrFormat. No bytes panic.
//	J4  Samples are counted in the outcome. Events of other kinds have no effect.
//	J5  Memory is a chunk, which has at most 512 MiB, and 32 bytes a state.
package jfr
