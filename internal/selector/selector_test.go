package selector

import (
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/granarydb/granary/internal/effort"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The text that Prometheus refuses too is in compat/selectors; here is where the fault is.
func TestParseSaysWhere(t *testing.T) {
	for text, want := range map[string]string{
		``:                 `1:1: the selector ends, want a name or "{"`,
		`  "a"`:            `1:3: unexpected "\"", want a name or "{"`,
		`on`:               `1:1: "on" is a word of PromQL, not a name`,
		`NaN{}`:            `1:1: "NaN" is a word of PromQL, not a name`,
		`a b`:              `1:3: unexpected "b", want the end of the selector`,
		`{a="b"`:           `1:7: the selector ends, want "," or "}"`,
		"{a=\"b\"\n\u00e9": `2:1: unexpected "é", want "," or "}"`,
		"{\xff":            `1:2: no valid UTF-8, want the name of a label`,
		`{,}`:              `1:2: unexpected ",", want the name of a label`,
		`{a}`:              `1:3: unexpected "}", want one of = != =~ !~`,
		"{a=\n\tb}":        `2:2: unexpected "b", want a quoted value`,
		`{a="b`:            `1:4: a string without its end`,
		"{a=\"b\n\"}":      `1:4: a string without its end on the line`,
		"{a='\xff'}":       `1:5: no valid UTF-8 in a string`,
		"\ufffd":           "1:1: unexpected \"\ufffd\", want a name or \"{\"",
		`{a="b\`:           `1:6: unfinished escape sequence`,
		`{a="\'"}`:         `1:5: no escape sequence begins with "\\'"`,
		`{a="\ud800"}`:     `1:5: invalid escape sequence "\\ud800"`,
		`{a="\400"}`:       `1:5: invalid escape sequence "\\400"`,
		`{a="\x4"}`:        `1:5: invalid escape sequence "\\x4\""`,
		`{a="\u00"`:        `1:5: invalid escape sequence "\\u00\""`,
		`{b="",a=~"a)(b"}`: "1:7: error parsing regexp: unexpected ): `a)(b`",
	} {
		if m, err := Parse(text); err == nil || err.Error() != want {
			t.Errorf("%q: %v, error %v\nwant %s", text, m, err, want)
		}
	}
}

func TestLimits(t *testing.T) {
	effort.Long(t)
	for _, tc := range []struct{ name, text, want string }{
		{"text", "{" + strings.Repeat(" ", MaxText-2) + "}", ""},
		{"longer text", "{" + strings.Repeat(" ", MaxText-1) + "}", "at most 262144"},
		{"matchers", "{" + strings.Repeat(`"a",`, MaxMatchers) + "}", ""},
		{"one more matcher", "{" + strings.Repeat(`"a",`, MaxMatchers+1) + "}", "more than 1024 matchers"},
		{"one more by its name", "a{" + strings.Repeat(`"a",`, MaxMatchers) + "}", "more than 1024 matchers"},
		{"a pattern as long as a text", `{a=~"` + strings.Repeat("a*", (MaxText-8)/2) + `"}`, ""},
		{"many names", `{a=~"` + strings.Repeat("pod-0123456789|", MaxText/16) + `"}`, ""},
		{"counted", `{a=~"` + strings.Repeat("x{1000}", 2000) + `"}`, "more than 16384 instructions"},
		{"counted in many", "{" + strings.Repeat(`a=~"(xyz){300}",`, 1000) + "}", "more than 16384 instructions"},
		{"classes", `{a=~"` + strings.Repeat(`\\pL`, 2000) + `"}`, "more than 16384 instructions"},
		{"deep", `{a=~"` + strings.Repeat("(", 2000) + strings.Repeat(")", 2000) + `"}`, "nests too deep"},
		{"braces", strings.Repeat("{", 100_000), "1:2: unexpected"},
	} {
		_, err := Parse(tc.text)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: error %.200v, want %q", tc.name, err, tc.want)
		}
	}
}
