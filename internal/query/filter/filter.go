package filter

import (
	"fmt"
	"slices"

	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/schema"
)

// filter is an Expr bound to a schema. It belongs to one query and one goroutine, because its leaves
// cache results for series and dictionary codes.
type filter struct {
	op   exprOp
	args []*filter
	leaf *leaf
	work *filterWork
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

// eval returns the open rows for which the filter holds. A result that is the same for all rows has no
// bits.
func (f *filter) eval(p *granule.Part, r *openRows) mask {
	switch f.op {
	case opTrue:
		return mask{all: true}
	case opNot:
		m := f.args[0].eval(p, r)
		if m.bits == nil {
			return mask{all: !m.all}
		}
		bits := f.work.wholeBits(&m, r.hi-r.lo)
		for i := range bits {
			bits[i] = ^bits[i]
		}
		return mask{bits: bits}
	case opAnd, opOr:
		return f.combine(p, r)
	}
	return f.leaf.eval(p, r)
}

// combine evaluates And and Or, and stops when the result is known for all rows.
func (f *filter) combine(p *granule.Part, r *openRows) mask {
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
			out = mask{bits: f.work.wholeBits(&out, r.hi-r.lo)}
			for i, word := range f.work.wholeBits(&m, r.hi-r.lo) {
				if or {
					out.bits[i] |= word
				} else {
					out.bits[i] &= word
				}
			}
		}
	}
	return out
}

// ofSeries returns the series in a generation that match in all rows, and the series that can match in
// some rows: in bucket b, or in all buckets if b is nil. The caller owns the set.
func (f *filter) ofSeries(gen *granule.Generation, columns *granule.SeriesColumns, b *catalog.BucketState) seriesSet {
	switch f.op {
	case opTrue:
		return newSeriesSet(columns.Len(), true, true)
	case opNot:
		s := f.args[0].ofSeries(gen, columns, b)
		for i := range s.all {
			s.all[i], s.some[i] = ^s.some[i], ^s.all[i]
		}
		return s
	case opAnd:
		return f.allOfSeries(gen, columns, b)
	case opOr:
		out := newSeriesSet(columns.Len(), false, false)
		for _, arg := range f.args {
			s := arg.ofSeries(gen, columns, b)
			for i := range out.all {
				out.all[i], out.some[i] = out.all[i]|s.all[i], out.some[i]|s.some[i]
			}
		}
		return out
	}
	l := f.leaf
	switch {
	case l.series:
		return l.seriesSet(gen, columns)
	case l.nowhere(b):
		return newSeriesSet(columns.Len(), l.null, l.null)
	}
	return newSeriesSet(columns.Len(), false, true)
}

// byBucket reports whether ofSeries can differ between buckets of a generation.
func (f *filter) byBucket() bool {
	if l := f.leaf; l != nil {
		return !l.series && l.schema.Columns()[l.column].Dynamic
	}
	return slices.ContainsFunc(f.args, (*filter).byBucket)
}

// allOfSeries is ofSeries for And. It evaluates the condition on the column with the most values first,
// because that usually leaves few series, and the other conditions only on the series left.
func (f *filter) allOfSeries(gen *granule.Generation, columns *granule.SeriesColumns, b *catalog.BucketState) seriesSet {
	var first *leaf
	most := 0
	for _, arg := range f.args {
		if l := arg.leaf; l != nil && l.series {
			if n := len(columns.Column(l.name).Values); n > most {
				first, most = l, n
			}
		}
	}
	var out seriesSet
	if first != nil {
		out = first.seriesSet(gen, columns)
	} else {
		out = newSeriesSet(columns.Len(), true, true)
	}
	for _, arg := range f.args {
		switch l := arg.leaf; {
		case l != nil && l == first:
		case l != nil && l.series:
			l.keepSeries(out, gen, columns)
		case l != nil && !l.nowhere(b):
			clear(out.all) // the rows decide
		default:
			s := arg.ofSeries(gen, columns, b)
			for i := range out.all {
				out.all[i], out.some[i] = out.all[i]&s.all[i], out.some[i]&s.some[i]
			}
		}
	}
	return out
}

// ofPart returns the verdict on all rows in a part, as far as the part's metadata decides it. It reads no
// row.
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

// onlyID returns a leaf that matches only one id and that the filter implies, or nil.
func (f *filter) onlyID() *leaf {
	switch {
	case f.op == opAnd, f.op == opOr && len(f.args) == 1:
		for _, arg := range f.args {
			if l := arg.onlyID(); l != nil {
				return l
			}
		}
	case f.leaf != nil && f.leaf.id != nil && !f.leaf.series:
		return f.leaf
	}
	return nil
}

// readsWide reports whether the filter compares a wide column of rows.
func (f *filter) readsWide(src *Env) bool {
	return f.leaf != nil && src.IsWide(f.leaf.column) || slices.ContainsFunc(f.args, func(arg *filter) bool { return arg.readsWide(src) })
}

// takeElements removes the top-level conjuncts on the elements in a list column and returns them. The
// filter then holds for more rows.
func (f *filter) takeElements(c schema.Concrete) (taken []ElementCondition) {
	switch {
	case f.op == opElement && f.leaf.column == c.Column && f.leaf.name == c.Name:
		taken = append(taken, ElementCondition{f.leaf.element, f.leaf.work})
		*f = filter{op: opTrue}
	case f.op == opAnd:
		for _, arg := range f.args {
			taken = append(taken, arg.takeElements(c)...)
		}
	}
	return taken
}
