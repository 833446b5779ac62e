package tree

import (
	"math"
	"slices"
	"sync"
)

// merge returns the nodes of p with one for each path. Children are in the order of their first nodes. functions is the
// number of functions. The smallest nodes are dropped while at least `most` greater ones are left; 0 drops none. That needs
// values of at least 0 whose sums do not overflow, because no node is greater than its parent then. It costs 25 ns for each
// node of p, on two processors.
func (p *pathNodes) merge(functions, most int, isClamp bool) *treeNodes {
	p.close()
	m := newMerger(mergeOf{p, make([]int32, p.count), isClamp, functions, most})
	m.todo = append(m.todo, subtree{})
	m.all()
	return m.out
}

// mergeOf is what mergers of the parts of a tree share.
type mergeOf struct {
	from      *pathNodes
	next      []int32 // the next node of from with the same path; 0 for none
	isClamp   bool    // values below 0 become 0
	functions int
	most      int // 0: no node is dropped
}

// merger makes one node of all nodes of a path. It goes through the paths in preorder, so the nodes that can be dropped are
// always the last ones.
type merger struct {
	mergeOf
	out  *treeNodes
	sum  [2]int64 // of all values so far
	path []begun  // the last node of out, below its ancestors
	todo []subtree
	seen []lastChild // by function

	least  int   // class of sizes: at least `most` nodes that ended are of this or a greater one
	above  int   // number of nodes that ended and are of a greater class
	counts []int // of nodes that ended, by class

	isShared bool    // or is beside another one
	beside   *beside // nil if there is none, or it has ended
}

// beside is a merger of the last children of a node, at the same time as that of the first ones.
type beside struct {
	*merger
	depth  int // of the children
	left   int // length of the other's todo when its own children are done
	done   sync.WaitGroup
	failed any // a panic
}

// A merger shares nodes that have at least leastShared nodes below them.
const leastShared = 1 << 15

// subtree is a node of from that is to come below a path of a depth: the first of the nodes of a path.
type subtree struct{ first, depth int32 }

// begun is a node of out that has not ended, and what was known before it.
type begun struct {
	node, all int32
	sum       [2]int64
}

func newMerger(of mergeOf) *merger {
	m := &merger{mergeOf: of, out: &treeNodes{}, seen: make([]lastChild, of.functions)}
	if of.from.second != nil {
		m.out.second = []nodeValues{}
	}
	if of.most > 0 {
		m.counts = make([]int, classOf(math.MaxUint64)+1)
		m.out.nodes = make([]treeNode, 0, min(int(of.from.count), 4*of.most))
	}
	return m
}

// all adds all subtrees.
func (m *merger) all() {
	for len(m.todo) > 0 || m.beside != nil {
		if m.beside != nil && len(m.todo) == m.beside.left {
			m.join()
			continue
		}
		last := m.todo[len(m.todo)-1]
		m.todo = m.todo[:len(m.todo)-1]
		m.end(int(last.depth))
		m.add(last.first)
	}
	m.end(0)
}

// add adds a node for first and the nodes after it, and finds its children.
func (m *merger) add(first int32) {
	first = m.chain(first)
	to := m.begin(first)
	before, own, size := len(m.todo), [2]int64{}, int32(0)
	for i := first; ; i = m.next[i] {
		v, end := m.from.self(i), m.from.at(i).end
		own[0], own[1], size = own[0]+v[0], own[1]+v[1], size+end-i
		for k := i + 1; k < end; {
			n := m.from.at(k)
			if c := &m.seen[n.frame]; c.parent == first+1 {
				m.next[c.last], c.last = k, k
			} else {
				*c = lastChild{first + 1, k}
				m.todo = append(m.todo, subtree{k, int32(len(m.path))})
			}
			k = n.end
		}
		if m.next[i] == 0 {
			break
		}
	}
	slices.Reverse(m.todo[before:]) // the last is the next to come
	m.setOwn(to, own)
	if !m.isShared && size > leastShared && size > m.from.count/2 {
		m.share(before)
	}
}

