package main

import (
	"slices"
	"testing"
)

func TestBackArrows(t *testing.T) {
	for _, c := range []struct {
		name   string
		arrows []arrow
		want   int
	}{
		{"down alone", []arrow{{"a", "b"}, {"b", "c"}, {"a", "c"}}, 0},
		{"down against the names", []arrow{{"c", "b"}, {"b", "a"}, {"c", "a"}}, 0},
		{"to and fro", []arrow{{"a", "b"}, {"b", "a"}}, 1},
		{"a circle with a way out", []arrow{{"a", "b"}, {"b", "c"}, {"c", "a"}, {"c", "d"}}, 1},
		{"two circles", []arrow{{"a", "b"}, {"b", "a"}, {"b", "c"}, {"c", "d"}, {"d", "c"}}, 2},
	} {
		got := backArrows(c.arrows)
		if len(got) != c.want {
			t.Errorf("%s: %d arrows run back up, want %d: %v", c.name, len(got), c.want, got)
		}
		for _, a := range got {
			if !slices.Contains(c.arrows, a) {
				t.Errorf("%s: %v is none of the arrows", c.name, a)
			}
		}
	}
}
