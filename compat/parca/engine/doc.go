// Package engine lets FrostDB's engine, and so Parca's own querier, read a table of samples in a Granary store.
// It is the only package of the module that imports FrostDB.
//
//	clients of Parca -> query.ColumnQueryAPI -> parcacol.Querier -> FrostDB's engine -> NewProvider
//
// A program needs it only to compare: parca.Querier answers the same without the engine, and faster.
//
// # Invariants
//
//	PE1  If a filter of FrostDB's engine holds for a row, so does the condition that a scan gets for
//	     it. A null literal means that a label is missing; it is not a text.
//	PE2  A record for FrostDB's engine has a label column only if each of its rows has the label.
package engine
