// Package names keeps a history's texts: the names of attributes, and the strings and bytes that are
// values.
//
//	Tree      attributes, each with a parent, a name and a number, for their one writer
//	Names     the attributes that existed at one moment, for any number of readers
//	Step      a step of a name pattern
//	Interner  texts of values, each with a code, for their one writer
//	Texts     texts by number or code, for any number of readers
//
// Readers take no lock and do not wait for the writer, which may add texts and take the latest back
// (invariants N1 to N3 of [Tree]). Each text is stored once. Package history has the attributes' states,
// and passes the names on, so its users need not import this package.
//
// Names are atomics: readers ignore names later than their view, and have codes of its texts alone.
package names
