// Package order finds the first rows and groups of an answer, by any of its columns.
//
//	By --FirstRows--> the values of rows as bytes that sort --First--> places of rows
//
// First is a heap of as many items as the answer has. Words makes integers that compare like
// the values of a fixed type; aggregates use it too. No row is decoded but for the columns of
// the order.
//
// # Invariants
//
//	O1  The order is total: rows with equal values are in the order of an ordered scan, so
//	    maintenance does not change an answer.
//	O2  The memory for an order is that of the rows kept, however many are read.
package order
