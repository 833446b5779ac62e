package sht

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"

	"github.com/granarydb/granary/bench/trees/block"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Readers beside the builder find all that was added before they ask, once, through splits, new roots and
// subtrees.
func TestReaders(t *testing.T) {
	const keys, rounds = 40, 60
	for kind := SHT; kind <= VR; kind++ {
		t.Run(fmt.Sprint(kind), func(t *testing.T) {
			tree, err := New(&block.Memory{}, Options{Kind: kind, Size: 1 << 10, Fan: 4})
			if err != nil {
				t.Fatal(err)
			}
			var added atomic.Int64 // the latest end
			var built atomic.Bool
			var readers errgroup.Group
			for range 2 {
				readers.Go(func() error {
					for !built.Load() {
						if err := askAt(tree, added.Load(), keys); err != nil {
							return err
						}
					}
					return askAt(tree, added.Load(), keys)
				})
			}
			for i := int64(0); i < keys*rounds && err == nil; i++ {
				err = tree.Add(block.Interval{Key: uint32(i % keys), Start: max(0, i-keys+1), End: i, Kind: block.String, Text: []byte("running")})
				added.Store(i)
			}
			err = errors.Join(err, tree.Close())
			built.Store(true)
			if err = errors.Join(err, readers.Wait()); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// askAt asks at an instant at which all intervals have ended, or, of the last keys, end later.
func askAt(tree *Tree, added int64, keys int64) error {
	if added < 2*keys {
		return nil
	}
	at := added - keys + 1 // each key's interval that is there at the time has ended by added
	seen := map[uint32]int{}
	if err := tree.Full(at, func(in block.Interval) { seen[in.Key] += len(in.Text) }); err != nil {
		return err
	}
	for key, n := range seen {
		if n != len("running") {
			return fmt.Errorf("key %d has %d bytes at %d", key, n, at)
		}
	}
	in, found, err := tree.Single(uint32(at%keys), at)
	if err != nil || !found || in.End != at || len(seen) != int(keys) {
		return fmt.Errorf("%d keys at %d, want %d; key %d ends at %d, %v, %w", len(seen), at, keys, at%keys, in.End, found, err)
	}
	n := 0
	if err := tree.Range([]uint32{0, 5}, at, at, func(block.Interval) { n++ }); err != nil || n != 2 {
		return fmt.Errorf("%d of 2 keys at %d: %w", n, at, err)
	}
	return nil
}
