// Package chrome reads traces in the JSON of Chrome's trace events, as Chromium, Node, PyTorch, clang -ftime-trace, Bazel
// and many libraries write it: an object with the list "traceEvents", or the list alone.
//
//	Processes/node 7/Threads/main 7/1              slices of a thread (B and E, X): the outermost slice's name
//	Processes/node 7/Threads/main 7/2              the name of the slice within it, and so on
//	Processes/node 7/Threads/main 7/lane 2/1       a slice that overlaps another and is not within it
//	Processes/node 7/Threads/main 7/instants       instants (I, i, R), for one nanosecond
//	Processes/node 7/Async/CATEGORY/1              asynchronous slices (b and e, S and F) of a category; those with one
//	Processes/node 7/Async/CATEGORY/lane 2/1       id nest, and others have lanes of their own
//	Processes/node 7/Counters/NAME/SERIES          counters (C): an int, or a float if it has fractions
//
// A process or thread is called by its name and its number, or by its number alone. Without a number it is 0. An id of
// asynchronous slices is one of its process and category, unless id2 says that it is global; such a slice is in the
// process in which it begins. Package internal/tracks has the rules of levels, lanes, times and ends, and what happens to
// slices that break them.
//
// # Invariants
//
//	C1  Times are the trace's, in nanoseconds, plus baseTimeNanoseconds if the trace has it. They are exact: no number
//	    goes through a float. Start and duration are added before digits below a nanosecond are cut off, so slices that touch or nest
//	    in the file do so in the history.
//	C2  Events may be in any order. Events at one time have the order of the file.
//	C3  A trace that breaks off, or whose list is not closed, as a killed program leaves it, is imported up to there, and
//	    Outcome.Lost says so. Bytes without a single event are ErrFormat.
//	C4  What the history cannot have is counted in the outcome: flows, samples, objects, memory dumps. Arguments of
//	    events, and metadata but names, have no effect. Attributes are sorted by name.
//	C5  Memory is a window of 256 KiB, and what package internal/tracks keeps: 32 bytes a slice, 80 if it has a begin and an
//	    end, and each different name once. Nesting of JSON takes none. A name has at most 4 KiB; arguments of a counter have 64 KiB.
package chrome
