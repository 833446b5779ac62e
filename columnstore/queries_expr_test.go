package columnstore

import (
	"bytes"
	"cmp"
	"fmt"
	"hash/fnv"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
)

// queryCond is a condition as the questions have it: it can be made an Expr, be held
// against a row, and be printed.
type queryCond struct {
	op      string // one of queryOps
	column  int    // of a leaf
	values  []any  // to compare with
	pattern *regexp.Regexp
	f       func(value any) bool
	element func(id uuid.UUID, record []byte) bool
	text    string // what f or element says
	args    []*queryCond
}

// queryOps are the conditions there are; each must have been asked about.
var queryOps = []string{"all", "==", "in", ">=", "<", "match", "func", "has", "null", "and", "or", "not"}

func (d *querySet) condText(c *queryCond) string {
	var args []string
	for _, arg := range c.args {
		args = append(args, d.condText(arg))
	}
	for _, v := range c.values {
		args = append(args, text(v))
	}
	inner := strings.Join(args, ", ")
	switch c.op {
	case "all":
		return "all"
	case "and", "or", "not":
		return c.op + "(" + inner + ")"
	case "match":
		inner = c.pattern.String()
	case "func", "has":
		inner = c.text
	}
	return fmt.Sprintf("%s %s [%s]", d.columns[c.column].name, c.op, inner)
}

// expr makes the condition that the store is asked.
func (d *querySet) expr(c *queryCond) Expr {
	var args []Expr
	for _, arg := range c.args {
		args = append(args, d.expr(arg))
	}
	switch c.op {
	case "all":
		return Expr{}
	case "and":
		return And(args...)
	case "or":
		return Or(args...)
	case "not":
		return Not(args[0])
	}
	name := d.columns[c.column].name
	switch c.op {
	case "match":
		return Match(name, c.pattern)
	case "func":
		return Func(name, c.f)
	case "has":
		return HasElement(name, c.element)
	case "null":
		return IsNull(name)
	case "in":
		return inExpr(name, c.values)
	case "==":
		return comparison(Equal[string], orInt(Equal[int64], Equal[int]), Equal[uint64], Equal[float64], Equal[bool], Equal[uuid.UUID])(name, c.values[0])
	case ">=":
		return comparison(AtLeast[string], orInt(AtLeast[int64], AtLeast[int]), AtLeast[uint64], AtLeast[float64], AtLeast[bool], AtLeast[uuid.UUID])(name, c.values[0])
	}
	return comparison(Less[string], orInt(Less[int64], Less[int]), Less[uint64], Less[float64], Less[bool], Less[uuid.UUID])(name, c.values[0])
}

