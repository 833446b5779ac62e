package columnstore

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/schema"
)

// filter is an Expr bound to a schema. It belongs to one query on one
// goroutine: it remembers what it found for series and dictionary codes.
type filter struct {
	op   exprOp
	args []*filter
	leaf *leaf
}

// leaf compares one column.
type leaf struct {
	op      exprOp
	schema  *schema.Schema
	column  int
	name    string
	series  bool                             // the column is part of the series tuple
	test    func(value []byte) bool          // strings and UUIDs
	word    func(word uint64) bool           // fixed types; for any type, if it need not see the value
	null    bool                             // what a row without a value gives
	id      *uuid.UUID                       // the only value for which it holds, if that is an id
	known   map[*granule.Generation][]truth  // by code in a dictionary
	sets    map[*granule.Generation][]uint64 // of series
	element func(id uuid.UUID, record []byte) bool
	lists   map[*granule.Generation]*listFilter
	work    *filterWork
}

// truth is what is known of a condition for some rows at once.
type truth uint8

const (
	unknown truth = iota // nobody looked yet
	yes
	no
	maybe // it differs by row
)

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

// bind checks an expression against a schema. Errors wrap ErrQuery.
func bind(s *schema.Schema, e Expr, work *filterWork) (*filter, error) {
	f := &filter{op: e.op}
	if e.op == opTrue {
		return f, nil
	}
	for _, arg := range e.args {
		bound, err := bind(s, arg, work)
		if err != nil {
			return nil, err
		}
		f.args = append(f.args, bound)
	}
	if e.op >= opAnd {
		return f, nil
	}
	column, ok := s.Resolve(e.column)
	if !ok {
		return nil, fmt.Errorf("%w: no column %q", ErrQuery, e.column)
	}
	c := s.Columns()[column]
	f.leaf = &leaf{
		op: e.op, schema: s, column: column, name: e.column, series: s.IsSeries(column), work: work,
		known: map[*granule.Generation][]truth{}, sets: map[*granule.Generation][]uint64{},
	}
	if !f.leaf.setTest(c, e) {
		return nil, fmt.Errorf("%w: column %q is %v and cannot be compared with %v", ErrQuery, e.column, c.Type, e.value)
	}
	return f, nil
}

// setTest sets the comparison; false if the value does not fit the column.
func (l *leaf) setTest(c schema.Column, e Expr) bool {
	if e.op == opNull {
		l.null = true
		l.test = func([]byte) bool { return false }
		l.word = func(uint64) bool { return false }
		return true
	}
	if e.op == opFunc {
		return l.setFunc(c.Type, e.holds)
	}
	switch c.Type {
	case encoding.String, encoding.UUID:
		if l.test = bytesTest(c.Type, e); l.test == nil {
			return false
		}
		l.null = c.Dynamic && c.Type == encoding.String && l.test(nil)
		if id, ok := e.value.(uuid.UUID); ok && e.op == opEqual {
			l.id = &id
		}
		return true
	case encoding.UUIDList:
		return e.op == opElement && e.element != nil && l.setElement(e.element)
	default:
		l.word = wordTest(c.Type, e)
		return l.word != nil
	}
}

// setFunc makes the test of a Func condition.
func (l *leaf) setFunc(t encoding.Type, f func(any) bool) bool {
	if f == nil {
		return false
	}
	switch t {
	case encoding.String:
		l.test = func(value []byte) bool { return f(string(value)) }
	case encoding.UUID:
		l.test = func(value []byte) bool { return f(uuid.UUID(value)) }
	case encoding.Int64:
		l.word = func(w uint64) bool { return f(encoding.ToInt64(w)) }
	case encoding.Uint64:
		l.word = func(w uint64) bool { return f(w) }
	case encoding.Float64:
		l.word = func(w uint64) bool { return f(encoding.ToFloat64(w)) }
	case encoding.Bool:
		l.word = func(w uint64) bool { return f(w != 0) }
	default:
		return false
	}
	l.null = f(nil)
	return true
}

func bytesTest(t encoding.Type, e Expr) func([]byte) bool {
	if e.op == opMatch {
		if t != encoding.String || e.pattern == nil {
			return nil
		}
		return e.pattern.Match
	}
	var want []byte
	switch v := e.value.(type) {
	case string:
		want = []byte(v)
	case uuid.UUID:
		want = v[:]
	}
	if _, isString := e.value.(string); want == nil || isString != (t == encoding.String) {
		return nil
	}
	return func(value []byte) bool { return holds(e.op, bytes.Compare(value, want)) }
}

