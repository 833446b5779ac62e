package granule

import "bytes"

// merge returns the rows of sorted frames in key order; rows with equal keys
// come in the order of the frames. It is a loser tree: log2(frames) key
// comparisons a row, against twice as many in a heap.
func merge(frames []*frame, rows int) []rowRef {
	order := make([]rowRef, 0, rows)
	t := newLoserTree(frames)
	for {
		leaf := t.winner()
		r := &t.runs[leaf]
		if r.done() {
			return order
		}
		order = append(order, rowRef{int32(leaf), int32(r.row)})
		r.next()
		t.replay(leaf)
	}
}

// run is one frame on its way through a merge.
type run struct {
	frame *frame
	row   int
	key   []byte
}

func (r *run) done() bool { return r.row >= len(r.frame.series) }

func (r *run) next() {
	r.row++
	if !r.done() {
		r.key = r.frame.appendKey(r.key[:0], r.row)
	}
}

// loserTree is a tournament: inner node i holds the run that lost there, node
// 0 the winner of all. Leaves are len(runs)+i; a node's parent is half of it.
type loserTree struct {
	runs  []run
	nodes []int
}

func newLoserTree(frames []*frame) *loserTree {
	t := &loserTree{runs: make([]run, len(frames)), nodes: make([]int, len(frames))}
	for i, f := range frames {
		t.runs[i] = run{frame: f, row: -1}
		t.runs[i].next()
	}
	t.nodes[0] = t.play(1)
	return t
}

// play fills the inner nodes below node and returns the winner there.
func (t *loserTree) play(node int) int {
	if node >= len(t.nodes) {
		return node - len(t.nodes)
	}
	a, b := t.play(2*node), t.play(2*node+1)
	if t.less(b, a) {
		a, b = b, a
	}
	t.nodes[node] = b
	return a
}

func (t *loserTree) winner() int { return t.nodes[0] }

// replay finds the new winner after the run of a leaf has moved on.
func (t *loserTree) replay(leaf int) {
	for node := (leaf + len(t.nodes)) / 2; node > 0; node /= 2 {
		if t.less(t.nodes[node], leaf) {
			leaf, t.nodes[node] = t.nodes[node], leaf
		}
	}
	t.nodes[0] = leaf
}

// less orders runs by key, the finished ones last, equal ones by index.
func (t *loserTree) less(a, b int) bool {
	x, y := &t.runs[a], &t.runs[b]
	if x.done() || y.done() {
		return !x.done()
	}
	if c := bytes.Compare(x.key, y.key); c != 0 {
		return c < 0
	}
	return a < b
}
