package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
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

// create returns an empty tree of a history from start on.
func (k kind) create(storage block.Storage, start int64) (*sht.Tree, error) {
	k.Start = start
	return sht.New(storage, k.Options)
}

// oracle is the list of all intervals that a tree took, searched from the front.
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
	for _, in := range o {
		if in.Key == key && in.Start <= at && at <= in.End {
			return in, true
		}
	}
	return block.Interval{}, false
}

func (o oracle) full(at int64) []string {
	var out []string
	for _, in := range o {
		if in.Start <= at && at <= in.End {
			out = append(out, text(in))
		}
	}
	return out
}

func (o oracle) plane(keys []uint32, times []int64) []string {
	var out []string
	for _, in := range o {
		if slices.Contains(keys, in.Key) &&
			slices.ContainsFunc(times, func(t int64) bool { return in.Start <= t && t <= in.End }) {
			out = append(out, text(in))
		}
	}
	return out
}

func text(in block.Interval) string {
	return fmt.Sprintf("%d: %d to %d, kind %d, %d %q", in.Key, in.Start, in.End, in.Kind, in.Word, in.Text)
}

// recording makes random intervals that tile time for each key, in the order of their ends, as
// a state system hands them over. Keys differ in their rates, and some values are long.
func recording(rng *rand.Rand, keys, count int, start int64) oracle {
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
		out = append(out, value(rng, block.Interval{Key: uint32(key), Start: k.began, End: now}))
		k.began = now + 1
	}
	now++
	for key, k := range all { // all still there end with the history
		if k.began <= now {
			out = append(out, value(rng, block.Interval{Key: uint32(key), Start: k.began, End: now}))
		}
	}
	return out
}

// longest is the length of the longest string of a block of 64 KiB.
const longest = 32767

func value(rng *rand.Rand, in block.Interval) block.Interval {
	in.Kind = block.Kind(rng.IntN(6))
	switch in.Kind {
	case block.Bool:
		in.Word = rng.Uint64N(2)
	case block.Int:
		in.Word = uint64(int64(int32(rng.Uint32())))
	case block.Long, block.Float:
		in.Word = rng.Uint64()
	case block.String:
		in.Text = bytes.Repeat([]byte{byte('a' + rng.IntN(26))}, rng.IntN(1<<rng.IntN(11)))
		if rng.IntN(200) == 0 {
			in.Text = bytes.Repeat([]byte("x"), longest)
		}
	}
	return in
}

// ask compares the answers to random questions with the oracle's.
func ask(t *testing.T, name string, rng *rand.Rand, tree answers, o oracle, keys int, count int) {
	t.Helper()
	first, last := o[0].Start-2, o[len(o)-1].End+2
	at := func() int64 { return first + rng.Int64N(last-first+1) }
	for range count {
		key, when := rng.Uint32N(uint32(keys)+2), at()
		got, found, err := tree.Single(key, when)
		want, is := o.single(key, when)
		if err != nil || found != is || found && text(got) != text(want) {
			t.Fatalf("%s: key %d at %d: %s, %v, %v; want %s, %v", name, key, when, text(got), found, err, text(want), is)
		}
	}
	for range count/8 + 1 {
		when := at()
		var got []string
		err := tree.Full(when, func(in block.Interval) { got = append(got, text(in)) })
		same(t, fmt.Sprintf("%s: all at %d", name, when), got, o.full(when), err)

		var some []uint32
		for range rng.IntN(6) {
			some = append(some, rng.Uint32N(uint32(keys)+2))
		}
		var times []int64
		for range rng.IntN(12) {
			times = append(times, at())
		}
		got = nil
		err = tree.Plane(some, times, func(in block.Interval) { got = append(got, text(in)) })
		same(t, fmt.Sprintf("%s: keys %v at %v", name, some, times), got, o.plane(some, times), err)
		if tree, is := tree.(*sht.Tree); is {
			askRange(t, name, tree, o, some, min(when, at()), max(when, at()))
		}
	}
}

