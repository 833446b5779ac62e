package summary

import (
	"math"
	"slices"
	"sync"

	"github.com/granarydb/granary/history"
)

// Share is some pixels that an attribute spent in one state alone, or the part of one pixel that it spent in
// one of several. 32 bytes.
type Share struct {
	// Word is the value, as in history.Columns: 0 if it is null.
	Word uint64
	// Time is the instants of the pixels in which the attribute has the state. 0 stands for 2^64.
	Time uint64
	// First and Last are the pixels, both included.
	First, Last int32
	// Kind is that of the value.
	Kind history.Kind
}

// Shares is the time that attributes spent in each of their states, by pixel. It belongs to the caller.
type Shares struct {
	Pixels

	view *history.View
	all  []Share
	of   []int // where the shares of each attribute begin, and behind the last
}

// Shares returns the time that attributes, or all if the list is nil, spent in each state, for each pixel of a range
// of instants, both ends included. The errors are those of History.Pixels.
func (p *Pyramid) Shares(attributes []history.Attribute, from, to int64, pixels int) (*Shares, error) {
	return p.SharesInto(nil, attributes, from, to, pixels)
}

// SharesInto is Shares in the memory of an old answer that nobody reads any more, which becomes the result; nil
// has no memory. After an error the old answer has no meaning.
func (p *Pyramid) SharesInto(old *Shares, attributes []history.Attribute, from, to int64, pixels int) (*Shares, error) {
	if err := check(p.view, attributes, from, to, pixels); err != nil {
		return nil, err
	}
	if old == nil {
		old = new(Shares)
	}
	old.view, old.all, old.of = p.view, old.all[:0], old.of[:0]
	old.set(from, to, pixels)
	s := sharers.Get().(*sharer)
	s.out = old
	if err := p.ask(attributes, from, to, s); err != nil {
		return nil, err
	}
	if s.out = nil; len(s.cells) <= mostKept {
		sharers.Put(s)
	}
	old.of = append(old.of, len(old.all))
	return old, nil
}

// Attributes returns the number of attributes of the question.
func (s *Shares) Attributes() int { return len(s.of) - 1 }

// Attribute returns the shares of attribute i of the question, in the order of pixels. Those of one pixel are in no
// order. Pixels of one share follow others without a gap, and together as many as they can be.
func (s *Shares) Attribute(i int) []Share { return s.all[s.of[i]:s.of[i+1]:s.of[i+1]] }

// Value returns the value of a share.
func (s *Shares) Value(a *Share) history.Value { return valueOf(s.view, a.Kind, a.Word) }

// valueOf returns the value of a word.
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

// sharer makes shares. It is a sink.
type sharer struct {
	out   *Shares
	kind  history.Kind
	began int  // where the attribute's shares begin
	pure  bool // the last share is alone in its pixels

	pixel int
	at    uint64 // the last offset that was taken; -1 at first

	// The states of the pixel at hand.
	null  uint64 // instants
	round uint32 // of cells
	shift uint   // 64 less the bits of an index of cells
	cells []cell // a hash table
	used  []uint32
}

// cell is a state of a pixel.
type cell struct {
	word, time uint64
	round      uint32
}

var sharers = sync.Pool{New: func() any { return &sharer{shift: 64 - cellBits, cells: make([]cell, 1<<cellBits), round: 1} }}

// mostKept is the cells of a table that is used again.
const mostKept = 1 << 14

// cellBits is the index bits of the hash table, at first.
const cellBits = 6

const hashFactor = 0x9e3779b97f4a7c15

func (s *sharer) begin(kind history.Kind) {
	s.kind, s.began, s.pure = kind, len(s.out.all), false
	s.pixel, s.at = 0, ^uint64(0)
	s.out.of = append(s.out.of, s.began)
}

