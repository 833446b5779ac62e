package columnstore

import (
	"regexp"

	"github.com/google/uuid"
)

// Expr is a condition on rows. It is immutable; the zero Expr holds for every
// row.
//
// Floats compare as in Go's cmp package: a NaN equals itself and is less than
// all else. A comparison with a null is false, and Not makes it true. In a dynamic string
// column no value and the empty string are the same (package schema, S4), so
// Equal("labels.zone", "") holds for rows without a zone, and
// Not(Equal("labels.zone", "a")) as well: the semantics of Prometheus.
type Expr struct {
	op      exprOp
	column  string
	value   any
	pattern *regexp.Regexp
	holds   func(value any) bool
	element func(id uuid.UUID, record []byte) bool
	args    []Expr
}

type exprOp uint8

const (
	opTrue exprOp = iota
	opEqual
	opAtLeast
	opLess
	opMatch
	opFunc
	opElement
	opNull
	opAnd
	opOr
	opNot
)

// Value is what a column can be compared with: a string for String, an int or
// an int64 for Int64, and so on; package encoding lists the types.
type Value interface {
	string | int | int64 | uint64 | float64 | bool | uuid.UUID
}

// Equal holds where the column has the value.
func Equal[V Value](column string, v V) Expr {
	return Expr{op: opEqual, column: column, value: v}
}

// In holds where the column has one of the values; In without any never.
func In[V Value](column string, values ...V) Expr {
	args := make([]Expr, len(values))
	for i, v := range values {
		args[i] = Equal(column, v)
	}
	return Or(args...)
}

// AtLeast holds where the column's value is v or greater.
func AtLeast[V Value](column string, v V) Expr {
	return Expr{op: opAtLeast, column: column, value: v}
}

// Less holds where the column's value is less than v.
func Less[V Value](column string, v V) Expr {
	return Expr{op: opLess, column: column, value: v}
}

// Match holds where the pattern matches the value of a string column. The
// pattern is not anchored. It is tried once for each distinct value.
func Match(column string, pattern *regexp.Regexp) Expr {
	return Expr{op: opMatch, column: column, pattern: pattern}
}

// Func holds where f says so of the column's value: a string, an int64, a
// uint64, a float64, a bool or a uuid.UUID as the column's type is, nil for a
// row without a value. It is called with nil once a query, whatever the column. f is called by
// the goroutine that reads: about once for each
// distinct value of a coded column, also of rows that are not committed or were aborted,
// and for each run of values of a column of a fixed type. It serves what the other
// conditions cannot say.
func Func(column string, f func(value any) bool) Expr {
	return Expr{op: opFunc, column: column, holds: f}
}

// HasElement holds where f says so of one of the elements of a list column; record is
// what is kept beside the element, nil if nothing is. f is called once for each distinct
// element that a list can have, by the goroutine that reads, also for elements of inserts
// under way, which may have no record yet. Where many rows are asked
// about, all lists of the dictionaries are looked at in one pass, each as far as it
// differs from the one before. An Aggregate by the column alone asks once for each group, and
// not for each row.
func HasElement(column string, f func(id uuid.UUID, record []byte) bool) Expr {
	return Expr{op: opElement, column: column, element: f}
}

// IsNull holds where the column has no value; Not(IsNull) where it has one.
func IsNull(column string) Expr { return Expr{op: opNull, column: column} }

// And holds where all of the conditions do; And() always.
func And(args ...Expr) Expr { return Expr{op: opAnd, args: args} }

// Or holds where at least one of the conditions does; Or() never.
func Or(args ...Expr) Expr { return Expr{op: opOr, args: args} }

// Not holds where the condition does not.
func Not(arg Expr) Expr { return Expr{op: opNot, args: []Expr{arg}} }
