package history_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/granarydb/granary/history"
)

// oracle is a naive history: a list of intervals for each attribute, searched from the front.
// It is written from the documentation of the package, and shares only types with it.
type oracle struct {
	start     int64
	max       int // attributes
	now       state
	committed state
	writing   bool
	drop      moment                      // earlier states go with the next commit
	ids       map[place]history.Attribute // of names, including some that were aborted
}

// state is the content of a transaction so far, or of a view.
type state struct {
	attributes []attribute
	changes    moment // the latest Change
	adds       moment // the latest end of an Add
	dropped    moment // views start here
	closed     bool
	closedAt   int64
}

// moment is an optional instant.
type moment struct {
	at int64
	is bool
}

func (m *moment) reach(t int64) {
	if !m.is || t > m.at {
		*m = moment{t, true}
	}
}

type place struct {
	parent history.Attribute
	name   string
}

type attribute struct {
	place
	kind  history.Kind
	added bool               // fed by Add
	used  bool               // fed at all
	done  []history.Interval // ended intervals
	began int64              // start of the ongoing interval
	full  bool               // the last interval ended at the end of time: none is ongoing
	value history.Value      // of the ongoing interval
}

// maxStack is the greatest depth of stacks.
const maxStack = 100_000

func newOracle(start int64) *oracle {
	return &oracle{start: start, max: 1 << 26, ids: map[place]history.Attribute{}}
}

// refusals are the valid errors of an operation. Where there are several, the documentation
// leaves the choice open.
type refusals []error

// match returns "" if an error is one of the valid ones.
func (r refusals) match(err error) string {
	if err == nil && len(r) == 0 {
		return ""
	}
	if err == nil {
		return fmt.Sprintf("no error, want %v", []error(r))
	}
	for _, want := range r {
		if errors.Is(err, want) {
			return ""
		}
	}
	return fmt.Sprintf("error %q, want %v", err, []error(r))
}

func (r *refusals) when(refused bool, err error) {
	if refused {
		*r = append(*r, err)
	}
}

// begin, commit and abort are those of the history.
func (o *oracle) begin() refusals {
	switch {
	case o.writing:
		return refusals{history.ErrBusy}
	case o.committed.closed:
		return refusals{history.ErrClosed}
	}
	o.beginDrop()
	return nil
}

// beginDrop begins a transaction that writes nothing, also of a closed history.
func (o *oracle) beginDrop() { o.writing, o.now, o.drop = true, o.committed.clone(), moment{} }

func (o *oracle) commit() *oracleView {
	if last, _ := o.now.last(); last.is && o.drop.is && min(o.drop.at, last.at) > o.start {
		o.now.dropped.reach(min(o.drop.at, last.at))
	}
	o.writing, o.committed = false, o.now.clone()
	return o.view()
}

func (o *oracle) abort() { o.writing = false }

func (o *oracle) view() *oracleView {
	v := &oracleView{start: o.start, state: o.committed.clone()}
	if v.state.dropped.is {
		v.start = v.state.dropped.at
	}
	return v
}

// clone copies a state. Lists are only appended to, and elements appended by an aborted
// transaction are never read, so copies share them.
func (s *state) clone() state {
	c := *s
	c.attributes = slices.Clone(s.attributes)
	return c
}

func (a *attribute) end(at int64) {
	a.done = append(a.done, history.Interval{Start: a.began, End: at, Value: a.value})
	a.value = history.Value{}
	if a.full = at == math.MaxInt64; !a.full {
		a.began = at + 1
	}
}

// child creates the missing attributes of a path.
func (o *oracle) child(base history.Attribute, path ...string) (history.Attribute, refusals) {
	var r refusals
	r.when(o.now.closed, history.ErrClosed)
	r.when(base != history.Top && int(base) >= len(o.now.attributes), history.ErrAttribute)
	r.when(len(path) == 0, history.ErrAttribute)
	if r != nil {
		return 0, r
	}
	before := len(o.now.attributes)
	for _, name := range path {
		r.when(!utf8.ValidString(name) || len(name) > history.MaxName, history.ErrLimit)
		if r == nil {
			next, known := o.lookup(base, name)
			if !known {
				r.when(len(o.now.attributes) >= o.max, history.ErrLimit)
				next = o.create(place{base, name})
			}
			base = next
		}
	}
	if r != nil {
		o.now.attributes = o.now.attributes[:before]
		return 0, r
	}
	return base, nil
}

func (o *oracle) lookup(base history.Attribute, name string) (history.Attribute, bool) {
	p := place{base, name}
	a, known := o.ids[p]
	return a, known && int(a) < len(o.now.attributes) && o.now.attributes[a].place == p
}

func (o *oracle) create(p place) history.Attribute {
	a := history.Attribute(len(o.now.attributes))
	o.now.attributes = append(o.now.attributes, attribute{place: p, began: o.start})
	o.ids[p] = a
	return a
}

