package oracle

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// Ops are the operations in conditions.
var Ops = []string{"all", "==", "in", ">=", "<=", ">", "<", "between", "match", "func", "has", "null", "and", "or", "not"}

// Cond is a condition: an operation on conditions, or on one column. C identifies the column: a name, or a
// place in Cells.
type Cond[C any] struct {
	Op   string // one of Ops
	Args []*Cond[C]

	Column  C
	Missing any   // counts as the value of a null in comparisons; nil: none
	Values  []any // operands of comparisons
	Pattern *regexp.Regexp
	Func    func(value any) bool
	Element func(id uuid.UUID, record []byte) bool
	Record  func(id uuid.UUID) []byte // an element's record
	Note    string                    // describes Func or Element
}

// Holds evaluates the condition for a row. value returns the row's value in a column.
func (c *Cond[C]) Holds(value func(C) any) bool {
	switch c.Op {
	case "all":
		return true
	case "and":
		return !slices.ContainsFunc(c.Args, func(arg *Cond[C]) bool { return !arg.Holds(value) })
	case "or":
		return slices.ContainsFunc(c.Args, func(arg *Cond[C]) bool { return arg.Holds(value) })
	case "not":
		return !c.Args[0].Holds(value)
	}
	return c.HoldsOf(value(c.Column))
}

// HoldsOf evaluates a condition on a column for its value.
func (c *Cond[C]) HoldsOf(v any) bool {
	switch c.Op {
	case "null":
		return v == nil
	case "func":
		return c.Func(v)
	case "has":
		list, _ := v.([]uuid.UUID)
		return slices.ContainsFunc(list, func(id uuid.UUID) bool { return c.Element(id, c.Record(id)) })
	}
	if v == nil {
		v = c.Missing
	}
	if v == nil {
		return false
	}
	switch c.Op {
	case "match":
		return c.Pattern.MatchString(v.(string))
	case "in":
		return slices.ContainsFunc(c.Values, func(want any) bool { return Compare(v, want) == 0 })
	case "==":
		return Compare(v, c.Values[0]) == 0
	case ">=":
		return Compare(v, c.Values[0]) >= 0
	case "<=":
		return Compare(v, c.Values[0]) <= 0
	case ">":
		return Compare(v, c.Values[0]) > 0
	case "<":
		return Compare(v, c.Values[0]) < 0
	case "between":
		return Compare(v, c.Values[0]) >= 0 && Compare(v, c.Values[1]) <= 0
	}
	panic("no operation " + c.Op)
}

// Text writes the condition with column names.
func (c *Cond[C]) Text(name func(C) string) string {
	var args []string
	for _, arg := range c.Args {
		args = append(args, arg.Text(name))
	}
	for _, v := range c.Values {
		args = append(args, Text(v))
	}
	inner := strings.Join(args, ", ")
	switch c.Op {
	case "all":
		return "all"
	case "and", "or", "not":
		return c.Op + "(" + inner + ")"
	case "match":
		inner = c.Pattern.String()
	case "func", "has":
		inner = c.Note
	}
	return fmt.Sprintf("%s %s [%s]", name(c.Column), c.Op, inner)
}
