package names

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// compareNames compares every answer of names with the oracle's.
func compareNames(t testing.TB, n Names, o *treeOracle) {
	t.Helper()
	if n.Len() != len(o.nodes) {
		t.Fatalf("Len() = %d, want %d", n.Len(), len(o.nodes))
	}
	for i := -1; i < len(o.nodes); i++ {
		a := Attribute(i)
		compareAttribute(t, n, o, a)
		if i < 5 || i >= len(o.nodes)-5 {
			compareLookups(t, n, o, a)
		}
		if got, want := slices.Collect(n.Children(a)), o.children(a); !slices.Equal(got, want) {
			t.Fatalf("Children(%d) = %v, want %v", a, got, want)
		}
	}
	for _, a := range []Attribute{Top, 0, Attribute(len(o.nodes) / 2)} {
		if a != Top && int(a) >= len(o.nodes) {
			continue
		}
		if got, want := slices.Collect(n.Descendants(a)), o.descendants(a); !slices.Equal(got, want) {
			t.Fatalf("Descendants(%d) = %v, want %v", a, got, want)
		}
		comparePatterns(t, n, o, a)
	}
	for _, a := range []Attribute{Attribute(len(o.nodes)), Attribute(len(o.nodes) + 1000), Top - 1} {
		unknownEverywhere(t, n, a)
	}
}

// compareAttribute compares the parent, name and path of one attribute.
func compareAttribute(t testing.TB, n Names, o *treeOracle, a Attribute) {
	t.Helper()
	want := struct {
		Path   []string
		Parent Attribute
	}{nil, Top}
	if a != Top {
		node := o.nodes[a]
		want.Parent = node.parent
		for up := a; up != Top; up = o.nodes[up].parent {
			want.Path = append([]string{o.nodes[up].name}, want.Path...)
		}
		if name, err := n.Name(a); err != nil || name != node.name {
			t.Fatalf("Name(%d) = %q, %v; want %q", a, name, err, node.name)
		}
	}
	path, err := n.Path(a)
	if err != nil || !slices.Equal(path, want.Path) {
		t.Fatalf("Path(%d) = %q, %v; want %q", a, path, err, want.Path)
	}
	if parent, err := n.Parent(a); err != nil || parent != want.Parent {
		t.Fatalf("Parent(%d) = %d, %v; want %d", a, parent, err, want.Parent)
	}
	if got, err := n.Lookup(want.Path...); err != nil || got != a {
		t.Fatalf("Lookup(%q) = %d, %v; want %d", want.Path, got, err, a)
	}
}

// compareLookups looks up all odd names below an attribute.
func compareLookups(t testing.TB, n Names, o *treeOracle, a Attribute) {
	t.Helper()
	for _, name := range append(oddNames, badNames[:4]...) {
		want, there := o.byPath[o.path(a, name)]
		if strings.ToValidUTF8(name, "") != name {
			there = false
		}
		got, err := n.LookupFrom(a, name)
		if there && (err != nil || got != want) || !there && !errors.Is(err, ErrAttribute) {
			t.Fatalf("LookupFrom(%d, %q) = %d, %v; want %d, %v", a, name, got, err, want, there)
		}
	}
}

// unknownEverywhere checks that no method knows a.
func unknownEverywhere(t testing.TB, n Names, a Attribute) {
	t.Helper()
	_, name := n.Name(a)
	_, path := n.Path(a)
	_, parent := n.Parent(a)
	_, lookup := n.LookupFrom(a)
	_, below := n.LookupFrom(a, "a")
	_, match := n.MatchFrom(a, Any)
	_, matching := n.DescendantsMatching(a, nil, true)
	for i, err := range []error{name, path, parent, lookup, below, match, matching} {
		if !errors.Is(err, ErrAttribute) {
			t.Fatalf("method %d knows attribute %d of %d: %v", i, a, n.Len(), err)
		}
	}
	for c := range n.Children(a) {
		t.Fatalf("attribute %d of %d has a child, %d", a, n.Len(), c)
	}
	for c := range n.Descendants(a) {
		t.Fatalf("attribute %d of %d has a descendant, %d", a, n.Len(), c)
	}
}

// treeOf makes a tree of paths with names separated by spaces.
func treeOf(t *testing.T, paths ...string) Names {
	t.Helper()
	tr := New(1, maxAttributes)
	for _, path := range paths {
		at := Top
		for name := range strings.SplitSeq(path, " ") {
			at = mustAdd(t, tr, at, name)
		}
	}
	return tr.Names()
}

// threads returns the attributes of the tests of names: 0 Threads, 1 12, 2 Status, 3 13, 4
// Status, 5 Prio, 6 CPUs, 7 0, 8 Status, 9 Prio (of 12).
func threads(t *testing.T) Names {
	return treeOf(t, "Threads 12 Status", "Threads 13 Status", "Threads 13 Prio", "CPUs 0 Status", "Threads 12 Prio")
}

