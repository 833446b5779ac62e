// Package golang reads Go execution traces: the states of goroutines and procs, the work of the
// collector, and CPU samples with their own time, goroutine and stack. [Reader] turns bytes into events,
// and [Follower] writes the events of a process's traces into a history.
//
//	Goroutines/17           running, runnable, waiting (chan receive), syscall; null if there is none
//	Goroutines/17/goid      the number of the goroutine in this place
//	Goroutines/17/function  its first function, if the trace has it, as far back as is not committed
//	Procs/0                 running or idle
//	GC                      marking or off
//	GC/stopped              why the world is stopped; null while it runs
//
// With FollowOptions.Wakes there is what woke a goroutine, by the number of its attribute at the instant of the wake:
//
//	Goroutines/17/woken by  the number of the goroutine that unblocked it last, or that of its place; null if it was none
//
// With FollowOptions.Resumable there is the attribute Clock: how much later dates are than the trace's clock, in
// nanoseconds. A trace that is imported whole has more, and no goid, which is the name of the attribute:
//
//	Goroutines/17/range     what it does for the collector, such as GC mark assist; Procs/0/range likewise
//	Goroutines/17/regions   how many regions it is in; regions/1 is the name of the outermost one
//	Goroutines/17/log       a category and a text, at their instant; Logs if it is of no goroutine
//	Goroutines/17/label     the label of the runtime, such as GC (dedicated)
//	Procs/0/goroutine       the number of the goroutine that it runs
//	Tasks/request/3         running; its child parent is the number of the task in which it is
//	Metrics                 heap bytes, heap goal bytes, GOMAXPROCS
//
// # Invariants
//
//	G1  A Reader yields the changes of a trace in the order of time. A state from before the trace is one at the trace's
//	    begin after ReadAhead, and else where the first generation tells of it. Times are in the trace's clock: nanoseconds
//	    of a clock that only the first clock snapshot in the trace (Go 1.25 and later) relates to dates.
//	G2  Bytes that are no trace are ErrFormat, too many bytes ErrLimit. No bytes panic. A trace with a whole generation
//	    is read up to its first fault (Reader.Broken). Memory is proportional to the bytes of the trace's largest
//	    generation, about a second. A trace of Go 1.11 to 1.21 is in memory as a whole (IsWhole).
//	G3  Windows of one recorder overlap. A Follower ignores events that are not later than the previous window, so
//	    each change counts once. If a window begins after the end of the previous one, the states between them are
//	    null.
//	G4  Times of a history are dates that never go back. If the system's clock was set back between windows, states have
//	    the last time before. Within a window it has no effect.
//	G5  Without FollowOptions.ByID the places of ended goroutines are used again. So a history has
//	    as many attributes as there were goroutines at once, not as there ever were. No name in a
//	    history is ever dropped.
//
// Only reader.go and reader_detail.go import golang.org/x/exp/trace, because that package promises no compatibility.
package golang
