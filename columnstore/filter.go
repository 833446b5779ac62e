package columnstore

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"

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
	op     exprOp
	schema *schema.Schema
	column int
	name   string
	series bool                    // the column is part of the series tuple
	test   func(value []byte) bool // strings and UUIDs
	word   func(word uint64) bool  // fixed types; for any type, if it need not see the value
	null   bool                    // what a row without a value gives
	known  map[*granule.Generation]map[uint64]bool
}

// bind checks an expression against a schema. Errors wrap ErrQuery.
func bind(s *schema.Schema, e Expr) (*filter, error) {
	f := &filter{op: e.op}
	if e.op == opTrue {
		return f, nil
	}
	for _, arg := range e.args {
		bound, err := bind(s, arg)
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
		op: e.op, schema: s, column: column, name: e.column, series: s.IsSeries(column),
		known: map[*granule.Generation]map[uint64]bool{},
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
		return true
	case encoding.UUIDList:
		return false
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

// count returns the number of chosen rows of n.
func (m mask) count(n int) int {
	if m.bits == nil {
		if m.all {
			return n
		}
		return 0
	}
	chosen := 0
	for _, b := range m.bits {
		if b {
			chosen++
		}
	}
	return chosen
}

// eval returns the rows of a slice for which the filter holds. What a column
// says for all rows of a slice at once, it does not say row by row.
func (f *filter) eval(s granule.Slice) mask {
	switch f.op {
	case opTrue:
		return mask{all: true}
	case opNot:
		m := f.args[0].eval(s)
		if m.bits == nil {
			return mask{all: !m.all}
		}
		for i := range m.bits {
			m.bits[i] = !m.bits[i]
		}
		return m
	case opAnd, opOr:
		return f.combine(s)
	}
	return f.leaf.eval(s)
}

// combine evaluates And and Or and stops as soon as the answer is known.
func (f *filter) combine(s granule.Slice) mask {
	or := f.op == opOr
	out := mask{all: !or}
	for _, arg := range f.args {
		m := arg.eval(s)
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

// eval walks the column in runs.
func (l *leaf) eval(s granule.Slice) mask {
	if l.series {
		known := l.memo(s.Part.Generation())
		return runMask(s.Part.Series(), s, func(word uint64) bool {
			return remember(known, word, func() bool { return l.testSeries(s.Part.Generation(), word) })
		})
	}
	if all, ok := l.prune(s.Part); ok {
		return mask{all: all}
	}
	column := s.Part.Find(l.column, l.name)
	if column == nil {
		return mask{all: l.null}
	}
	if column.Type().Fixed() {
		m := runMask(column.Words(), s, l.word)
		if !column.Nulls() {
			return m
		}
		if m.bits == nil {
			m.bits = slices.Repeat([]bool{m.all}, s.Rows())
		}
		for i, valid := range column.AppendValid(nil, s.Lo, s.Hi) {
			if !valid {
				m.bits[i] = l.null
			}
		}
		return m
	}
	test := func(word uint64) bool {
		switch {
		case word == 0:
			return l.null
		case l.word != nil:
			return l.word(word)
		}
		return l.test(column.Bytes(word))
	}
	if column.Dict() == nil {
		return runMask(column.Words(), s, test)
	}
	known := l.memo(s.Part.Generation())
	return runMask(column.Words(), s, func(word uint64) bool {
		return remember(known, word, func() bool { return test(word) })
	})
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
func (l *leaf) testSeries(gen *granule.Generation, code uint64) bool {
	labels, err := readSeries(l.schema, gen, uint32(code))
	if err != nil {
		panic("columnstore: " + err.Error()) // broken invariant: tuples are made by this process
	}
	if value, ok := labels.find(l.name); ok {
		return l.test([]byte(value))
	}
	return l.null
}

func (l *leaf) memo(gen *granule.Generation) map[uint64]bool {
	known := l.known[gen]
	if known == nil {
		known = map[uint64]bool{}
		l.known[gen] = known
	}
	return known
}

func remember(known map[uint64]bool, word uint64, find func() bool) bool {
	result, ok := known[word]
	if !ok {
		result = find()
		known[word] = result
	}
	return result
}

// runMask tests each run of words once.
func runMask(words *encoding.Words, s granule.Slice, test func(uint64) bool) mask {
	cursor := words.Cursor()
	var m mask
	row, last, lastWord, started := 0, false, uint64(0), false
	for row < s.Hi {
		word, n := cursor.Next()
		lo, hi := max(row, s.Lo), min(row+n, s.Hi)
		row += n
		if lo >= hi {
			continue
		}
		if !started || word != lastWord {
			result := test(word)
			switch {
			case !started:
				m.all = result
			case result != last && m.bits == nil:
				m.bits = slices.Repeat([]bool{last}, lo-s.Lo)
			}
			last, lastWord, started = result, word, true
		}
		if m.bits != nil {
			for range hi - lo {
				m.bits = append(m.bits, last)
			}
		}
	}
	return m
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
