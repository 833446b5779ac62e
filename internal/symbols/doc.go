// Package symbols turns the stacks of an answer, which are codes, into functions: it decodes a location's
// record when its first frame is read, once per answer. Large answers read the frames of all locations from a table beside
// the dictionary, which is made once.
//
//	Resolver  the symbols of one answer
//	  +-> Walker  stacks -> Symbols, leaf first, without the frames that the resolver leaves out
//	        +-> frameTable  the frames of a dictionary's locations
//
//	HasFunction, HasFrame, HasShown: conditions on a location's record
//
// A pattern is tried once for each distinct name.
//
// It knows codes, lists and records, and neither the store nor values.
package symbols
