// Package names keeps the attributes of a history: a tree in which each has a parent, a name
// and a number.
//
//	Tree    the attributes, for the one goroutine that adds them
//	Names   those that existed at one moment, for any number of readers
//	Step    a step of a pattern of names
//
// Readers take no lock and do not wait for the writer, who may add attributes and take the
// latest ones back (invariants N1 to N3 of [Tree]). Text that several attributes have as their
// name is stored once. Package history has the states of the attributes, and passes the names
// on: users of a history need not import this package.
package names
