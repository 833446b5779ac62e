package columnstore

import (
	"bytes"
	"cmp"
	"fmt"
	"math"

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
	work *filterWork
}

// leaf compares one column.
type leaf struct {
	op      exprOp
	schema  *schema.Schema
	column  int
	name    string
	series  bool                    // the column is part of the series tuple
	test    func(value []byte) bool // strings and UUIDs
	word    func(word uint64) bool  // fixed types; for any type, if it need not see the value
	null    bool                    // what a row without a value gives
	id      *uuid.UUID              // the only value for which it holds, if that is an id
	idHash  encoding.IDHash         // of id
	text    *string                 // likewise
	known   []*leafKnown            // of generations: mostly one
	element func(id uuid.UUID, record []byte) bool
	lists   map[*granule.Generation]*listFilter
	work    *filterWork

	idPart  *granule.Part // of which idRows are: they have the only id for which the leaf holds
	idRows  []int32       // rising
	idKnown bool          // else the column does not tell

	table      *encoding.Words // of the part at hand: headers
	ofWords    []byte          // what the test says of each: 1 or 0
	tableAlike bool            // of all the same
}

// leafKnown is what a leaf has found out of the values of a generation.
type leafKnown struct {
	gen    *granule.Generation
	codes  []truth  // by code in a dictionary
	looked bool     // at the values of series
	values []uint32 // of series: those of which the leaf does not say what it says of none
	set    bitset   // of series for which it holds; nil: not asked for yet
}

// in returns what is known of a generation.
func (l *leaf) in(gen *granule.Generation) *leafKnown {
	for _, k := range l.known {
		if k.gen == gen {
			return k
		}
	}
	k := &leafKnown{gen: gen}
	l.known = append(l.known, k)
	return k
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
	f := &filter{op: e.op, work: work}
	if e.op == opTrue {
		return f, nil
	}
	f.args = make([]*filter, 0, len(e.args))
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
	f.leaf = work.leaf()
	*f.leaf = leaf{op: e.op, schema: s, column: column, name: e.column, series: s.IsSeries(column), work: work, ofWords: f.leaf.ofWords}
	if !f.leaf.setTest(c, e) {
		return nil, fmt.Errorf("%w: column %q is %v and %s", ErrQuery, e.column, c.Type, unfit(e))
	}
	return f, nil
}

// unfit says why a column does not fit a condition, or a condition any column.
func unfit(e Expr) string {
	switch {
	case e.op == opMatch && e.pattern == nil:
		return "is to be matched with a pattern that is nil"
	case e.op == opMatch:
		return "cannot be matched with a pattern"
	case e.op == opFunc && e.holds == nil, e.op == opElement && e.element == nil:
		return "is to be tried with a function that is nil"
	case e.op == opFunc:
		return "has no single values to try a function with"
	case e.op == opElement:
		return "has no elements"
	}
	return fmt.Sprintf("cannot be compared with %v", e.value)
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
		if e.op == opEqual {
			switch value := e.value.(type) {
			case uuid.UUID:
				l.id, l.idHash = &value, encoding.HashID(value)
			case string:
				l.text = &value
			}
		}
		return true
	case encoding.UUIDList:
		l.element, l.lists = e.element, map[*granule.Generation]*listFilter{}
		return e.op == opElement && e.element != nil
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
	op := e.op // and not all of the expression
	return func(value []byte) bool { return holds(op, bytes.Compare(value, want)) }
}

func wordTest(t encoding.Type, e Expr) func(uint64) bool {
	if e.op == opMatch {
		return nil
	}
	op := e.op // and not all of the expression
	switch v := e.value.(type) {
	case int:
		return wordTest(t, Expr{op: op, value: int64(v)})
	case int64:
		if t == encoding.Int64 {
			return func(w uint64) bool { return holds(op, cmp.Compare(encoding.ToInt64(w), v)) }
		}
	case uint64:
		if t == encoding.Uint64 {
			return func(w uint64) bool { return holds(op, cmp.Compare(w, v)) }
		}
	case float64:
		if t == encoding.Float64 {
			return func(w uint64) bool { return holds(op, cmp.Compare(encoding.ToFloat64(w), v)) }
		}
	case bool:
		if t == encoding.Bool {
			return func(w uint64) bool { return holds(op, cmp.Compare(w, encoding.FromBool(v))) }
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

// timeBounds returns the times that rows can have for which e holds, as far as
// its top-level conditions tell: lo <= time < hi, hi exclusive unless it is the
// greatest int64.
func timeBounds(s *schema.Schema, e Expr) (lo, hi int64) {
	lo, hi = math.MinInt64, math.MaxInt64
	if s.BucketColumn() < 0 {
		return lo, hi
	}
	return e.bounds(s.Columns()[s.BucketColumn()].Name, lo, hi)
}

// bounds narrows the times that a condition leaves.
func (e *Expr) bounds(column string, lo, hi int64) (int64, int64) {
	if e.op == opAnd {
		for i := range e.args {
			lo, hi = e.args[i].bounds(column, lo, hi)
		}
		return lo, hi
	}
	v, ok := e.value.(int64)
	if i, isInt := e.value.(int); isInt {
		v, ok = int64(i), true
	}
	if !ok || e.column != column {
		return lo, hi
	}
	switch e.op {
	case opAtLeast:
		lo = max(lo, v)
	case opLess:
		hi = min(hi, v)
	case opEqual:
		lo, hi = max(lo, v), min(hi, max(v, v+1))
	}
	return lo, hi
}
