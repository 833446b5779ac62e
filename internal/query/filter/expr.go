package filter

import (
	"errors"
	"math"
	"regexp"
	"slices"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding/dict"
	"github.com/granarydb/granary/internal/pattern"
	"github.com/granarydb/granary/schema"
)

// ErrQuery is returned for a query that names an unknown column, or compares a column with a
// value of another type.
var ErrQuery = errors.New("invalid query")

// Expr is a condition on rows. Package columnstore exports it and its constructors, and says when each of
// them holds. It is immutable and safe for concurrent use. The zero Expr holds for every row.
type Expr struct {
	op      exprOp
	column  string
	value   any
	pattern *pattern.Regexp
	holds   func(value any) bool
	element func(from *dict.RecordReader, element uint32) bool
	args    []Expr
}

type exprOp uint8

const (
	opTrue exprOp = iota
	opEqual
	opAtLeast
	opAtMost
	opGreater
	opLess
	opMatch
	opFunc
	opElement
	opNull
	opAnd
	opOr
	opNot
)

// Value is a comparison value's type: string for a String column, int or int64 for Int64, and so on.
// Package encoding lists the column types.
type Value interface {
	string | int | int64 | uint64 | float64 | bool | uuid.UUID
}

// Equal holds if the column has the value.
func Equal[V Value](column string, v V) Expr {
	return Expr{op: opEqual, column: column, value: v}
}

// In holds if the column has one of the values. In without values never holds.
func In[V Value](column string, values ...V) Expr {
	args := make([]Expr, len(values))
	for i, v := range values {
		args[i] = Equal(column, v)
	}
	return Or(args...)
}

// AtLeast holds if the column's value is v or greater.
func AtLeast[V Value](column string, v V) Expr {
	return Expr{op: opAtLeast, column: column, value: v}
}

// AtMost holds if the column's value is v or less.
func AtMost[V Value](column string, v V) Expr {
	return Expr{op: opAtMost, column: column, value: v}
}

// Greater holds if the column's value is greater than v.
func Greater[V Value](column string, v V) Expr {
	return Expr{op: opGreater, column: column, value: v}
}

// Between holds for lo, hi, and the values between them.
func Between[V Value](column string, lo, hi V) Expr {
	return And(AtLeast(column, lo), AtMost(column, hi))
}

// Less holds if the column's value is less than v.
func Less[V Value](column string, v V) Expr {
	return Expr{op: opLess, column: column, value: v}
}

// Match holds for values that the regular expression matches.
func Match(column string, re *regexp.Regexp) Expr {
	e := Expr{op: opMatch, column: column}
	if re != nil {
		e.pattern = pattern.New(re)
	}
	return e
}

// Func holds for values for which f returns true.
func Func(column string, f func(value any) bool) Expr {
	return Expr{op: opFunc, column: column, holds: f}
}

// HasElement holds for lists with an element for which f returns true.
func HasElement(column string, f func(id uuid.UUID, record []byte) bool) Expr {
	if f == nil {
		return ElementFunc(column, nil)
	}
	return ElementFunc(column, func(from *dict.RecordReader, element uint32) bool {
		return f(from.Element(element), from.Record(element))
	})
}

// ElementFunc is HasElement for a function that reads the element's record.
func ElementFunc(column string, f func(from *dict.RecordReader, element uint32) bool) Expr {
	return Expr{op: opElement, column: column, element: f}
}

// IsNull holds if the column has no value. Not(IsNull) holds if it has one.
func IsNull(column string) Expr { return Expr{op: opNull, column: column} }

// And holds if all the conditions hold. And() always holds.
func And(args ...Expr) Expr { return Expr{op: opAnd, args: args} }

// Or holds if at least one of the conditions holds. Or() never holds.
func Or(args ...Expr) Expr { return Expr{op: opOr, args: args} }

// Not holds if the condition does not.
func Not(arg Expr) Expr { return Expr{op: opNot, args: []Expr{arg}} }

// Always reports whether the condition holds for every row by its form alone.
func (e Expr) Always() bool {
	return e.op == opTrue || e.op == opAnd && !slices.ContainsFunc(e.args, func(arg Expr) bool { return !arg.Always() })
}

// Calls reports whether the condition calls a function that the caller supplied.
func (e Expr) Calls() bool {
	return e.op == opFunc || e.op == opElement || slices.ContainsFunc(e.args, Expr.Calls)
}

// timeBounds returns time bounds of matching rows, as far as the top-level conjuncts of e give them: lo
// <= time < hi. hi is inclusive if it is the greatest int64.
func timeBounds(s *schema.Schema, e Expr) (lo, hi int64) {
	lo, hi = math.MinInt64, math.MaxInt64
	if s.BucketColumn() < 0 {
		return lo, hi
	}
	return e.bounds(s.Columns()[s.BucketColumn()].Name, lo, hi)
}

// bounds narrows [lo, hi) by a condition on the time column.
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
	case opGreater:
		lo = max(lo, v, v+1) // v+1 overflows to the least int64
	case opLess:
		hi = min(hi, v)
	case opAtMost:
		hi = min(hi, max(v, v+1))
	case opEqual:
		lo, hi = max(lo, v), min(hi, max(v, v+1))
	}
	return lo, hi
}
