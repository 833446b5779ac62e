// Package self profiles its own program: [Profile] inserts the process's CPU, heap, goroutine, mutex and
// block profiles into a store, and on request each goroutine's state, and CPU samples with their
// goroutine. It needs no HTTP server. Package server can show the store.
//
//	every 10 s    CPU for 9 s           process_cpu     samples, cpu
//	              then the heap         memory          inuse_*, and alloc_* since the last profile
//	              goroutines            goroutine
//	              locks                 mutex, block    contentions and delay since the last profiles
//	              leaks, if Go has it   goroutineleak   once a minute, because it runs the collector
//	with States   CPU samples           goroutine_cpu   oncpu, each at its own time, with the number labels
//	                                                    goid and track
//	              states                Options.States  Goroutines/{track}, Procs, GC (package trace/golang)
//
// The third column is the label __name__. Samples of goroutine_cpu repeat the samples of process_cpu, so
// their type has another name, and no sum has both. A track is a place that goroutines use one after
// another, because a history never drops a name, and a process can start thousands of goroutines a
// second.
//
// # Invariants
//
//	L1  Profile runs once in a process. It starts no goroutine that outlives it, and ends with its context.
//	L2  It changes no setting of the runtime. Without runtime.SetMutexProfileFraction and
//	    runtime.SetBlockProfileRate the mutex and block profiles are empty.
//	L3  A process has one CPU profile and one flight recorder at a time. If another user has it, Profile skips it,
//	    calls Options.Notify, and tries again. It stops only its own, and leaves one second in ten
//	    to others, such as /debug/pprof/profile. In the other nine Go returns an error to them.
//	L4  Profiles of one instant are one transaction, and samples and states of a window are another. A failure
//	    is passed to Options.Notify and not repeated. It does not affect the next profile.
//	L5  It takes the memory of the store, within its budget, and of one profile and one window at a time: a few MiB.
package self
