package attrpath

import (
	"slices"
	"strings"
	"testing"

	"github.com/granarydb/granary/history"
)

// names returns a history's attributes: T with 1 to 12 and a few odd names, and below some of them s.
func names(t *testing.T) history.Names {
	t.Helper()
	h, err := history.New(history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tx, err := h.Begin()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"T", "T/1", "T/1/s", "T/12", "T/12/s", "T/cpu 3", "T/*", "T/..", "T/{x}", "U", "U/1"} {
		if _, err := tx.Attribute(strings.Split(path, "/")...); err != nil {
			t.Fatal(err)
		}
	}
	view, err := tx.Commit()
	if err != nil {
		t.Fatal(err)
	}
	return view.Names
}

func TestPattern(t *testing.T) {
	names := names(t)
	for text, want := range map[string]string{
		"T/*":         "T/1 T/12 T/cpu 3 T/\\* T/\\.. T/\\{x\\}",
		"T/{n}":       "T/1 T/12 T/cpu 3 T/\\* T/\\.. T/\\{x\\}",
		"T/1{n}":      "T/12",
		"T/cpu {n}":   "T/cpu 3",
		"*/1":         "T/1 U/1",
		"{any}/1":     "T/1 U/1",
		"T/*/s/..":    "T/1 T/12",
		"T/*/s/../..": "T",
		`T/\*`:        `T/\*`,
		`T/\..`:       `T/\..`,
		`T/{{x}}`:     `T/\{x\}`,
		`T/\{x\}`:     `T/\{x\}`,
		`T/\{{n}\}`:   `T/\{x\}`,
		"V":           "",
		"T/1/s/*":     "",
		"../../U":     "U",
	} {
		p, err := ParsePattern(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		found, err := p.Match(t.Context(), names, history.Top)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, a := range found {
			path, err := names.AppendPath(nil, a)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(path))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q matches %q, want %q", text, got, want)
		}
		steps, ok := p.Steps()
		if ok != (len(p.Path.Labels) == 0) {
			t.Errorf("%q has steps: %v, and the labels %q", text, ok, p.Path.Labels)
		}
		if again, err := names.Match(steps...); ok && (err != nil || !slices.Equal(again, found)) {
			t.Errorf("%q by its steps: %v, want %v; %v", text, again, found, err)
		}
		if isWild := strings.Contains(text, "..") && !strings.Contains(text, `\..`) || strings.Contains(text, "*") && !strings.Contains(text, `\*`); isWild != p.IsWild() {
			t.Errorf("%q is wild: %v", text, p.IsWild())
		}
	}
	for _, text := range []string{"T/1*", `T/a\`, "{", "T/}", "T/{}", "\xff", "{a/b}"} {
		if p, err := ParsePattern(text); err == nil {
			t.Errorf("%q: %+v", text, p)
		}
	}
}
