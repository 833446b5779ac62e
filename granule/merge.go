package granule

import (
	"bytes"
	"cmp"
	"slices"
)

// merged is the rows of sorted frames in key order: what parts are built of.
type merged struct {
	frames  []*frame
	mem     *slab
	order   []rowRef
	columns []columnKey

	ordinals []uint64   // of each row: its header
	headers  [][]uint64 // by column of Schema.Header, a word for each header
	of       []headers  // by frame
}

// stretch is rows of one series in one frame.
type stretch struct {
	rank, frame int32
	lo, hi      int32
}

// merge returns the rows of sorted frames in key order; rows with equal keys come in
// the order of the frames.
//
// It goes series by series: rows of different ones are compared by the rank of the
// series alone, and where only one frame has a series, which is so for most while a
// table grows, there is nothing to compare at all.
func merge(frames []*frame, rows int, mem *slab) *merged {
	m := &merged{frames: frames, mem: mem, order: make([]rowRef, 0, rows), columns: unionColumns(frames), ordinals: mem.take(rows)}
	m.of = make([]headers, len(frames))
	for i, f := range frames {
		m.of[i] = f.headers(mem)
	}
	m.headers = make([][]uint64, len(frames[0].schema.Header()))
	stretches := stretchesOf(frames)
	for len(stretches) > 0 {
		n := 1
		for n < len(stretches) && stretches[n].rank == stretches[0].rank {
			n++
		}
		m.addSeries(stretches[:n])
		stretches = stretches[n:]
	}
	return m
}

// stretchesOf returns the rows of each series in each frame, those of the first
// series first.
func stretchesOf(frames []*frame) []stretch {
	var out []stretch
	var codes []uint32 // of each stretch
	for i, f := range frames {
		for lo := 0; lo < len(f.series); {
			hi := lo + 1
			for hi < len(f.series) && f.series[hi] == f.series[lo] {
				hi++
			}
			out = append(out, stretch{frame: int32(i), lo: int32(lo), hi: int32(hi)})
			codes = append(codes, f.series[lo])
			lo = hi
		}
	}
	rank := rankSeries(frames[0].gen, codes)
	for i := range out {
		out[i].rank = rank(codes[i])
	}
	slices.SortFunc(out, func(a, b stretch) int { return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.frame, b.frame)) })
	return out
}

// rankSeries returns what ranks the given series by their tuples: they are few, so
// their bytes are compared once.
func rankSeries(gen *Generation, codes []uint32) func(code uint32) int32 {
	distinct := slices.Clone(codes)
	slices.Sort(distinct)
	distinct = slices.Compact(distinct)
	if len(distinct) == 1 {
		return func(uint32) int32 { return 0 }
	}
	byTuple := slices.Clone(distinct)
	slices.SortFunc(byTuple, func(a, b uint32) int { return bytes.Compare(gen.Series.Value(a), gen.Series.Value(b)) })
	ranks := make([]int32, len(distinct))
	for rank, code := range byTuple {
		i, _ := slices.BinarySearch(distinct, code)
		ranks[i] = int32(rank)
	}
	return func(code uint32) int32 {
		i, _ := slices.BinarySearch(distinct, code)
		return ranks[i]
	}
}

// addSeries merges the rows of one series.
func (m *merged) addSeries(stretches []stretch) {
	m.addHeaders(stretches)
	if len(stretches) == 1 {
		s := stretches[0]
		for row := s.lo; row < s.hi; row++ {
			m.add(s.frame, row)
		}
		return
	}
	t := newLoserTree(m.frames, stretches)
	for {
		leaf := t.winner()
		r := &t.runs[leaf]
		if r.row == r.hi {
			return
		}
		m.add(stretches[leaf].frame, r.row)
		r.next()
		t.replay(leaf)
	}
}

func (m *merged) add(frame, row int32) {
	m.order = append(m.order, rowRef{frame, row})
	m.ordinals = append(m.ordinals, m.of[frame].of(int(row)))
}

// run is rows of one frame on their way through a merge.
type run struct {
	frame   *frame
	row, hi int32
	lists   *frameColumn // the column behind the series, if it is one of lists
	first   uint64       // its code
}

func (r *run) next() {
	if r.row++; r.row < r.hi && r.lists != nil {
		r.first = r.lists.word(int(r.row))
	}
}

// loserTree is a tournament: inner node i holds the run that lost there, node
// 0 the winner of all. Leaves are len(runs)+i; a node's parent is half of it. It
// takes log2(runs) comparisons a row, against twice as many in a heap.
type loserTree struct {
	runs  []run
	nodes []int
	from  int // column of the suffix to compare from, where what leads is equal
}

// newLoserTree merges rows of one series.
func newLoserTree(frames []*frame, stretches []stretch) *loserTree {
	t := &loserTree{runs: make([]run, len(stretches)), nodes: make([]int, len(stretches))}
	if frames[0].schema.ListsLead() {
		t.from = 1
	}
	for i, s := range stretches {
		f := frames[s.frame]
		t.runs[i] = run{frame: f, row: s.lo - 1, hi: s.hi, lists: f.leadingLists()}
		t.runs[i].next()
	}
	t.nodes[0] = t.play(1)
	return t
}

// leadingLists returns the column of lists that is next in the key after the series,
// nil if that is of another type or the frame has none.
func (f *frame) leadingLists() *frameColumn {
	if !f.schema.ListsLead() {
		return nil
	}
	return f.suffixColumn(0)
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
	switch {
	case x.row >= x.hi || y.row >= y.hi:
		return x.row < x.hi
	case x.first != y.first:
		return x.first < y.first
	}
	if c := x.frame.compare(int(x.row), y.frame, int(y.row), t.from); c != 0 {
		return c < 0
	}
	return a < b
}
