package history

import (
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/granarydb/granary/internal/names"
	"github.com/granarydb/granary/internal/tile"
)

// View is a history as one commit left it. It never changes. Any number of goroutines may read it while the
// history is written, because no read takes a lock or waits. Its Names are the committed attributes.
//
// An interval that had not ended is Open, and ends with the view.
//
// If the history is in a file (package history/file), each query waits for reads, and can return their
// errors. A sequence can yield such an error after other elements, as the last one.
//
// In a query, a nil list of attributes means all attributes, and an empty list that is not nil means none.
// The lists that Match and DescendantsMatching return are never nil.
type View struct {
	Names

	*era
	lanes    []*lane
	slots    []atomic.Uint32
	placed   atomic.Pointer[[]uint64] // places of all attributes, once a slice asked for them
	numbered *[]uint32                // text codes that have numbers in journals; nil: none

	start, end int64
	final      int64 // later ends are not committed, for attributes that Add feeds
	barred     int64 // changes up to here are not possible any more
	written    bool
	closed     bool
	dropped    bool // older tiles were dropped
	paged      bool // tiles may have to be read from a file
}

// era is the data that views between two drops share, because each commit has a view, which is 128 bytes.
type era struct {
	history *History
	texts   *names.Texts              // nil for the view of an empty history
	all     atomic.Pointer[directory] // of a closed history
}

// reading runs part of a query, and returns the error if a tile cannot be read.
func (v *View) reading(query func()) (err error) {
	if v.paged {
		defer tile.Catch(&err)
	}
	query()
	return nil
}

// Start returns the history's first instant.
func (v *View) Start() int64 { return v.start }

// End returns the view's latest instant. Before the first commit of a change it is one before Start. (With
// a Start of math.MinInt64, ask Instants.)
func (v *View) End() int64 {
	if !v.written {
		return v.start - 1
	}
	return v.end
}

// Instants reports whether the view has any instant, which it has once something was committed.
func (v *View) Instants() bool { return v.written }

// Closed reports whether the history was closed. Then no interval is Open.
func (v *View) Closed() bool { return v.closed }

// checkTime returns ErrOutside if t is outside the view.
func (v *View) checkTime(t int64) error {
	if !v.written {
		return fmt.Errorf("%w: %d, the history has no instant yet", ErrOutside, t)
	}
	if t < v.start || t > v.end {
		return fmt.Errorf("%w: %d, the history is from %d to %d", ErrOutside, t, v.start, v.end)
	}
	return nil
}

func (v *View) checkAttributes(attributes []Attribute) error {
	for _, a := range attributes {
		if err := v.Known(a); err != nil {
			return err
		}
	}
	return nil
}

// pos returns an attribute's place, from 1, or 0 if the attribute was not used when the view was made. The
// attribute may have got a place since, in a lane that the view does not have.
func (v *View) pos(a Attribute) uint32 {
	if int(a) >= len(v.slots) {
		return 0
	}
	if pos := v.slots[a].Load(); pos <= uint32(len(v.lanes)*laneWidth) {
		return pos
	}
	return 0
}

// places returns the places of all attributes in the view, in the form of Slice.wanted.
func (v *View) places() []uint64 {
	if known := v.placed.Load(); known != nil {
		return *known
	}
	placed := make([]uint64, len(v.lanes))
	for a := range v.Len() {
		if pos := v.pos(Attribute(a)); pos > 0 {
			placed[(pos-1)/laneWidth] |= 1 << ((pos - 1) % laneWidth)
		}
	}
	v.placed.Store(&placed)
	return placed
}

// list resolves a query's attributes: nil means all.
func (v *View) list(attributes []Attribute) []Attribute {
	if attributes == nil {
		return v.All()
	}
	return attributes
}

// At returns the attribute's interval that contains t. The errors are ErrOutside for a t outside the view
// and ErrAttribute. About 0.1 us, two or three cache misses.
func (v *View) At(a Attribute, t int64) (in Interval, err error) {
	if err := v.checkTime(t); err != nil {
		return in, err
	}
	if err := v.Known(a); err != nil {
		return in, err
	}
	if v.paged {
		return v.atPaged(a, t)
	}
	v.at(&in, a, t)
	return in, nil
}

// atPaged is at for a view with tiles in a file.
func (v *View) atPaged(a Attribute, t int64) (in Interval, err error) {
	defer tile.Catch(&err)
	v.at(&in, a, t)
	return in, nil
}

