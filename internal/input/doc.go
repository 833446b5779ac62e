// Package input finds and reads the profiles that an argument of a command stands for: a
// file, a directory, an http URL or - for standard input. The commands of two modules
// share it, so that they take the same things for profiles and keep the same limits.
//
// # Invariants
//
//	I1  The profiles of a directory are in the order of their names. What cannot be
//	    looked at is an error with its name, not left out.
//	I2  No more than MaxBytes of a profile are read, nor longer than Timeout of a URL.
package input
