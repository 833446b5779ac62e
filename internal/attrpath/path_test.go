package attrpath

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for template, want := range map[string]string{
		"": "", "a": "a", "{x}": "X", "a{x}b": "aXb", "{{": "{", "}}": "}", "{{x}}": "{x}", "{{{x}}}": "{X}", "{x}{y}{x}": "XYX",
		"a/b\x00*": "a/b\x00*", "}}{{": "}{", "é{x}": "éX", "{a.b c}": "Z",
	} {
		p, err := Parse([]string{"first", template})
		if err != nil {
			t.Errorf("%q: %v", template, err)
			continue
		}
		values := make([]string, len(p.Labels))
		for i, label := range p.Labels {
			values[i] = map[string]string{"x": "X", "y": "Y", "a.b c": "Z"}[label]
		}
		if got := p.Names(values); !slices.Equal(got, []string{"first", want}) || slices.Contains(values, "") {
			t.Errorf("%q with the labels %q is %q, want %q", template, p.Labels, got, want)
		}
	}
	if p, err := Parse(nil); err == nil || err.Error() != "the path is empty" {
		t.Errorf("no names: %+v, %v", p, err)
	}
	for _, template := range []string{"{", "}", "{}", "{{}", "{}}", "a}b", "{a", "{a{b}", "{x}}", "}{x}"} {
		if p, err := Parse([]string{template}); err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("path element %q: brace without a label at ", template)) {
			t.Errorf("%q: %+v, %v", template, p, err)
		}
	}
}

// TestValues finds the values that give names, for values with a meaning in patterns and paths.
func TestValues(t *testing.T) {
	texts := []string{"1", "a", "a.b", "{x}", "x\ny", "[^]*", "é", " "}
	for _, path := range [][]string{{"T", "{x}"}, {"{x}"}, {"CPU {x}", "Thread"}, {"{x}", "y{y}z"}, {"{x}", "-{x}-"}, {"{{", "{x}}}"}} {
		p, err := Parse(path)
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range texts {
			values := []string{x, texts[(i+3)%len(texts)]}[:len(p.Labels)]
			names := p.Names(values)
			if got, ok := p.Values(names); !ok || !slices.Equal(got, values) {
				t.Errorf("%q of %q: %q, %v, want %q", path, names, got, ok, values)
			}
			for k := range names {
				pattern, name := p.Pattern(k)
				if pattern == nil && name != names[k] || pattern != nil && !pattern.MatchString(names[k]) {
					t.Errorf("%q: name %d does not fit %q", path, k, names[k])
				}
			}
		}
	}
	for _, test := range []struct{ path, names []string }{
		{[]string{"T", "{x}"}, []string{"T"}},
		{[]string{"T", "{x}"}, []string{"U", "1"}},
		{[]string{"T", "{x}"}, []string{"T", ""}},
		{[]string{"T", "{x}"}, []string{"T", "1", "2"}},
		{[]string{"{x}", "{x}"}, []string{"1", "2"}},
		{[]string{"{x}{y}"}, []string{"12"}},
		{[]string{"CPU {x}"}, []string{"CPU"}},
		{[]string{"CPU {x}."}, []string{"CPU 1,"}},
	} {
		p, err := Parse(test.path)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := p.Values(test.names); ok {
			t.Errorf("%q of %q: %q", test.path, test.names, got)
		}
	}
}