func wordTest(t encoding.Type, e Expr) func(uint64) bool {
	if e.op == opMatch {
		return nil
	}
	switch v := e.value.(type) {
	case int:
		return wordTest(t, Expr{op: e.op, value: int64(v)})
	case int64:
		if t == encoding.Int64 {
			return func(w uint64) bool { return holds(e.op, cmp.Compare(encoding.ToInt64(w), v)) }
		}
	case uint64:
		if t == encoding.Uint64 {
			return func(w uint64) bool { return holds(e.op, cmp.Compare(w, v)) }
		}
	case float64:
		if t == encoding.Float64 {
			return func(w uint64) bool { return holds(e.op, cmp.Compare(encoding.ToFloat64(w), v)) }
		}
	case bool:
		if t == encoding.Bool {
			return func(w uint64) bool { return holds(e.op, cmp.Compare(w, encoding.FromBool(v))) }
		}
	}
	return nil
}

func holds(op exprOp, compared int) bool {
	switch op {
	case opEqual:
		return compared == 0
	case opAtLeast:
		return compared >= 0
	default:
		return compared < 0
	}
}

// mask says which rows of a slice are chosen: all or none of them, or those
// with their bit set.
type mask struct {
	all  bool
	bits []bool // nil: all decides
}

// each returns the mask with a bit for each of n rows.
func (m mask) each(n int) mask {
	if m.bits == nil {
		m.bits = slices.Repeat([]bool{m.all}, n)
	}
	return m
}

// eval returns the rows of a stretch for which the filter holds. What a column
// says for all rows at once, it does not say row by row.
func (f *filter) eval(p *granule.Part, r *stretch) mask {
	switch f.op {
	case opTrue:
		return mask{all: true}
	case opNot:
		m := f.args[0].eval(p, r)
		if m.bits == nil {
			return mask{all: !m.all}
		}
		for i := range m.bits {
			m.bits[i] = !m.bits[i]
		}
		return m
	case opAnd, opOr:
		return f.combine(p, r)
	}
	return f.leaf.eval(p, r)
}

// combine evaluates And and Or and stops as soon as the answer is known.
func (f *filter) combine(p *granule.Part, r *stretch) mask {
	or := f.op == opOr
	out := mask{all: !or}
	for _, arg := range f.args {
		m := arg.eval(p, r)
		switch {
		case m.bits == nil && m.all == or:
			return m
		case m.bits == nil:
		case out.bits == nil:
			out = m
		default:
			for i, b := range m.bits {
				if b == or {
					out.bits[i] = or
				}
			}
		}
	}
	return out
}

// seriesSet is what a filter says of the series of a generation, each a bit: those of
// which all rows hold, and those of which some can.
type seriesSet struct{ all, some []uint64 }

func newSeriesSet(n int, all, some bool) seriesSet {
	words := n/64 + 1
	return seriesSet{slices.Repeat([]uint64{-encoding.FromBool(all)}, words), slices.Repeat([]uint64{-encoding.FromBool(some)}, words)}
}

// of returns what is known of one series.
func (s *seriesSet) of(code uint32) truth {
	switch bit := uint64(1) << (code % 64); {
	case s.all[code/64]&bit != 0:
		return yes
	case s.some[code/64]&bit != 0:
		return maybe
	}
	return no
}

// ofSeries says what the filter says of each series; in a bucket, if one is given. The
// set is the caller's.
func (f *filter) ofSeries(gen *granule.Generation, columns *granule.SeriesColumns, b *bucket) seriesSet {
	switch f.op {
	case opTrue:
		return newSeriesSet(columns.Len(), true, true)
	case opNot:
		s := f.args[0].ofSeries(gen, columns, b)
		for i := range s.all {
			s.all[i], s.some[i] = ^s.some[i], ^s.all[i]
		}
		return s
	case opAnd, opOr:
		and := f.op == opAnd
		out := newSeriesSet(columns.Len(), and, and)
		for _, arg := range f.args {
			s := arg.ofSeries(gen, columns, b)
			for i := range out.all {
				if and {
					out.all[i], out.some[i] = out.all[i]&s.all[i], out.some[i]&s.some[i]
				} else {
					out.all[i], out.some[i] = out.all[i]|s.all[i], out.some[i]|s.some[i]
				}
			}
		}
		return out
	}
	l := f.leaf
	switch {
	case l.series:
		set := l.seriesOf(gen, columns)
		return seriesSet{slices.Clone(set), slices.Clone(set)}
	case b != nil && l.schema.Columns()[l.column].Dynamic && !b.columns[l.name]:
		return newSeriesSet(columns.Len(), l.null, l.null)
	}
	return newSeriesSet(columns.Len(), false, true)
}

