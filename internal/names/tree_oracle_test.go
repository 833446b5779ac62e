package names

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// treeOracle is a naive tree: attributes by the text of their path.
type treeOracle struct {
	byPath map[string]Attribute
	nodes  []oracleNode
}

type oracleNode struct {
	parent Attribute
	name   string
	path   string // of quoted names, so that different paths have different texts
}

func newTreeOracle() *treeOracle { return &treeOracle{byPath: map[string]Attribute{}} }

func (o *treeOracle) path(parent Attribute, name string) string {
	if parent == Top {
		return strconv.Quote(name)
	}
	return o.nodes[parent].path + strconv.Quote(name)
}

func (o *treeOracle) add(parent Attribute, name string) (Attribute, bool) {
	path := o.path(parent, name)
	if a, ok := o.byPath[path]; ok {
		return a, false
	}
	a := Attribute(len(o.nodes))
	o.nodes = append(o.nodes, oracleNode{parent, name, path})
	o.byPath[path] = a
	return a, true
}

func (o *treeOracle) truncate(n int) {
	for _, node := range o.nodes[n:] {
		delete(o.byPath, node.path)
	}
	o.nodes = slices.Clone(o.nodes[:n]) // views keep the old ones
}

// view returns a copy of the oracle.
func (o *treeOracle) view() *treeOracle {
	v := &treeOracle{byPath: map[string]Attribute{}, nodes: slices.Clip(o.nodes)}
	for a, node := range o.nodes {
		v.byPath[node.path] = Attribute(a)
	}
	return v
}

func (o *treeOracle) children(a Attribute) []Attribute {
	var children []Attribute
	for c, node := range o.nodes {
		if node.parent == a {
			children = append(children, Attribute(c))
		}
	}
	return children
}

func (o *treeOracle) descendants(a Attribute) []Attribute {
	var all []Attribute
	for _, c := range o.children(a) {
		all = append(append(all, c), o.descendants(c)...)
	}
	return all
}

// checkTree compares the writer's side with that of a newly built tree (N1, N2).
func checkTree(t testing.TB, tr *Tree) {
	t.Helper()
	children := map[uint32][]uint32{}
	used := uint32(0)
	for i := uint32(1); i <= tr.n; i++ {
		p := tr.node(i).parent.Load()
		if p >= i {
			t.Fatalf("N1: node %d has the parent %d", i, p)
		}
		children[p] = append(children[p], i)
		if name := tr.node(i).name.Load(); name > used {
			if used++; name != used || tr.texts.states.at(name-1).user != i {
				t.Fatalf("node %d is the first with text %d, want %d", i, name, used)
			}
		}
	}
	if n := tr.texts.n; n != used {
		t.Fatalf("%d texts, %d are in use", n, used)
	}
	checkCells(t, &tr.cells, tr.n, tr.key)
	checkCells(t, &tr.texts.cells, used, tr.texts.key)
	for p := range tr.n + 1 {
		var got []uint32
		for c := tr.node(p).first.Load(); c != 0; c = tr.node(c).next.Load() {
			got = append(got, c)
		}
		if !slices.Equal(got, children[p]) {
			t.Fatalf("children of node %d: %v, want %v", p, got, children[p])
		}
		if last, kept := tr.last[p]; kept && (len(got) == 0 || last != got[len(got)-1]) {
			t.Fatalf("last child of node %d: %d, want the last of %v", p, last, got)
		} else if !kept && len(got) > fewChildren {
			t.Fatalf("node %d has %d children, and which is the last is not kept", p, len(got))
		}
	}
	for p := range tr.last {
		if p > tr.n {
			t.Fatalf("the last child of node %d is kept, there are %d nodes", p, tr.n)
		}
	}
}

