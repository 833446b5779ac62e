package tree

// treeNodes has the nodes of a tree in preorder, one for each path.
type treeNodes struct {
	nodes  []treeNode
	second []nodeValues // values of side 1; nil if it has no stacks
	all    int32        // number of nodes of the whole tree; nodes can lack the smallest
}

// treeNode is a function on a path.
type treeNode struct {
	frame      uint32
	end        int32 // index of the first node after this one that is not below it
	below      int32 // number of nodes below it in the whole tree
	nodeValues       // of side 0
}

// nodeValues are the values of a node: self of the stacks that end there, total with those of the nodes below.
type nodeValues struct{ self, total int64 }

// of returns a node's values by side.
func (m *treeNodes) of(i int32) (self, total [2]int64) {
	v := &m.nodes[i].nodeValues
	self[0], total[0] = v.self, v.total
	if m.second != nil {
		v = &m.second[i]
		self[1], total[1] = v.self, v.total
	}
	return self, total
}

// size returns the absolute value of a node's total, or of both sides' added up.
func (m *treeNodes) size(i int32) uint64 {
	if m.second == nil {
		return size(m.nodes[i].total)
	}
	return sizeOf([2]int64{m.nodes[i].total, m.second[i].total})
}

// parents returns the parents of the nodes. The root's is 0.
func (m *treeNodes) parents() []int32 {
	out := make([]int32, len(m.nodes))
	var path []int32
	for i := int32(1); int(i) < len(out); i++ {
		if i < m.nodes[i-1].end {
			path = append(path, i-1)
		}
		for m.nodes[path[len(path)-1]].end <= i {
			path = path[:len(path)-1]
		}
		out[i] = path[len(path)-1]
	}
	return out
}

// totals returns own values by node with those of the nodes below.
func (m *treeNodes) totals(own []int64) []int64 {
	sums := make([]int64, len(own)+1) // of the nodes before
	for i, v := range own {
		sums[i+1] = sums[i] + v
	}
	for i := range own { // the end of a node comes after it, so it still has its sum
		sums[i] = sums[m.nodes[i].end] - sums[i]
	}
	return sums[:len(own)]
}

// paths returns the nodes as those of paths, closed.
func (m *treeNodes) paths() pathNodes {
	p := newPathNodes()
	for i := range int32(len(m.nodes)) {
		if i > 0 {
			depth := len(p.path)
			for depth > 0 && m.nodes[p.path[depth-1].node].end <= i {
				depth--
			}
			p.cut(depth)
			p.push(m.nodes[i].frame)
		}
		own, _ := m.of(i)
		for side, v := range own {
			if v != 0 {
				p.addValue(i, side, v)
			}
		}
	}
	p.close()
	return p
}

// overlay adds the values of another tree to sums, by node of m. The value of a path that m lacks counts in the last node
// that m has of it. functions is the number of functions.
func (m *treeNodes) overlay(of *treeNodes, functions int, sums []int64) {
	seen, to := make([]lastChild, functions), make([]int32, len(of.nodes)) // to has nodes of m, by node of the other tree
	for i := int32(0); int(i) < len(of.nodes); i++ {
		at, n := to[i], &of.nodes[i]
		if at < 0 { // m lacks the path
			i = n.end - 1
			continue
		}
		sums[at] += n.self
		if i+1 == n.end {
			continue
		}
		for k := at + 1; k < m.nodes[at].end; k = m.nodes[k].end {
			seen[m.nodes[k].frame] = lastChild{at + 1, k}
		}
		for k := i + 1; k < n.end; k = of.nodes[k].end {
			if c := seen[of.nodes[k].frame]; c.parent == at+1 {
				to[k] = c.last
				continue
			}
			sums[at] += of.nodes[k].total
			to[k] = -1
		}
	}
}

// lastChild is the last known node of a function below a node, whose number is parent-1.
type lastChild struct{ parent, last int32 }