func TestNames(t *testing.T) {
	n := threads(t)
	for _, tt := range []struct {
		path []string
		want Attribute
	}{
		{nil, Top},
		{[]string{"Threads"}, 0},
		{[]string{"Threads", "13"}, 3},
		{[]string{"Threads", "12", "Prio"}, 9},
		{[]string{"CPUs", "0", "Status"}, 8},
	} {
		if got, err := n.Lookup(tt.path...); err != nil || got != tt.want {
			t.Errorf("Lookup(%q) = %d, %v; want %d", tt.path, got, err, tt.want)
		}
	}
	if got, err := n.LookupFrom(3, "Prio"); err != nil || got != 5 {
		t.Errorf("LookupFrom(3, Prio) = %d, %v; want 5", got, err)
	}
	for _, tt := range []struct {
		of   Attribute
		want []Attribute // descendants
	}{
		{Top, []Attribute{0, 1, 2, 9, 3, 4, 5, 6, 7, 8}},
		{0, []Attribute{1, 2, 9, 3, 4, 5}},
		{1, []Attribute{2, 9}},
		{9, nil},
	} {
		if diff := cmp.Diff(tt.want, slices.Collect(n.Descendants(tt.of))); diff != "" {
			t.Errorf("descendants of %d:\n%s", tt.of, diff)
		}
	}
	if _, err := n.Name(Top); !errors.Is(err, ErrAttribute) {
		t.Errorf("the name of Top: %v, want ErrAttribute", err)
	}
}

// The error gives the missing name of the path, shortened if the name is long.
func TestLookupErrorSaysWhere(t *testing.T) {
	n := threads(t)
	_, err := n.LookupFrom(0, "12", "Pri\no", "x")
	want := `unknown attribute: there is no "Pri\no", name 2 of 3 from attribute 0`
	if err == nil || err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
	_, err = n.Lookup(strings.Repeat("long", 1000))
	if err == nil || len(err.Error()) > 200 {
		t.Errorf("error of %d bytes", len(err.Error()))
	}
	if _, err = n.Parent(77); err == nil || err.Error() != "unknown attribute: attribute 77" {
		t.Errorf("error %q", err)
	}
}

// The zero Names knows Top, and nothing else.
func TestZeroNames(t *testing.T) {
	compareNames(t, Names{}, newTreeOracle())
	if got, err := (Names{}).Match(Any, Up); err != nil || len(got) != 0 {
		t.Errorf("Match() = %v, %v; want nothing", got, err)
	}
}

// An iteration stops when its consumer does.
func TestIterationStops(t *testing.T) {
	n := threads(t)
	for name, all := range map[string]func(func(Attribute) bool){"Children": n.Children(1), "Descendants": n.Descendants(Top)} {
		asked := 0
		all(func(Attribute) bool { asked++; return false })
		if asked != 1 {
			t.Errorf("%s: asked %d times, want once", name, asked)
		}
	}
}

func TestLookupAllocatesNothing(t *testing.T) {
	n := threads(t)
	path := []string{"Threads", "12", "Prio"}
	for name, use := range map[string]func(){
		"Lookup":     func() { _, _ = n.Lookup(path...) },
		"LookupFrom": func() { _, _ = n.LookupFrom(3, "Prio") },
		"Parent":     func() { _, _ = n.Parent(3) },
		"Descendants": func() {
			for range n.Descendants(Top) {
				continue
			}
		},
		"add of what there is": func() { _, _, _ = n.t.Add(3, "Prio") },
	} {
		if got := testing.AllocsPerRun(100, use); got != 0 {
			t.Errorf("%s allocates %v times, want 0", name, got)
		}
	}
}

// A name has no special meaning, wherever it stands.
func TestOddNames(t *testing.T) {
	tr := New(1, maxAttributes)
	var want []Attribute
	for _, outer := range oddNames {
		a := mustAdd(t, tr, Top, outer)
		for _, inner := range oddNames {
			want = append(want, mustAdd(t, tr, a, inner))
		}
	}
	n := tr.Names()
	i := 0
	for _, outer := range oddNames {
		for _, inner := range oddNames {
			if got, err := n.Lookup(outer, inner); err != nil || got != want[i] {
				t.Errorf("Lookup(%q, %q) = %d, %v; want %d", outer, inner, got, err, want[i])
			}
			if got, err := n.Match(Literal(outer), Literal(inner)); err != nil || len(got) != 1 || got[0] != want[i] {
				t.Errorf("Match(%q, %q) = %d, %v; want %d", outer, inner, got, err, want[i])
			}
			whole := regexp.MustCompile(regexp.QuoteMeta(inner))
			below, err := n.DescendantsMatching(Attribute(i/len(oddNames)*(len(oddNames)+1)), whole, false)
			if err != nil || len(below) != 1 || below[0] != want[i] {
				t.Errorf("below %q %v matches %v, %v; want %d", outer, whole, below, err, want[i])
			}
			i++
		}
	}
	if got := n.Len(); got != len(oddNames)*(len(oddNames)+1) {
		t.Errorf("%d attributes of %s names", got, strconv.Itoa(len(oddNames)))
	}
}
