package summary

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/granarydb/granary/history"
)

// Share is the time in one state. If it is alone in its first pixel, then all pixels up to the next share,
// or up to the last pixel, are in that state. Otherwise it is part of one pixel. 16 bytes.
type Share struct {
	// Time counts the instants with the state in the pixels. 0 means 2^64.
	Time uint64
	// First is the first pixel.
	First int32
	// State is a number for Shares.State.
	State int32
}

// Shares is the time that attributes spent in each state, by pixel. It belongs to the caller.
type Shares struct {
	Pixels

	answers[Share]
	view   *history.View
	states []word
	first  atomic.Pointer[[]word] // known states of the first part
}

// word is a value's kind and word.
type word struct {
	kind history.Kind
	word uint64
}

// Shares returns the time that attributes, or all if the list is nil, spent in each state, for each pixel
// in [from, to]. It returns the errors of View.Pixels in package history. There are at most three shares
// for each interval in the range, usually fewer. It costs 3 to 10 ns an interval that is read, 5 ns a share
// and 35 ns an attribute; in an open view also a row of View.SliceColumns for each attribute. Attributes in
// one lane should be adjacent, as they usually are in Children and Descendants.
func (p *Pyramid) Shares(attributes []history.Attribute, from, to int64, pixels int) (*Shares, error) {
	return p.SharesInto(nil, attributes, from, to, pixels)
}

// SharesInto is Shares, and reuses the memory of old. old must have no readers, and becomes the result. A nil
// old has no memory to reuse. After an error old has no meaning.
func (p *Pyramid) SharesInto(old *Shares, attributes []history.Attribute, from, to int64, pixels int) (*Shares, error) {
	if err := check(p.view, attributes, from, to, pixels); err != nil {
		return nil, err
	}
	if old == nil {
		old = new(Shares)
	}
	old.view = p.view
	old.prepare(p.count(attributes))
	old.set(from, to, pixels)
	old.first.Store(nil)
	all := make([]*sharer, workers(old.n))
	sinks := make([]sink, len(all))
	for i := range all {
		s := sharers.Get().(*sharer)
		defer s.free()
		s.reset(old)
		all[i], sinks[i] = s, s
	}
	if err := p.ask(attributes, from, to, sinks); err != nil {
		return nil, err
	}
	old.number(all)
	return old, nil
}

// number numbers the states in the order of the parts, as a single goroutine would.
func (s *Shares) number(all []*sharer) {
	most := slices.MaxFunc(all, func(a, b *sharer) int { return cmp.Compare(len(a.seen), len(b.seen)) })
	if !slices.ContainsFunc(all, func(a *sharer) bool { return !slices.Equal(a.seen, most.seen[:len(a.seen)]) }) {
		s.states = append(s.states[:0], most.seen...) // each has its states in the order of parts
		return
	}
	joined := sharers.Get().(*sharer)
	defer joined.free()
	joined.reset(s)
	for part := range s.parts {
		for _, a := range all {
			a.renumber(joined, part)
		}
	}
	s.states = append(s.states[:0], joined.seen...)
	together(len(all), func(i int) { all[i].translate() })
}

// Attributes returns how many attributes the query has.
func (s *Shares) Attributes() int { return s.n }

// Attribute returns the shares of the query's attribute i, in the order of pixels. The shares in one pixel
// are in no order. Two consecutive shares that are alone in their pixels have different states.
func (s *Shares) Attribute(i int) []Share { return s.at(i) }

// States returns how many states there are, including null, which is number 0.
func (s *Shares) States() int { return len(s.states) }

// State returns a state's value. No two are equal.
func (s *Shares) State(number int32) history.Value {
	return valueOf(s.view, s.states[number].kind, s.states[number].word)
}

// valueOf returns the value for a word.
func valueOf(v *history.View, kind history.Kind, word uint64) history.Value {
	switch kind {
	case history.KindBool:
		return history.Bool(word != 0)
	case history.KindInt:
		return history.Int(int64(word))
	case history.KindFloat:
		return history.Float(math.Float64frombits(word))
	case history.KindString:
		return history.String(string(v.Text(word)))
	case history.KindBytes:
		return history.Bytes(v.Text(word))
	case history.KindNull:
	}
	return history.Value{}
}

// sharer is a sink that makes shares.
type sharer struct {
	out   *Shares
	into  *answer[Share] // for the current part
	kind  history.Kind
	pure  bool // the last share is the attribute's, and alone in its pixels
	pixel int
	at    uint64 // last offset taken; -1 at first

	seen  []word  // states of all its parts, null first
	parts []begun // its parts, in rising order
	to    []int32 // the states' numbers in the answer

	// The states in the current pixel.
	null cell // null's
	used []*cell
	*cells
	tables [history.KindBytes + 1]cells
}

