package engine

import (
	"regexp"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/scalar"
	"github.com/parca-dev/parca/pkg/profile"
	"github.com/polarsignals/frostdb/query/logicalplan"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// pushed returns a condition that holds for every row for which a filter of FrostDB's engine holds, and for
// as few others as possible. The engine filters the rows again.
func pushed(s *schema.Schema, filter logicalplan.Expr) columnstore.Expr {
	binary, ok := filter.(*logicalplan.BinaryExpr)
	if !ok {
		return columnstore.And()
	}
	switch binary.Op {
	case logicalplan.OpAnd:
		return columnstore.And(pushed(s, binary.Left), pushed(s, binary.Right))
	case logicalplan.OpOr:
		return columnstore.Or(pushed(s, binary.Left), pushed(s, binary.Right))
	}
	column, ok := binary.Left.(*logicalplan.Column)
	if !ok {
		return columnstore.And()
	}
	literal, ok := binary.Right.(*logicalplan.LiteralExpr)
	if !ok {
		return columnstore.And()
	}
	i, ok := s.Resolve(column.ColumnName)
	if !ok {
		return columnstore.And()
	}
	switch s.Columns()[i].Type {
	case encoding.String:
		return pushedText(column.ColumnName, binary.Op, literal.Value)
	case encoding.Int64:
		return pushedNumber(column.ColumnName, binary.Op, literal.Value)
	default:
		return columnstore.And()
	}
}

// pushedText is pushed for a text column. A null in the filter means that a label is missing, and is not a
// text. In a label column a missing value is the empty text.
func pushedText(column string, op logicalplan.Op, literal scalar.Scalar) columnstore.Expr {
	text, ok := textOf(literal)
	if !ok && (literal.IsValid() || !strings.HasPrefix(column, profile.ColumnLabelsPrefix)) {
		return columnstore.And()
	}
	switch op {
	case logicalplan.OpEq:
		return columnstore.Equal(column, text)
	case logicalplan.OpNotEq:
		return columnstore.Not(columnstore.Equal(column, text))
	case logicalplan.OpRegexMatch, logicalplan.OpRegexNotMatch:
		pattern, err := regexp.Compile(text)
		if err != nil || !ok {
			return columnstore.And() // the engine reports it
		}
		if op == logicalplan.OpRegexMatch {
			return columnstore.Match(column, pattern)
		}
		return columnstore.Not(columnstore.Match(column, pattern))
	default:
		return columnstore.And()
	}
}

// textOf returns a literal's text; ok is false if it is null or not text.
func textOf(literal scalar.Scalar) (text string, ok bool) {
	switch v := literal.(type) {
	case *scalar.String:
		return string(v.Data()), v.IsValid()
	case *scalar.Binary:
		return string(v.Data()), v.IsValid()
	default:
		return "", false
	}
}

// pushedNumber is pushed for a column of integers.
func pushedNumber(column string, op logicalplan.Op, literal scalar.Scalar) columnstore.Expr {
	v, ok := literal.(*scalar.Int64)
	if !ok || !v.IsValid() {
		return columnstore.And()
	}
	switch op {
	case logicalplan.OpEq:
		return columnstore.Equal(column, v.Value)
	case logicalplan.OpNotEq:
		return columnstore.Not(columnstore.Equal(column, v.Value))
	case logicalplan.OpLt:
		return columnstore.Less(column, v.Value)
	case logicalplan.OpLtEq:
		return columnstore.AtMost(column, v.Value)
	case logicalplan.OpGt:
		return columnstore.Greater(column, v.Value)
	case logicalplan.OpGtEq:
		return columnstore.AtLeast(column, v.Value)
	default:
		return columnstore.And()
	}
}
