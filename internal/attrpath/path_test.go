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
