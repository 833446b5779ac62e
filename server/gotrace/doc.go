// Package gotrace reads Go execution traces: the states of goroutines and procs, the work of the
// collector, and CPU samples with their own time, goroutine and stack. [Reader] turns bytes into
// events, and [Follower] writes the events of one or more traces of a process into a history.
//
//	Goroutines/17           running, runnable, waiting (chan receive), syscall; null if there is none
//	Goroutines/17/goid      the number of the goroutine that has this place
//	Goroutines/17/function  its first function, if the trace has it
//	Procs/0                 running or idle
//	GC                      marking or off
//	GC/stopped              why the world is stopped; null while it runs
//
// # Invariants
//
//	G1  A Reader yields what a trace has, in the order of time. Times are those of the trace: nanoseconds of
//	    a clock that only a clock snapshot of the trace (Go 1.25 and later) relates to dates.
//	G2  Bytes that are no trace are ErrFormat, too many of them ErrLimit. No bytes panic. Memory is
//	    proportional to the bytes of the largest generation of the trace, about a second of it.
//	G3  Windows of one recorder overlap. A Follower ignores all that is not later than the window before, so
//	    each change counts once. If a window begins later than the one before ended, the states between them are
//	    null.
//	G4  Times of a history are dates that never go back: where the clock of the system did, states are
//	    at the time of those before.
//	G5  Without FollowOptions.ByID the places of goroutines that ended are used again. So a history has
//	    as many attributes as goroutines were there at once, and not as many as there ever were. No name of a
//	    history is ever dropped.
//
// reader.go alone imports golang.org/x/exp/trace, which promises no compatibility.
package gotrace
