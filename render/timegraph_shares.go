package render

import (
	"cmp"
	"slices"
	"sync"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/summary"
)

// fraction is the fraction of a column's time in a state, 0 to 1.
type fraction struct {
	state int // index in sharedColumns.states
	share float64
}

// sharedColumns has the parts of each column of a row.
type sharedColumns struct {
	states []history.Value // by number
	parts  [][]fraction    // by column and state; restState means states that are not kept
}

// isNull reports whether a state is null, which has no colour.
func (c *sharedColumns) isNull(state int) bool { return state != restState && c.states[state].IsNull() }

// The limits of columns.
const (
	// keptParts bounds the states of a column that have their own part.
	keptParts = 12
	restState = -1

	// foldStates bounds the states of a row that are distinguished during the sums. foldCells bounds the
	// memory of all rows during the sums: 12 bytes for each column of each state.
	foldStates = 256
	foldCells  = 16 << 20
	// foldChunk is the number of attributes in a query, or more if they have fewer than foldShares shares, of
	// 16 bytes each. In a larger chunk, more attributes of a row are together.
	foldChunk  = 256
	foldShares = 1 << 19
	// From foldMany attributes on, foldParts goroutines each sum up a part of them.
	foldMany  = 1 << 14
	foldParts = 4
)

// shareSum sums up the shares of attributes.
type shareSum struct {
	pyramid  *summary.Pyramid
	from, to int64
	pixels   int
	parts    int          // goroutines of fold; 0: as many as the attributes need
	kept     int          // states of a row; 0: as many as fit in memory
	err      func() error // Err of the options

	old     *summary.Shares
	numbers map[history.Value]int
	states  []history.Value // by number
	known   []int           // numbers, by state of an answer
	begin   []int32         // scratch of byRow
	order   []int32
}

// foldedRow has a row's sums. Slot 0 is for the rest.
type foldedRow struct {
	slots  []int // by number of a state; -1: none yet
	states []history.Value
	part   [][]float64 // parts of columns, by slot
	whole  [][]int32   // by slot: attributes that begin to fill columns, minus attributes that cease to
}

