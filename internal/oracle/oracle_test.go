package oracle

import (
	"errors"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

// distinct are values that the store must keep apart.
var distinct = []any{
	nil, "", "a", "a\x00", int64(0), int64(1), uint64(0), uint64(1), 0.0, math.Copysign(0, -1), math.NaN(),
	false, true,
	uuid.UUID{},
	uuid.UUID{1},
	[]uuid.UUID{},
	[]uuid.UUID{{}},
	[]uuid.UUID{{1}, {2}},
	[]uuid.UUID{{2}, {1}},
}

func TestSame(t *testing.T) {
	for i, a := range distinct {
		for j, b := range distinct {
			if Same(a, b) != (i == j) || (Text(a) == Text(b)) != (i == j) {
				t.Errorf("%s and %s: Same is %v", Text(a), Text(b), Same(a, b))
			}
		}
	}
	if !Same([]uuid.UUID(nil), []uuid.UUID{}) {
		t.Error("a list without elements is not the empty list")
	}
}

func TestCompareKeys(t *testing.T) {
	for _, sorted := range [][]any{
		{nil, "", "a", "a\x00", "b"},
		{nil, int64(math.MinInt64), int64(0), int64(math.MaxInt64)},
		{nil, uint64(0), uint64(math.MaxUint64)},
		{nil, false, true},
		{nil, uuid.UUID{}, uuid.UUID{15: 1}, uuid.UUID{1}},
		{nil, math.Inf(-1), -1.0, math.Copysign(0, -1), 0.0, 1.0, math.Inf(1)},
	} {
		for i, a := range sorted {
			for j, b := range sorted {
				if got, want := CompareKeys(a, b), i-j; got < 0 != (want < 0) || got > 0 != (want > 0) {
					t.Errorf("CompareKeys(%s, %s) = %d", Text(a), Text(b), got)
				}
			}
		}
	}
	if Compare(0.0, math.Copysign(0, -1)) != 0 {
		t.Error("0 and -0 differ in a condition")
	}
}

func TestCond(t *testing.T) {
	leaf := func(op string, values ...any) *Cond[string] {
		return &Cond[string]{Op: op, Column: "c", Values: values}
	}
	label := func(op string, values ...any) *Cond[string] {
		c := leaf(op, values...)
		c.Missing = ""
		return c
	}
	match := &Cond[string]{Op: "match", Column: "c", Pattern: regexp.MustCompile("^a"), Missing: ""}
	null := leaf("null")
	short := &Cond[string]{Op: "func", Column: "c", Note: "short", Func: func(v any) bool { s, _ := v.(string); return len(s) < 2 }}
	has := &Cond[string]{
		Op: "has", Column: "c", Note: "element 1 or a record",
		Element: func(id uuid.UUID, record []byte) bool { return id == uuid.UUID{1} || record != nil },
		Record:  func(id uuid.UUID) []byte { return map[uuid.UUID][]byte{{2}: {7}}[id] },
	}
	join := func(op string, args ...*Cond[string]) *Cond[string] { return &Cond[string]{Op: op, Args: args} }
	for _, test := range []struct {
		c    *Cond[string]
		text string
		yes  []any
		no   []any
	}{
		{join("all"), "all", []any{nil, "a"}, nil},
		{leaf("==", "a"), `c == ["a"]`, []any{"a"}, []any{nil, "", "b"}},
		{leaf("==", 0.0), `c == [float64(0)]`, []any{0.0, math.Copysign(0, -1)}, []any{nil, 1.0}},
		{leaf(">=", int64(3)), `c >= [int64(3)]`, []any{int64(3), int64(4)}, []any{nil, int64(2)}},
		{leaf("<=", int64(3)), `c <= [int64(3)]`, []any{int64(2), int64(3)}, []any{nil, int64(4)}},
		{leaf(">", int64(3)), `c > [int64(3)]`, []any{int64(4)}, []any{nil, int64(3)}},
		{leaf("between", int64(3), int64(4)), `c between [int64(3), int64(4)]`, []any{int64(3), int64(4)}, []any{nil, int64(2), int64(5)}},
		{leaf("<", int64(3)), `c < [int64(3)]`, []any{int64(2)}, []any{nil, int64(3)}},
		{leaf("in", "a", "b"), `c in ["a", "b"]`, []any{"a", "b"}, []any{nil, "c"}},
		{leaf("in"), `c in []`, nil, []any{nil, "c"}},
		{label("==", ""), `c == [""]`, []any{nil, ""}, []any{"a"}},
		{label("<", "a"), `c < ["a"]`, []any{nil, ""}, []any{"a"}},
		{match, "c match [^a]", []any{"a", "ab"}, []any{nil, "b"}},
		{null, "c null []", []any{nil}, []any{"", "a"}},
		{short, "c func [short]", []any{nil, "a"}, []any{"ab"}},
		{has, "c has [element 1 or a record]", []any{[]uuid.UUID{{3}, {1}}, []uuid.UUID{{2}}}, []any{nil, []uuid.UUID{}, []uuid.UUID{{3}}}},
		{join("and"), "and()", []any{nil}, nil},
		{join("or"), "or()", nil, []any{nil}},
		{join("and", short, match), "and(c func [short], c match [^a])", []any{"a"}, []any{nil, "ab", "b"}},
		{join("or", match, null), "or(c match [^a], c null [])", []any{nil, "ab"}, []any{"b"}},
		{join("not", null), "not(c null [])", []any{"a"}, []any{nil}},
	} {
		holds := func(v any) bool { return test.c.Holds(func(string) any { return v }) }
		if i := slices.IndexFunc(test.yes, func(v any) bool { return !holds(v) }); i >= 0 {
			t.Errorf("%s does not hold for %s", test.text, Text(test.yes[i]))
		}
		if i := slices.IndexFunc(test.no, holds); i >= 0 {
			t.Errorf("%s holds for %s", test.text, Text(test.no[i]))
		}
		if got := test.c.Text(func(name string) string { return name }); got != test.text {
			t.Errorf("text %s, want %s", got, test.text)
		}
		if !slices.Contains(Ops, test.c.Op) {
			t.Errorf("%s is not in Ops", test.c.Op)
		}
	}
}

func TestGroups(t *testing.T) {
	rows := []Cells{{"a", 0.0, int64(1)}, {"b", 0.0, int64(2)}, {"a", math.Copysign(0, -1), int64(3)}, {nil, 0.0, int64(4)}, {"a", 0.0, int64(5)}}
	at := func(i int) func(Cells) any { return func(row Cells) any { return row[i] } }
	sum := func(row Cells) int64 { return row[2].(int64) }
	for _, test := range []struct {
		by   []func(Cells) any
		want []Cells
	}{
		{nil, []Cells{{int64(15), int64(5)}}},
		{[]func(Cells) any{at(0)}, []Cells{{nil, int64(4), int64(1)}, {"a", int64(9), int64(3)}, {"b", int64(2), int64(1)}}},
		{[]func(Cells) any{at(1)}, []Cells{{0.0, int64(12), int64(4)}, {math.Copysign(0, -1), int64(3), int64(1)}}},
	} {
		if wrong := Diff(test.want, Groups(rows, test.by, sum), false); wrong != "" {
			t.Error(wrong)
		}
	}
	if got := Groups(nil, nil, sum); got != nil {
		t.Errorf("groups of no rows: %v", got)
	}
}

func TestFold(t *testing.T) {
	inf, nan, most := math.Inf(1), math.NaN(), int64(math.MaxInt64)
	for _, test := range []struct {
		op     string
		values []any
		want   any
	}{
		{"count", nil, int64(0)},
		{"count", []any{nil, "a", nil, "b"}, int64(2)},
		{"sum", nil, nil},
		{"sum", []any{nil}, nil},
		{"sum", []any{int64(1), nil, int64(-3)}, int64(-2)},
		{"sum", []any{most, int64(1), int64(-1)}, most},
		{"sum", []any{uint64(1), uint64(math.MaxUint64 - 1)}, uint64(math.MaxUint64)},
		{"sum", []any{1e300, 1.0, -1e300}, 1.0},
		{"sum", []any{inf, 1.0}, inf},
		{"sum", []any{inf, -inf}, nan},
		{"mean", []any{most, most}, float64(most)},
		{"mean", []any{int64(1), int64(2), nil}, 1.5},
		{"mean", []any{uint64(1), uint64(4)}, 2.5},
		{"mean", []any{1.0, 2.0}, 1.5},
		{"min", []any{nil, "b", "a"}, "a"},
		{"max", []any{nil, true, false}, true},
		{"min", []any{0.0, math.Copysign(0, -1)}, math.Copysign(0, -1)},
		{"max", []any{nan, -1.0}, -1.0},
		{"min", []any{-inf, nan}, nan},
	} {
		got, err := Fold(test.op, test.values)
		isNaN := func(v any) bool { f, ok := v.(float64); return ok && f != f }
		if same := Same(got, test.want) || isNaN(got) && isNaN(test.want); err != nil || !same {
			t.Errorf("%s of %v = %v, %v, want %v", test.op, test.values, got, err, test.want)
		}
	}
	for _, values := range [][]any{{most, int64(1)}, {-most, int64(-2)}, {uint64(math.MaxUint64), uint64(1)}} {
		if got, err := Fold("sum", values); !errors.Is(err, ErrOverflow) {
			t.Errorf("sum of %v = %v, %v", values, got, err)
		}
	}
	if _, err := Fold("sum", []any{"a"}); err == nil {
		t.Error("strings have a sum")
	}
}

func TestDiff(t *testing.T) {
	a, b := Cells{"a", nil}, Cells{"b", int64(1)}
	for _, test := range []struct {
		name      string
		want, got []Cells
		some      bool
		equal     bool
	}{
		{"none", nil, nil, false, true},
		{"another order", []Cells{a, b}, []Cells{b, a}, false, true},
		{"one missing", []Cells{a, b}, []Cells{b}, false, false},
		{"one missing of some", []Cells{a, b}, []Cells{b}, true, true},
		{"one too many", []Cells{a}, []Cells{a, a}, true, false},
		{"other count", []Cells{a, a, b}, []Cells{a, b, b}, false, false},
		{"other value", []Cells{a}, []Cells{{"a", ""}}, false, false},
	} {
		if got := Diff(test.want, test.got, test.some); (got == "") != test.equal {
			t.Errorf("%s: %q", test.name, got)
		}
	}
	many := slices.Repeat([]Cells{a}, 500)
	if lines := strings.Count(Diff(nil, many, false), "\n"); lines > 70 {
		t.Errorf("%d lines of a difference", lines)
	}
	if got := Without([]string{"a", "a", "b", "c"}, []string{"a", "c", "d"}); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("Without = %q", got)
	}
	if got := Texts([]Row{{"b": 0.0, "a": "x"}, {"a": nil}}); !slices.Equal(got, []string{"", `a="x" b=float64(0) `}) {
		t.Errorf("Texts = %q", got)
	}
	if got := Project(Row{"a": "x", "b": "y"}, []string{"b", "c"}); !maps.Equal(got, Row{"b": "y", "c": nil}) {
		t.Errorf("Project = %v", got)
	}
	if got := b.Pick([]int{1, 0, 1}); !slices.Equal(got, Cells{int64(1), "b", int64(1)}) {
		t.Errorf("Pick = %v", got)
	}
}

