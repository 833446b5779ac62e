package columnstore

import (
	"maps"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/granarydb/granary/internal/oracle"
)

// condition is an expression, as the store and as the oracle have it.
type condition struct {
	*oracle.Cond[string]
	expr Expr
}

func newCondition(c *oracle.Cond[string]) condition {
	return condition{c, exprOf(c, func(name string) string { return name })}
}

func (c condition) String() string { return c.Text(func(name string) string { return name }) }

// holds evaluates the condition for a row.
func (c condition) holds(row oracle.Row) bool {
	return c.Holds(func(name string) any { return row[name] })
}

// randomCondition makes a tree of at most the given depth.
func randomCondition(rng *rand.Rand, depth int) condition {
	return newCondition(randomTree(rng, depth))
}

func randomTree(rng *rand.Rand, depth int) *oracle.Cond[string] {
	if depth == 0 || rng.IntN(4) == 0 {
		return randomLeaf(rng)
	}
	if rng.IntN(3) == 0 {
		return &oracle.Cond[string]{Op: "not", Args: []*oracle.Cond[string]{randomTree(rng, depth-1)}}
	}
	c := &oracle.Cond[string]{Args: make([]*oracle.Cond[string], rng.IntN(4))}
	for i := range c.Args {
		c.Args[i] = randomTree(rng, depth-1)
	}
	c.Op = []string{"and", "or"}[rng.IntN(2)]
	return c
}

var patterns = []*regexp.Regexp{
	regexp.MustCompile(`.*`), regexp.MustCompile(`.+`), regexp.MustCompile(`^$`),
	regexp.MustCompile(`p`), regexp.MustCompile(`^(a|b)$`), regexp.MustCompile(`\x00`),
}

// randomLeaf compares a column: any, present in the data or not.
func randomLeaf(rng *rand.Rand) *oracle.Cond[string] {
	names := append(slices.Sorted(maps.Keys(domains)), "time", "time", "time", "labels.none", "nums.none", "ids.none")
	name := pick(rng, names)
	domain := domains[name]
	switch name {
	case "time":
		domain = []any{int64(rng.IntN(7000) - 3500), int64(rng.IntN(70)-35) * 100, int64(math.MinInt64), int64(math.MaxInt64)}
	case "labels.none":
		domain = []any{"", "x"}
	case "nums.none":
		domain = []any{int64(0)}
	case "ids.none":
		domain = []any{uuid.UUID{}}
	}
	value := pick(rng, domain)
	dynamic := strings.Contains(name, ".")
	_, isString := value.(string)
	if isString && rng.IntN(5) == 0 {
		value = pick(rng, []any{"", "b", "zzz", "p1"})
	}
	c := &oracle.Cond[string]{Column: name, Values: []any{value}}
	if dynamic && isString {
		c.Missing = "" // Prometheus semantics: a missing label is an empty label
	}
	op := rng.IntN(8)
	_, isList := value.([]uuid.UUID)
	switch {
	case isList || op == 0:
		c.Op, c.Values = "null", nil
	case op == 1 && isString:
		c.Op, c.Values, c.Pattern = "match", nil, pick(rng, patterns)
	case op == 2:
		c.Op = ">="
	case op == 3:
		c.Op = "<"
	case op == 4:
		c.Op = "<="
	case op == 5:
		c.Op = ">"
	case op == 6:
		c.Op, c.Values = "between", []any{value, pick(rng, domain)}
	default:
		c.Op = "=="
	}
	return c
}

// comparison selects the constructor by the value's type.
func comparison(
	s func(string, string) Expr, i func(string, int64) Expr, u func(string, uint64) Expr,
	f func(string, float64) Expr, b func(string, bool) Expr, id func(string, uuid.UUID) Expr,
) func(name string, value any) Expr {
	return func(name string, value any) Expr {
		switch v := value.(type) {
		case string:
			return s(name, v)
		case int64:
			return i(name, v)
		case uint64:
			return u(name, v)
		case float64:
			return f(name, v)
		case bool:
			return b(name, v)
		}
		return id(name, value.(uuid.UUID))
	}
}
