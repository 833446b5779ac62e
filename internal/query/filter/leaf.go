package filter

import (
	"bytes"
	"cmp"
	"fmt"
	"math"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/encoding/dict"
	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/schema"
)

// leaf is a condition on one column.
type leaf struct {
	op      exprOp
	schema  *schema.Schema
	column  int
	name    string
	series  bool                    // the column is part of the series tuple
	test    func(value []byte) bool // the test of strings and UUIDs
	word    func(word uint64) bool  // the test of fixed types, or of any type if the value does not matter
	null    bool                    // the result for a row without a value
	id      *uuid.UUID              // the only matching value, if it is an id
	idHash  encoding.IDHash         // of id
	text    *string                 // the only matching value, if it is a string
	known   []*leafKnown            // by generation; usually one
	element func(from *dict.RecordReader, element uint32) bool
	lists   map[*granule.Generation]*ListFilter
	work    *filterWork

	idPart  *granule.Part // the part that idRows belongs to
	idRows  []int32       // rows with id, ascending
	idKnown bool          // false if the column cannot list the rows of an id

	table      *encoding.Words // dictionary of header words that ofWords belongs to
	ofWords    []byte          // result of the test for each word of table: 1 or 0
	tableAlike bool            // all of ofWords are equal
}

// leafKnown caches a leaf's results on the values of one generation.
type leafKnown struct {
	gen    *granule.Generation
	codes  []truth        // by dictionary code
	looked bool           // values is complete
	values []uint32       // values of series whose result differs from null
	set    catalog.Bitset // series for which the leaf holds; nil until computed
}

// knownOf returns a generation's cache.
func (l *leaf) knownOf(gen *granule.Generation) *leafKnown {
	for _, k := range l.known {
		if k.gen == gen {
			return k
		}
	}
	k := &leafKnown{gen: gen}
	l.known = append(l.known, k)
	return k
}

// truth is a condition's verdict on several rows at once.
type truth uint8

const (
	unknown truth = iota // not evaluated yet
	yes
	no
	maybe // differs by row
)

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

// unfit returns the reason why a condition does not fit a column, for an error.
func unfit(e Expr) string {
	switch {
	case e.op == opMatch && e.pattern == nil:
		return "cannot be matched with a nil pattern"
	case e.op == opMatch:
		return "cannot be matched with a pattern"
	case e.op == opFunc && e.holds == nil, e.op == opElement && e.element == nil:
		return "cannot be tested with a nil function"
	case e.op == opFunc:
		return "has no single values to test"
	case e.op == opElement:
		return "has no elements"
	}
	return fmt.Sprintf("cannot be compared with %v", e.value)
}

// setTest sets the test. It returns false if the value does not fit the column.
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
		if l.test = l.bytesTest(c.Type, e); l.test == nil {
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
		l.element, l.lists = e.element, map[*granule.Generation]*ListFilter{}
		return e.op == opElement && e.element != nil
	default:
		l.word = wordTest(c.Type, e)
		return l.word != nil
	}
}

// setFunc sets the test of a Func condition. It returns false if the column does not fit. A function can take long, so
// none is called once the query was cancelled.
func (l *leaf) setFunc(t encoding.Type, holds func(any) bool) bool {
	if holds == nil {
		return false
	}
	work := l.work
	f := func(value any) bool { return !work.isStopped() && holds(value) }
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

func (l *leaf) bytesTest(t encoding.Type, e Expr) func([]byte) bool {
	if e.op == opMatch {
		if t != encoding.String || e.pattern == nil {
			return nil
		}
		of, stop := e.pattern, l.work.isStopped // copied so that the closure does not retain e
		return func(value []byte) bool { return of.Match(value, stop) }
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
	op := e.op // copied so that the closure does not retain e
	return func(value []byte) bool { return holds(op, bytes.Compare(value, want)) }
}

func wordTest(t encoding.Type, e Expr) func(uint64) bool {
	if e.op == opMatch {
		return nil
	}
	op := e.op // copied so that the closure does not retain e
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
	case opAtMost:
		return compared <= 0
	case opGreater:
		return compared > 0
	default:
		return compared < 0
	}
}

// prune evaluates the leaf on a whole part by the part's time range. ok is false if the range does not
// decide.
func (l *leaf) prune(p *granule.Part) (all, ok bool) {
	if l.column != l.schema.BucketColumn() {
		return false, false
	}
	lo, hi := p.TimeRange()
	if lo == math.MinInt64 || hi == math.MaxInt64 {
		return false, false
	}
	atLo, atHi := l.word(encoding.FromInt64(lo)), l.word(encoding.FromInt64(hi))
	// Comparisons change at most once over the range. Other conditions can change and change back.
	return atLo, atLo == atHi && (lo == hi || l.op >= opAtLeast && l.op <= opLess)
}

// nowhere reports whether no row of the bucket has a value in the leaf's column. It returns
// false if b is nil.
func (l *leaf) nowhere(b *catalog.BucketState) bool {
	return b != nil && l.schema.Columns()[l.column].Dynamic && !b.Columns[l.name]
}
