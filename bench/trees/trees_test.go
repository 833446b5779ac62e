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

// oracle is the list of all intervals that a store took, searched from the front.
type oracle []block.Interval

// fill adds the intervals to a tree, and closes it.
func (o oracle) fill(t *testing.T, tree *sht.Tree) {
	t.Helper()
	for _, in := range o {
		if err := tree.Add(in); err != nil {
			t.Fatal(err)
		}
	}
	if err := tree.Close(); err != nil {
		t.Fatal(err)
	}
}

func (o oracle) single(key uint32, at int64) (block.Interval, bool) {
	i := slices.IndexFunc(o, func(in block.Interval) bool { return in.Key == key && in.Start <= at && at <= in.End })
	if i < 0 {
		return block.Interval{}, false
	}
	return o[i], true
}

func (o oracle) where(is func(block.Interval) bool) (out []string) {
	for _, in := range o {
		if is(in) {
			out = append(out, text(in))
		}
	}
	return out
}

// plane chooses the answers of a 2D question.
func plane(keys []uint32, times []int64) func(block.Interval) bool {
	return func(in block.Interval) bool {
		return slices.Contains(keys, in.Key) && slices.ContainsFunc(times, func(t int64) bool { return in.Start <= t && t <= in.End })
	}
}

func text(in block.Interval) string {
	return fmt.Sprintf("%d: %d to %d, kind %d, %d %q", in.Key, in.Start, in.End, in.Kind, in.Word, in.Text)
}

// recording makes random intervals that tile time for each key, in the order of their ends, as
// a state system hands them over. Keys differ in their rates, and some values are long.
func recording(rng *rand.Rand, keys, count int, start int64, longest int) oracle {
	type change struct {
		began, mean int64
	}
	all := make([]change, keys)
	for i := range all {
		all[i] = change{start, 1 << rng.IntN(12)}
	}
	var out oracle
	now := start
	for len(out) < count {
		now += rng.Int64N(3) // several may end at once
		key := rng.IntN(keys)
		k := &all[key]
		if k.began > now || rng.Int64N(k.mean) > 8 {
			continue
		}
		out = append(out, value(rng, block.Interval{Key: uint32(key), Start: k.began, End: now}, longest))
		k.began = now + 1
	}
	now++
	for key, k := range all { // all still there end with the history
		if k.began <= now {
			out = append(out, value(rng, block.Interval{Key: uint32(key), Start: k.began, End: now}, longest))
		}
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

// ask compares the answers to random questions with the oracle's.
func ask(t *testing.T, name string, rng *rand.Rand, of answers, o oracle, keys int, count int) {
	t.Helper()
	first, last := o[0].Start-2, o[len(o)-1].End+2
	at := func() int64 { return first + rng.Int64N(last-first+1) }
	for range count {
		key, when := rng.Uint32N(uint32(keys)+2), at()
		got, found, err := of.Single(key, when)
		want, is := o.single(key, when)
		if err != nil || found != is || found && text(got) != text(want) {
			t.Fatalf("%s: key %d at %d: %s, %v, %v; want %s, %v", name, key, when, text(got), found, err, text(want), is)
		}
	}
	for range count/8 + 1 {
		when := at()
		var got []string
		err := of.Full(when, func(in block.Interval) { got = append(got, text(in)) })
		same(t, fmt.Sprintf("%s: all at %d", name, when), got, o.where(func(in block.Interval) bool { return in.Start <= when && when <= in.End }), err)

		var some []uint32
		for range rng.IntN(6) {
			some = append(some, rng.Uint32N(uint32(keys)+2))
		}
		var times []int64
		for range rng.IntN(12) {
			times = append(times, at())
		}
		got = nil
		err = of.Plane(some, times, func(in block.Interval) { got = append(got, text(in)) })
		same(t, fmt.Sprintf("%s: keys %v at %v", name, some, times), got, o.where(plane(some, times)), err)
		if tree, is := of.(*treeStore); is {
			askRange(t, name, tree.Tree, o, some, min(when, at()), max(when, at()))
		}
	}
}

// askRange compares the lists of a 2D question for a range of time with the oracle's.
func askRange(t *testing.T, name string, tree *sht.Tree, o oracle, keys []uint32, start, end int64) {
	t.Helper()
	lists, err := query.Lists(func(f func(block.Interval)) error { return tree.Range(keys, start, end, f) })
	var got []string
	for key, list := range lists {
		for i, in := range list {
			if got = append(got, text(in)); in.Key != key || i > 0 && list[i-1].End >= in.Start {
				t.Fatalf("%s: the list of key %d has %+v after %d others", name, key, in, i)
			}
		}
	}
	want := o.where(func(in block.Interval) bool {
		return slices.Contains(keys, in.Key) && in.Start <= end && in.End >= start
	})
	same(t, fmt.Sprintf("%s: keys %v from %d to %d", name, keys, start, end), got, want, err)
}

func same(t *testing.T, name string, got, want []string, err error) {
	t.Helper()
	slices.Sort(got)
	slices.Sort(want)
	if err != nil || !slices.Equal(got, want) {
		t.Fatalf("%s: %d intervals, %v; want %d\n%v\n%v", name, len(got), err, len(want), got, want)
	}
}

// eachTree runs a test with each kind of tree.
func eachTree(t *testing.T, f func(t *testing.T, kind sht.Kind)) {
	for kind, name := range trees {
		t.Run(name, func(t *testing.T) { f(t, sht.Kind(kind)) })
	}
}

func newOf(t *testing.T, storage block.Storage, o sht.Options) *sht.Tree {
	t.Helper()
	tree, err := sht.New(storage, o)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func open(t *testing.T, storage block.Storage) *treeStore {
	t.Helper()
	tree, err := sht.Open(storage)
	if err != nil {
		t.Fatal(err)
	}
	return &treeStore{Tree: tree}
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
			tree := newOf(t, &storage, of)
			for i, in := range o {
				if err := tree.Add(in); err != nil {
					t.Fatal(err)
				}
				if i > 0 && i%1500 == 0 {
					ask(t, fmt.Sprintf("seed %d, %d added", seed, i+1), rng, &treeStore{Tree: tree}, o[:i+1], keys, 8)
				}
			}
			if err := tree.Close(); err != nil {
				t.Fatal(err)
			}
			ask(t, fmt.Sprintf("seed %d, closed", seed), rng, &treeStore{Tree: tree}, o, keys, 16)
			again := open(t, &storage)
			ask(t, fmt.Sprintf("seed %d, opened", seed), rng, again, o, keys, 24)
			s := again.Summary()
			if s != tree.Summary() || s.Intervals != uint64(len(o)) || s.End != o[len(o)-1].End {
				t.Fatalf("seed %d: summary %+v, was %+v", seed, s, tree.Summary())
			}
			if of.Fan > 0 && s.Depth < 4 {
				t.Errorf("seed %d: depth is %d, want 4 or more", seed, s.Depth)
			}
		}
	})
}