// seriesOf returns the series for which a leaf on a column of theirs holds, a bit each.
// Each distinct value is looked at once.
func (l *leaf) seriesOf(gen *granule.Generation, columns *granule.SeriesColumns) []uint64 {
	if set, ok := l.sets[gen]; ok {
		return set
	}
	set := newSeriesSet(columns.Len(), l.null, l.null).all
	column := columns.Column(l.name)
	for i, value := range column.Values {
		holds := l.test([]byte(value))
		if holds == l.null {
			continue
		}
		for _, series := range column.Series[i] {
			set[series/64] ^= 1 << (series % 64)
		}
	}
	l.sets[gen] = set
	return set
}

// ofPart says what the filter says of all rows of a part, as far as that is told without
// looking at them.
func (f *filter) ofPart(p *granule.Part) truth {
	switch f.op {
	case opTrue:
		return yes
	case opNot:
		switch f.args[0].ofPart(p) {
		case yes:
			return no
		case no:
			return yes
		}
		return maybe
	case opAnd, opOr:
		decides, out := truthOf(f.op == opOr), truthOf(f.op == opAnd)
		for _, arg := range f.args {
			switch arg.ofPart(p) {
			case decides:
				return decides
			case maybe:
				out = maybe
			}
		}
		return out
	}
	return f.leaf.ofPart(p)
}

func (l *leaf) ofPart(p *granule.Part) truth {
	if l.series {
		if code, constant := p.Series().Constant(); constant {
			return truthOf(l.testSeries(p.Generation(), uint32(code)))
		}
		if len(l.work.columns(p.Generation()).Column(l.name).Values) == 0 {
			return truthOf(l.null) // nobody has the label
		}
		return maybe
	}
	if all, ok := l.prune(p); ok {
		return truthOf(all)
	}
	column := p.Find(l.column, l.name)
	switch {
	case column == nil:
		return truthOf(l.null)
	case l.id != nil && !column.MayHave(*l.id):
		return no
	}
	return maybe
}

// eval says which rows of a stretch the leaf holds for.
func (l *leaf) eval(p *granule.Part, r *stretch) mask {
	gen := p.Generation()
	switch {
	case l.series && !r.mixed:
		return mask{all: l.testSeries(gen, r.series)}
	case l.series:
		return l.mask(p.Series(), r, func(word uint64) bool { return l.testSeries(gen, uint32(word)) })
	}
	if all, ok := l.prune(p); ok {
		return mask{all: all}
	}
	column := p.Find(l.column, l.name)
	if column == nil {
		return mask{all: l.null}
	}
	if column.Type().Fixed() {
		m := l.mask(column.Words(), r, l.word)
		if column.Nulls() {
			m = m.each(r.hi - r.lo)
			for i, valid := range column.AppendValid(nil, r.lo, r.hi) {
				if !valid {
					m.bits[i] = l.null
				}
			}
		}
		return m
	}
	if l.op == opElement {
		words := l.work.read(column.Words(), r)
		return l.listsOf(gen).mask(l.work.bools(len(words)), words)
	}
	return l.mask(column.Words(), r, l.ofCode(gen, column))
}

// ofCode returns the test of a column of codes.
func (l *leaf) ofCode(gen *granule.Generation, column *encoding.Column) func(word uint64) bool {
	switch {
	case l.word != nil:
		return func(word uint64) bool { return word != 0 && l.word(word) || word == 0 && l.null }
	case column.Dict() == nil:
		return func(word uint64) bool { return word == 0 && l.null || word != 0 && l.test(column.Bytes(word)) }
	}
	known := l.memo(gen, column.Dict().Len())
	return func(word uint64) bool {
		if word == 0 {
			return l.null
		}
		if known[word] == unknown {
			known[word] = truthOf(l.test(column.Bytes(word)))
		}
		return known[word] == yes
	}
}

