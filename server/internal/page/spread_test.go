package page

import (
	"strings"
	"testing"
)

// TestSideNames says what the sides of a difference are of, for its sentence.
func TestSideNames(t *testing.T) {
	for _, c := range []struct{ selector, selectorBefore, after, before string }{
		{"", "", "", ""},
		{`{service_name="a"}`, `{service_name="a"}`, "a", ""},
		{`{job="a", pod="p"}`, `{pod="p", job="a"}`, "a", ""},
		{`{service_name="a"}`, `{service_name="b"}`, "a", "b"},
		{`{service_name="a", version="2"}`, `{service_name="a", version="1"}`, "a version 2", "version 1"},
		{`{version="2"}`, `{version="1"}`, "version 2", "version 1"},
		{`{service_name="a"}`, `{service_name="a", version="1"}`, "a", "version 1"},
		{`{service_name="a", version="2"}`, `{service_name="a"}`, "a version 2", "all"},
		{`{service_name="a"}`, "", "a", "all"},
		{"", `{service_name="a"}`, "", "a"},
		{`{pod=~"x.*"}`, `{pod!="y"}`, `pod=~"x.*"`, `pod!="y"`},
		{`{service="a"}`, `{namespace="a"}`, "a", "a"},
		{`{service_name="b"}`, `{service_name=""}`, "b", "without service_name"},
		{`{service_name="a",version=""}`, `{service_name="a",version="1"}`, "a without version", "version 1"},
		{`{pod="` + strings.Repeat("x", 200) + `"}`, `{pod="y"}`, "pod " + strings.Repeat("x", 80) + "…", "pod y"},
	} {
		after, before := sideNames(c.selector, c.selectorBefore)
		if after != c.after || before != c.before {
			t.Errorf("%s and %s: %q and %q, want %q and %q", c.selector, c.selectorBefore, after, before, c.after, c.before)
		}
	}
}
