package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/granarydb/granary/bench/trees/block"
	"github.com/granarydb/granary/bench/trees/query"
	"github.com/granarydb/granary/bench/trees/sht"
)

// TestMain measures a store if run started this process.
func TestMain(m *testing.M) {
	is, err := child(os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if !is {
		goleak.VerifyTestMain(m)
	}
}

// recording makes random intervals that tile time for each key, in the order of their ends, as
// a state system hands them over. Low keys change more often, several may at once, and some values are long.
func recording(rng *rand.Rand, keys, count int, start int64, longest int) (out oracle) {
	began, now := slices.Repeat([]int64{start}, keys), start
	change := func(key int) {
		out = append(out, value(rng, block.Interval{Key: uint32(key), Start: began[key], End: now}, longest))
		began[key] = now + 1
	}
	for len(out) < count {
		now += rng.Int64N(3)
		if key := rng.IntN(1 + rng.IntN(keys)); began[key] <= now {
			change(key)
		}
	}
	now++
	for key := range keys { // all end with the history
		change(key)
	}
	return out
}

// longest is the length of the longest string of a block of 64 KiB.
const longest = 32767

func value(rng *rand.Rand, in block.Interval, longest int) block.Interval {
	in.Kind = block.Kind(rng.IntN(6))
	switch in.Kind {
	case block.Bool:
		in.Word = rng.Uint64N(2)
	case block.Int:
		in.Word = uint64(int64(int32(rng.Uint32())))
	case block.Long, block.Float:
		in.Word = rng.Uint64()
	case block.String:
		in.Text = bytes.Repeat([]byte{byte('a' + rng.IntN(26))}, min(longest, rng.IntN(1<<rng.IntN(11))))
		if rng.IntN(200) == 0 {
			in.Text = bytes.Repeat([]byte("x"), longest)
		}
	}
	return in
}

// ask compares the answers to random questions with the oracle's. Some are for keys and instants that no interval has.
func ask(t *testing.T, name string, rng *rand.Rand, of *sht.Tree, o oracle, keys, count int) {
	t.Helper()
	first, last := o[0].Start-2, o[len(o)-1].End+2
	at := func() int64 { return first + rng.Int64N(last-first+1) }
	key := func() uint32 { return rng.Uint32N(uint32(keys) + 2) }
	for range count {
		one, when := key(), at()
		var want *block.Interval
		if i := slices.IndexFunc(o, func(in block.Interval) bool { return in.Key == one && in.Start <= when && when <= in.End }); i >= 0 {
			want = &o[i]
		}
		var some []uint32
		for range rng.IntN(6) {
			some = append(some, key())
		}
		var times []int64
		for range rng.IntN(12) {
			times = append(times, at())
		}
		_, plane := o.checkPlane(of, some, times)
		err := errors.Join(checkSingle(of, one, when, want), o.checkFull(of, when), plane, checkRange(of, o, some, when, at()))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
}

// checkRange compares the lists of a 2D question for a range of time with the oracle's intervals.
func checkRange(of *sht.Tree, o oracle, keys []uint32, start, end int64) error {
	start, end = min(start, end), max(start, end)
	_, err := o.check(fmt.Sprintf("keys %v from %d to %d", keys, start, end), of, func(in *block.Interval) bool {
		return slices.Contains(keys, in.Key) && in.Start <= end && in.End >= start
	}, func(f func(block.Interval)) error {
		lists, err := query.Lists(func(f func(block.Interval)) error { return of.Range(keys, start, end, f) })
		for key, list := range lists {
			for i, in := range list {
				if f(in); in.Key != key || i > 0 && list[i-1].End >= in.Start {
					return fmt.Errorf("the list of key %d has %+v after %d others", key, in, i)
				}
			}
		}
		return err
	})
	return err
}

// eachTree runs a test with each kind of tree.
func eachTree(t *testing.T, f func(t *testing.T, kind sht.Kind)) {
	for kind, name := range trees {
		t.Run(name, func(t *testing.T) { f(t, sht.Kind(kind)) })
	}
}

// fill adds intervals to a new tree, calls then after each, and closes the tree.
func fill(t *testing.T, storage block.Storage, of sht.Options, o oracle, then func(tree *sht.Tree, added int)) *sht.Tree {
	t.Helper()
	tree, err := sht.New(storage, of)
	for i := 0; i < len(o) && err == nil; i++ {
		if err = tree.Add(o[i]); err == nil {
			then(tree, i+1)
		}
	}
	if err == nil {
		err = tree.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// Every tree gives the oracle's answers while it is built, when it is closed and when it is opened again. Every other
// one has small blocks, so that it is deep and has many subtrees, which vR changes the depth of (1 KiB has 17
// attributes a node).
func TestTrees(t *testing.T) {
	eachTree(t, func(t *testing.T, kind sht.Kind) {
		for seed := range uint64(8) {
			rng := rand.New(rand.NewPCG(seed, 7))
			of := sht.Options{Kind: kind, Start: rng.Int64N(1000) - 500}
			keys, texts := 1+rng.IntN(1<<rng.IntN(9)), longest
			if seed%2 == 1 {
				keys, texts, of.Size, of.Fan = 200+rng.IntN(300), 100, 1<<10, 8
			}
			o := recording(rng, keys, 2000+rng.IntN(9000), of.Start, texts)
			var storage block.Memory
			tree := fill(t, &storage, of, o, func(tree *sht.Tree, n int) {
				if n%1500 == 0 {
					ask(t, fmt.Sprintf("seed %d, %d added", seed, n), rng, tree, o[:n], keys, 8)
				}
			})
			ask(t, fmt.Sprintf("seed %d, closed", seed), rng, tree, o, keys, 16)
			again, err := sht.Open(&storage)
			if err != nil {
				t.Fatal(err)
			}
			ask(t, fmt.Sprintf("seed %d, opened", seed), rng, again, o, keys, 24)
			s := again.Summary()
			if s != tree.Summary() || s.Intervals != uint64(len(o)) || s.End != o[len(o)-1].End || of.Fan > 0 && s.Depth < 4 {
				t.Errorf("seed %d: summary %+v, was %+v", seed, s, tree.Summary())
			}
		}
	})
}

// A block that is cut, and one with a changed bit, give ErrDamaged. A changed block with a right checksum gives
// no panic: the header is checked, levels bound each descent, and values must lie within their block.
func TestTrees_Damaged(t *testing.T) {
	eachTree(t, func(t *testing.T, kind sht.Kind) {
		const size = 1 << 16
		rng := rand.New(rand.NewPCG(5, 5))
		keys := []uint32{0, 1, 2, 3, 4, 5, 6, 7}
		o := recording(rng, len(keys), 4000, 0, longest)
		var storage block.Memory
		nodes := fill(t, &storage, sht.Options{Kind: kind}, o, func(*sht.Tree, int) {}).Summary().Nodes
		readAll := func() error {
			tree, err := sht.Open(&storage)
			if err != nil {
				return err
			}
			return checkRange(tree, o, keys, 0, o[len(o)-1].End)
		}
		forged := 0
		for i := range 140 {
			at := rng.Int64N(int64(nodes)+1) * size
			whole := make([]byte, size)
			if _, err := storage.ReadAt(whole, at); err != nil {
				t.Fatal(err)
			}
			changed := bytes.Clone(whole)
			switch {
			case i < 30:
				changed = whole[:rng.IntN(size)]
			case i < 60:
				changed[rng.IntN(size)] ^= 1 << rng.IntN(8)
			default:
				for range 1 + rng.IntN(3) {
					changed[4+rng.IntN(1<<(3+rng.IntN(13))-4)] = byte(rng.Uint32())
				}
				binary.LittleEndian.PutUint32(changed, crc32.Checksum(changed[4:], crc32.MakeTable(crc32.Castagnoli)))
			}
			_, _ = storage.WriteAt(changed, at)
			damaged := errors.Is(readAll(), block.ErrDamaged)
			if i < 60 && !damaged {
				t.Fatalf("change %d of the block at %d is not found", i, at)
			}
			if i >= 60 && damaged {
				forged++
			}
			_, _ = storage.WriteAt(whole, at)
		}
		if err := readAll(); err != nil || forged == 0 {
			t.Errorf("%v; %d of 80 forged blocks were found", err, forged)
		}
	})
}

// What no tree can store is refused, and changes nothing.
func TestTrees_Errors(t *testing.T) {
	eachTree(t, func(t *testing.T, kind sht.Kind) {
		refused := []block.Interval{
			{Start: 9, End: 30},
			{Start: 25, End: 24},
			{Start: 12, End: 19},
			{Start: 21, End: 30, Kind: block.Bool + 1},
			{Start: 21, End: 30, Kind: block.Bool, Word: 2},
			{Start: 21, End: 30, Kind: block.Int, Word: 1 << 40},
			{Start: 21, End: 30, Kind: block.String, Text: make([]byte, longest+1)},
		}
		tree := fill(t, &block.Memory{}, sht.Options{Kind: kind, Start: 10}, oracle{{Start: 10, End: 20}}, func(tree *sht.Tree, _ int) {
			for _, in := range refused {
				if err := tree.Add(in); !errors.Is(err, block.ErrInterval) {
					t.Errorf("add %+v: %v", in, err)
				}
			}
		})
		for name, err := range map[string]error{"add": tree.Add(block.Interval{Start: 21, End: 30}), "close": tree.Close()} {
			if !errors.Is(err, block.ErrClosed) {
				t.Errorf("%s after close: %v", name, err)
			}
		}
		if s := tree.Summary(); s.Intervals != 1 {
			t.Errorf("%d intervals, want 1", s.Intervals)
		}
	})
}