// writable returns the reasons why an attribute cannot be written at all.
func (o *oracle) writable(a history.Attribute) (r refusals) {
	r.when(o.now.closed, history.ErrClosed)
	r.when(int(a) >= len(o.now.attributes), history.ErrAttribute)
	return r
}

// changeable returns the reasons why an attribute cannot change at t.
func (o *oracle) changeable(t int64, a history.Attribute) refusals {
	r := o.writable(a)
	if r != nil {
		return r
	}
	at := &o.now.attributes[a]
	r.when(at.added, history.ErrFeed)
	r.when(t < at.began || at.full, history.ErrOrder)
	r.when(o.committed.changes.is && t <= o.committed.changes.at, history.ErrFinal)
	if adds := o.committed.adds; adds.is { // later than the instant behind it
		r.when(t <= adds.at || t-1 <= adds.at, history.ErrFinal)
	}
	return r
}

// fits returns the reasons why an attribute cannot have a value.
func (o *oracle) fits(a history.Attribute, v history.Value) (r refusals) {
	if int(a) < len(o.now.attributes) {
		kind := o.now.attributes[a].kind
		r.when(!v.IsNull() && kind != history.KindNull && kind != v.Kind(), history.ErrKind)
	}
	r.when(len(v.Text()) > history.MaxValue, history.ErrLimit)
	r.when(v.Kind() == history.KindString && !utf8.ValidString(v.Text()), history.ErrLimit)
	return r
}

func (o *oracle) change(t int64, a history.Attribute, v history.Value) refusals {
	if r := append(o.changeable(t, a), o.fits(a, v)...); r != nil {
		return r
	}
	o.now.changes.reach(t)
	at := &o.now.attributes[a]
	at.keepKind(v)
	if v.Equal(at.value) {
		return nil
	}
	at.used = true
	if t > at.began {
		at.end(t - 1)
	}
	at.value = v
	return nil
}

func (a *attribute) keepKind(v history.Value) {
	if a.kind == history.KindNull {
		a.kind = v.Kind()
	}
}

func (o *oracle) add(a history.Attribute, start, end int64, v history.Value) refusals {
	r := o.writable(a)
	if r == nil {
		at := &o.now.attributes[a]
		r.when(at.used && !at.added, history.ErrFeed)
		r.when(start != at.began || at.full || end < start, history.ErrGap)
		r.when(o.committed.changes.is && end < o.committed.changes.at, history.ErrFinal)
		r.when(o.committed.adds.is && end <= o.committed.adds.at, history.ErrFinal)
		// The one instant at which the writer is stricter than documented.
		r.when(end == math.MinInt64 && o.committed.changes.is, history.ErrFinal)
	}
	if r = append(r, o.fits(a, v)...); r != nil {
		return r
	}
	at := &o.now.attributes[a]
	at.keepKind(v)
	at.used, at.added, at.value = true, true, v
	at.end(end)
	o.now.adds.reach(end)
	return nil
}

func (o *oracle) update(a history.Attribute, v history.Value) refusals {
	if r := o.writable(a); r != nil {
		return r
	}
	return o.change(o.now.attributes[a].began, a, v)
}

// ongoing returns the ongoing interval of an attribute.
func (o *oracle) ongoing(a history.Attribute) (history.Interval, refusals) {
	if r := o.writable(a); r != nil {
		return history.Interval{}, r
	}
	at := &o.now.attributes[a]
	in := history.Interval{Start: at.began, End: at.began, Value: at.value, Open: true}
	if at.full {
		in.Start, in.End = math.MaxInt64, math.MaxInt64
	}
	if last, _ := o.now.last(); last.is {
		in.End = max(in.End, last.at)
	}
	return in, nil
}

// below returns an attribute and all its descendants.
func (o *oracle) below(a history.Attribute) []history.Attribute {
	all := []history.Attribute{a}
	for d := int(a) + 1; d < len(o.now.attributes); d++ { // parents come before children
		if slices.Contains(all, o.now.attributes[d].parent) {
			all = append(all, history.Attribute(d))
		}
	}
	return all
}

func (o *oracle) remove(t int64, a history.Attribute) refusals {
	r := o.writable(a)
	if r != nil {
		return r
	}
	all := o.below(a)
	for _, d := range all {
		r = append(r, o.changeable(t, d)...)
	}
	if r == nil {
		for _, d := range all {
			o.change(t, d, history.Value{})
		}
	}
	return r
}

func (o *oracle) close(t int64) (r refusals) {
	r.when(o.now.closed, history.ErrClosed)
	last, _ := o.now.last()
	r.when(t < o.start || last.is && t < last.at, history.ErrOrder)
	if r != nil {
		return r
	}
	o.now.closed, o.now.closedAt = true, t
	for i := range o.now.attributes {
		if a := &o.now.attributes[i]; !a.full && a.began <= t {
			a.end(t)
		}
	}
	return nil
}

