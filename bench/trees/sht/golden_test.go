package sht

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/granarydb/granary/bench/trees/block"
)

var update = flag.Bool("update", false, "write the golden files")

// story is a tree that is built step by step; the golden file shows each of its blocks at each step.
type story struct {
	*testing.T
	tree *Tree
	memo block.Memory
	said strings.Builder
}

// smallest is the least block that has a layout. A leaf of the stories has room for four intervals, because
// blocks are as large as the header of the file, and an inner node of an SHT for three.
const smallest = 48 + 2*12 + 3*block.RecordSize + 4

func tell(t *testing.T, o Options) *story {
	s := &story{T: t}
	var err error
	if s.tree, err = New(&s.memo, o); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *story) add(key uint32, start, end int64) {
	s.Helper()
	if err := s.tree.Add(block.Interval{Key: key, Start: start, End: end, Kind: block.Int, Word: uint64(key)}); err != nil {
		s.Fatal(err)
	}
}

// show writes all nodes, those of the latest branch with an asterisk.
func (s *story) show(title string) {
	s.Helper()
	fmt.Fprintf(&s.said, "%s\n", title)
	for number := uint32(1); number <= s.tree.summary.Nodes; number++ {
		mark, n := " ", s.tree.live[number]
		if n != nil {
			mark = "*"
		} else {
			var err error
			if n, err = s.tree.file.Node(number); err != nil {
				s.Fatal(err)
			}
		}
		end := fmt.Sprint(n.Box().End)
		if mark == "*" {
			end = ""
		}
		fmt.Fprintf(&s.said, " %s%d level %d [%d, %s]", mark, number, n.Level(), n.Start(), end)
		if n.Parent() > 0 {
			fmt.Fprintf(&s.said, " of %d", n.Parent())
		}
		for i := range n.Children() {
			fmt.Fprintf(&s.said, " >%d", n.Child(i).Number)
		}
		for i := range n.Records() {
			key, start, end := n.Record(i)
			fmt.Fprintf(&s.said, " %d:%d-%d", key, start, end)
		}
		s.said.WriteByte('\n')
	}
	for i := range s.tree.held.all {
		in := &s.tree.held.all[i]
		fmt.Fprintf(&s.said, "  buffer %d:%d-%d\n", in.Key, in.Start, in.End)
	}
}

// done closes the tree, and compares the story with the golden file.
func (s *story) done() {
	s.Helper()
	if err := s.tree.Close(); err != nil {
		s.Fatal(err)
	}
	s.show("closed")
	s.same()
}

func (s *story) same() {
	s.Helper()
	path := filepath.Join("testdata", strings.ReplaceAll(s.Name(), "/", "_")+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(s.said.String()), 0o644); err != nil {
			s.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		s.Fatal(err)
	}
	if got := s.said.String(); got != string(want) {
		s.Errorf("%s differs; -update writes it\n%s", path, got)
	}
}

// SHT figure 1: a leaf fills, a sibling and a root are made, and a long interval goes to the root.
func TestFigure1(t *testing.T) {
	s := tell(t, Options{Kind: SHT, Size: smallest, Fan: 2})
	s.show("one empty node")
	s.add(1, 0, 10)
	s.add(2, 0, 20)
	s.add(3, 5, 30)
	s.add(1, 11, 40)
	s.show("the node is full")
	s.add(2, 41, 50)
	s.show("a sibling, and a root above both")
	s.add(3, 50, 60)
	s.add(4, 20, 70)
	s.show("from 50 on: the leaf; from 20 on: the root")
	s.done()
}

// SHT figures 2 and 3: the root has all its children, so that a new root gets a complete branch, all of it
// with one start; a query opens one node a level, those that are marked.
func TestFigure2(t *testing.T) {
	s := tell(t, Options{Kind: SHT, Size: smallest, Fan: 2})
	for i := range int64(8) {
		s.add(uint32(i), 10*i, 10*i+9)
	}
	s.show("the root has two full leaves")
	s.add(9, 80, 89)
	s.show("a new root, and a branch from 80 on")
	s.add(10, 5, 99)
	for i := int64(10); i < 34; i++ {
		s.add(uint32(i), 10*i, 10*i+9)
	}
	if err := s.tree.Close(); err != nil {
		t.Fatal(err)
	}
	s.show("figure 3: complete and closed")
	before := s.tree.Searched()
	fmt.Fprintf(&s.said, "at 300:")
	if err := s.tree.Full(300, func(in block.Interval) { fmt.Fprintf(&s.said, " %d:%d-%d", in.Key, in.Start, in.End) }); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&s.said, " in %d nodes\n", s.tree.Searched()-before)
	s.same()
}