func TestLog(t *testing.T) {
	var l Log[string]
	if l.Len() != 0 || l.Last() != 0 {
		t.Error("an empty log has commits")
	}
	for id, text := range map[uint64]string{2: "two", 4: "four", 6: "six"} {
		l.Add(id, text)
	}
	l.Add(5, "five")
	until := func(last uint64) map[uint64]string { return maps.Collect(l.Until(last)) }
	if diff := cmp.Diff(map[uint64]string{2: "two", 4: "four"}, until(4)); diff != "" {
		t.Error(diff)
	}
	if l.Len() != 4 || l.Last() != 5 || len(maps.Collect(l.All())) != 4 {
		t.Errorf("%d commits, the last %d", l.Len(), l.Last())
	}
	if got := l.Take(4); len(got) != 2 || !slices.Contains(got, "two") || !slices.Contains(got, "four") {
		t.Errorf("Take = %q", got)
	}
	if diff := cmp.Diff(map[uint64]string{5: "five", 6: "six"}, until(math.MaxUint64)); diff != "" {
		t.Error(diff)
	}
}

func TestSum(t *testing.T) {
	sum := func(rows ...[2]int64) (s Sum) {
		for _, r := range rows {
			s.Add(r[0], r[1])
		}
		return s
	}
	if a, b := sum([2]int64{1, 10}, [2]int64{2, 20}), sum([2]int64{2, 20}).Plus(sum([2]int64{1, 10})); a != b {
		t.Errorf("%+v and %+v", a, b)
	}
	for _, other := range []Sum{sum([2]int64{1, 20}, [2]int64{2, 10}), sum([2]int64{3, 10}, [2]int64{0, 20}), sum([2]int64{3, 30})} {
		if a := sum([2]int64{1, 10}, [2]int64{2, 20}); a == other {
			t.Errorf("other rows have the sum %+v too", a)
		}
	}
}

func TestRange(t *testing.T) {
	const least, most = math.MinInt64, math.MaxInt64
	for _, test := range []struct{ at, width, first, last int64 }{
		{0, 10, 0, 9},
		{9, 10, 0, 9},
		{-1, 10, -10, -1},
		{-10, 10, -10, -1},
		{10, 10, 10, 19},
		{5, 0, least, most},
		{least, 10, least, least + 7},
		{most, 10, most - 7, most},
	} {
		if first, last := Range(test.at, test.width); first != test.first || last != test.last {
			t.Errorf("Range(%d, %d) = %d, %d, want %d, %d", test.at, test.width, first, last, test.first, test.last)
		}
		if near := test.at > -100 && test.at < 100; near && test.width > 0 && Floor(test.at, test.width) != test.first {
			t.Errorf("Floor(%d, %d) = %d", test.at, test.width, Floor(test.at, test.width))
		}
	}
}
