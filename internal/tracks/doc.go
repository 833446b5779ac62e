// Package tracks turns the slices, instants and counters of a tracer's recording into a history. The readers of formats
// fill a [Timeline], in any order of time, and [Timeline.WriteTo] writes it.
//
// A track is an attribute with slices below it. A slice is a name and the time that it held. Slices that nest are at
// levels:
//
//	Threads/main 7/1            a slice's name; null between slices
//	Threads/main 7/2            the name of a slice within it, and so on
//	Threads/main 7/lane 2/1     a slice that overlaps one at level 1, and is not within it
//	Threads/main 7/instants     the name of an event without a duration, for one nanosecond
//
// Tracers say where a slice ends by the first instant after it, so [1,5) and [5,9) touch: the history has 1 to 4 and 5 to 8.
//
// # Invariants
//
//	T1  Each slice is in the history from its start to the instant before its end, with its own interval, or is counted
//	    in the outcome. The only change is that a slice without duration has one nanosecond, because a history has no
//	    shorter time.
//	T2  The slices of a Nest lie in each other as their times say: at one start the longer is outside, of equal ones that
//	    which began first. Slices of two nests do so only if one is Inside the other. A slice that lies in another one has
//	    its lane, and the level below. Any other has the first lane that is free.
//	T3  The end of a nest ends the innermost open slice with its name, or without a name the innermost. A slice without an
//	    end holds up to the end of the recording.
//	T4  Memory is 32 bytes a slice, 48 more for one of a begin and an end, 24 a point of a counter, 32 a nest, each different
//	    text once, and the attributes of tracks, lanes and levels with a slice. Lists have room for a quarter more.
//	T5  An attribute has values of one kind, whatever the names are: a track is called neither like one beside it nor like a
//	    level or a lane there.
package tracks