// R-SHT figure 3: attributes whose first intervals begin with the history, more than nodes have room for,
// make a comb of the SHT, and none of the trees whose siblings overlap (figure 4).
func TestFigure3_Comb(t *testing.T) {
	for name, kind := range map[string]Kind{"SHT": SHT, "oSHT": OSHT, "eSHT": ESHT} {
		t.Run(name, func(t *testing.T) {
			s := tell(t, Options{Kind: kind, Size: smallest + 3*16, Fan: 3})
			for i := range int64(24) {
				s.add(uint32(i%12), max(0, 10*i-119), 10*i)
			}
			s.done()
		})
	}
}

// A full leaf is closed before the start of the next interval is looked at: [21, 90] has no room, so the
// leaf's sibling begins at 81 and takes [85, 95].
func TestFullFirst(t *testing.T) {
	s := tell(t, Options{Kind: SHT, Size: smallest, Fan: 2})
	for i := range int64(4) {
		s.add(uint32(i), 20*i, 20*i+20)
	}
	s.add(5, 21, 90)
	s.add(6, 85, 95)
	s.show("the sibling begins at 81")
	s.done()
}

// R-SHT algorithm 2 and figure 11: inner nodes have the longest intervals, children ranges of keys.
// Intervals that begin before the deepest node go above it.
func TestFigure11(t *testing.T) {
	s := tell(t, Options{Kind: R2, Size: smallest + 16, Fan: 2})
	for i := range int64(9) {
		s.add(uint32(i*5%9), 10*i, 10*i+i%3)
	}
	s.show("the buffer")
	for i := int64(9); i < 24; i++ {
		s.add(uint32(i*5%9), 10*i, 10*i+i%3)
	}
	s.show("subtrees of two levels")
	s.add(7, 1, 300)
	s.show("from 1 on: the root, because the deepest node begins later")
	s.done()
}

// R-SHT figure 12: once the parent of the subtrees is full, a vR with too many attributes has deeper ones, and
// the parent's parent is above these. All nodes say which their parent is.
func TestFigure12(t *testing.T) {
	s := tell(t, Options{Kind: VR, Size: 400, Fan: 2})
	depths := map[int]bool{}
	for i := range int64(700) {
		s.add(uint32(i), i, i+3)
		depths[s.tree.base] = true
		if s.tree.base > 2 && len(depths) == s.tree.base-1 && s.tree.open[0].Level() != s.tree.base {
			t.Fatalf("subtrees of depth %d below level %d", s.tree.base, s.tree.open[0].Level())
		}
	}
	if len(depths) != 3 {
		t.Errorf("depths %v, want 2, 3 and 4", depths)
	}
	if err := s.tree.Close(); err != nil {
		t.Fatal(err)
	}
	parents, inner := map[uint32]uint32{}, 0
	if err := s.tree.Walk(func(n *block.Node) {
		for i := range n.Children() {
			parents[n.Child(i).Number] = n.Number()
		}
		if n.Level() > 0 && n.Records() > 0 {
			inner++
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.tree.Walk(func(n *block.Node) {
		if n.Parent() != parents[n.Number()] {
			t.Errorf("node %d says that its parent is %d, want %d", n.Number(), n.Parent(), parents[n.Number()])
		}
	}); err != nil {
		t.Fatal(err)
	}
	if inner == 0 {
		t.Error("no inner node has outliers")
	}
}

// r = ceil(log_c(A/n)): R2 until some two million attributes, R3 from four million on (R-SHT 7.5).
func TestRule(t *testing.T) {
	file, err := block.NewFile(&block.Memory{}, block.Layout{Form: block.Boxes})
	if err != nil {
		t.Fatal(err)
	}
	for keys, want := range map[int]int{1: 2, 58_428: 2, 2_000_000: 2, 2_800_000: 2, 2_900_000: 3, 4_500_000: 3, 500_000_000: 4, 1 << 31: 4} {
		if got := rule(keys, file.Layout); got != want {
			t.Errorf("%d attributes have subtrees of depth %d, want %d", keys, got, want)
		}
	}
}