// last returns the latest instant of a state, and whether the history is closed.
func (s *state) last() (m moment, closed bool) {
	if s.closed {
		return moment{s.closedAt, true}, true
	}
	m = s.changes
	if s.adds.is {
		m.reach(s.adds.at)
	}
	return m, false
}

// depth returns the number of values of a stack, if it can change at t.
func (o *oracle) depth(t int64, a history.Attribute) (int64, refusals) {
	r := o.changeable(t, a)
	if r == nil {
		r = o.fits(a, history.Int(0))
	}
	if r != nil {
		return 0, r
	}
	depth := o.now.attributes[a].value.Int()
	r.when(depth < 0 || depth > maxStack, history.ErrDepth)
	return depth, r
}

func (o *oracle) push(t int64, a history.Attribute, v history.Value) refusals {
	depth, r := o.depth(t, a)
	r.when(depth >= maxStack, history.ErrDepth)
	if r != nil {
		return r
	}
	before := len(o.now.attributes)
	child, r := o.child(a, strconv.FormatInt(depth+1, 10))
	if r == nil {
		r = o.change(t, child, v)
	}
	if r != nil {
		o.now.attributes = o.now.attributes[:before]
		return r
	}
	return o.change(t, a, history.Int(depth+1))
}

func stackDepth(n int64) history.Value {
	if n == 0 {
		return history.Value{}
	}
	return history.Int(n)
}

func (o *oracle) pop(t int64, a history.Attribute) (history.Value, refusals) {
	depth, r := o.depth(t, a)
	if r != nil || depth == 0 {
		return history.Value{}, r
	}
	child, known := o.lookup(a, strconv.FormatInt(depth, 10))
	if !known {
		return history.Value{}, refusals{history.ErrDepth}
	}
	v := o.now.attributes[child].value
	if r := o.remove(t, child); r != nil {
		return history.Value{}, r
	}
	return v, o.change(t, a, stackDepth(depth-1))
}

// levels returns the children that hold the values of a stack.
func (o *oracle) levels(a history.Attribute, depth int64) (children []history.Attribute, r refusals) {
	for i := range depth {
		child, known := o.lookup(a, strconv.FormatInt(i+1, 10))
		r.when(!known, history.ErrDepth)
		children = append(children, child)
	}
	return children, r
}

func (o *oracle) poll(t int64, a history.Attribute) (history.Value, refusals) {
	depth, r := o.depth(t, a)
	if r != nil || depth == 0 {
		return history.Value{}, r
	}
	levels, r := o.levels(a, depth)
	if r != nil {
		return history.Value{}, r
	}
	first := o.now.attributes[levels[0]].value
	for i, level := range levels[:depth-1] {
		r = append(r, o.changeable(t, level)...)
		r = append(r, o.fits(level, o.now.attributes[levels[i+1]].value)...)
	}
	for _, d := range o.below(levels[depth-1]) {
		r = append(r, o.changeable(t, d)...)
	}
	if r != nil {
		return history.Value{}, r
	}
	for i, level := range levels[:depth-1] {
		o.change(t, level, o.now.attributes[levels[i+1]].value)
	}
	o.remove(t, levels[depth-1])
	return first, o.change(t, a, stackDepth(depth-1))
}

// top returns the newest value of a stack, or the oldest.
func (o *oracle) top(a history.Attribute, oldest bool) (history.Value, refusals) {
	r := o.writable(a)
	if r != nil {
		return history.Value{}, r
	}
	v := o.now.attributes[a].value
	r.when(!v.IsNull() && v.Kind() != history.KindInt, history.ErrKind)
	r.when(v.Int() < 0 || v.Int() > maxStack, history.ErrDepth)
	if r != nil || v.Int() == 0 {
		return history.Value{}, r
	}
	level := v.Int()
	if oldest {
		level = 1
	}
	child, known := o.lookup(a, strconv.FormatInt(level, 10))
	if !known {
		return history.Value{}, refusals{history.ErrDepth}
	}
	return o.now.attributes[child].value, nil
}

func (o *oracle) incrementInt(t int64, a history.Attribute, delta int64) refusals {
	r := append(o.changeable(t, a), o.fits(a, history.Int(0))...)
	if r != nil {
		return r
	}
	old := o.now.attributes[a].value.Int()
	r.when(delta > 0 && old > math.MaxInt64-delta || delta < 0 && old < math.MinInt64-delta, history.ErrLimit)
	if r != nil {
		return r
	}
	return o.change(t, a, history.Int(old+delta))
}

func (o *oracle) incrementFloat(t int64, a history.Attribute, delta float64) refusals {
	r := append(o.changeable(t, a), o.fits(a, history.Float(0))...)
	if r != nil {
		return r
	}
	return o.change(t, a, history.Float(o.now.attributes[a].value.Float()+delta))
}
