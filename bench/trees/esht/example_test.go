package esht_test

import (
	"fmt"

	"github.com/granarydb/granary/bench/trees/block"
	"github.com/granarydb/granary/bench/trees/esht"
)

// Pixels of two keys: a 2D query.
func Example() {
	var storage block.Memory
	tree := esht.New(&storage, 0)
	for at := range int64(10_000) {
		if err := tree.Add(block.Interval{Key: uint32(at % 10), Start: max(0, at-9), End: at, Kind: block.Int, Word: uint64(at)}); err != nil {
			fmt.Println(err)
		}
	}
	if err := tree.Close(); err != nil {
		fmt.Println(err)
	}
	// Two keys at three times: an interval each.
	err := tree.Plane([]uint32{3, 4}, []int64{1000, 2000, 3000}, func(in block.Interval) {
		fmt.Println(in.Key, in.Start, in.End)
	})
	fmt.Println(tree.Summary().Depth, tree.Summary().Nodes, err)
	// Unordered output:
	// 3 994 1003
	// 3 1994 2003
	// 3 2994 3003
	// 4 995 1004
	// 4 1995 2004
	// 4 2995 3004
	// 2 5 <nil>
}
