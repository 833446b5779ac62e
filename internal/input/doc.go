// Package input resolves an argument of a command to profiles and reads them: a file, a directory, an http
// URL, host:port or - for standard input. The commands in two modules share it, so that they accept the
// same inputs and keep the same limits.
//
// # Invariants
//
//	I1  A directory's profiles are in the order of their names. An inaccessible
//	    entry is an error with its name; it is not omitted.
//	I2  A profile of more than MaxBytes, or a fetch that takes longer than Timeout, is an error.
package input
