// Package order finds the first rows and groups of an answer in the order of any columns.
//
//	By --FirstRows--> the values of rows as bytes that sort --First--> places of rows
//
// First is a heap with as many items as the answer. Words makes integers that compare like the values of a
// fixed type; aggregates also use it. Only the order's columns are decoded.
//
// # Invariants
//
//	O1  The order is total: rows with equal values are in the order of an ordered scan, so
//	    maintenance does not change an answer.
//	O2  An order takes memory only for the rows that are kept, however many are read.
package order
