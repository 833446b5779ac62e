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
	seen, text, two := map[uint32]bool{}, 0, 0
	full := tree.Full(at, func(in block.Interval) { seen[in.Key], text = true, text+len(in.Text) })
	in, found, single := tree.Single(uint32(at%keys), at)
	plane := tree.Range([]uint32{0, 5}, at, at, func(block.Interval) { two++ })
	err := errors.Join(full, single, plane)
	if err != nil || len(seen) != int(keys) || text != len("running")*int(keys) || !found || in.End != at || two != 2 {
		return fmt.Errorf("at %d: %d keys with %d bytes of text, want %d; %d of 2 keys; key %d ends at %d; %w", at, len(seen), text, keys, two, at%keys, in.End, err)
	}
	return nil
}
