// Package esht is the enhanced State History Tree of L. Prieur-Drevon, R. Beamonte, N.
// Ezzati-Jivan and M. R. Dagenais, "Enhanced state history tree (eSHT): a stateful data
// structure for analysis of highly parallel system traces", IEEE BigData Congress 2016,
// doi:10.1109/BigDataCongress.2016.19, in the two steps that Table II of the R-SHT paper
// measures apart. Both are the SHT (package sht) but for what this table says.
//
//	oSHT  siblings overlap: a new one begins with the interval    package branch, siblingStart
//	      that had no room, so that leaves fill
//	      headers have the ends of children                       package block, Ranges
//	eSHT  headers also have the least and greatest key            package block, Boxes
//	both  a query opens each child that the header leaves open    package query
//
// A node begins no earlier than its parent, as in Trace Compass. Where intervals are long this
// makes the tree somewhat deeper than a packed one; a query for one key may read many leaves,
// and more the more keys there are.
package esht

import (
	"github.com/granarydb/granary/bench/trees/block"
	"github.com/granarydb/granary/bench/trees/branch"
)

// New returns an empty eSHT whose history begins at start. Storage must be empty.
func New(storage block.Storage, start int64) *branch.Tree {
	return branch.New(storage, block.Boxes, start)
}

// Open opens a closed eSHT. The error is block.ErrDamaged or one of storage.
func Open(storage block.Storage) (*branch.Tree, error) { return branch.Open(storage, block.Boxes) }

// NewOverlapping returns an empty oSHT: an eSHT without the keys in the headers.
func NewOverlapping(storage block.Storage, start int64) *branch.Tree {
	return branch.New(storage, block.Ranges, start)
}

// OpenOverlapping is Open for an oSHT.
func OpenOverlapping(storage block.Storage) (*branch.Tree, error) {
	return branch.Open(storage, block.Ranges)
}
