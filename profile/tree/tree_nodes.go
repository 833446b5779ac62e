package tree

import (
	"math"
	"slices"
)

// treeNodes has the nodes of a tree, one for each path. Parents come before their children. The children of a node are
// neighbours, in the order of their first path nodes.
type treeNodes struct {
	nodes  []treeNode
	second []int64 // totals of side 1; nil if it has no stacks
	large  []int32 // the nodes whose children are there. The others are smaller than enough of these.

	from  *pathNodes
	paths []int32     // path nodes that have children; those with one path are neighbours
	seen  []lastChild // by function
	found []foundChild
}

// foundChild is a path node, and its node below the one that is being expanded.
type foundChild struct{ path, child int32 }

// treeNode is a function on a path.
type treeNode struct {
	frame         uint32
	parent        int32
	first, last   int32 // its path nodes are paths[first:last]
	children, end int32 // its children are nodes[children:end]
	total         int64 // of side 0
}

// lastChild is the last known node of a function below a node, whose number is parent-1.
type lastChild struct{ parent, last int32 }

// merge returns the nodes of p with one for each path. functions is the number of functions. Of the smallest nodes, the children
// are not there while `most` nodes are greater than these; 0 leaves out none. That needs values of at least 0 whose sums do not
// overflow, because no node is greater than its parent then. It costs 50 ns for each path node that is a
// child of a large node.
func (p *pathNodes) merge(functions, most int) *treeNodes {
	p.close()
	m := &treeNodes{from: p, paths: []int32{0}, seen: make([]lastChild, functions)}
	total := p.total(0)
	if m.nodes = append(m.nodes, treeNode{last: 1, total: total[0]}); p.second != nil || p.sum[1] != 0 || p.own[1] != 0 {
		m.second = append(m.second, total[1])
	}
	if most > 0 {
		m.expandLarge(most)
		return m
	}
	for i := int32(0); int(i) < len(m.nodes); i++ {
		m.expand(i)
		m.large = append(m.large, i)
	}
	return m
}

// expandLarge finds the children of the greatest nodes, class by class, until more than `most` nodes have theirs.
func (m *treeNodes) expandLarge(most int) {
	classes := make([][]int32, classOf(math.MaxUint64)+1)
	class := classOf(m.size(0))
	classes[class] = []int32{0}
	for ; class >= 0 && len(m.large) <= most; class-- {
		for k := 0; k < len(classes[class]); k++ { // a child can be of the same class
			i := classes[class][k]
			m.expand(i)
			for child := m.nodes[i].children; child < m.nodes[i].end; child++ {
				of := classOf(m.size(child))
				classes[of] = append(classes[of], child)
			}
		}
		m.large = append(m.large, classes[class]...)
	}
}

// expand finds the children of a node. Until all are there, last is the number of a child's path nodes.
func (m *treeNodes) expand(i int32) {
	from := int32(len(m.nodes))
	m.found = m.found[:0]
	for paths := range slices.Chunk(m.paths[m.nodes[i].first:m.nodes[i].last], abreast) {
		m.readAhead(paths)
		for _, p := range paths {
			m.expandPath(i, p)
		}
	}
	m.nodes[i].children, m.nodes[i].end = from, int32(len(m.nodes))
	m.group(m.nodes[from:])
}

// abreast is how many path nodes are read ahead at once: their children fit into the fastest cache.
const abreast = 32

// readAhead reads the children of some path nodes and the nodes behind, one for each path node in turn. The next one is
// known only when the last one is read, which takes 100 ns if it is in no cache. The reads for different path nodes wait
// side by side.
func (m *treeNodes) readAhead(paths []int32) {
	type span struct{ at, end int32 }
	var spans [abreast]span
	for i, p := range paths {
		spans[i] = span{p + 1, m.from.at(p).end}
	}
	for left := spans[:len(paths)]; len(left) > 0; {
		kept := left[:0]
		for _, s := range left {
			if next := m.from.at(min(s.at, m.from.count-1)).end; s.at < s.end {
				kept = append(kept, span{next, s.end})
			}
		}
		left = kept
	}
}

// expandPath adds the children of a path node to those of its node.
func (m *treeNodes) expandPath(i, p int32) {
	end, before := m.from.at(p).end, m.from.before(p+1)
	for k := p + 1; k < end; {
		n := m.from.at(k)
		after, child := m.from.before(n.end), m.child(i, n.frame)
		m.addTotal(child, minus(after, before))
		if n.end > k+1 {
			m.found = append(m.found, foundChild{k, child})
			m.nodes[child].last++
		}
		k, before = n.end, after
	}
}

// child returns the node of a function below a node that is being expanded.
func (m *treeNodes) child(i int32, frame uint32) int32 {
	c := &m.seen[frame]
	if c.parent != i+1 {
		*c = lastChild{i + 1, int32(len(m.nodes))}
		m.nodes = extended(m.nodes, 1)
		m.nodes[c.last] = treeNode{frame: frame, parent: i}
		if m.second != nil {
			m.second = append(m.second, 0)
		}
	}
	return c.last
}

