package granule

import (
	"bytes"
	"cmp"
	"math/bits"
	"slices"
)

// merged is the rows of sorted frames in key order, the input of base parts.
type merged struct {
	frames  []*frame
	mem     *slab
	order   []rowRef
	columns []columnKey

	ordinals []uint64   // the header of each row
	headers  [][]uint64 // by column of Schema.Header, a word for each header
	of       []headers  // by frame
	first    uint64     // first header of the current series
	further  bool       // keys continue after the second column of their suffix
	pause    *pauser

	ranks []uint64 // scratch of timeRanks
}

// stretch is the rows of a series in one frame.
type stretch struct {
	rank, frame int32
	lo, hi      int32
}

// merge returns the rows of sorted frames in key order; rows with equal keys keep the order of their
// frames.
//
// It works series by series, because rows of different series compare only by the rank of the series. If only
// one frame has a series, as usual while a table grows, no rows are compared.
func merge(frames []*frame, rows int, mem *slab, pause *pauser) *merged {
	m := &merged{frames: frames, mem: mem, pause: pause, order: mem.refs(rows), columns: unionColumns(frames), ordinals: mem.room(rows)}
	m.further = m.hasSuffix(2)
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
		before := len(m.order)
		m.addSeries(stretches[:n])
		stretches = stretches[n:]
		pause.did(len(m.order) - before)
	}
	return m
}

// hasSuffix reports whether any frame has a suffix column at or after from. Rows of two frames can differ
// in such a column even if each frame has only one value.
func (m *merged) hasSuffix(from int) bool {
	suffix := m.frames[0].schema.Suffix()
	return slices.ContainsFunc(m.columns, func(c columnKey) bool {
		return slices.Contains(suffix[min(from, len(suffix)):], c.column)
	})
}

// stretchesOf returns the rows in each series in each frame, in the order of the series.
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

// rankSeries returns a function that ranks the given series by their tuples. It compares their bytes once, in
// advance, because there are few series.
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

// addSeries merges the rows in one series.
func (m *merged) addSeries(stretches []stretch) {
	m.addHeaders(stretches)
	if len(stretches) == 1 {
		s := stretches[0]
		for row := s.lo; row < s.hi; row++ {
			m.add(s.frame, row)
		}
		return
	}
	if len(stretches) > 2 && m.sortSeries(stretches) {
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

// sortSeries merges the rows in a series if the key continues with a list and then the first column of the
// header. It sorts the codes of the lists and the ranks of the times as one integer. The cost does not depend
// on the number of stretches, and for more than two is below the cost of comparisons. sortSeries returns
// false for other keys.
func (m *merged) sortSeries(stretches []stretch) bool {
	s := m.frames[0].schema
	if !s.ListsLead() || len(s.Header()) == 0 || len(s.Suffix()) < 2 || s.Suffix()[1] != s.Header()[0] {
		return false
	}
	rows, most := 0, uint64(0)
	for _, st := range stretches {
		rows += int(st.hi - st.lo)
		if f := m.frames[st.frame]; f.leadingLists() != nil {
			most = max(most, slices.Max(f.leadingLists().words))
		}
	}
	ranks, last := m.timeRanks()
	timeBits, rowBits := bits.Len64(last), bits.Len(uint(rows))
	if bits.Len64(most)+timeBits+rowBits > 64 {
		return false
	}
	mark := m.mem.used
	words := m.mem.room(rows)
	from := len(m.order)
	for _, st := range stretches {
		list, h := m.frames[st.frame].leadingLists(), &m.of[st.frame]
		for row := st.lo; row < st.hi; row++ {
			word := uint64(0)
			if list != nil {
				word = list.word(int(row))
			}
			word = word<<timeBits | ranks[h.of(int(row))-m.first]
			words = append(words, word<<rowBits|uint64(len(words)))
			m.order = append(m.order, rowRef{st.frame, row})
		}
	}
	words = radixSort(words, m.mem.room(rows)[:rows], rowBits)
	m.mem.used = mark
	m.reorder(from, words, rowBits)
	return true
}

// reorder arranges the rows from index `from` on in the order of sorted words, whose lower bits are row
// numbers. Rows with equal upper bits are compared further.
func (m *merged) reorder(from int, words []uint64, rowBits int) {
	unsorted := append(m.mem.unsorted[:0], m.order[from:]...)
	m.mem.unsorted = unsorted
	order := m.order[from:]
	for i, w := range words {
		order[i] = unsorted[w&(1<<rowBits-1)]
	}
	if m.further {
		ties(words, rowBits, func(lo, hi int) {
			slices.SortStableFunc(order[lo:hi], func(a, b rowRef) int {
				return m.frames[a.frame].compare(int(a.row), m.frames[b.frame], int(b.row), 2)
			})
		})
	}
	for _, r := range order {
		m.ordinals = append(m.ordinals, m.of[r.frame].of(int(r.row)))
	}
}

// timeRanks returns the rank of the first column's word for each header of the current series,
// and the last rank. Headers are in the order of these words.
func (m *merged) timeRanks() (ranks []uint64, last uint64) {
	words := m.headers[0][m.first:]
	ranks = m.ranks[:0]
	for i, w := range words {
		if i > 0 && w != words[i-1] {
			last++
		}
		ranks = append(ranks, last)
	}
	m.ranks = ranks
	return ranks, last
}

// run is the remaining rows in a frame in a merge.
type run struct {
	frame   *frame
	row, hi int32
	lists   *frameColumn // the column after the series, if it has lists
	first   uint64       // the code of the list
}

func (r *run) next() {
	if r.row++; r.row < r.hi && r.lists != nil {
		r.first = r.lists.word(int(r.row))
	}
}

// loserTree is a tournament tree: inner node i holds the loser of its match, node 0 the overall winner.
// Leaves are len(runs)+i. The parent of node n is n/2. It takes log2(runs) comparisons per row, half as many
// as a heap.
type loserTree struct {
	runs  []run
	nodes []int
	from  int // first column of the suffix to compare; leading columns are equal
}

// newLoserTree returns a tree that merges the rows in one series.
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

// replay finds the new winner after a leaf's run advanced.
func (t *loserTree) replay(leaf int) {
	for node := (leaf + len(t.nodes)) / 2; node > 0; node /= 2 {
		if t.less(t.nodes[node], leaf) {
			leaf, t.nodes[node] = t.nodes[node], leaf
		}
	}
	t.nodes[0] = leaf
}

// less orders runs by key. Finished runs come last, equal runs are ordered by index.
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