// at is At for a known attribute and a t in the view.
//
// at and find write their results in place, word by word, because a returned struct would be written in
// words and read again in pairs of words. For such a read a processor waits until the writes are done, and
// the cache misses of one state would not overlap with the misses of the next.
func (v *View) at(in *Interval, a Attribute, t int64) {
	*in = Interval{}
	pos := v.pos(a)
	if pos == 0 {
		in.Start, in.End, in.Open = v.start, v.end, !v.closed
		return
	}
	i, slot := int(pos-1)/laneWidth, uint(pos-1)%laneWidth
	l := v.lanes[i]
	var f found
	if all := v.all.Load(); v.closed && all != nil {
		var s sealed
		if s.tiles = all.of(i); len(s.tiles) < groupLen { // otherwise groups are worth the access to the lane
			// Loaded before the search, so that its cache miss overlaps with the search's. In a
			// closed view no interval that has ended is open.
			kind := l.kinds[slot]
			if s.find(&f, slot, t, v.start); f.ended {
				in.Start, in.End = max(f.start, v.start), f.end
				if !f.null {
					in.Value = valueOfWord(v.texts, kind, f.word)
				}
				return
			}
		}
	}
	l.find(&f, slot, t, v.start)
	v.interval(in, l, slot, &f)
}

// interval turns an interval found in a lane into the view's.
func (v *View) interval(in *Interval, l *lane, slot uint, f *found) {
	*in = Interval{}
	in.Start, in.End = max(f.start, v.start), f.end
	null := f.null
	switch {
	case !f.ended:
		in.End, in.Open = v.end, !v.closed
	case v.isOpen(l, slot, f.end):
		in.End, in.Open = v.end, true
		if l.fed.Load()>>slot&1 != 0 {
			null = true // the value came later
		}
	}
	if !null {
		in.Value = valueOfWord(v.texts, l.kinds[slot], f.word)
	}
}

// isOpen reports whether a slot's interval that ends at `end` in the lane had not ended when the view was
// made.
func (v *View) isOpen(l *lane, slot uint, end int64) bool {
	if v.closed {
		return false
	}
	if l.fed.Load()>>slot&1 != 0 {
		return end > v.final
	}
	return end >= v.end
}

// Next returns the attribute's interval after the one that contains t. ok is false if the view has none.
// The errors are the same as for At.
func (v *View) Next(a Attribute, t int64) (in Interval, ok bool, err error) {
	in, err = v.At(a, t)
	if err != nil || in.End >= v.end {
		return Interval{}, false, err
	}
	in, err = v.At(a, in.End+1)
	return in, err == nil, err
}

// Previous returns the attribute's interval before the one that contains t. ok is false if there is none.
// The errors are the same as for At.
func (v *View) Previous(a Attribute, t int64) (in Interval, ok bool, err error) {
	in, err = v.At(a, t)
	if err != nil || in.Start <= v.start {
		return Interval{}, false, err
	}
	in, err = v.At(a, in.Start-1)
	return in, err == nil, err
}

// Top returns the interval of a stack's newest value at t (Writer.Push). ok is false if the stack is empty.
// It returns the errors of At, and ErrKind and ErrDepth for an attribute that is not a stack.
func (v *View) Top(a Attribute, t int64) (in Interval, ok bool, err error) {
	in, err = v.At(a, t)
	if err != nil {
		return Interval{}, false, err
	}
	depth, err := depthOf(a, in.Value)
	if err != nil || depth == 0 {
		return Interval{}, false, err
	}
	child, err := v.LookupFrom(a, strconv.Itoa(depth))
	if err != nil {
		return Interval{}, false, fmt.Errorf("%w: attribute %d has no value %d", ErrDepth, a, depth)
	}
	in, err = v.At(child, t)
	return in, err == nil, err
}

// Text returns the bytes of a string or bytes value by its code, which must come from Columns of this view,
// because a code can mean another text in another view. The bytes never change and must not be changed. Equal
// strings have one code, and so have equal bytes. About 5 ns.
func (v *View) Text(code uint64) []byte { return v.texts.At(uint32(code)) }

// Names is a history's attributes at one moment (package names). A [View] and a [Writer] have its methods.
type Names = names.Names

// Attribute is a place in a system that has a state at every instant: a thread, a CPU's register, a queue's
// length. Attributes are numbered from 0 in the order of their creation.
type Attribute = names.Attribute

// Top is the parent of the attributes at the top. It is not an attribute.
const Top = names.Top

// Step is one step of a name pattern: see [Names.Match].
type Step = names.Step

// Literal returns the step to the child called name.
func Literal(name string) Step { return names.Literal(name) }

var (
	// Any is the step to every child.
	Any = names.Any
	// Up is the step to the parent. Top's parent is Top.
	Up = names.Up
)

// PathText returns a path of names as one text, unique to that path. [Names.AppendPath] returns the text
// for an attribute. Package trace has the inverse, ParsePath.
func PathText(path []string) string { return names.PathText(path) }