// prune answers for a whole part from its range of times.
func (l *leaf) prune(p *granule.Part) (all, ok bool) {
	if l.column != l.schema.BucketColumn() {
		return false, false
	}
	lo, hi := p.TimeRange()
	if lo == math.MinInt64 || hi == math.MaxInt64 {
		return false, false
	}
	atLo, atHi := l.word(encoding.FromInt64(lo)), l.word(encoding.FromInt64(hi))
	// AtLeast and Less do not change back inside of the range; others might.
	return atLo, atLo == atHi && (lo == hi || l.op == opAtLeast || l.op == opLess)
}

// testSeries decides for one series.
func (l *leaf) testSeries(gen *granule.Generation, code uint32) bool {
	set := l.sets[gen]
	if set == nil {
		set = l.seriesOf(gen, l.work.columns(gen))
	}
	return set[code/64]>>(code%64)&1 == 1
}

// memo returns what is known of the codes of a generation, up to most.
func (l *leaf) memo(gen *granule.Generation, most int) []truth {
	known := l.known[gen]
	if len(known) <= most {
		known = append(known, make([]truth, most+1-len(known)+most/8)...)
		l.known[gen] = known
	}
	return known
}

// mask tests the words of a stretch, those of a table once each.
func (l *leaf) mask(words *encoding.Words, r *stretch, test func(uint64) bool) mask {
	if word, ok := words.Constant(); ok {
		return mask{all: test(word)}
	}
	if table, ordinals := words.Lookup(); table != nil {
		results := l.work.bools(table.Len())
		for i, word := range l.work.read(table, &stretch{hi: table.Len()}) {
			results[i] = test(word)
		}
		if !slices.Contains(results, !results[0]) {
			return mask{all: results[0]}
		}
		rows := l.work.read(ordinals, r)
		bits := l.work.bools(len(rows))
		for i, ordinal := range rows {
			bits[i] = results[ordinal]
		}
		return mask{bits: bits}
	}
	rows := l.work.read(words, r)
	bits := l.work.bools(len(rows))
	result, differ := false, false
	for i, word := range rows {
		if i == 0 || word != rows[i-1] {
			was := result
			result = test(word)
			differ = differ || i > 0 && result != was
		}
		bits[i] = result
	}
	if !differ {
		return mask{all: result}
	}
	return mask{bits: bits}
}

// filterWork is what the leaves of a filter work with.
type filterWork struct {
	words        []uint64
	series, walk encoding.Cursor // of the chooser
	slab         []bool
	used         int // of slab, by the stretch at hand
	// stop says whether the query was cancelled; who finds that it was sets stopped, and
	// says anything then.
	stop    func() bool
	stopped bool

	columns    func(*granule.Generation) *granule.SeriesColumns
	manySeries func(*granule.Generation) bool // can hold: a share of all
}

var filterWorks = sync.Pool{New: func() any { return new(filterWork) }}

// read returns the words of a stretch, good until the next call.
func (w *filterWork) read(words *encoding.Words, r *stretch) []uint64 {
	w.words = words.Append(w.words[:0], r.lo, r.hi)
	return w.words
}

// bools returns n of any value, good for the stretch at hand.
func (w *filterWork) bools(n int) []bool {
	if w.used+n > len(w.slab) {
		w.slab, w.used = make([]bool, 2*(w.used+n)), 0
	}
	w.used += n
	return w.slab[w.used-n : w.used : w.used]
}

// timeBounds returns the times that rows can have for which e holds, as far as
// its top-level conditions tell: lo <= time < hi, hi exclusive unless it is the
// greatest int64.
func timeBounds(s *schema.Schema, e Expr) (lo, hi int64) {
	lo, hi = math.MinInt64, math.MaxInt64
	if s.BucketColumn() < 0 {
		return lo, hi
	}
	conditions := []Expr{e}
	for len(conditions) > 0 {
		c := conditions[0]
		conditions = conditions[1:]
		if c.op == opAnd {
			conditions = append(conditions, c.args...)
			continue
		}
		if c.column != s.Columns()[s.BucketColumn()].Name {
			continue
		}
		v, ok := c.value.(int64)
		if i, isInt := c.value.(int); isInt {
			v, ok = int64(i), true
		}
		switch {
		case !ok:
		case c.op == opAtLeast:
			lo = max(lo, v)
		case c.op == opLess:
			hi = min(hi, v)
		case c.op == opEqual:
			lo, hi = max(lo, v), min(hi, max(v, v+1))
		}
	}
	return lo, hi
}
