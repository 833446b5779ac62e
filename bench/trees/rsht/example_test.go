package rsht_test

import (
	"fmt"

	"github.com/granarydb/granary/bench/trees/block"
	"github.com/granarydb/granary/bench/trees/rsht"
)

func Example() {
	var storage block.Memory
	tree, err := rsht.New(&storage, rsht.Variable, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	for at := range int64(300_000) {
		if err := tree.Add(block.Interval{Key: uint32(at % 1000), Start: max(0, at-999), End: at, Kind: block.Int, Word: uint64(at / 1000)}); err != nil {
			fmt.Println(err)
		}
	}
	if err := tree.Close(); err != nil {
		fmt.Println(err)
	}
	in, found, err := tree.Single(42, 150_000)
	fmt.Println(in.Word, found, err)
	s := tree.Summary()
	fmt.Println(s.Nodes, "nodes, depth", s.Depth)
	// Output:
	// 150 true <nil>
	// 119 nodes, depth 3
}
