package columnstore

import (
	"regexp"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding/dict"
	"github.com/granarydb/granary/internal/query/filter"
)

// Expr is a condition on rows. It is immutable and safe for concurrent use. The zero Expr
// holds for every row.
//
// Floats compare as in Go's cmp package: a NaN equals itself and is less than every other
// value. A comparison with a null is false, and Not makes it true. In a dynamic string column
// a missing value equals the empty string (package schema, S4). Equal("labels.zone", "")
// therefore holds for rows without a zone, and so does Not(Equal("labels.zone", "a")), as in
// Prometheus.
type Expr = filter.Expr

// Value is a comparison value's type: string for a String column, int or int64 for Int64, and so on.
// Package encoding lists the column types.
type Value = filter.Value

// Equal holds if the column has the value.
func Equal[V Value](column string, v V) Expr { return filter.Equal(column, v) }

// In holds if the column has one of the values. In without values never holds.
func In[V Value](column string, values ...V) Expr { return filter.In(column, values...) }

// AtLeast holds if the column's value is v or greater.
func AtLeast[V Value](column string, v V) Expr { return filter.AtLeast(column, v) }

// AtMost holds if the column's value is v or less.
func AtMost[V Value](column string, v V) Expr { return filter.AtMost(column, v) }

// Greater holds if the column's value is greater than v.
func Greater[V Value](column string, v V) Expr { return filter.Greater(column, v) }

// Between holds if the column's value is lo, hi, or between them, as in SQL. It never holds if lo is
// greater than hi. A time range without its end is And(AtLeast, Less).
func Between[V Value](column string, lo, hi V) Expr { return filter.Between(column, lo, hi) }

// Less holds if the column's value is less than v.
func Less[V Value](column string, v V) Expr { return filter.Less(column, v) }

// Match holds if the pattern matches a string column's value. The pattern is not anchored. It is
// evaluated once for each distinct value.
func Match(column string, pattern *regexp.Regexp) Expr { return filter.Match(column, pattern) }

// Func holds if f returns true for the column's value. f gets a string, int64, uint64, float64, bool or
// uuid.UUID, depending on the column's type, and nil for a row without a value. It is called with nil
// once per query, whatever the column.
//
// f is called by the goroutine that reads: about once for each distinct value in a coded column, and for
// each run of values in a fixed-type column. It can be called with values of rows that are uncommitted or
// were aborted. Func serves conditions that the other constructors cannot express.
func Func(column string, f func(value any) bool) Expr { return filter.Func(column, f) }

// HasElement holds if f returns true for an element of a list column. record is the data
// stored beside the element, or nil; f must not keep or change it. f is called by the goroutine that reads, once for each
// distinct element that a list can have. It can be called with elements of inserts in
// progress, which may have no record yet.
//
// A query over many rows evaluates all lists of the dictionaries in one pass, each list only
// as far as it differs from the one before. An Aggregate by this column alone evaluates once
// per group and not once per row.
func HasElement(column string, f func(id uuid.UUID, record []byte) bool) Expr {
	return filter.HasElement(column, f)
}

// ElementFunc is HasElement for a function that reads the element's record itself, as codes of the texts in it. So f can look at
// a text once for all elements that share it. Within a query f gets the same reader for all elements of a dictionary. f may
// keep it to compare it, and may read with it only during the call.
func ElementFunc(column string, f func(from *dict.RecordReader, element uint32) bool) Expr {
	return filter.ElementFunc(column, f)
}

// IsNull holds if the column has no value. Not(IsNull) holds if it has one.
func IsNull(column string) Expr { return filter.IsNull(column) }

// And holds if all the conditions hold. And() always holds.
func And(args ...Expr) Expr { return filter.And(args...) }

// Or holds if at least one of the conditions holds. Or() never holds.
func Or(args ...Expr) Expr { return filter.Or(args...) }

// Not holds if the condition does not.
func Not(arg Expr) Expr { return filter.Not(arg) }
