// Package profile keeps profiles in a store and answers what one asks of them.
//
// It knows the profiling schema, turns pprof profiles into rows and symbols and
// back, parses selectors ({job="api", pod=~"x.*"}), and answers what one asks of a
// profiling server: what there is, sums by stack, by labels and over time, single profiles,
// differences, searches, pictures.
//
//	pprof bytes -> DB.InsertEncoded -> rows, symbols beside their locations
//	a pprof.Profile in memory -> DB.Insert -> the same
//
//	Query: labels, times, a function, a trace; of a Snapshot
//	  |     reads series only
//	  +-> DB.Types, LabelNames, LabelValues, Series    what there is
//	  |     reads rows, on codes
//	  +-> DB.Merge   -> Stacks ------------+-> Top, Each, FlameGraph -> WriteSVG
//	  +-> DB.MergeBy -> Stacks of each ----+-> Search -> Stacks
//	  |                                    +-> Diff   -> Stacks
//	  +-> DB.MergeByState -> Stacks of each state that a history has for the samples
//	  +-> DB.Range    -> lines over time
//	  +-> DB.Profiles -> which profiles there are
//	  +-> DB.Profile  -> a pprof profile
//
// Stacks are codes and sums. What a location is, is decoded when the first frame of it is
// asked for, once an answer, and a pattern is tried once for each distinct name.
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
//	P6  Bytes are taken, or refused, as google/pprof and the limits do, and
//	    their rows are those of the profile that google/pprof makes of them.
//	P7  An answer is what one finds by looking at each row of the snapshot by itself,
//	    whatever is compacted and over how many generations. A location is known by its
//	    id: it has a code in each generation.
//
// # Two ways in, one of rows
//
// decode reads bytes, flatten reads a profile in memory. Both make a flat
// profile: slices without pointers, in which each string, function and location is
// once. It is checked, and a batcher makes rows of it. A DB keeps the memory of all
// this for the next profile, so that an insert makes little but what the store
// keeps.
//
//	flat.samples  [ ends of sample 0 | ends of sample 1 | ... ]
//	                  |                  |
//	flat.stack    [ 5 3 1 ............ 7 3 1 ............ ]  locations
//	flat.values   [ v v v v .......... v v v v .......... ]  one a type
//	flat.labels   [ k=v .............. k=v k=7[bytes] ... ]
//
// Addresses without lines stay addresses: symbolising binaries is left to
// others.
package profile