// of returns the shares of attributes with equal weights.
func (f *shareSum) of(attributes []history.Attribute) (*sharedColumns, error) {
	if len(attributes) == 1 {
		return f.ofOne(attributes)
	}
	all, err := f.fold([][]history.Attribute{attributes})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// fold returns the shares of groups of attributes. It reads attributes in the order of the history, therefore
// it walks the history once; for many attributes it uses several goroutines, and waits for them. If one of
// them finds more states than it can distinguish, fold starts again with one goroutine. The number of parts
// does not depend on the machine, because sums depend on their order.
func (f *shareSum) fold(groups [][]history.Attribute) ([]*sharedColumns, error) {
	asked, of, err := f.inOrder(groups)
	if err != nil {
		return nil, err
	}
	parts := f.parts
	if parts == 0 {
		if parts = 1; len(asked) >= foldMany {
			parts = foldParts
		}
	}
	kept := f.kept
	if kept == 0 {
		kept = min(foldStates, max(keptParts, foldCells/parts/f.pixels/len(groups)))
	}
	sums := make([]foldedPart, parts)
	var all sync.WaitGroup
	for i := range sums {
		lo, hi := i*len(asked)/parts, (i+1)*len(asked)/parts
		sums[i].folder = shareSum{pyramid: f.pyramid, from: f.from, to: f.to, pixels: f.pixels, err: f.err, numbers: map[history.Value]int{}}
		all.Go(func() { sums[i].err = sums[i].sum(asked[lo:hi], of[lo:hi], len(groups), kept) })
	}
	all.Wait()
	for i := range sums {
		switch {
		case sums[i].err != nil:
			return nil, sums[i].err
		case parts > 1 && sums[i].hasRest(): // another part may distinguish states that this part did not
			again := *f
			again.parts, again.kept = 1, kept
			return again.fold(groups)
		}
	}
	first := &sums[0]
	n := first.folder.old.Len()
	out := make([]*sharedColumns, len(groups))
	for row := range out {
		for i := range sums[1:] {
			first.rows[row].merge(&first.folder, &sums[i+1].rows[row], n, kept)
			sums[i+1].rows[row] = foldedRow{}
		}
		out[row] = first.rows[row].columns(n, len(groups[row]))
		first.rows[row] = foldedRow{}
	}
	return out, nil
}

// foldedPart is a part of the attributes of all rows, summed up by one goroutine.
type foldedPart struct {
	folder shareSum
	rows   []foldedRow
	err    error
}

// hasRest reports whether a row has more states than it can distinguish.
func (p *foldedPart) hasRest() bool {
	return slices.ContainsFunc(p.rows, func(r foldedRow) bool { return r.part[0] != nil })
}

// sum adds the shares of attributes to their rows.
func (p *foldedPart) sum(asked []history.Attribute, of []int32, rows, kept int) (err error) {
	p.rows = make([]foldedRow, rows)
	for i := range p.rows {
		p.rows[i] = foldedRow{part: make([][]float64, 1), whole: make([][]int32, 1)}
	}
	f, chunk := &p.folder, foldChunk
	for lo, hi := 0, 0; lo < len(asked); lo = hi {
		hi = min(lo+chunk, len(asked))
		if err := f.err(); err != nil {
			return err
		}
		if f.old, err = f.pyramid.SharesInto(f.old, asked[lo:hi], f.from, f.to, f.pixels); err != nil {
			return err
		}
		f.known = f.known[:0]
		for i := range f.old.States() {
			f.known = append(f.known, f.number(f.old.State(int32(i))))
		}
		all := 0
		for _, i := range f.byRow(of[lo:hi], rows) {
			shares := f.old.Attribute(int(i))
			f.add(&p.rows[of[lo+int(i)]], shares, kept)
			all += len(shares)
		}
		chunk = min(max(foldChunk, foldShares/(all/(hi-lo)+1)), 256*foldChunk)
	}
	return nil
}

// merge adds the sums of another part of the row with n columns.
func (r *foldedRow) merge(f *shareSum, other *foldedRow, n, most int) {
	for from := range other.part {
		if other.part[from] == nil {
			continue
		}
		to := 0
		if from > 0 {
			v := other.states[from-1]
			to = r.slot(f.number(v), v, n, most)
		} else if r.part[0] == nil {
			r.part[0], r.whole[0] = make([]float64, n), make([]int32, n+1)
		}
		for c := range n {
			r.part[to][c] += other.part[from][c]
			r.whole[to][c] += other.whole[from][c]
		}
	}
}

// inOrder returns the attributes of all groups ordered by lane, and each attribute's group.
func (f *shareSum) inOrder(groups [][]history.Attribute) (asked []history.Attribute, of []int32, err error) {
	v := f.pyramid.View()
	places := make([]int, v.Lanes()+2) // start of each lane's attributes; attributes without a lane are last
	laneOf := func(a history.Attribute) int {
		if lane, _, placed := v.Place(a); placed && lane < v.Lanes() { // a later view can have more lanes
			return lane
		}
		return v.Lanes()
	}
	n := 0
	for _, some := range groups {
		for _, a := range some {
			if _, err := v.Parent(a); err != nil {
				return nil, nil, err
			}
			places[laneOf(a)+1]++
		}
		n += len(some)
	}
	for i := range places[1:] {
		places[i+1] += places[i]
	}
	asked, of = make([]history.Attribute, n), make([]int32, n)
	for i, some := range groups {
		for _, a := range some {
			at := &places[laneOf(a)]
			asked[*at], of[*at] = a, int32(i)
			*at++
		}
	}
	return asked, of, nil
}

// byRow returns a chunk's indexes ordered by row.
func (f *shareSum) byRow(of []int32, rows int) []int32 {
	f.begin = append(f.begin[:0], make([]int32, rows+1)...)
	for _, row := range of {
		f.begin[row+1]++
	}
	for i := range rows {
		f.begin[i+1] += f.begin[i]
	}
	f.order = append(f.order[:0], of...)
	for i, row := range of {
		f.order[f.begin[row]] = int32(i)
		f.begin[row]++
	}
	return f.order
}

// number returns the number of a state.
func (f *shareSum) number(v history.Value) int {
	number, known := f.numbers[v]
	if !known {
		number = len(f.states)
		f.numbers[v], f.states = number, append(f.states, v)
	}
	return number
}

// slot returns a state's slot in a row of n columns. A new state gets a slot if the row has fewer than
// most.
func (r *foldedRow) slot(number int, v history.Value, n, most int) int {
	for len(r.slots) <= number {
		r.slots = append(r.slots, -1)
	}
	if r.slots[number] >= 0 {
		return r.slots[number]
	}
	slot := 0
	if len(r.states) < most {
		r.states = append(r.states, v)
		slot = len(r.states)
		r.part, r.whole = append(r.part, nil), append(r.whole, nil)
	}
	if r.part[slot] == nil {
		r.part[slot], r.whole[slot] = make([]float64, n), make([]int32, n+1)
	}
	r.slots[number] = slot
	return slot
}

// add adds the shares of an attribute to a row.
func (f *shareSum) add(r *foldedRow, shares []summary.Share, most int) {
	n := f.old.Len()
	for i := range shares {
		s := &shares[i]
		number := f.known[s.State]
		slot := r.slot(number, f.states[number], n, most)
		alone := i == 0 || shares[i-1].First != s.First
		end := int32(n)
		if i+1 < len(shares) {
			end = shares[i+1].First
			alone = alone && end != s.First
		}
		if alone {
			r.whole[slot][s.First]++
			r.whole[slot][end]--
			continue
		}
		r.part[slot][s.First] += f.share(s)
	}
}

// columns returns the n sums of a row with `attributes` attributes.
func (r *foldedRow) columns(n, attributes int) *sharedColumns {
	out := &sharedColumns{states: r.states, parts: make([][]fraction, n)}
	whole := make([]int32, len(r.part))
	var parts []fraction
	for c := range n {
		parts = parts[:0]
		for slot := range r.part {
			if r.part[slot] == nil {
				continue // the other columns are empty
			}
			whole[slot] += r.whole[slot][c]
			if sum := float64(whole[slot]) + r.part[slot][c]; sum > 0 {
				parts = append(parts, fraction{slot - 1, sum / float64(attributes)})
			}
		}
		out.parts[c] = slices.Clone(most(parts))
	}
	return out
}

// ofOne is `of` for one attribute. It distinguishes all states.
func (f *shareSum) ofOne(attribute []history.Attribute) (*sharedColumns, error) {
	var err error
	if f.old, err = f.pyramid.SharesInto(f.old, attribute, f.from, f.to, f.pixels); err != nil {
		return nil, err
	}
	n, shares := f.old.Len(), f.old.Attribute(0)
	out := &sharedColumns{parts: make([][]fraction, n)}
	for i := range f.old.States() {
		out.states = append(out.states, f.old.State(int32(i)))
	}
	for lo := 0; lo < len(shares); {
		hi, end := lo+1, n
		for hi < len(shares) && shares[hi].First == shares[lo].First {
			hi++
		}
		if hi < len(shares) {
			end = int(shares[hi].First)
		}
		first := int(shares[lo].First)
		if hi-lo == 1 {
			whole := []fraction{{int(shares[lo].State), 1}}
			for c := first; c < end; c++ {
				out.parts[c] = whole
			}
		} else {
			parts := make([]fraction, 0, hi-lo)
			for _, s := range shares[lo:hi] {
				parts = append(parts, fraction{int(s.State), f.share(&s)})
			}
			slices.SortFunc(parts, func(a, b fraction) int { return cmp.Compare(a.state, b.state) })
			out.parts[first] = most(parts)
		}
		lo = hi
	}
	return out, nil
}

// share returns a share as a fraction of its pixel.
func (f *shareSum) share(s *summary.Share) float64 {
	first, last := f.old.Of(int(s.First))
	return float64(s.Time) / (float64(uint64(last)-uint64(first)) + 1)
}

// most keeps the largest parts of a column, in the order of states, and makes one part from the others.
func most(parts []fraction) []fraction {
	if len(parts) <= keptParts {
		return parts
	}
	slices.SortFunc(parts, func(a, b fraction) int {
		return cmp.Or(-cmp.Compare(min(a.state, 0), min(b.state, 0)), cmp.Compare(b.share, a.share), cmp.Compare(a.state, b.state))
	})
	rest := fraction{state: restState}
	for _, p := range parts[keptParts:] {
		rest.share += p.share
	}
	kept := parts[:keptParts]
	slices.SortFunc(kept, func(a, b fraction) int { return cmp.Compare(a.state, b.state) })
	return append(kept, rest)
}
