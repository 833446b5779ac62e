package tracks

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/granarydb/granary/trace"
)

// ErrNoStates means that a recording has no slice, instant or counter.
var ErrNoStates = errors.New("the recording has no slice, instant or counter")

// MaxTime bounds times on both sides of zero: dates up to 2116. The sum of two has no overflow.
const MaxTime = math.MaxInt64 / 2

// maxText is the number of bytes of a name, because a person reads it. A longer one is cut.
const maxText = 4 << 10

// Bounds of a track. More slices at once than this are no picture for people, and each level is an attribute.
const (
	maxLanes  = 1000
	maxLevels = 1000
)

// Text is a name in a Timeline. The zero value is no name.
type Text uint32

// Track is an attribute in a Timeline. Slices, instants and other tracks are below it.
type Track uint32

// Outermost is the parent of the tracks at the top.
const Outermost = Track(0)

// Nest is a sequence of slices on a track that nest, such as those of a thread, or of one asynchronous operation.
type Nest uint32

// Counter is an attribute in a Timeline that has numbers.
type Counter uint32

// Timeline has a recording in memory. It belongs to one goroutine. New returns an empty one.
type Timeline struct {
	// Outcome takes what a reader leaves out.
	Outcome trace.Outcome

	texts    []string
	known    map[string]Text
	nodes    []node
	children map[child]Track
	nests    []nested // by nest
	slices   []slice
	marks    []mark
	counters []counter
	points   []point
	first    int64 // math.MaxInt64: there is nothing
	last     int64 // inclusive
}

// node is a track in the tree of attributes.
type node struct {
	parent Track
	name   Text
	lanes  []pile // of slices

	isFlat  bool // its own attribute has the slices
	isFloat bool // it is a counter with other numbers than whole ones
}

// nested is the place of a nest.
type nested struct {
	track  Track
	inside Nest // whose slices may have those of the nest in them; the nest itself but after Inside
}

type child struct {
	parent Track
	name   Text
}

// slice is a slice with its place. end is exclusive.
type slice struct {
	start, end int64
	name       Text
	nest       Nest
	order      uint32 // in the input
	row        uint32
}

// markKind says what a mark does.
type markKind uint8

const (
	begins markKind = iota
	ends
	changes // it ends a slice if there is one, and begins one if it has a name
)

// mark is a begin or an end of a slice, or both.
type mark struct {
	t     int64
	name  Text
	nest  Nest
	order uint32
	kind  markKind
}

type counter struct {
	node    Track
	isFloat bool
}

// point is a value of a counter.
type point struct {
	t       int64
	word    uint64 // an integer, or the bits of a float
	counter Counter
	isFloat bool
}

// New returns a timeline without slices.
func New() *Timeline {
	return &Timeline{
		texts: []string{""}, known: map[string]Text{"": 0}, nodes: make([]node, 1), children: map[child]Track{},
		first: math.MaxInt64, last: math.MinInt64,
	}
}

// Text returns the text of bytes, which it copies. Bytes that are not UTF-8 become U+FFFD, and a text beyond 4 KiB is cut.
func (s *Timeline) Text(b []byte) Text {
	if id, ok := s.known[string(b)]; ok {
		return id
	}
	text := string(b[:min(len(b), maxText)])
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\ufffd")
	}
	if id, ok := s.known[text]; ok {
		return id
	}
	id := Text(len(s.texts))
	s.texts = append(s.texts, text)
	s.known[text] = id
	return id
}

// String returns a text.
func (s *Timeline) String(t Text) string { return s.texts[t] }

// Add adds a track without a name.
func (s *Timeline) Add(parent Track) Track {
	s.nodes = append(s.nodes, node{parent: parent})
	return Track(len(s.nodes) - 1)
}

// Rename names a track. Of several children with one name, WriteTo numbers the others: "a", "a (2)". The names of levels and
// lanes come first.
func (s *Timeline) Rename(t Track, name string) { s.nodes[t].name = s.Text([]byte(name)) }

// Child returns the child with a name that Child has added before, or adds it.
func (s *Timeline) Child(parent Track, name string) Track {
	key := child{parent, s.Text([]byte(name))}
	t, ok := s.children[key]
	if !ok {
		t = s.Add(parent)
		s.nodes[t].name = key.name
		s.children[key] = t
	}
	return t
}

// Nest adds a nest to a track.
func (s *Timeline) Nest(t Track) Nest {
	n := Nest(len(s.nests))
	s.nests = append(s.nests, nested{t, n})
	return n
}

// Put moves a nest to another track, which a reader may know only at the end.
func (s *Timeline) Put(n Nest, t Track) { s.nests[n].track = t }

// Inside lets the slices of a nest be in those of another one, its parent, and not in each other.
func (s *Timeline) Inside(n, parent Nest) { s.nests[n].inside = parent }

// State ends the slice of a nest at the instant before t, if there is one, and begins another unless it has no name.
func (s *Timeline) State(n Nest, name Text, t int64) {
	if s.seen(t, t) {
		s.marks = append(s.marks, mark{t: t, name: name, nest: n, order: s.order(), kind: changes})
	}
}

