package chart

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestNames(t *testing.T) {
	deep := "/" + strings.Repeat("averyverylongname/", 4) + "cpu.pb.gz"
	for _, tc := range []struct {
		name  string
		lines [][]string
		width int
		want  []string
	}{
		{"short", [][]string{{"a"}, {"b"}}, 10, []string{"a", "b"}},
		{"ends differ", [][]string{{"pods/of/job-1"}, {"pods/of/job-2"}}, 8, []string{"…f/job-1", "…f/job-2"}},
		{"fronts differ", [][]string{{"/tmp/pod1" + deep}, {"/tmp/pod2" + deep}}, 14, []string{"…1/averyveryl…", "…2/averyveryl…"}},
		{"first runes differ", [][]string{{"1" + deep}, {"2" + deep}}, 8, []string{"1/avery…", "2/avery…"}},
		{"both ends", [][]string{{"a/0123456789/x"}, {"a/0123456789/y"}, {"b/0123456789/x"}}, 8, []string{"a/01…9/x", "a/01…9/y", "b/01…9/x"}},
		{"middles", [][]string{{"aaaaaaaa1bbbbbbbbb"}, {"aaaaaaaa2bbbbbbbbb"}, {"aaaaaaaa2bbbbbbbbb"}, {"short"}}, 8, []string{"…1bbbbb…", "…2bbbbb…", "…2bbbbb…", "short"}},
		{"numbers", [][]string{{"xaaaaaabaaaaaaax"}, {"xaaaaaacaaaaaaax"}, {"yaaaaaabaaaaaaax"}}, 5, []string{"xaa…1", "xaa…2", "yaa…1"}},
		{"two labels", [][]string{{"api", deep}, {"web", deep}}, 20, []string{"api, …name/cpu.pb.gz", "web, …name/cpu.pb.gz"}},
	} {
		if got := Names(tc.lines, tc.width); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

// Names fit, and are different if and only if the values are.
func TestNamesOfAny(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		labels := rapid.IntRange(1, 3).Draw(t, "labels")
		width := rapid.IntRange(40*labels/2, 60).Draw(t, "width")
		part := rapid.SampledFrom([]string{"a", "b", "é", strings.Repeat("x", 25), strings.Repeat("/y", 20), "…1"})
		value := rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(part, 0, 4).Draw(t, "parts"), "")
		})
		lines := rapid.SliceOfN(rapid.SliceOfN(value, labels, labels), 1, 8).Draw(t, "lines")
		names := Names(lines, width)
		for i, name := range names {
			if n := utf8.RuneCountInString(name); n > width {
				t.Fatalf("%q has %d columns of %d", name, n, width)
			}
			for k := range i {
				if same := slices.Equal(lines[i], lines[k]); same != (name == names[k]) {
					t.Fatalf("%q and %q are %q and %q", lines[i], lines[k], name, names[k])
				}
			}
		}
	})
}
