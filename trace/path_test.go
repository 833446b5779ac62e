package trace

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/granarydb/granary/history"
)

// ParsePath and ParsePattern invert PathText, whatever characters the names contain.
func TestPathText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.StringOf(rapid.SampledFrom([]rune(`a/\*.{}`))), rapid.String())
		path := rapid.SliceOfN(name, 1, 4).Draw(t, "path")
		text := history.PathText(path)
		got, err := ParsePath(text, PathSeparator)
		if diff := cmp.Diff(path, got); err != nil || diff != "" {
			t.Fatalf("%q: %v, -want +got\n%s", text, err, diff)
		}
		steps, err := ParsePattern(text)
		want := make([]history.Step, len(path))
		for i, name := range path {
			want[i] = history.Literal(name)
		}
		if err != nil || !slices.Equal(steps, want) {
			t.Fatalf("pattern %q: %v, %v", text, steps, err)
		}
	})
}

func TestParsePattern(t *testing.T) {
	steps, err := ParsePattern(`CPUs/*/../\*/a\*b/\.././`)
	want := []history.Step{
		history.Literal("CPUs"), history.Any, history.Up, history.Literal("*"), history.Literal("a*b"),
		history.Literal(".."), history.Literal("."), history.Literal(""),
	}
	if err != nil || !slices.Equal(steps, want) {
		t.Errorf("%v, %v", steps, err)
	}
	for _, text := range []string{`a*`, `a/**`, `a\`, `a{`, `{a}`, `\{a}`} {
		if steps, err := ParsePattern(text); err == nil {
			t.Errorf("%q: %v", text, steps)
		}
	}
}
