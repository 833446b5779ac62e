// Package self profiles the program that it is in: [Profile] inserts the process's CPU, heap, goroutine,
// mutex and block profiles into a store, and, if it is asked to, what each goroutine does and which
// goroutine each CPU sample is of. It needs no HTTP server; package server can show the store.
//
//	every 10 s    CPU for 9 s           process_cpu     samples, cpu
//	              then the heap         memory          inuse_*, and alloc_* since the last one
//	              goroutines            goroutine
//	              locks                 mutex, block    contentions and delay since the last ones
//	              leaks, if Go has it   goroutineleak   once a minute, as it runs the collector
//	with States   CPU samples           goroutine_cpu   oncpu, each at its own time, with the number labels
//	                                                    goid and track
//	              states                Options.States  Goroutines/{track}, Procs, GC: see package gotrace
//
// The left column is the label __name__. Samples of goroutine_cpu are those of process_cpu again, so their type has
// another name, and no sum has both. A track is a place of goroutines that are not there at once: a
// history never drops a name, and a process can start thousands of goroutines a second.
//
// # Invariants
//
//	L1  Profile runs once in a process. It starts no goroutine that outlives it, and ends with its context.
//	L2  It changes no setting of the runtime. Without runtime.SetMutexProfileFraction and
//	    runtime.SetBlockProfileRate the mutex and block profiles are empty, as for anyone.
//	L3  A process has one CPU profile and one flight recorder at a time. If another has it, Profile goes without,
//	    says so by Options.Notify, and tries again. It stops none but its own, and leaves one second in ten
//	    to others, such as /debug/pprof/profile; to one that comes in the other nine Go returns an error.
//	L4  Profiles of one instant are one transaction, and samples and states of one window are another. What
//	    fails is said by Options.Notify and does not come again; the next is not affected.
//	L5  Memory is that of the store, within its budget, and of one profile and one window at a time: a few MiB.
package self