// Flat adds the child of a track with a name, which has one slice at a time and no levels: its own attribute has them. Of
// slices that overlap the first is kept.
func (s *Timeline) Flat(t Track, name string) Track {
	flat := s.Child(t, name)
	s.nodes[flat].isFlat = true
	return flat
}

// Instants returns the child of a track for events without a duration.
func (s *Timeline) Instants(t Track) Track { return s.Flat(t, "instants") }

// seen extends the recording by instants from first to last. It reports false for a time out of bounds, which it counts.
func (s *Timeline) seen(first, last int64) bool {
	if first < -MaxTime || last > MaxTime {
		s.Outcome.LeaveOut("events at impossible times", 1)
		return false
	}
	s.first, s.last = min(s.first, first), max(s.last, last)
	return true
}

// Slice adds a slice from start to the instant before end. What is out of bounds is counted in the outcome.
func (s *Timeline) Slice(l Nest, name Text, start, end int64) {
	if end < start {
		s.Outcome.LeaveOut("slices that end before they begin", 1)
		return
	}
	end = max(end, start+1)
	if s.seen(start, end-1) {
		s.slices = append(s.slices, slice{start: start, end: end, name: name, nest: l, order: s.order()})
	}
}

// order is the place of the next slice or mark in the input.
func (s *Timeline) order() uint32 { return uint32(len(s.slices) + len(s.marks)) }

// Begin begins a slice at t.
func (s *Timeline) Begin(l Nest, name Text, t int64) {
	if s.seen(t, t) {
		s.marks = append(s.marks, mark{t: t, name: name, nest: l, order: s.order(), kind: begins})
	}
}

// End ends the innermost open slice with a name, or if there is no name, the innermost one, at the instant before t.
func (s *Timeline) End(l Nest, name Text, t int64) {
	if t < -MaxTime || t > MaxTime {
		s.Outcome.LeaveOut("events at impossible times", 1)
		return
	}
	s.last = max(s.last, t-1)
	s.marks = append(s.marks, mark{t: t, name: name, nest: l, order: s.order(), kind: ends})
}

// Instant adds an event without a duration.
func (s *Timeline) Instant(n Nest, name Text, at int64) { s.Slice(n, name, at, at) }

// Counter makes a track a counter.
func (s *Timeline) Counter(t Track) Counter {
	s.counters = append(s.counters, counter{node: t})
	return Counter(len(s.counters) - 1)
}

// PutCounter makes another track the counter, which a reader may know only at the end.
func (s *Timeline) PutCounter(c Counter, t Track) { s.counters[c].node = t }

// Count gives a counter a whole number from t on. If its track has other numbers too, all of them become floats.
func (s *Timeline) Count(c Counter, t, value int64) {
	if s.seen(t, t) {
		s.points = append(s.points, point{t: t, word: uint64(value), counter: c})
	}
}

// CountFloat gives a counter a number from t on. A number that is not finite is counted in the outcome.
func (s *Timeline) CountFloat(c Counter, t int64, value float64) {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		s.Outcome.LeaveOut("values of counters that are no numbers", 1)
		return
	}
	if s.seen(t, t) {
		s.counters[c].isFloat = true
		s.points = append(s.points, point{t: t, word: math.Float64bits(value), counter: c, isFloat: true})
	}
}

// Shift adds an offset to the times of all that is in the timeline. An offset beyond MaxTime is ignored.
func (s *Timeline) Shift(offset int64) {
	if offset == 0 || offset < -MaxTime || offset > MaxTime || s.first > s.last {
		return
	}
	s.first, s.last = s.first+offset, s.last+offset
	for i := range s.slices {
		s.slices[i].start += offset
		s.slices[i].end += offset
	}
	for i := range s.marks {
		s.marks[i].t += offset
	}
	for i := range s.points {
		s.points[i].t += offset
	}
}

// names returns the names of all tracks, different among the children of each and the rows beside them.
func (s *Timeline) names(rows []row) []string {
	names := make([]string, len(s.nodes))
	taken := make(map[child]bool, len(s.nodes))
	for _, r := range rows {
		if !s.nodes[r.track].isFlat {
			taken[child{r.track, s.Text([]byte(r.path()[0]))}] = true
		}
	}
	again := map[child]int{} // by what comes before the number, so that each number is tried once
	for i := 1; i < len(s.nodes); i++ {
		n := s.nodes[i]
		name := cmp.Or(s.texts[n.name], "unnamed")
		key := child{n.parent, s.Text([]byte(name))}
		if taken[key] {
			name = strings.ToValidUTF8(name[:min(len(name), maxText-32)], "") // a letter may be cut
			first := child{n.parent, s.Text([]byte(name))}
			for taken[key] {
				again[first]++
				key.name = s.Text(fmt.Appendf(nil, "%s (%d)", name, again[first]+1))
			}
		}
		taken[key] = true
		names[i] = s.texts[key.name]
	}
	return names
}