// begun is a part, and the number of states before it.
type begun struct{ part, states int }

// cells is a hash table for the answer's states of one kind.
type cells struct {
	list   []cell
	few    *[1 << fewBits]cell // the list, or an empty one if the list is longer
	shift  uint                // 64 minus an index's bits
	states int
}

// cell is a state and its time in the pixel. The time of a cell in use is not 0, because a pixel of 2^64
// instants in one state ends when they are added up. A cell without a state has a word that belongs in
// another place, so that no lookup matches it.
type cell struct {
	word, time uint64
	state      int32 // 0: none
}

var sharers = sync.Pool{New: func() any { return new(sharer) }}

// mostKept bounds the cells in a table that is reused.
const mostKept = 1 << 14

// reset begins a query.
func (s *sharer) reset(out *Shares) {
	s.out, s.null.time, s.used = out, 0, s.used[:0]
	s.seen, s.parts, s.to = append(s.seen[:0], word{}), s.parts[:0], append(s.to[:0], 0)
	for i := range s.tables {
		t := &s.tables[i]
		if t.list == nil || len(t.list) > mostKept {
			*t = cells{list: make([]cell, 1<<fewBits), shift: 64 - fewBits}
			t.few = (*[1 << fewBits]cell)(t.list)
		} else {
			clear(t.list)
			t.states = 0
		}
		t.few[0].word = wordElsewhere
	}
}

// free gives back the memory.
func (s *sharer) free() {
	if s.out, s.into = nil, nil; cap(s.seen) > mostKept {
		s.seen, s.to = nil, nil
	}
	sharers.Put(s)
}

func (s *sharer) part(number int) {
	if first := s.out.first.Load(); first != nil && len(s.parts) == 0 {
		s.adopt(*first)
	}
	s.into = &s.out.parts[number]
	s.parts = append(s.parts, begun{number, len(s.seen)})
}

func (s *sharer) end() { s.into.begin() }

// mostAdopted is the most states of the first part that others adopt.
const mostAdopted = 16

// adopt takes over the numbers of the first part's states. So most queries need no renumbering at the end.
func (s *sharer) adopt(first []word) {
	for i, w := range first[1:] {
		s.kind, s.cells = w.kind, &s.tables[w.kind]
		s.find(w.word)
		s.to = append(s.to, int32(i+1))
	}
}

// renumber gives the states that first occurred in a part the numbers of another sharer. Parts come in
// order.
func (s *sharer) renumber(of *sharer, part int) {
	i := sort.Search(len(s.parts), func(i int) bool { return s.parts[i].part >= part })
	if i == len(s.parts) || s.parts[i].part != part {
		return
	}
	behind := len(s.seen)
	if i+1 < len(s.parts) {
		behind = s.parts[i+1].states
	}
	for _, a := range s.seen[s.parts[i].states:behind] {
		of.kind, of.cells = a.kind, &of.tables[a.kind]
		s.to = append(s.to, of.find(a.word).state)
	}
}

// translate replaces the states' numbers in the shares.
func (s *sharer) translate() {
	same := true
	for i, to := range s.to {
		same = same && int(to) == i
	}
	for _, p := range s.parts {
		if same {
			return
		}
		shares := s.out.parts[p.part].all
		for i := range shares {
			shares[i].State = s.to[shares[i].State]
		}
	}
}

// fewBits is the size of a table's index at first, in bits.
const fewBits = 6

const hashFactor = 0x9e3779b97f4a7c15

// wordElsewhere is a word whose place is not the first. The first is for 0.
const wordElsewhere = 1

func (s *sharer) pixels() int { return s.out.Len() }

func (s *sharer) begin(kind history.Kind) {
	s.kind, s.pure, s.cells = kind, false, &s.tables[kind]
	s.pixel, s.at = 0, ^uint64(0)
	s.into.begin()
}

func (s *sharer) ends(ends, words []uint64, nulls []bool) (more bool) {
	bounds := s.out.bounds
	if s.pixel+1 == len(bounds) {
		return false
	}
	last, at, few := bounds[s.pixel+1], s.at, s.few
	words = words[:len(ends)]
	for i, end := range ends {
		word := words[i]
		if end >= last {
			s.at = at
			s.cross(end, word, nulls != nil && nulls[i])
			if s.pixel+1 == len(bounds) {
				return false
			}
			last, few, at = bounds[s.pixel+1], s.few, end
			continue
		}
		time := end - at
		at = end
		c := &few[word*hashFactor>>(64-fewBits)]
		if nulls != nil && nulls[i] {
			c = &s.null
		} else if c.word != word {
			c = s.find(word)
			few = s.few
		}
		before := c.time
		if c.time = before + time; before == 0 {
			s.used = append(s.used, c)
		}
	}
	s.at = at
	return true
}

