package names

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// expressions are matched against every tree, and by the oracle with anchors.
var expressions = func() (all []struct{ re, whole *regexp.Regexp }) {
	for _, text := range []string{"", ".", ".*", "a|ab|b", "[0-9]", "a.b", "(?i)A", `\*`} {
		re, whole := regexp.MustCompile(text), regexp.MustCompile(`\A(?s:`+text+`)\z`)
		all = append(all, struct{ re, whole *regexp.Regexp }{re, whole})
	}
	return all
}()

// comparePatterns compares the matches of patterns from a, and of expressions below it.
func comparePatterns(t testing.TB, n Names, o *treeOracle, a Attribute) {
	t.Helper()
	for _, steps := range [][]Step{
		nil,
		{Any},
		{Up},
		{Any, Any},
		{Any, Up},
		{Up, Any},
		{Any, Literal("a")},
		{Literal("a"), Any},
		{Literal("*")},
		{Any, Any, Up, Literal("")},
		{Any, Any, Any, Up, Up},
		{Up, Up, Any, Any},
		{Step{}},
		{Literal("\xff")},
	} {
		got, err := n.MatchFrom(a, steps...)
		if want := o.match(a, steps); err != nil || !slices.Equal(got, want) {
			t.Fatalf("MatchFrom(%d, %v) = %v, %v; want %v", a, steps, got, err, want)
		}
	}
	for _, expr := range expressions {
		for _, recursive := range []bool{false, true} {
			got, err := n.DescendantsMatching(a, expr.re, recursive)
			if want := o.matching(a, expr.whole, recursive); err != nil || !slices.Equal(got, want) {
				t.Fatalf("below %d, %q (recursive %v) matches %v, %v; want %v", a, expr.re, recursive, got, err, want)
			}
		}
	}
}

// match takes steps one attribute at a time, without memory of the way.
func (o *treeOracle) match(a Attribute, steps []Step) []Attribute {
	reached := map[Attribute]bool{}
	var walk func(a Attribute, steps []Step)
	walk = func(a Attribute, steps []Step) {
		switch {
		case len(steps) == 0:
			reached[a] = true
		case steps[0] == Up && a == Top:
			walk(Top, steps[1:])
		case steps[0] == Up:
			walk(o.nodes[a].parent, steps[1:])
		default:
			for _, c := range o.children(a) {
				if steps[0] == Any || steps[0].name == o.nodes[c].name {
					walk(c, steps[1:])
				}
			}
		}
	}
	walk(a, steps)
	var sorted []Attribute
	if reached[Top] {
		sorted = append(sorted, Top)
	}
	for i := range o.nodes {
		if reached[Attribute(i)] {
			sorted = append(sorted, Attribute(i))
		}
	}
	return sorted
}

func (o *treeOracle) matching(a Attribute, whole *regexp.Regexp, recursive bool) []Attribute {
	among := o.children(a)
	if recursive {
		among = o.descendants(a)
	}
	return slices.DeleteFunc(among, func(c Attribute) bool { return !whole.MatchString(o.nodes[c].name) })
}

func TestMatch(t *testing.T) {
	n := threads(t)
	for _, tt := range []struct {
		name  string
		from  Attribute
		steps []Step
		want  []Attribute
	}{
		{"no steps from the root", Top, nil, []Attribute{Top}},
		{"no steps", 3, nil, []Attribute{3}},
		{"a path", Top, []Step{Literal("Threads"), Literal("13"), Literal("Prio")}, []Attribute{5}},
		{"any in the middle", Top, []Step{Literal("Threads"), Any, Literal("Status")}, []Attribute{2, 4}},
		{"creation decides, not the way", Top, []Step{Literal("Threads"), Any, Any}, []Attribute{2, 4, 5, 9}},
		{"parents once", Top, []Step{Any, Any, Any, Up}, []Attribute{1, 3, 7}},
		{"siblings", 4, []Step{Up, Any}, []Attribute{4, 5}},
		{"cousins", 5, []Step{Up, Up, Any, Literal("Prio")}, []Attribute{5, 9}},
		{"the root is its own parent", 0, []Step{Up, Up, Up}, []Attribute{Top}},
		{"nothing", Top, []Step{Literal("Threads"), Literal("*")}, []Attribute{}},
		{"nothing, then up", Top, []Step{Literal("none"), Up}, []Attribute{}},
	} {
		got, err := n.MatchFrom(tt.from, tt.steps...)
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", tt.name, err, diff)
		}
	}
}

func TestDescendantsMatching(t *testing.T) {
	n := treeOf(t, "Threads 12 Status", "Threads 13 Status", "Threads 12 a\nb", "Threads 12 ab", "Threads a", "Threads (?s)", "Threads \x00")
	for _, tt := range []struct {
		name, expr string
		of         Attribute
		recursive  bool
		want       []string
	}{
		{"part of a name is not enough", "Stat|1|2|[hreds]+", Top, true, nil},
		{"nor the end", "2", 0, false, nil},
		{"children", "[0-9]+", 0, false, []string{"12", "13"}},
		{"children only", "Status", 0, false, nil},
		{"all below", "Status", 0, true, []string{"Status", "Status"}},
		{"the longer branch", "a|ab", Top, true, []string{"ab", "a"}},
		{"not greedy", "a.*?", Top, true, []string{"a\nb", "ab", "a"}},
		{"a dot for a newline", "a.b", Top, true, []string{"a\nb"}},
		{"unless it says no", "(?-s)a.b", Top, true, nil},
		{"anchors of its own", "^a$", Top, true, []string{"a"}},
		{"lines", "(?m)a$.^b", Top, true, []string{"a\nb"}},
		{"a quotation that does not end", `\Q(?s)`, Top, true, []string{"(?s)"}},
		{"NUL", `\x00`, Top, true, []string{"\x00"}},
		{"the empty name", "", Top, true, nil},
	} {
		found, err := n.DescendantsMatching(tt.of, regexp.MustCompile(tt.expr), tt.recursive)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		var got []string
		for _, a := range found {
			name, err := n.Name(a)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, name)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %q\n%s", tt.name, tt.expr, diff)
		}
	}
}

// A POSIX expression may have a text that is invalid in the default syntax: an error, not a
// panic.
func TestMatchingPOSIX(t *testing.T) {
	n := threads(t)
	if _, err := n.DescendantsMatching(Top, regexp.MustCompilePOSIX("a**"), true); !errors.Is(err, ErrQuery) {
		t.Errorf("error %v, want ErrQuery", err)
	}
	got, err := n.DescendantsMatching(0, regexp.MustCompilePOSIX("[[:digit:]]+"), true)
	if diff := cmp.Diff([]Attribute{1, 3}, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	deep := strings.Repeat("(", 999) + "12" + strings.Repeat(")", 999)
	if got, err := n.DescendantsMatching(0, regexp.MustCompile(deep), true); err != nil || len(got) != 1 {
		t.Errorf("a nested expression matches %v, %v; want attribute 1", got, err)
	}
}
