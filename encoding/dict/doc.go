// Package dict holds append-only dictionaries, which map the codes of columns to values. It makes no
// compatibility promise.
//
//   - [Values]: byte strings, each with a code.
//   - [Lists]: lists of UUIDs, each with a code; their elements have codes too, and
//     a record beside them. Stacks are lists of locations.
//   - [ListView]: the lists of one or several dictionaries, for reading; a [Union]
//     makes a view of several. A [ListCursor] and a [RecordReader] read many
//     lists and records of a view.
//
// A code is 1 or more; the code 0 is null.
//
// The entries that a dictionary gained since a mark can be written as an image, and added to a dictionary
// with another seed (AppendImageTo and OpenImage of Values and Lists). Codes stay the same there.
// docs/format/dictionary.md draws the bytes.
//
// # Invariants
//
//	E3  A dictionary only grows. A code, once given, stands for the same value
//	    for as long as the dictionary lives; equal values have equal codes.
//	E4  Reading a dictionary by code takes no lock.
//	E5  Consecutive images have everything that came before the last of
//	    them was begun: values, elements, lists, and records of elements that
//	    an earlier image had without a record.
//	E6  If an image is opened without an error, a dictionary with it can be
//	    read, searched and extended without a panic.
//	E7  The records of an image of version WholeRecords get the same texts
//	    (records.addTexts) in every release, because images that follow it
//	    have the codes that these texts get when it is opened.
//
// The package does not depend on columns, rows or Arrow. docs/decisions/0010 explains the form of lists.
//
// # Mutable state
//
// A dictionary is append-only: a lock to add, none to read by code, or to find lists and elements. An element without a record can get one.
// Hashes and slots of a dictionary that was read from an image are made once, under the lock.
package dict
