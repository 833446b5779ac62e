package sht_test

import (
	"fmt"

	"github.com/granarydb/granary/bench/trees/block"
	"github.com/granarydb/granary/bench/trees/sht"
)

func Example() {
	const thread, cpu = 0, 1
	var storage block.Memory // or an *os.File
	tree := sht.New(&storage, 0)
	for _, in := range []block.Interval{
		{Key: thread, Start: 0, End: 49, Kind: block.String, Text: []byte("waiting")},
		{Key: cpu, Start: 0, End: 99, Kind: block.Int, Word: 7},
		{Key: thread, Start: 50, End: 199, Kind: block.String, Text: []byte("running")},
	} {
		if err := tree.Add(in); err != nil {
			fmt.Println(err)
		}
	}
	in, _, err := tree.Single(thread, 60) // while it is built
	fmt.Printf("%s from %d to %d %v\n", in.Text, in.Start, in.End, err)
	if err := tree.Close(); err != nil {
		fmt.Println(err)
	}

	tree, err = sht.Open(&storage)
	if err != nil {
		fmt.Println(err)
		return
	}
	states := 0
	err = tree.Full(30, func(block.Interval) { states++ })
	fmt.Println(states, err)
	// Output:
	// running from 50 to 199 <nil>
	// 2 <nil>
}
