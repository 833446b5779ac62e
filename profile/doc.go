// Package profile keeps profiles in a store and answers what one asks of them.
//
// It knows the profiling schema, turns pprof profiles into rows and symbols and
// back, parses selectors ({job="api", pod=~"x.*"}), and merges: by stack, to
// the top functions, to a flame graph, to a series over time, to a pprof file.
//
//	pprof bytes -> Parse -> DB.Insert -> rows, symbols beside their locations
//	Query -> DB.Merge   -> Stacks -> Top, FlameGraph
//	      -> DB.Profile -> a pprof profile
//	      -> DB.Range   -> a series over time
//
// # Rows
//
// A row is one value that is not zero, of one sample type, of one sample. The
// stack of a row is a list of location ids; an id is a UUID made from what the
// location is (mapping, address, lines), so the same code seen in two processes
// is one location. What the location is, is kept once beside its id.
//
// # Invariants
//
//	P1  Merging what was inserted gives what merging the profiles gives: the
//	    same stacks, labels and values, as go tool pprof does it. (Times and
//	    durations come from rows; DB.Profile says what that leaves out.)
//	P2  A profile enters whole, in one transaction, or not at all.
//	P3  Equal locations have equal ids; locations that differ in what a person
//	    or a symboliser can see have different ones.
//	P4  A missing label equals the empty string in a selector (Prometheus).
//	P5  Input is limited before it is decoded, and what its rows expand to
//	    before they are made; no input panics.
//
// Addresses without lines stay addresses: symbolising binaries is left to
// others.
package profile
