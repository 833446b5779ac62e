package query

import (
	"fmt"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/query/filter"
	"github.com/granarydb/granary/schema"
)

// AggregateOp is a function of the values of a group of rows in one column.
type AggregateOp uint8

// The functions of Aggregate. All follow SQL: nulls do not count, and a group of only nulls
// has the value null, or the Count 0.
const (
	// Sum is the sum of an Int64, Uint64 or Float64 column, in its type. An integer sum beyond the type
	// is ErrOverflow. Float sums are compensated: see Aggregate.
	Sum AggregateOp = iota + 1
	// Mean is avg in SQL: the exact sum of an Int64, Uint64 or Float64 column, divided by the
	// number of its values, as a Float64. Integers do not overflow.
	Mean
	// Min is the least value in a column of any type but lists. Strings and UUIDs compare by their bytes,
	// false is less than true.
	Min
	// Max is the greatest value, in the same order.
	Max
	// Count is the number of values in a column of any type, or of rows without a Column, as an Int64.
	Count
)

var aggregateOps = [...]string{Sum: "sum", Mean: "mean", Min: "min", Max: "max", Count: "count"}

// String returns the function's name in lower case.
func (op AggregateOp) String() string {
	if op == 0 || int(op) >= len(aggregateOps) {
		return fmt.Sprintf("AggregateOp(%d)", uint8(op))
	}
	return aggregateOps[op]
}

// Aggregate is one value to compute for each group of rows.
//
// A NaN among the values makes Sum and Mean NaN. Min and Max order values as the conditions of package
// filter do: a NaN is below every number, and -0 below 0. Min is therefore NaN if any value is, and Max
// only if all values are.
//
// Floats are added in the order in which the rows are stored, which maintenance and the number of
// processors change. Each addition keeps its rounding error in a second float (Knuth, TwoSum; Neumaier
// 1974), so the result is off by at most half a unit in its last place, plus n^2 * 2^-106 times the sum
// of the magnitudes of n values. Another order of a million values of one sign changes the last bit of
// about one sum in 10^10. It can change more where values of opposite signs cancel out to less than
// 10^-15 of their magnitudes, or where a partial sum leaves the range of float64, which makes the sum
// infinite or NaN.
type Aggregate struct {
	// Op is the function.
	Op AggregateOp
	// Column names the concrete column of the values. It may be empty only for Count, which then counts
	// all rows.
	Column string
}

// String returns the aggregate in SQL's notation: "max(value)", "count(*)". It is the column's name in
// the answer.
func (g Aggregate) String() string {
	if g.Column == "" {
		return g.Op.String() + "(*)"
	}
	return fmt.Sprintf("%v(%s)", g.Op, g.Column)
}

// resolve returns the column of the values, or -1 for rows, and the result's type.
func (g Aggregate) resolve(s *schema.Schema) (column int, result encoding.Type, err error) {
	if g.Op == Count && g.Column == "" {
		return -1, encoding.Int64, nil
	}
	column, ok := s.Resolve(g.Column)
	if !ok {
		return 0, 0, fmt.Errorf("%w: %v: no column %q", filter.ErrQuery, g, g.Column)
	}
	typ := s.Columns()[column].Type
	isNumber := typ == encoding.Int64 || typ == encoding.Uint64 || typ == encoding.Float64
	switch g.Op {
	case Count:
		return column, encoding.Int64, nil
	case Mean:
		ok, result = isNumber, encoding.Float64
	case Sum:
		ok, result = isNumber, typ
	case Min, Max:
		ok, result = typ != encoding.UUIDList, typ
	default:
		return 0, 0, fmt.Errorf("%w: unknown aggregate %v", filter.ErrQuery, g.Op)
	}
	if !ok {
		return 0, 0, fmt.Errorf("%w: %v: column of type %v", filter.ErrQuery, g, typ)
	}
	return column, result, nil
}
