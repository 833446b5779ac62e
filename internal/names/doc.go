// Package names keeps the texts of a history: the names of its attributes, and the strings and
// bytes that are values.
//
//	Tree      attributes, each with a parent, a name and a number, for their one writer
//	Names     the attributes that existed at one moment, for any number of readers
//	Step      a step of a pattern of names
//	Interner  texts of values, each with a code, for their one writer
//	Texts     texts by number or code, for any number of readers
//
// Readers take no lock and do not wait for the writer, who may add, and take the latest ones
// back (invariants N1 to N3 of [Tree]). Each text is stored once. Package history has the states
// of the attributes, and passes the names on: users of a history need not import this package.
//
// Names are atomics: readers ignore names later than their view, and have codes of its texts alone.
package names
