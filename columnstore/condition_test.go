package columnstore

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// condition is an expression and what it means.
type condition struct {
	expr  Expr
	holds func(oracleRow) bool
	text  string
}

func (c condition) String() string { return c.text }

// randomCondition makes a tree of at most the given depth.
func randomCondition(rng *rand.Rand, depth int) condition {
	if depth == 0 || rng.IntN(4) == 0 {
		return randomLeaf(rng)
	}
	if rng.IntN(3) == 0 {
		arg := randomCondition(rng, depth-1)
		return condition{Not(arg.expr), func(r oracleRow) bool { return !arg.holds(r) }, "not(" + arg.text + ")"}
	}
	args := make([]condition, rng.IntN(4))
	exprs := make([]Expr, len(args))
	for i := range args {
		args[i] = randomCondition(rng, depth-1)
		exprs[i] = args[i].expr
	}
	if rng.IntN(2) == 0 {
		return condition{And(exprs...), func(r oracleRow) bool {
			for _, arg := range args {
				if !arg.holds(r) {
					return false
				}
			}
			return true
		}, fmt.Sprint("and", args)}
	}
	return condition{Or(exprs...), func(r oracleRow) bool {
		return slices.ContainsFunc(args, func(c condition) bool { return c.holds(r) })
	}, fmt.Sprint("or", args)}
}

var patterns = []*regexp.Regexp{
	regexp.MustCompile(`.*`), regexp.MustCompile(`.+`), regexp.MustCompile(`^$`),
	regexp.MustCompile(`p`), regexp.MustCompile(`^(a|b)$`), regexp.MustCompile(`\x00`),
}

// randomLeaf compares a column: any, present in the data or not.
func randomLeaf(rng *rand.Rand) condition {
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
	// Prometheus semantics: no label is an empty one.
	value0 := func(r oracleRow) any {
		v, ok := r[name]
		if !ok && dynamic && isString {
			return ""
		}
		return v
	}
	op := rng.IntN(5)
	if _, isList := value.([]uuid.UUID); isList || op == 0 {
		return condition{IsNull(name), func(r oracleRow) bool { return r[name] == nil }, "null(" + name + ")"}
	}
	if op == 1 && isString {
		p := pick(rng, patterns)
		return condition{Match(name, p), func(r oracleRow) bool {
			s, ok := value0(r).(string)
			return ok && p.MatchString(s)
		}, fmt.Sprintf("match(%s, %s)", name, p)}
	}
	return compareLeaf(op, name, value, value0)
}

func compareLeaf(op int, name string, value any, of func(oracleRow) any) condition {
	// -0 and 0 are equal in conditions, as in Go.
	compare := func(r oracleRow) (int, bool) {
		v := of(r)
		if v == nil {
			return 0, false
		}
		if x, ok := v.(float64); ok {
			return cmp.Compare(x, value.(float64)), true
		}
		return compareValues(v, value), true
	}
	switch op {
	case 2:
		return condition{
			comparison(AtLeast[string], AtLeast[int64], AtLeast[uint64], AtLeast[float64], AtLeast[bool], AtLeast[uuid.UUID])(name, value),
			func(r oracleRow) bool { c, ok := compare(r); return ok && c >= 0 }, fmt.Sprintf("%s>=%s", name, text(value)),
		}
	case 3:
		return condition{
			comparison(Less[string], Less[int64], Less[uint64], Less[float64], Less[bool], Less[uuid.UUID])(name, value),
			func(r oracleRow) bool { c, ok := compare(r); return ok && c < 0 }, fmt.Sprintf("%s<%s", name, text(value)),
		}
	}
	return condition{
		comparison(Equal[string], Equal[int64], Equal[uint64], Equal[float64], Equal[bool], Equal[uuid.UUID])(name, value),
		func(r oracleRow) bool { c, ok := compare(r); return ok && c == 0 }, fmt.Sprintf("%s==%s", name, text(value)),
	}
}

// comparison picks the constructor by the value's type.
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
