// Package pprof decodes pprof profiles into flat profiles: slices that refer to each other by
// index, in which each string, function and location occurs once. Reader and Decode read
// bytes. Flatten reads a profile of github.com/google/pprof in memory.
//
//	flat.Samples  [ ends of sample 0 | ends of sample 1 | ... ]
//	                  |                  |
//	flat.Stack    [ 5 3 1 ............ 7 3 1 ............ ]  locations
//	flat.Values   [ v v v v .......... v v v v .......... ]  one a type
//	flat.Labels   [ k=v .............. k=v k=7[bytes] ... ]
//
// A location also has a record, the bytes that a store keeps beside its id.
// Flat.AppendLocation writes it, ParseLocation and AppendNames read it. LocationRecord lists
// its parts, and an Assembler makes locations of google/pprof from them. A store keeps most
// records as codes of texts (package encoding/dict): RecordDecoder and LocationColumns read many of them.
//
// Pruner drops the frames that a flat profile tells to drop. Deltas subtracts the previous
// profile of the same process, which OpenDeltas also keeps in a file.
//
// The package depends on neither rows nor the store: package profile turns a flat profile into
// rows. It makes no compatibility promise.
//
// # Invariants
//
//	C1  Decode accepts the bytes, and Flatten the profiles, that google/pprof accepts as valid
//	    and that are within the limits, and no others. The exceptions are profiles without
//	    sample types, and with two equal sample types: both functions refuse them.
//	C2  Both give the same samples for the same profile.
//	C3  Memory is bounded by the limits before it is allocated; no input panics.
//	C4  A profile after Pruner.Prune has the same stacks as in google/pprof, or is unchanged
//	    after an error, because the steps of its patterns are bounded.
package pprof
