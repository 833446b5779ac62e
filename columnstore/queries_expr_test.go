package columnstore

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"math"
	"regexp"
	"slices"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/oracle"
)

// expr returns the condition that the store is asked.
func (d *querySet) expr(c *oracle.Cond[int]) Expr {
	return exprOf(c, d.columnName)
}

func (d *querySet) columnName(column int) string { return d.columns[column].name }

// exprOf returns a condition of the oracle as the store takes it.
func exprOf[C any](c *oracle.Cond[C], columnName func(C) string) Expr {
	var args []Expr
	for _, arg := range c.Args {
		args = append(args, exprOf(arg, columnName))
	}
	switch c.Op {
	case "all":
		return Expr{}
	case "and":
		return And(args...)
	case "or":
		return Or(args...)
	case "not":
		return Not(args[0])
	}
	name := columnName(c.Column)
	switch c.Op {
	case "match":
		return Match(name, c.Pattern)
	case "func":
		return Func(name, c.Func)
	case "has":
		return HasElement(name, c.Element)
	case "null":
		return IsNull(name)
	case "in":
		return inExpr(name, c.Values)
	case "==":
		return comparison(Equal[string], orInt(Equal[int64], Equal[int]), Equal[uint64], Equal[float64], Equal[bool], Equal[uuid.UUID])(name, c.Values[0])
	case ">=":
		return comparison(AtLeast[string], orInt(AtLeast[int64], AtLeast[int]), AtLeast[uint64], AtLeast[float64], AtLeast[bool], AtLeast[uuid.UUID])(name, c.Values[0])
	case "<=":
		return comparison(AtMost[string], orInt(AtMost[int64], AtMost[int]), AtMost[uint64], AtMost[float64], AtMost[bool], AtMost[uuid.UUID])(name, c.Values[0])
	case ">":
		return comparison(Greater[string], orInt(Greater[int64], Greater[int]), Greater[uint64], Greater[float64], Greater[bool], Greater[uuid.UUID])(name, c.Values[0])
	case "<":
		return comparison(Less[string], orInt(Less[int64], Less[int]), Less[uint64], Less[float64], Less[bool], Less[uuid.UUID])(name, c.Values[0])
	}
	return betweenExpr(name, c.Values[0], c.Values[1])
}

// orInt passes even numbers as ints, like constants.
func orInt(asInt64 func(string, int64) Expr, asInt func(string, int) Expr) func(string, int64) Expr {
	return func(name string, v int64) Expr {
		if v%2 == 0 {
			return asInt(name, int(v))
		}
		return asInt64(name, v)
	}
}

func betweenExpr(name string, lo, hi any) Expr {
	switch lo := lo.(type) {
	case string:
		return Between(name, lo, hi.(string))
	case int64:
		return Between(name, lo, hi.(int64))
	case uint64:
		return Between(name, lo, hi.(uint64))
	case float64:
		return Between(name, lo, hi.(float64))
	case bool:
		return Between(name, lo, hi.(bool))
	}
	return Between(name, lo.(uuid.UUID), hi.(uuid.UUID))
}

func inExpr(name string, values []any) Expr {
	if len(values) == 0 {
		return In[string](name)
	}
	switch values[0].(type) {
	case string:
		return In(name, valuesAs[string](values)...)
	case int64:
		return In(name, valuesAs[int64](values)...)
	case uint64:
		return In(name, valuesAs[uint64](values)...)
	case float64:
		return In(name, valuesAs[float64](values)...)
	case bool:
		return In(name, valuesAs[bool](values)...)
	}
	return In(name, valuesAs[uuid.UUID](values)...)
}

func valuesAs[T any](values []any) []T {
	out := make([]T, len(values))
	for i, v := range values {
		out[i] = v.(T)
	}
	return out
}

// condition makes a random tree of at most the given depth.
func (d *querySet) condition(depth int) *oracle.Cond[int] {
	if depth == 0 || d.rng.IntN(4) == 0 {
		return d.leaf(d.rng.IntN(len(d.columns)))
	}
	switch d.rng.IntN(8) {
	case 0, 1:
		return &oracle.Cond[int]{Op: "not", Args: []*oracle.Cond[int]{d.condition(depth - 1)}}
	case 2: // a time range, because most queries have one
		time := d.index("time")
		lo, hi := d.makeTime(), d.makeTime()
		return &oracle.Cond[int]{Op: "and", Args: []*oracle.Cond[int]{
			{Op: ">=", Column: time, Values: []any{min(lo, hi)}}, {Op: "<", Column: time, Values: []any{max(lo, hi)}}, d.condition(depth - 1),
		}}
	}
	c := &oracle.Cond[int]{Op: pick(d.rng, []string{"and", "or"})}
	n := 2
	if d.rng.IntN(4) == 0 {
		n = d.rng.IntN(5)
	}
	for range n {
		c.Args = append(c.Args, d.condition(depth-1))
	}
	return c
}

