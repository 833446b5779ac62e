// Pruner drops the frames that a flat profile tells to drop. Deltas subtracts the previous profile of the
// same process.
//
// The package depends on neither rows nor the store: package profile turns a flat profile into rows. It
// makes no compatibility promise.
package pprof