func (s *sharer) ends(ends, words []uint64, nulls []bool) (more bool) {
	bounds := s.out.bounds
	if s.pixel+1 == len(bounds) {
		return false
	}
	last, at := bounds[s.pixel+1], s.at
	cells, shift, round := s.cells, s.shift&63, s.round
	words = words[:len(ends)]
	for i, end := range ends {
		word := words[i]
		switch c := &cells[word*hashFactor>>shift]; {
		case end >= last:
			s.at = at
			s.cross(end, word, nulls != nil && nulls[i])
			if s.pixel+1 == len(bounds) {
				return false
			}
			last = bounds[s.pixel+1]
			cells, shift, round = s.cells, s.shift&63, s.round
		case nulls != nil && nulls[i]:
			s.null += end - at
		case c.word == word && c.round == round:
			c.time += end - at
		default:
			s.add(word, end-at)
			cells, shift, round = s.cells, s.shift&63, s.round
		}
		at = end
	}
	s.at = at
	return true
}

// cross takes an interval that ends with the pixel at hand, or behind it.
func (s *sharer) cross(end, word uint64, null bool) {
	bounds, lo := s.out.bounds, s.pixel
	if s.at != bounds[lo] { // else the pixel is of this state alone
		s.take(word, null, bounds[lo+1]-s.at)
		s.flush()
		lo++
	}
	hi := s.out.past(lo, end)
	if hi > lo {
		s.run(lo, hi, word, null)
	}
	s.pixel, s.at = hi, bounds[hi]
	if hi+1 < len(bounds) && end != s.at {
		s.take(word, null, end-s.at)
		s.at = end
	}
}

func (s *sharer) take(word uint64, null bool, time uint64) {
	if null {
		s.null += time
	} else {
		s.add(word, time)
	}
}

// add adds to the time of a state.
func (s *sharer) add(word, time uint64) {
	for i := int(word * hashFactor >> s.shift); ; i = (i + 1) & (len(s.cells) - 1) {
		c := &s.cells[i]
		if c.round != s.round {
			*c = cell{word, time, s.round}
			s.used = append(s.used, uint32(i))
			break
		}
		if c.word == word {
			c.time += time
			return
		}
	}
	if 2*len(s.used) > len(s.cells) {
		s.grow()
	}
}

// grow doubles the hash table.
func (s *sharer) grow() {
	old, used := s.cells, slices.Clone(s.used)
	s.cells, s.used, s.shift, s.round = make([]cell, 2*len(old)), s.used[:0], s.shift-1, 1
	for _, i := range used {
		s.add(old[i].word, old[i].time)
	}
}

// flush ends a pixel of which something was taken.
func (s *sharer) flush() {
	p := s.pixel
	switch {
	case s.null == 0 && len(s.used) == 1:
		s.run(p, p+1, s.cells[s.used[0]].word, false)
	case len(s.used) == 0:
		s.run(p, p+1, 0, true)
	default:
		s.pure = false
		if s.null > 0 {
			s.emit(Share{0, s.null, int32(p), int32(p), history.KindNull})
		}
		for _, i := range s.used {
			s.emit(Share{s.cells[i].word, s.cells[i].time, int32(p), int32(p), s.kind})
		}
	}
	s.null, s.used = 0, s.used[:0]
	if s.round++; s.round == 0 {
		clear(s.cells)
		s.round = 1
	}
}

func (s *sharer) emit(a Share) { s.out.all = append(s.out.all, a) }

// run adds pixels [lo, hi) of one state.
func (s *sharer) run(lo, hi int, word uint64, null bool) {
	out := s.out
	time := out.bounds[hi] - out.bounds[lo]
	kind := s.kind
	if null {
		word, kind = 0, history.KindNull
	}
	if s.pure {
		if before := &out.all[len(out.all)-1]; before.Word == word && before.Kind == kind {
			before.Last = int32(hi - 1)
			before.Time += time
			return
		}
	}
	s.pure = true
	s.emit(Share{word, time, int32(lo), int32(hi - 1), kind})
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
		s.null += n.null
	}
	for _, a := range n.states {
		s.add(a.word, a.time)
	}
	if s.at = end; end == s.out.bounds[s.pixel+1] {
		s.flush()
		s.pixel++
	}
	return true
}
