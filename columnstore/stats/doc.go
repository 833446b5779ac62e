// Package stats is what a store has and has done, in numbers. Package columnstore has its Stats under that
// name, and documents when it is made.
//
// The numbers are sums over the tables of one root, and over the files of a directory. The package knows no store: it
// gets tables, dictionaries and files, and adds them up.
//
// The package makes no compatibility promise: it is a room of package columnstore.
package stats