// readAll opens a tree and reads every node.
func readAll(f block.Storage, o oracle) error {
	tree, err := sht.Open(f)
	if err != nil {
		return err
	}
	keys, count := make([]uint32, 64), 0
	for i := range keys {
		keys[i] = uint32(i)
	}
	err = tree.Range(keys, 0, o[len(o)-1].End, func(block.Interval) { count++ })
	if err == nil && count != len(o) {
		err = fmt.Errorf("%d intervals, want %d", count, len(o))
	}
	return err
}

// A block that is cut, and one with a changed bit, give ErrDamaged. A changed block with a right checksum gives
// no panic: the header is checked, levels bound each descent, and values must lie within their block.
func TestTrees_Damaged(t *testing.T) {
	eachTree(t, func(t *testing.T, kind sht.Kind) {
		rng := rand.New(rand.NewPCG(5, 5))
		o := recording(rng, 30, 4000, 0, longest)
		var storage block.Memory
		tree := newOf(t, &storage, sht.Options{Kind: kind})
		o.fill(t, tree)
		const size = 1 << 16
		forged := 0
		for i := range 140 {
			at := rng.Int64N(tree.Summary().Bytes()/size) * size
			whole := make([]byte, size)
			if _, err := storage.ReadAt(whole, at); err != nil {
				t.Fatal(err)
			}
			changed, want := bytes.Clone(whole), block.ErrDamaged
			switch {
			case i < 30:
				changed = whole[:rng.IntN(size)]
			case i < 60:
				changed[rng.IntN(size)] ^= 1 << rng.IntN(8)
			default:
				want = nil // or not
				for range 1 + rng.IntN(3) {
					changed[4+rng.IntN(1<<(3+rng.IntN(13))-4)] = byte(rng.Uint32())
				}
				binary.LittleEndian.PutUint32(changed, crc32.Checksum(changed[4:], crc32.MakeTable(crc32.Castagnoli)))
			}
			rewrite := func(b []byte) {
				if _, err := storage.WriteAt(b, at); err != nil {
					t.Fatal(err)
				}
			}
			rewrite(changed)
			err := readAll(&storage, o)
			if want != nil && !errors.Is(err, want) {
				t.Fatalf("change %d of the block at %d: %v", i, at, err)
			}
			if want == nil && errors.Is(err, block.ErrDamaged) {
				forged++
			}
			rewrite(whole)
		}
		if err := readAll(&storage, o); err != nil || forged == 0 {
			t.Errorf("%v; %d of 80 forged blocks were found", err, forged)
		}
	})
}

// What no tree can store is refused, and changes nothing.
func TestTrees_Errors(t *testing.T) {
	eachTree(t, func(t *testing.T, kind sht.Kind) {
		tree := newOf(t, &block.Memory{}, sht.Options{Kind: kind, Start: 10})
		if err := tree.Add(block.Interval{Start: 10, End: 20}); err != nil {
			t.Fatal(err)
		}
		for _, in := range []block.Interval{
			{Start: 9, End: 30},
			{Start: 25, End: 24},
			{Start: 12, End: 19},
			{Start: 21, End: 30, Kind: block.Bool + 1},
			{Start: 21, End: 30, Kind: block.Bool, Word: 2},
			{Start: 21, End: 30, Kind: block.Int, Word: 1 << 40},
			{Start: 21, End: 30, Kind: block.String, Text: make([]byte, longest+1)},
		} {
			if err := tree.Add(in); !errors.Is(err, block.ErrInterval) {
				t.Errorf("add %+v: %v", in, err)
			}
		}
		if err := tree.Close(); err != nil {
			t.Fatal(err)
		}
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
