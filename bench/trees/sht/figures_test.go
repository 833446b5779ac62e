package sht

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/granarydb/granary/bench/trees/block"
	"github.com/granarydb/granary/internal/script"
)

// The papers' figures, block by block: testdata/script/*.txt.
func TestFigures(t *testing.T) { script.Run(t, newStory) }

// story is a tree that a script builds step by step.
type story struct {
	tree *Tree
	memo block.Memory
}

// smallest is the least block that has a layout. A leaf of the scripts has room for four intervals, because
// blocks are as large as the header of the file, and an inner node of an SHT for three.
const smallest = 48 + 2*12 + 3*block.RecordSize + 4

func newStory(*testing.T) map[string]script.Verb {
	s := &story{}
	return map[string]script.Verb{"tree": s.open, "add": s.add, "show": s.show, "close": s.end, "full": s.full}
}

func (s *story) open(c *script.Command) (err error) {
	kind := slices.Index([]string{"SHT", "oSHT", "eSHT", "R2"}, c.Text("kind", ""))
	s.tree, err = New(&s.memo, Options{Kind: Kind(kind), Size: smallest + c.Int("more", 0), Fan: c.Int("fan", 2)})
	return err
}

func (s *story) add(c *script.Command) error {
	for _, line := range c.Input {
		in := block.Interval{Kind: block.Int}
		if _, err := fmt.Sscan(line, &in.Key, &in.Start, &in.End); err != nil {
			return err
		}
		if err := s.tree.Add(in); err != nil {
			return err
		}
	}
	return nil
}

func (s *story) show(c *script.Command) error {
	for number := uint32(1); number <= s.tree.summary.Nodes; number++ {
		mark, n := "*", s.tree.live[number]
		if n == nil {
			var err error
			if n, err = s.tree.file.Node(number); err != nil {
				return err
			}
			mark = ""
		}
		end := fmt.Sprint(n.End)
		if mark != "" {
			end = ""
		}
		c.Printf("%d%s level %d [%d, %s]", number, mark, n.Level, n.Start, end)
		if n.Parent > 0 {
			c.Printf(" of %d", n.Parent)
		}
		for i := range int(n.Children) {
			c.Printf(" >%d", n.Child(i).Number)
		}
		for i := range int(n.Records) {
			key, start, end := n.Record(i)
			c.Printf(" %d:%d-%d", key, start, end)
		}
		c.Printf("\n")
	}
	for _, in := range s.tree.held.all {
		c.Printf("buffer %d:%d-%d\n", in.Key, in.Start, in.End)
	}
	return nil
}

func (s *story) end(c *script.Command) error {
	if err := s.tree.Close(); err != nil {
		return err
	}
	return s.show(c)
}

func (s *story) full(c *script.Command) error {
	before := s.tree.Searched()
	err := s.tree.Full(int64(c.Int("at", 0)), func(in block.Interval) { c.Printf("%d:%d-%d\n", in.Key, in.Start, in.End) })
	c.Printf("%d nodes\n", s.tree.Searched()-before)
	return err
}

// R-SHT figure 12: once the parent of the subtrees is full, a vR with too many attributes has deeper ones, and
// the parent's parent is above these.
func TestFigure12(t *testing.T) {
	tree, err := New(&block.Memory{}, Options{Kind: VR, Size: 400, Fan: 2})
	if err != nil {
		t.Fatal(err)
	}
	depths := map[int]bool{}
	for i := range int64(700) {
		if err := tree.Add(block.Interval{Key: uint32(i), Start: i, End: i + 3}); err != nil {
			t.Fatal(err)
		}
		depths[tree.base] = true
		if tree.base > 2 && len(depths) == tree.base-1 && int(tree.open[0].Level) != tree.base {
			t.Fatalf("subtrees of depth %d below level %d", tree.base, tree.open[0].Level)
		}
	}
	if len(depths) != 3 {
		t.Errorf("depths %v, want 2, 3 and 4", depths)
	}
	if err := tree.Close(); err != nil {
		t.Fatal(err)
	}
	parents, said := map[uint32]uint32{}, map[uint32]uint32{}
	if err := tree.Walk(func(n *block.Node) {
		said[n.Number] = n.Parent
		for i := range int(n.Children) {
			parents[n.Child(i).Number] = n.Number
		}
	}); err != nil {
		t.Fatal(err)
	}
	if parents[tree.summary.Root] = 0; !maps.Equal(said, parents) {
		t.Errorf("nodes say that their parents are %v, want %v", said, parents)
	}
}

// r = ceil(log_c(A/n)): R2 until some two million attributes, R3 from four million on (R-SHT 7.5).
func TestRule(t *testing.T) {
	for keys, want := range map[int]int{1: 2, 58_428: 2, 2_000_000: 2, 2_800_000: 2, 2_900_000: 3, 4_500_000: 3, 500_000_000: 4, 1 << 31: 4} {
		if got := rule(keys, block.Layout{Size: 64 << 10, Fan: 50}); got != want {
			t.Errorf("%d attributes have subtrees of depth %d, want %d", keys, got, want)
		}
	}
}