func (m *treeNodes) addTotal(i int32, total [2]int64) {
	m.nodes[i].total += total[0]
	if m.second != nil {
		m.second[i] += total[1]
	}
}

// group makes neighbours of the found path nodes of each child.
func (m *treeNodes) group(children []treeNode) {
	at := int32(len(m.paths))
	m.paths = extended(m.paths, len(m.found))
	for i := range children {
		n := &children[i]
		paths := n.last
		n.first, n.last = at, at
		at += paths
	}
	for _, f := range m.found {
		n := &m.nodes[f.child]
		m.paths[n.last] = f.path
		n.last++
	}
}

// extended returns a slice with n elements more, of any values. It doubles the room, because append copies large slices more often.
func extended[T any](of []T, n int) []T {
	if len(of)+n > cap(of) {
		of = slices.Grow(of, len(of)+n)
	}
	return of[:len(of)+n]
}

// total returns a node's values with those of the nodes below it, by side.
func (m *treeNodes) total(i int32) (v [2]int64) {
	if v[0] = m.nodes[i].total; m.second != nil {
		v[1] = m.second[i]
	}
	return v
}

// self returns the own values of a large node, by side.
func (m *treeNodes) self(i int32) [2]int64 {
	own := m.total(i)
	for child := m.nodes[i].children; child < m.nodes[i].end; child++ {
		own = minus(own, m.total(child))
	}
	return own
}

// size returns the absolute value of a node's total, or of both sides' added up.
func (m *treeNodes) size(i int32) uint64 {
	if m.second == nil {
		return size(m.nodes[i].total)
	}
	return sizeOf(m.total(i))
}

// dropNegatives sets own values below 0 to 0. All nodes are large.
func (m *treeNodes) dropNegatives() {
	own := make([][2]int64, len(m.nodes))
	for i := range own {
		v := m.self(int32(i))
		own[i] = [2]int64{max(v[0], 0), max(v[1], 0)}
	}
	for i := len(own) - 1; i > 0; i-- { // children come after their parents
		own[m.nodes[i].parent] = plus(own[m.nodes[i].parent], own[i])
	}
	for i, v := range own {
		if m.nodes[i].total = v[0]; m.second != nil {
			m.second[i] = v[1]
		}
	}
}

// each calls begin for each node in preorder, without the nodes below one for which begin returns false, and end after a node and the
// nodes below it. It does not recurse, because a tree can be deeper than a goroutine's stack.
func (m *treeNodes) each(begin func(i int32, depth int) bool, end func(i int32, depth int)) {
	begin(0, 0)
	type step struct{ node, next int32 } // the next child
	for path := []step{{0, m.nodes[0].children}}; len(path) > 0; {
		s := &path[len(path)-1]
		if s.next == m.nodes[s.node].end {
			path = path[:len(path)-1]
			end(s.node, len(path))
			continue
		}
		child := s.next
		if s.next++; begin(child, len(path)) {
			path = append(path, step{child, m.nodes[child].children})
		}
	}
}

// asPaths returns the nodes as those of paths, closed. All nodes are large.
func (m *treeNodes) asPaths() pathNodes {
	p := newPathNodes()
	p.own = m.self(0)
	m.each(func(i int32, depth int) bool {
		if i == 0 {
			return true
		}
		p.cut(depth - 1)
		p.push(m.nodes[i].frame)
		for side, v := range m.self(i) {
			p.add(side, v)
		}
		return true
	}, func(int32, int) {})
	p.close()
	return p
}

// overlay returns the values of other paths by node, those of side 0, as own values. A value whose path the tree lacks, or that is
// below a node that is not large, counts in the last node of its path. It costs 20 ns for each of the other nodes.
func (m *treeNodes) overlay(of *pathNodes) []int64 {
	of.close()
	own, next := make([]int64, len(m.nodes)), make([]int32, of.count)
	last := make([]int32, len(m.nodes)) // of the other nodes with a node's path; the root is 0 there too
	for i := range m.nodes {
		n := &m.nodes[i]
		for child := n.children; child < n.end; child++ {
			m.seen[m.nodes[child].frame] = lastChild{^int32(i), child}
		}
		for p := last[i]; p > 0 || i == 0; p = next[p] {
			own[i] += of.self(p)[0]
			for k, end := p+1, of.at(p).end; k < end; k = of.at(k).end {
				if c := m.seen[of.at(k).frame]; c.parent == ^int32(i) {
					next[k], last[c.last] = last[c.last], k
				} else {
					own[i] += of.total(k)[0]
				}
			}
			if i == 0 {
				break
			}
		}
	}
	return own
}

// below returns own values by node with those of the nodes below.
func (m *treeNodes) below(own []int64) []int64 {
	sums := append([]int64(nil), own...)
	for i := len(sums) - 1; i > 0; i-- {
		sums[m.nodes[i].parent] += sums[i]
	}
	return sums
}