// cross takes an interval that ends with the current pixel, or behind it.
func (s *sharer) cross(end, word uint64, null bool) {
	bounds, lo, c := s.out.bounds, s.pixel, &s.null
	if !null {
		c = s.find(word)
	}
	if s.at != bounds[lo] { // else the pixel has only this state
		s.take(c, bounds[lo+1]-s.at)
		s.flush()
		lo++
	}
	hi := s.out.past(lo, end)
	if hi > lo {
		s.run(lo, hi, c.state)
	}
	s.pixel, s.at = hi, bounds[hi]
	if hi+1 < len(bounds) && end != s.at {
		s.take(c, end-s.at)
		s.at = end
	}
}

// take adds to a state's time in the pixel.
func (s *sharer) take(c *cell, time uint64) {
	if c.time == 0 {
		s.used = append(s.used, c)
	}
	c.time += time
}

// find returns a state's cell.
func (s *sharer) find(value uint64) *cell {
	for i := value * hashFactor >> s.shift; ; i = (i + 1) & uint64(len(s.list)-1) {
		c := &s.list[i]
		if c.state == 0 {
			if 2*s.states >= len(s.list) {
				s.grow()
				for k, c := range s.used {
					if c != &s.null {
						s.used[k] = s.find(c.word)
					}
				}
				return s.find(value)
			}
			s.states++
			c.word, c.time, c.state = value, 0, int32(len(s.seen))
			s.add(word{s.kind, value})
			return c
		}
		if c.word == value {
			return c
		}
	}
}

// add adds a state. The first part's first states get permanent numbers, which others adopt.
func (s *sharer) add(w word) {
	s.seen = append(s.seen, w)
	if len(s.parts) == 1 && s.parts[0].part == 0 && len(s.seen) <= mostAdopted {
		seen := slices.Clone(s.seen)
		s.out.first.Store(&seen)
	}
}

// grow doubles the hash table.
func (c *cells) grow() {
	old := c.list
	c.list, c.shift = make([]cell, 2*len(old)), c.shift-1
	c.few = new([1 << fewBits]cell)
	c.few[0].word = wordElsewhere
	for k := range old {
		i := old[k].word * hashFactor >> c.shift
		for old[k].state != 0 && c.list[i].state != 0 {
			i = (i + 1) & uint64(len(c.list)-1)
		}
		if old[k].state != 0 {
			c.list[i] = old[k]
		}
	}
}

// flush ends a pixel that has taken something.
func (s *sharer) flush() {
	p := s.pixel
	if len(s.used) == 1 {
		s.used[0].time = 0
		s.run(p, p+1, s.used[0].state)
	} else {
		s.pure = false
		n := len(s.into.all)
		all := slices.Grow(s.into.all, len(s.used))[:n+len(s.used)]
		for i, c := range s.used {
			a := &all[n+i]
			a.Time, a.First, a.State = c.time, int32(p), c.state
			c.time = 0
		}
		s.into.all = all
	}
	s.used = s.used[:0]
}

// run adds the pixels [lo, hi), which have one state.
func (s *sharer) run(lo, hi int, state int32) {
	bounds, into := s.out.bounds, s.into
	time, n := bounds[hi]-bounds[lo], len(into.all)
	if s.pure && into.all[n-1].State == state {
		into.all[n-1].Time += time
		return
	}
	s.pure = true
	// Field by field, because a share built elsewhere is read back in wider words than it was written
	// in, and the processor waits for such reads.
	all := slices.Grow(into.all, 1)[:n+1]
	all[n].Time, all[n].First, all[n].State = time, int32(lo), state
	into.all = all
}

func (s *sharer) limit() uint64 {
	if s.pixel+1 == len(s.out.bounds) {
		return 0
	}
	return s.out.bounds[s.pixel+1]
}

func (s *sharer) node(n *node, end uint64) bool {
	if n.many || s.pixel+1 == len(s.out.bounds) {
		return false
	}
	if n.null > 0 {
		s.take(&s.null, n.null)
	}
	for _, a := range n.states {
		s.take(s.find(a.word), a.time)
	}
	if s.at = end; end == s.out.bounds[s.pixel+1] {
		s.flush()
		s.pixel++
	}
	return true
}
