// Package profile keeps profiles in a store and answers queries about them.
//
// It defines the profiling schema, turns pprof profiles into rows and symbols and back, selects profiles
// by label ({job="api", pod=~"x.*"}), and answers a profiling server's queries: types and labels, sums by
// stack, by labels and over time, single profiles, differences, searches, flame graphs.
//
//	pprof bytes -> DB.InsertEncoded -> rows, symbols beside their locations
//	a pprof.Profile in memory -> DB.Insert -> the same
//
//	Query: labels, times, frames of stacks, a trace; of a Snapshot
//	  |     reads series only
//	  +-> DB.Types, Kinds, LabelNames, LabelValues, Series    types and labels
//	  |     reads rows, on codes
//	  +-> DB.Merge   -> Stacks ------------+-> Top, All, FlameGraph, Sandwich
//	  +-> DB.MergeBy -> Stacks of each ----+-> Search, Scale, Normalize -> Stacks
//	  |                                    +-> DiffTop
//	  +-> DB.MergeByState -> Stacks of each state that a history has for the samples
//	  +-> DB.Range    -> lines over time
//	  +-> DB.Profiles -> times and totals of profiles
//	  +-> DB.Profile  -> a pprof profile
//
// NewStackTable and MappedFiles read the locations of any aggregation of the table, as columns.
//
// Stacks are codes and sums. A location's record is decoded when its first frame is read, once per
// answer. A pattern is matched once for each distinct name.
//
// # Rows
//
// A row is a nonzero value of a sample type in a sample. A row's stack is a list of location ids. An id
// is a UUID: a hash of the location's mapping, address and lines. The same code in two processes is
// therefore one location. Its record is stored beside its id, once in each generation.
//
// # Invariants
//
//	P1  Merging in the store and merging the profiles give the same result: the same stacks,
//	    labels and values as go tool pprof. (Times and durations come from rows; DB.Profile
//	    lists the losses. Gauges are means unless Query.SumGauges is set, and kinds are not
//	    added up unless Query.SumKinds is. Each profile's own patterns drop its frames,
//	    not the patterns of the first.)
//	P2  A profile is inserted completely, in one transaction, or not at all.
//	P3  Equal locations have equal ids; locations that a person or a symboliser can tell
//	    apart have different ones.
//	P4  A missing label equals the empty string in a selector (Prometheus).
//	P5  Input is limited before it is decoded, and its rows before they are built; no input
//	    panics.
//	P6  Bytes are accepted or refused as google/pprof and the limits require (C1 of
//	    profile/pprof), unless they lack a plausible time. Their rows match the profile
//	    that google/pprof decodes and drops frames from.
//	P7  An answer equals a search of the snapshot row by row, however much of it is
//	    compacted and over however many generations. A location is identified by its id: it
//	    has a code in each generation.
//	P8  No answer adds up values from profiles of several kinds, unless Query.SumKinds is set. A
//	    kind is a label NameLabel, or a set of types without it, because agents of one kind list
//	    different types. Profiles with equal labels have one kind. Without the label, types whose
//	    name says what they measure, such as cpu, are of one kind, whatever the set.
//
// # From profiles to rows
//
// Package profile/pprof decodes bytes, or a profile in memory, into a flat profile, and drops the frames
// that the profile tells to drop (decision 0008). Package internal/rows checks it, assigns its labels to
// columns and turns it into rows. A DB keeps the memory of these steps for the next profile, so that an
// insert allocates little more than the store keeps.
//
// Addresses without lines stay addresses, unless Options.Names has names for them.
//
// A table of profiles keeps the lists of types of the last question behind an atomic pointer.
package profile