// askRange compares the lists of a 2D question for a range of time with the oracle's.
func askRange(t *testing.T, name string, tree *sht.Tree, o oracle, keys []uint32, start, end int64) {
	t.Helper()
	lists, err := query.Lists(func(f func(block.Interval)) error { return tree.Range(keys, start, end, f) })
	var got, want []string
	for key, list := range lists {
		for i, in := range list {
			if got = append(got, text(in)); in.Key != key || i > 0 && list[i-1].End >= in.Start {
				t.Fatalf("%s: the list of key %d has %+v after %d others", name, key, in, i)
			}
		}
	}
	for _, in := range o {
		if slices.Contains(keys, in.Key) && in.Start <= end && in.End >= start {
			want = append(want, text(in))
		}
	}
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

// Every tree gives the oracle's answers while it is built, when it is closed and when it is
// opened again.
func TestTrees(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			for seed := range uint64(6) {
				rng := rand.New(rand.NewPCG(seed, 7))
				keys := 1 + rng.IntN(1<<rng.IntN(9))
				start := rng.Int64N(1000) - 500
				o := recording(rng, keys, 2000+rng.IntN(9000), start)
				var storage block.Memory
				tree, err := kind.create(&storage, start)
				if err != nil {
					t.Fatal(err)
				}
				for i, in := range o {
					if err := tree.Add(in); err != nil {
						t.Fatal(err)
					}
					if i > 0 && i%1500 == 0 {
						ask(t, fmt.Sprintf("seed %d, %d added", seed, i+1), rng, tree, o[:i+1], keys, 8)
					}
				}
				if err := tree.Close(); err != nil {
					t.Fatal(err)
				}
				ask(t, fmt.Sprintf("seed %d, closed", seed), rng, tree, o, keys, 16)
				again, err := sht.Open(&storage)
				if err != nil {
					t.Fatal(err)
				}
				ask(t, fmt.Sprintf("seed %d, opened", seed), rng, again, o, keys, 24)
				s := again.Summary()
				if s != tree.Summary() || s.Intervals != uint64(len(o)) || s.End != o[len(o)-1].End || s.Bytes() != storage.Bytes() {
					t.Fatalf("seed %d: summary %+v, was %+v, storage has %d bytes", seed, s, tree.Summary(), storage.Bytes())
				}
			}
		})
	}
}

// Trees of many subtrees and of several levels. The model has one interval a key and round. Blocks are small, so
// that vR changes its depth (1 KiB has 17 attributes a node), but for the SHT, whose depth is the number of keys
// in those of a node.
func TestTrees_Deep(t *testing.T) {
	const keys, rounds = 700, 400
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			var storage block.Memory
			if kind.Kind != sht.SHT {
				kind.Size, kind.Fan = 1<<10, 8
			}
			tree, err := kind.create(&storage, 0)
			if err != nil {
				t.Fatal(err)
			}
			for round := range int64(rounds) {
				for key := range int64(keys) {
					end := round*keys + key
					in := block.Interval{Key: uint32(key), Start: max(0, end-keys+1), End: end, Kind: block.Int, Word: uint64(round)}
					if err := tree.Add(in); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := tree.Close(); err != nil {
				t.Fatal(err)
			}
			again, err := sht.Open(&storage)
			if err != nil {
				t.Fatal(err)
			}
			if s := again.Summary(); s.Depth < 3 {
				t.Errorf("depth is %d, want 3 or more", s.Depth)
			}
			rng := rand.New(rand.NewPCG(1, 1))
			for range 200 {
				key, at := rng.Int64N(keys), rng.Int64N((rounds-1)*keys)
				want := (at + keys - 1 - key) / keys
				in, found, err := again.Single(uint32(key), at)
				if err != nil || !found || int64(in.Word) != want {
					t.Fatalf("key %d at %d is %d, %v, %v; want %d", key, at, in.Word, found, err, want)
				}
			}
			for range 5 {
				at, seen := rng.Int64N((rounds-1)*keys), map[uint32]bool{}
				if err := again.Full(at, func(in block.Interval) { seen[in.Key] = true }); err != nil || len(seen) != keys {
					t.Fatalf("%d keys at %d, %v; want %d", len(seen), at, err, keys)
				}
			}
		})
	}
}

