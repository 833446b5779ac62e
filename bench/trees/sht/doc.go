// Package sht is the State History Tree of A. Montplaisir-Gonçalves, N. Ezzati-Jivan, F.
// Wininger and M. Dagenais, "State History Tree: An Incremental Disk-Based Data Structure for
// Very Large Interval Data", SocialCom 2013, doi:10.1109/SocialCom.2013.107; its queries are
// those of the authors' "Efficient Model to Query and Visualize the System States Extracted
// from Trace Data" (single, full, and both while the history is built).
//
// Where the ideas are:
//
//	nodes are blocks of 64 KiB, at most 50 children                package block, node.go
//	intervals in records of 25 bytes, strings from the other end   package block, record.go
//	incremental insertion into the latest branch                   package branch, insert.go
//	siblings, new roots, no balancing                              package branch, split.go
//	ad-hoc (single) and full queries                               package query
//
// Siblings tile time, so a query reads one node a level. The price comes with intervals that
// outlast a leaf: they go up, the upper nodes fill, and each split there closes leaves that are
// nearly empty. Files and depths grow far beyond the data; the eSHT paper models it.
package sht

import (
	"github.com/granarydb/granary/bench/trees/block"
	"github.com/granarydb/granary/bench/trees/branch"
)

// New returns an empty tree whose history begins at start. Storage must be empty.
func New(storage block.Storage, start int64) *branch.Tree {
	return branch.New(storage, block.Starts, start)
}

// Open opens a closed tree. The error is block.ErrDamaged or one of storage.
func Open(storage block.Storage) (*branch.Tree, error) { return branch.Open(storage, block.Starts) }
