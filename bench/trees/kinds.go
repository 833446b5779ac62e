package main

import (
	"github.com/granarydb/granary/bench/trees/block"
	"github.com/granarydb/granary/bench/trees/esht"
	"github.com/granarydb/granary/bench/trees/rsht"
	"github.com/granarydb/granary/bench/trees/sht"
)

// tree is what all trees can do.
type tree interface {
	Add(block.Interval) error
	Close() error
	Summary() block.Summary
	Single(key uint32, at int64) (block.Interval, bool, error)
	Full(at int64, f func(block.Interval)) error
	Plane(keys []uint32, times []int64, f func(block.Interval)) error
}

// kind is one of the trees.
type kind struct {
	name   string
	create func(storage block.Storage, start int64) (tree, error)
	open   func(storage block.Storage) (tree, error)
}

var kinds = []kind{
	{
		name:   "SHT",
		create: func(s block.Storage, start int64) (tree, error) { return sht.New(s, start), nil },
		open:   func(s block.Storage) (tree, error) { return sht.Open(s) },
	},
	{
		name:   "oSHT",
		create: func(s block.Storage, start int64) (tree, error) { return esht.NewOverlapping(s, start), nil },
		open:   func(s block.Storage) (tree, error) { return esht.OpenOverlapping(s) },
	},
	{
		name:   "eSHT",
		create: func(s block.Storage, start int64) (tree, error) { return esht.New(s, start), nil },
		open:   func(s block.Storage) (tree, error) { return esht.Open(s) },
	},
	packed("R2", 2), packed("R3", 3), packed("R4", 4), packed("vR", rsht.Variable),
}

// packed is an R-SHT with subtrees of a depth.
func packed(name string, depth int) kind {
	return kind{
		name:   name,
		create: func(s block.Storage, start int64) (tree, error) { return rsht.New(s, depth, start) },
		open:   func(s block.Storage) (tree, error) { return rsht.Open(s) },
	}
}