var queryPatterns = []*regexp.Regexp{
	regexp.MustCompile(`.*`), regexp.MustCompile(`.+`), regexp.MustCompile(`^$`), regexp.MustCompile(`p`), regexp.MustCompile(`^(a|b|p1)$`),
	regexp.MustCompile(`\x00`), regexp.MustCompile(`^(?:p.*|)$`), regexp.MustCompile(`(?i)^CPU`), regexp.MustCompile(`é`),
}

// leaf makes a condition on one column.
func (d *querySet) leaf(column int) *oracle.Cond[int] {
	c := &oracle.Cond[int]{Column: column, Record: recordOf}
	of := &d.columns[column]
	if of.isDynamicString() {
		c.Missing = ""
	}
	if of.of.Type == encoding.UUIDList {
		if d.rng.IntN(4) > 0 {
			return d.elementLeaf(c)
		}
		c.Op = "null"
		return c
	}
	ops := []string{"==", "==", "in", "in", ">=", "<=", ">", "<", "between", "func", "null"}
	if of.of.Type == encoding.String {
		ops = append(ops, "match", "match")
	}
	switch c.Op = pick(d.rng, ops); c.Op {
	case "null":
	case "match":
		c.Pattern = pick(d.rng, queryPatterns)
	case "func":
		d.function(c)
	case "in":
		for range d.rng.IntN(5) {
			c.Values = append(c.Values, d.probe(of))
		}
	case "between":
		c.Values = []any{d.probe(of), d.probe(of)}
		if oracle.Compare(c.Values[0], c.Values[1]) > 0 && d.rng.IntN(4) > 0 {
			slices.Reverse(c.Values)
		}
	default:
		c.Values = []any{d.probe(of)}
	}
	return c
}

// probe returns a value to compare a column with, mostly one of its rows.
func (d *querySet) probe(c *queryColumn) any {
	if c.name == "time" {
		return d.makeTime()
	}
	if d.rng.IntN(4) > 0 {
		return pick(d.rng, c.domain)
	}
	switch c.of.Type {
	case encoding.String:
		return pick(d.rng, []any{"", "b", "zzz", "p1"})
	case encoding.Int64:
		return pick(d.rng, []any{int64(3), int64(1), int64(math.MinInt64), int64(-1000)})
	case encoding.Uint64:
		return pick(d.rng, []any{uint64(2), uint64(1<<63 + 1)})
	case encoding.Float64:
		return pick(d.rng, []any{math.NaN(), 1e300, 0.0, math.Copysign(0, -1)})
	case encoding.UUID:
		return uuid.UUID{2, byte(d.rng.IntN(3))}
	}
	return true
}

// function makes a Func that checks the type of its argument.
func (d *querySet) function(c *oracle.Cond[int]) {
	of := &d.columns[c.Column]
	want := fmt.Sprintf("%T", of.domain[0])
	kind, rest := d.rng.IntN(4), uint64(d.rng.IntN(3))
	c.Note = []string{"is nil", "is not nil", fmt.Sprintf("hash is %d of 3", rest), fmt.Sprintf("not nil, hash is not %d of 3", rest)}[kind]
	c.Func = func(v any) bool {
		if got := fmt.Sprintf("%T", v); v != nil && got != want {
			panic(fmt.Sprintf("Func of %s is given a %s, want a %s", of.name, got, want))
		}
		hash := fnv.New64a()
		hash.Write(oracle.AppendCell(nil, v))
		switch kind {
		case 0:
			return v == nil
		case 1:
			return v != nil
		case 2:
			return hash.Sum64()%3 == rest
		}
		return v != nil && hash.Sum64()%3 != rest
	}
}

// elementLeaf makes a HasElement that checks the record it is given.
func (d *querySet) elementLeaf(c *oracle.Cond[int]) *oracle.Cond[int] {
	c.Op = "has"
	of := &d.columns[c.Column]
	kind, number := d.rng.IntN(5), byte(1+d.rng.IntN(10+d.total/40))
	c.Note = []string{
		fmt.Sprintf("element %d", number), fmt.Sprintf("record of %d", number), "a record", "no record", "any, or none if odd",
	}[kind]
	c.Element = func(id uuid.UUID, record []byte) bool {
		// An insert under way can have an element before its record; no row of a snapshot has.
		if want := recordOf(id); (!bytes.Equal(record, want) || (record == nil) != (want == nil)) && (d.opts.Manual || record != nil) {
			panic(fmt.Sprintf("HasElement of %s is given the record %q with %v, want %q", of.name, record, id, want))
		}
		switch kind {
		case 0:
			return id == uuid.UUID{15: number}
		case 1:
			return record != nil && bytes.Equal(record, recordOf(uuid.UUID{15: number}))
		case 2:
			return record != nil
		case 3:
			return record == nil
		}
		return number%2 == 0
	}
	return c
}
