package summary

import (
	"math"
	"sync"

	"github.com/granarydb/granary/history"
)

// Measure describes an attribute's values in one pixel, or in several pixels within one interval. 72 bytes.
type Measure struct {
	// First and Last are the pixels, both included.
	First, Last int32
	// Kind is the values' kind, or KindNull if there is none.
	Kind history.Kind
	// Intervals counts intervals that hold at some instant in the pixels, null included.
	Intervals uint64
	// Time counts the instants with a value. If there is a value, 0 means 2^64.
	Time uint64

	numbers
}

// Min returns the least value as an int, a float or a bool. It is null without values and for texts. It is
// NaN only if all floats are NaN; -0 becomes 0.
func (m *Measure) Min() history.Value { return m.value(m.min) }

// Max returns the greatest value, in Min's form.
func (m *Measure) Max() history.Value { return m.value(m.max) }

func (m *Measure) value(word uint64) history.Value {
	if !m.some {
		return history.Value{}
	}
	return valueOf(nil, m.Kind, word)
}

// Sum returns the sum of ints, each times the instants that it held: exact, hi*2^64 + lo. Bools are 0 and
// 1. It is 0 for other kinds.
func (m *Measure) Sum() (hi int64, lo uint64) {
	if m.Kind != history.KindInt && m.Kind != history.KindBool {
		return 0, 0
	}
	return int64(m.sum.hi), m.sum.lo
}

// Mean returns the mean of the values, weighted with the instants that they held. ok is false without
// values and for texts. The error is less than 2^-50 times the mean magnitude. Mean is NaN if a float is
// NaN, or with both infinities. It is infinite with one infinity, or if the sum of floats times instants
// overflows.
func (m *Measure) Mean() (mean float64, ok bool) {
	if !m.some {
		return 0, false
	}
	if m.Kind == history.KindFloat && m.min == m.max && m.sum.odd == 0 {
		return math.Float64frombits(m.min), true
	}
	return m.sum.mean(m.Kind, m.Time), true
}

// Measures has attributes' measures by pixel. It belongs to the caller.
type Measures struct {
	Pixels

	answers[Measure]
}

// Measures returns the least, the greatest and the mean value of attributes, or of all if the list is nil,
// for each pixel in [from, to]. One pixel measures the whole range. There are at most three measures for
// each interval in the range. It returns the errors of Shares, and the cost is up to twice as high.
func (p *Pyramid) Measures(attributes []history.Attribute, from, to int64, pixels int) (*Measures, error) {
	return p.MeasuresInto(nil, attributes, from, to, pixels)
}

// MeasuresInto is Measures, and reuses the memory of old as SharesInto does.
func (p *Pyramid) MeasuresInto(
	old *Measures, attributes []history.Attribute, from, to int64, pixels int,
) (*Measures, error) {
	if err := check(p.view, attributes, from, to, pixels); err != nil {
		return nil, err
	}
	if old == nil {
		old = new(Measures)
	}
	old.prepare(p.count(attributes))
	old.set(from, to, pixels)
	sinks := make([]sink, workers(old.n))
	for i := range sinks {
		m := measurers.Get().(*measurer)
		m.out = old
		defer m.free()
		sinks[i] = m
	}
	if err := p.ask(attributes, from, to, sinks); err != nil {
		return nil, err
	}
	return old, nil
}

// Attributes returns how many attributes the query has.
func (m *Measures) Attributes() int { return m.n }

// Attribute returns the measures of the query's attribute i, in the order of pixels, without a gap.
func (m *Measures) Attribute(i int) []Measure { return m.at(i) }

// measurer is a sink that makes measures.
type measurer struct {
	out   *Measures
	into  *answer[Measure] // for the current part
	kind  history.Kind
	pixel int
	at    uint64 // last offset taken; -1 at first
	now   Measure
}

var measurers = sync.Pool{New: func() any { return new(measurer) }}

func (s *measurer) free() {
	s.out, s.into = nil, nil
	measurers.Put(s)
}

func (s *measurer) part(number int) { s.into = &s.out.parts[number] }

func (s *measurer) end() { s.into.begin() }

func (s *measurer) pixels() int { return s.out.Len() }

func (s *measurer) begin(kind history.Kind) {
	s.kind, s.pixel, s.at = kind, 0, ^uint64(0)
	s.now = Measure{}
	s.into.begin()
}

func (s *measurer) ends(ends, words []uint64, nulls []bool) (more bool) {
	bounds := s.out.bounds
	for i, end := range ends {
		null := nulls != nil && nulls[i]
		for {
			if s.pixel+1 == len(bounds) {
				return false
			}
			if end < bounds[s.pixel+1] {
				s.take(words[i], null, end-s.at)
				s.at = end
				break
			}
			lo, hi := s.pixel, s.pixel+1
			if s.at == bounds[lo] {
				hi = s.out.past(lo, end)
			}
			s.take(words[i], null, bounds[hi]-s.at)
			s.flush(hi)
			if end == s.at {
				break
			}
		}
	}
	return s.pixel+1 < len(bounds)
}

func (s *measurer) take(word uint64, null bool, time uint64) {
	s.now.Intervals++
	if !null {
		s.now.Kind = s.kind
		s.now.Time += time
		s.now.add(s.kind, word, time)
	}
}

// flush ends the pixels up to hi.
func (s *measurer) flush(hi int) {
	s.now.First, s.now.Last = int32(s.pixel), int32(hi-1)
	s.into.all = append(s.into.all, s.now)
	s.now = Measure{}
	s.pixel, s.at = hi, s.out.bounds[hi]
}

func (s *measurer) limit() uint64 {
	if s.pixel+1 == len(s.out.bounds) {
		return 0
	}
	return s.out.bounds[s.pixel+1]
}

func (s *measurer) node(n *node, end uint64) bool {
	if s.pixel+1 == len(s.out.bounds) {
		return false
	}
	s.now.Intervals += n.count
	if n.time > 0 {
		s.now.Kind = s.kind
	}
	s.now.Time += n.time
	for _, a := range n.states {
		s.now.add(s.kind, a.word, a.time)
	}
	if n.many {
		s.now.merge(s.kind, &n.numbers)
	}
	if s.at = end; end == s.out.bounds[s.pixel+1] {
		s.flush(s.pixel + 1)
	}
	return true
}
