// Package pprof decodes pprof profiles into flat ones: slices without pointers, in which each
// string, function and location stands once. Reader and Decode read bytes, Flatten reads
// a profile of github.com/google/pprof in memory.
//
//	flat.Samples  [ ends of sample 0 | ends of sample 1 | ... ]
//	                  |                  |
//	flat.Stack    [ 5 3 1 ............ 7 3 1 ............ ]  locations
//	flat.Values   [ v v v v .......... v v v v .......... ]  one a type
//	flat.Labels   [ k=v .............. k=v k=7[bytes] ... ]
//
// It knows no rows and no store: package profile makes rows of a flat profile. The machine
// rooms of this module make no compatibility promise, and this is one of them.
//
// # Invariants
//
//	C1  Decode takes the bytes, and Flatten the profiles, that google/pprof takes as valid
//	    and that are within the limits, and no others. Two equal sample types are the
//	    exception: both refuse them.
//	C2  Both give the same samples for the same profile.
//	C3  Memory is bounded by the limits before it is allocated; no input panics.
package pprof
