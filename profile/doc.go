// Package profile keeps profiles in a store and answers questions about them.
//
// It knows the profiling schema, turns pprof profiles into rows and symbols and
// back, chooses by selectors ({job="api", pod=~"x.*"}), and answers the questions of a
// profiling server: types and labels, sums by stack, by labels and over time, single profiles,
// differences, searches, pictures.
//
//	pprof bytes -> DB.InsertEncoded -> rows, symbols beside their locations
//	a pprof.Profile in memory -> DB.Insert -> the same
//
//	Query: labels, times, a function, a trace; of a Snapshot
//	  |     reads series only
//	  +-> DB.Types, LabelNames, LabelValues, Series    types and labels
//	  |     reads rows, on codes
//	  +-> DB.Merge   -> Stacks ------------+-> Top, Each, FlameGraph
//	  +-> DB.MergeBy -> Stacks of each ----+-> Search -> Stacks
//	  |                                    +-> Diff   -> Stacks
//	  +-> DB.MergeByState -> Stacks of each state that a history has for the samples
//	  +-> DB.Range    -> lines over time
//	  +-> DB.Profiles -> times and totals of profiles
//	  +-> DB.Profile  -> a pprof profile
//
// Stacks are codes and sums. The record of a location is decoded with its first frame,
// once an answer, and a pattern is tried once for each distinct name.
//
// # Rows
//
// A row is one value that is not zero, of one sample type, of one sample. The
// stack of a row is a list of location ids; an id is a UUID, a hash of the
// location's mapping, address and lines, so the same code seen in two processes
// is one location. Its record is kept once beside its id.
//
// # Invariants
//
//	P1  Merging in the store and merging the profiles give one result: the
//	    same stacks, labels and values, as go tool pprof does it. (Times and
//	    durations come from rows; DB.Profile lists the losses.)
//	P2  A profile enters whole, in one transaction, or not at all.
//	P3  Equal locations have equal ids; locations that a person or a
//	    symboliser can tell apart have different ones.
//	P4  A missing label equals the empty string in a selector (Prometheus).
//	P5  Input is limited before it is decoded, and its rows
//	    before they are made; no input panics.
//	P6  Bytes are taken, or refused, as google/pprof and the limits do (C1 of profile/pprof),
//	    and their rows are those of the profile that google/pprof makes of them.
//	P7  An answer equals that of a search of the snapshot row by row,
//	    whatever is compacted and over how many generations. A location is known by its
//	    id: it has a code in each generation.
//
// # Two ways in, one of rows
//
// profile/pprof makes a flat profile of bytes or of a profile in memory. It is checked, its
// labels get columns, and a batcher makes rows of it. A DB keeps the memory of all
// this for the next profile, so that an insert allocates little more than the
// store keeps.
//
// Addresses without lines stay addresses: symbolising binaries is left to
// others.
package profile