// orInt gives even numbers as ints, as constants are.
func orInt(asInt64 func(string, int64) Expr, asInt func(string, int) Expr) func(string, int64) Expr {
	return func(name string, v int64) Expr {
		if v%2 == 0 {
			return asInt(name, int(v))
		}
		return asInt64(name, v)
	}
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

// holds evaluates a condition for one row, from what the documentation of Expr says.
func (d *querySet) holds(c *queryCond, row queryRow) bool {
	switch c.op {
	case "all":
		return true
	case "and":
		for _, arg := range c.args {
			if !d.holds(arg, row) {
				return false
			}
		}
		return true
	case "or":
		for _, arg := range c.args {
			if d.holds(arg, row) {
				return true
			}
		}
		return false
	case "not":
		return !d.holds(c.args[0], row)
	}
	return d.leafHolds(c, row[c.column])
}

func (d *querySet) leafHolds(c *queryCond, v any) bool {
	switch c.op {
	case "null":
		return v == nil
	case "func":
		return c.f(v)
	case "has":
		list, _ := v.([]uuid.UUID)
		return slices.ContainsFunc(list, func(id uuid.UUID) bool { return c.element(id, recordOf(id)) })
	}
	if v == nil && d.columns[c.column].isDynamicString() {
		v = ""
	}
	if v == nil {
		return false
	}
	switch c.op {
	case "match":
		return c.pattern.MatchString(v.(string))
	case "in":
		return slices.ContainsFunc(c.values, func(want any) bool { return compareCells(v, want) == 0 })
	case "==":
		return compareCells(v, c.values[0]) == 0
	case ">=":
		return compareCells(v, c.values[0]) >= 0
	}
	return compareCells(v, c.values[0]) < 0
}

// compareCells compares two values as conditions do.
func compareCells(a, b any) int {
	switch x := a.(type) {
	case string:
		return strings.Compare(x, b.(string))
	case int64:
		return cmp.Compare(x, b.(int64))
	case uint64:
		return cmp.Compare(x, b.(uint64))
	case float64:
		return cmp.Compare(x, b.(float64))
	case bool:
		return boolInt(x) - boolInt(b.(bool))
	}
	x, y := a.(uuid.UUID), b.(uuid.UUID)
	return bytes.Compare(x[:], y[:])
}

// condition makes a random tree of at most the given depth.
func (d *querySet) condition(depth int) *queryCond {
	if depth == 0 || d.rng.IntN(4) == 0 {
		return d.leaf(d.rng.IntN(len(d.columns)))
	}
	switch d.rng.IntN(8) {
	case 0, 1:
		return &queryCond{op: "not", args: []*queryCond{d.condition(depth - 1)}}
	case 2: // a range of times, as most questions have one
		time := d.index("time")
		lo, hi := d.makeTime(), d.makeTime()
		return &queryCond{op: "and", args: []*queryCond{
			{op: ">=", column: time, values: []any{min(lo, hi)}}, {op: "<", column: time, values: []any{max(lo, hi)}}, d.condition(depth - 1),
		}}
	}
	c := &queryCond{op: pick(d.rng, []string{"and", "or"})}
	n := 2
	if d.rng.IntN(4) == 0 {
		n = d.rng.IntN(5)
	}
	for range n {
		c.args = append(c.args, d.condition(depth-1))
	}
	return c
}

var queryPatterns = []*regexp.Regexp{
	regexp.MustCompile(`.*`), regexp.MustCompile(`.+`), regexp.MustCompile(`^$`), regexp.MustCompile(`p`), regexp.MustCompile(`^(a|b|p1)$`),
	regexp.MustCompile(`\x00`), regexp.MustCompile(`^(?:p.*|)$`), regexp.MustCompile(`(?i)^CPU`), regexp.MustCompile(`é`),
}

// leaf makes a condition on one column.
func (d *querySet) leaf(column int) *queryCond {
	c := &queryCond{column: column}
	of := &d.columns[column]
	if of.of.Type == encoding.UUIDList {
		if d.rng.IntN(4) > 0 {
			return d.elementLeaf(c)
		}
		c.op = "null"
		return c
	}
	ops := []string{"==", "==", "in", "in", ">=", "<", "func", "null"}
	if of.of.Type == encoding.String {
		ops = append(ops, "match", "match")
	}
	switch c.op = pick(d.rng, ops); c.op {
	case "null":
	case "match":
		c.pattern = pick(d.rng, queryPatterns)
	case "func":
		d.function(c)
	case "in":
		for range d.rng.IntN(5) {
			c.values = append(c.values, d.probe(of))
		}
	default:
		c.values = []any{d.probe(of)}
	}
	return c
}

// probe returns a value to compare a column with, mostly one that rows have.
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

// function makes a Func that checks the type of what it is given.
func (d *querySet) function(c *queryCond) {
	of := &d.columns[c.column]
	want := fmt.Sprintf("%T", of.domain[0])
	kind, rest := d.rng.IntN(4), uint64(d.rng.IntN(3))
	c.text = []string{"is nil", "is not nil", fmt.Sprintf("hash is %d of 3", rest), fmt.Sprintf("not nil, hash is not %d of 3", rest)}[kind]
	c.f = func(v any) bool {
		if got := fmt.Sprintf("%T", v); v != nil && got != want {
			panic(fmt.Sprintf("Func of %s is given a %s, want a %s", of.name, got, want))
		}
		hash := fnv.New64a()
		hash.Write(appendCell(nil, v))
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
func (d *querySet) elementLeaf(c *queryCond) *queryCond {
	c.op = "has"
	of := &d.columns[c.column]
	kind, number := d.rng.IntN(5), byte(1+d.rng.IntN(10+d.total/40))
	c.text = []string{
		fmt.Sprintf("element %d", number), fmt.Sprintf("record of %d", number), "a record", "no record", "any, or none if odd",
	}[kind]
	c.element = func(id uuid.UUID, record []byte) bool {
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
