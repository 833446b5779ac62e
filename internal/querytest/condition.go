package querytest

import (
	"regexp"

	"github.com/google/uuid"

	"github.com/granarydb/granary/internal/oracle"
	"github.com/granarydb/granary/internal/query/filter"
)

var patterns = []*regexp.Regexp{regexp.MustCompile(`p`), regexp.MustCompile(`^$`), regexp.MustCompile(`^(a|p1|y2)$`), regexp.MustCompile(`.+`)}

// Condition returns a random condition of at most a depth, for the oracle.
func (t *Random) Condition(depth int) *oracle.Cond[string] {
	if depth == 0 || t.rng.IntN(4) == 0 {
		return t.Leaf(pick(t.rng, Columns...))
	}
	c := &oracle.Cond[string]{Op: pick(t.rng, "and", "and", "or", "or", "not")}
	n := 1
	if c.Op != "not" {
		n = t.rng.IntN(4)
	}
	for range n {
		c.Args = append(c.Args, t.Condition(depth-1))
	}
	return c
}

// Leaf returns a random condition on a column.
func (t *Random) Leaf(column string) *oracle.Cond[string] {
	c := &oracle.Cond[string]{Column: column, Record: func(uuid.UUID) []byte { return nil }}
	if column == "labels.pod" || column == "labels.zone" {
		c.Missing = ""
	}
	if column == "stack" {
		of := byte(t.rng.IntN(6))
		if c.Op, c.Note = "has", "an element"; t.rng.IntN(4) == 0 {
			c.Op = "null"
		}
		c.Element = func(id uuid.UUID, _ []byte) bool { return id[1] == of }
		return c
	}
	probe := t.probe(column)
	ops := []string{"==", "==", "in", ">=", "<=", ">", "<", "between", "func", "null"}
	if _, isText := probe.(string); isText {
		ops = append(ops, "match", "match")
	}
	c.Op, c.Note = pick(t.rng, ops...), "a value"
	c.Values = []any{probe}
	switch c.Op {
	case "in":
		for range t.rng.IntN(4) {
			c.Values = append(c.Values, t.probe(column))
		}
	case "between":
		c.Values = append(c.Values, t.probe(column))
	case "match":
		c.Pattern = pick(t.rng, patterns...)
	case "func":
		ofNull := t.rng.IntN(2) == 0
		c.Func = func(v any) bool {
			if s, isText := v.(string); v == nil || isText && s == "" {
				return ofNull
			}
			return oracle.Compare(v, probe) < 0
		}
	}
	return c
}

// probe returns a value to compare with, usually the value of a row.
func (t *Random) probe(column string) any {
	for range 20 {
		if len(t.Rows) == 0 {
			break
		}
		if v := t.Rows[t.rng.IntN(len(t.Rows))][column]; v != nil {
			return v
		}
	}
	other := map[string]any{"trace": uuid.UUID{2}, "span": uint64(1), "ratio": 0.5, "ok": true, "time": int64(7), "value": int64(0)}
	if v := other[column]; v != nil {
		return v
	}
	return "a"
}

// Expr converts a condition to the form that queries take.
func Expr(c *oracle.Cond[string]) filter.Expr {
	var args []filter.Expr
	for _, arg := range c.Args {
		args = append(args, Expr(arg))
	}
	switch c.Op {
	case "all":
		return filter.Expr{}
	case "and":
		return filter.And(args...)
	case "or":
		return filter.Or(args...)
	case "not":
		return filter.Not(args[0])
	case "match":
		return filter.Match(c.Column, c.Pattern)
	case "func":
		return filter.Func(c.Column, c.Func)
	case "has":
		return filter.HasElement(c.Column, c.Element)
	case "null":
		return filter.IsNull(c.Column)
	}
	switch c.Values[0].(type) {
	case string:
		return compare[string](c)
	case int64:
		return compare[int64](c)
	case uint64:
		return compare[uint64](c)
	case float64:
		return compare[float64](c)
	case bool:
		return compare[bool](c)
	}
	return compare[uuid.UUID](c)
}

func compare[V filter.Value](c *oracle.Cond[string]) filter.Expr {
	var values []V
	for _, v := range c.Values {
		values = append(values, v.(V))
	}
	switch c.Op {
	case "in":
		return filter.In(c.Column, values...)
	case "==":
		return filter.Equal(c.Column, values[0])
	case ">=":
		return filter.AtLeast(c.Column, values[0])
	case "<=":
		return filter.AtMost(c.Column, values[0])
	case ">":
		return filter.Greater(c.Column, values[0])
	case "<":
		return filter.Less(c.Column, values[0])
	}
	return filter.Between(c.Column, values[0], values[1])
}