// checkCells checks that cells equal those after n insertions in order.
func checkCells(t testing.TB, c *numberTable, n uint32, key func(uint32) uint64) {
	t.Helper()
	if c.table.Load() == nil {
		if n != 0 {
			t.Fatalf("no cells for %d numbers", n)
		}
		return
	}
	table := *c.table.Load()
	want := make([]uint32, len(table))
	for i := uint32(1); i <= n; i++ {
		at := home(key(i), len(want))
		for want[at] != 0 {
			at = (at + 1) % len(want)
		}
		want[at] = i
	}
	for at := range want {
		if got := table[at].Load(); got != want[at] {
			t.Fatalf("N2: cell %d has number %d, want %d", at, got, want[at])
		}
	}
	if 4*int(n) > 3*len(table) {
		t.Fatalf("%d numbers in %d cells", n, len(table))
	}
}

func mustAdd(t testing.TB, tr *Tree, parent Attribute, name string) Attribute {
	t.Helper()
	a, _, err := tr.Add(parent, name)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// oddNames are names with characters that have a meaning elsewhere.
var oddNames = []string{
	"", "*", "..", ".", "/", "a/b", "\x00", "a\x00", "\n", "a\nb", "é", "e\u0301", "\ufffd", "\ufeff", "-1", "a", "b", "0", `"`, `\`,
	strings.Repeat("x", 300),
}

// badNames are invalid.
var badNames = []string{"\xff", "a\xc3", "\xed\xa0\x80", "\xc0\x80", strings.Repeat("x", maxName+1), strings.Repeat("\x80", maxName+1)}

// treePair is a tree and its oracle under the same operations, with the last three views taken
// that are still valid.
type treePair struct {
	tree   *Tree
	oracle *treeOracle
	views  []treeView
}

type treeView struct {
	names  Names
	oracle *treeOracle
}

func newTreePair(seed uint64) *treePair {
	return &treePair{tree: New(seed, maxAttributes), oracle: newTreeOracle()}
}

func (p *treePair) add(t testing.TB, parent Attribute, name string) {
	t.Helper()
	want, wantNew := p.oracle.add(parent, name)
	got, isNew, err := p.tree.Add(parent, name)
	if err != nil || got != want || isNew != wantNew {
		t.Fatalf("add(%d, %.100q) = %d, %v, %v; want %d, %v", parent, name, got, isNew, err, want, wantNew)
	}
}

// refuse adds an invalid name, and checks the error and that nothing changed.
func (p *treePair) refuse(t testing.TB, parent Attribute, name string, want error) {
	t.Helper()
	n, size := p.tree.n, p.tree.Size()
	if _, _, err := p.tree.Add(parent, name); !errors.Is(err, want) {
		t.Fatalf("add(%d, %.100q): %v, want %v", parent, name, err, want)
	}
	if p.tree.n != n || p.tree.Size() != size {
		t.Fatalf("add(%d, %.100q) made something in spite of an error", parent, name)
	}
}

func (p *treePair) view() {
	if len(p.views) == 3 {
		p.views = p.views[1:]
	}
	p.views = append(p.views, treeView{p.tree.Names(), p.oracle.view()})
}

func (p *treePair) truncate(n int) {
	p.tree.Truncate(n)
	p.oracle.truncate(n)
	p.views = slices.DeleteFunc(p.views, func(v treeView) bool { return v.names.Len() > n })
}

// check compares everything with the oracle: the tree and every view.
func (p *treePair) check(t testing.TB) {
	t.Helper()
	checkTree(t, p.tree)
	compareNames(t, p.tree.Names(), p.oracle)
	for _, v := range p.views {
		compareNames(t, v.names, v.oracle)
	}
}

// parent returns Top, as likely as one attribute, or an attribute.
func (p *treePair) parent(i int) Attribute {
	return Attribute(i%(len(p.oracle.nodes)+1)) - 1
}

// rapidTB fails a rapid check from code that takes a testing.TB.
type rapidTB struct {
	testing.TB
	rt *rapid.T
}

func (t rapidTB) Helper()                        {}
func (t rapidTB) Errorf(format string, a ...any) { t.rt.Errorf(format, a...) }
func (t rapidTB) Fatalf(format string, a ...any) { t.rt.Fatalf(format, a...) }
func (t rapidTB) Fatal(a ...any)                 { t.rt.Fatal(a...) }