// share gives about half of the last node's children, which are in todo from `from` on, to a merger beside this one. It does
// not if one child has most of the nodes below: then a node below that one is shared.
func (m *merger) share(from int) {
	children := m.todo[from:] // the last one first
	sizes, all := make([]int32, len(children)), int32(0)
	for k, c := range children {
		for i := c.first; ; i = m.next[i] {
			sizes[k] += m.from.at(i).end - i
			if m.next[i] == 0 {
				break
			}
		}
		all += sizes[k]
	}
	given, size := 0, int32(0)
	for given < len(children) && size+sizes[given]/2 <= all/2 {
		size += sizes[given]
		given++
	}
	if size < all/4 || size > all/4*3 {
		return
	}
	b := &beside{merger: newMerger(m.mergeOf), depth: len(m.path), left: from}
	for _, c := range children[:given] {
		b.todo = append(b.todo, subtree{c.first, 0})
	}
	m.isShared, b.isShared = true, true
	m.todo = append(m.todo[:from], children[given:]...)
	m.beside = b
	b.done.Go(func() {
		defer func() { b.failed = recover() }()
		b.all()
	})
}

// join waits for the merger beside this one, and adds its nodes.
func (m *merger) join() {
	b := m.beside
	m.beside = nil
	if b.done.Wait(); b.failed != nil {
		panic(b.failed)
	}
	m.end(b.depth)
	offset := int32(len(m.out.nodes))
	m.out.nodes = slices.Grow(m.out.nodes, len(b.out.nodes))
	for _, n := range b.out.nodes {
		n.end += offset
		m.out.nodes = append(m.out.nodes, n)
	}
	m.out.second = append(m.out.second, b.out.second...)
	m.out.all += b.out.all
	m.sum = [2]int64{m.sum[0] + b.sum[0], m.sum[1] + b.sum[1]}
}

// chain adds nodes from i on while each has one child and no other node has its path. It returns the first one that is
// different.
func (m *merger) chain(i int32) int32 {
	for m.next[i] == 0 {
		end := m.from.at(i).end
		if i+1 == end || m.from.at(i+1).end < end {
			break
		}
		m.setOwn(m.begin(i), m.from.self(i))
		i++
	}
	return i
}

// begin adds the node of a node of from at the end of the path.
func (m *merger) begin(i int32) (to int32) {
	to = int32(len(m.out.nodes))
	m.out.all++
	m.out.nodes = append(m.out.nodes, treeNode{frame: m.from.at(i).frame})
	if m.out.second != nil {
		m.out.second = append(m.out.second, nodeValues{})
	}
	m.path = append(m.path, begun{to, m.out.all, m.sum})
	return to
}

// setOwn sets the own values of the last node.
func (m *merger) setOwn(to int32, own [2]int64) {
	if m.isClamp {
		own = [2]int64{max(own[0], 0), max(own[1], 0)}
	}
	m.out.nodes[to].self = own[0]
	if m.out.second != nil {
		m.out.second[to].self = own[1]
	}
	m.sum = [2]int64{m.sum[0] + own[0], m.sum[1] + own[1]}
}

// end ends the nodes of the path from a depth on.
func (m *merger) end(depth int) {
	for len(m.path) > depth {
		b := m.path[len(m.path)-1]
		m.path = m.path[:len(m.path)-1]
		n := &m.out.nodes[b.node]
		n.end, n.below, n.total = int32(len(m.out.nodes)), m.out.all-b.all, m.sum[0]-b.sum[0]
		if m.out.second != nil {
			m.out.second[b.node].total = m.sum[1] - b.sum[1]
		}
		if m.most > 0 && b.node > 0 && !m.isKept(classOf(m.out.size(b.node))) {
			m.drop(b.node)
		}
	}
}

// drop drops a node with the nodes below it.
func (m *merger) drop(i int32) {
	m.out.nodes = m.out.nodes[:i]
	if m.out.second != nil {
		m.out.second = m.out.second[:i]
	}
}

// isKept reports whether a node of a class of sizes can be one of the `most` greatest.
func (m *merger) isKept(class int) bool {
	if class < m.least {
		return false
	}
	if m.counts[class]++; class > m.least {
		m.above++
	}
	for m.above >= m.most {
		m.least++
		m.above -= m.counts[m.least]
	}
	return true
}