// A tree on disk survives its process: another one opens the file.
func TestTrees_Disk(t *testing.T) {
	for _, kind := range kinds {
		name := filepath.Join(t.TempDir(), "tree")
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(3, 3))
		o := recording(rng, 40, 5000, 0)
		tree, err := kind.create(f, 0)
		if err != nil {
			t.Fatal(err)
		}
		o.fill(t, tree)
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if f, err = os.Open(name); err != nil {
			t.Fatal(err)
		}
		again, err := sht.Open(f)
		if err != nil {
			t.Fatal(err)
		}
		ask(t, kind.name, rng, again, o, 40, 20)
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// flipped is a file that was cut, or one bit of which was changed.
type flipped struct {
	block.Memory
	cut int64 // bytes left, or -1
	at  int64
	bit byte
}

func (f *flipped) ReadAt(b []byte, at int64) (int, error) {
	if f.cut >= 0 && at+int64(len(b)) > f.cut {
		n, _ := f.Memory.ReadAt(b[:max(0, f.cut-at)], at)
		return n, io.EOF
	}
	n, err := f.Memory.ReadAt(b, at)
	if i := f.at - at; f.bit != 0 && i >= 0 && i < int64(n) {
		b[i] ^= f.bit
	}
	return n, err
}

// A changed or cut file gives ErrDamaged or right answers, and no panic.
func TestTrees_Damaged(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(5, 5))
			o := recording(rng, 30, 4000, 0)
			var f flipped
			f.cut = -1
			tree, err := kind.create(&f, 0)
			if err != nil {
				t.Fatal(err)
			}
			o.fill(t, tree)
			size, damaged := f.Bytes(), 0
			for i := range 60 {
				if f.cut, f.bit = -1, 1<<rng.IntN(8); i%2 == 0 {
					f.cut = rng.Int64N(size)
				}
				f.at = rng.Int64N(size)
				err := readAll(&f, o)
				if err != nil && !errors.Is(err, block.ErrDamaged) {
					t.Fatalf("cut at %d, bit %d at %d: %v", f.cut, f.bit, f.at, err)
				}
				if err != nil {
					damaged++
				}
			}
			if damaged != 60 {
				t.Errorf("%d of 60 damages were found", damaged)
			}
		})
	}
}

// readAll opens a tree and reads every node.
func readAll(f block.Storage, o oracle) error {
	tree, err := sht.Open(f)
	if err != nil {
		return err
	}
	keys, times := make([]uint32, 64), []int64{}
	for i := range keys {
		keys[i] = uint32(i)
	}
	for at := int64(0); at <= o[len(o)-1].End; at++ {
		times = append(times, at)
	}
	count := 0
	if err := tree.Plane(keys, times, func(block.Interval) { count++ }); err != nil {
		return err
	}
	if count != len(o) {
		return fmt.Errorf("%d intervals, want %d", count, len(o))
	}
	return nil
}

// What no tree can store is refused, and changes nothing.
func TestTrees_Errors(t *testing.T) {
	for _, kind := range kinds {
		tree, err := kind.create(&block.Memory{}, 10)
		if err != nil {
			t.Fatal(err)
		}
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
				t.Errorf("%s: add %+v: %v", kind.name, in, err)
			}
		}
		if err := tree.Close(); err != nil {
			t.Fatal(err)
		}
		if err := tree.Add(block.Interval{Start: 21, End: 30}); !errors.Is(err, block.ErrClosed) {
			t.Errorf("%s: add to a closed tree: %v", kind.name, err)
		}
		if err := tree.Close(); !errors.Is(err, block.ErrClosed) {
			t.Errorf("%s: second close: %v", kind.name, err)
		}
		if s := tree.Summary(); s.Intervals != 1 {
			t.Errorf("%s: %d intervals, want 1", kind.name, s.Intervals)
		}
	}
}

// A changed block with a right checksum gives no panic: the header is checked, levels bound
// each descent, and values must lie within their block.
func TestTrees_Forged(t *testing.T) {
	for _, kind := range kinds {
		rng := rand.New(rand.NewPCG(6, 6))
		o := recording(rng, 30, 6000, 0)
		damaged, size := 0, int64(1<<16)
		var storage block.Memory
		tree, err := kind.create(&storage, 0)
		if err != nil {
			t.Fatal(err)
		}
		o.fill(t, tree)
		for range 80 {
			at := rng.Int64N(storage.Bytes()/size) * size
			whole := make([]byte, size)
			if _, err := storage.ReadAt(whole, at); err != nil {
				t.Fatal(err)
			}
			forged := bytes.Clone(whole)
			for range 1 + rng.IntN(3) {
				forged[4+rng.IntN(1<<(3+rng.IntN(13))-4)] = byte(rng.Uint32())
			}
			binary.LittleEndian.PutUint32(forged, crc32.Checksum(forged[4:], crc32.MakeTable(crc32.Castagnoli)))
			if _, err := storage.WriteAt(forged, at); err != nil {
				t.Fatal(err)
			}
			if err := readAll(&storage, o); errors.Is(err, block.ErrDamaged) {
				damaged++
			}
			if _, err := storage.WriteAt(whole, at); err != nil {
				t.Fatal(err)
			}
		}
		if damaged == 0 {
			t.Errorf("%s: none of 80 forged blocks was found", kind.name)
		}
		if err := readAll(&storage, o); err != nil {
			t.Fatal(err)
		}
	}
}
