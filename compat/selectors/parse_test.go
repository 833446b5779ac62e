package selectors

import (
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/granarydb/granary/internal/selector"
)

// ops are the operators of Prometheus as ours.
var ops = map[labels.MatchType]selector.Op{
	labels.MatchEqual: selector.OpEqual, labels.MatchNotEqual: selector.OpNotEqual,
	labels.MatchRegexp: selector.OpPattern, labels.MatchNotRegexp: selector.OpNotPattern,
}

// standIn replaces U+FFFD by its neighbour, which stands in the same place of a class, because Prometheus takes
// U+FFFD for bytes that are no UTF-8 even where a text has it.
var standIn = strings.NewReplacer("\ufffd", "\ufffc")

// want returns the matchers that a text has for Prometheus, or the reason that it has none. A
// pattern has to be one for Go within its anchors too: Prometheus takes a list of words that
// are no UTF-8, and \\Q without its end.
func want(text string) ([]*labels.Matcher, error) {
	text = standIn.Replace(text)
	matchers, err := parser.NewParser(parser.Options{}).ParseMetricSelector(text)
	for _, m := range matchers {
		if err == nil && m.Type >= labels.MatchRegexp {
			_, err = regexp.Compile("^(?s:" + m.Value + ")$")
		}
	}
	return matchers, err
}

// newClasses reports an error of Prometheus' copy of Go's regexp, which is from before Go
// 1.25 and lacks the newer names of Unicode classes.
func newClasses(err error) bool {
	return strings.Contains(err.Error(), "invalid character class range: `\\p") ||
		strings.Contains(err.Error(), "invalid character class range: `\\P")
}

// overLimit reports an error of our limits, which Prometheus lacks.
func overLimit(err error) bool {
	for _, limit := range []string{"the limit is", "matchers", "instructions"} {
		if strings.Contains(err.Error(), limit) {
			return true
		}
	}
	return false
}

// check holds the two parsers to the same answer. It reports whether they take the text.
func check(t *testing.T, text string) bool {
	t.Helper()
	if strings.Contains(text, "\ufffd") && strings.Contains(text, "\ufffc") {
		return false
	}
	want, errWant := want(text)
	got, err := selector.Parse(text)
	switch {
	case err != nil && errWant == nil:
		if !overLimit(err) {
			t.Fatalf("%q: error %v, Prometheus has %v", text, err, want)
		}
		return false
	case err == nil && errWant != nil:
		if !newClasses(errWant) {
			t.Fatalf("%q: %v, for Prometheus %v", text, got, errWant)
		}
		return false
	case err != nil:
		return false
	}
	if len(got) != len(want) {
		t.Fatalf("%q: %d matchers, Prometheus has %v", text, len(got), want)
	}
	for i, m := range got {
		if standIn.Replace(m.Name) != standIn.Replace(want[i].Name) || m.Op != ops[want[i].Type] || standIn.Replace(m.Value) != standIn.Replace(want[i].Value) {
			t.Fatalf("%q: matcher %d is %+v, Prometheus has %v", text, i, m, want[i])
		}
		for _, tail := range []string{"", "\n", "a"} {
			if m.Matches(m.Value+tail) != want[i].Matches(want[i].Value+tail) {
				t.Fatalf("%q: matcher %d takes %q: %v, Prometheus does not agree", text, i, m.Value+tail, m.Matches(m.Value+tail))
			}
		}
		for _, value := range []string{"", "a", "A", "a\nb", "\xff", "\u00e9"} {
			if value == "\xff" && strings.Contains(text, "\ufffd") {
				continue // a pattern takes such bytes for U+FFFD
			}
			if m.Matches(value) != want[i].Matches(value) {
				t.Fatalf("%q: matcher %d takes %q: %v, Prometheus does not agree", text, i, value, m.Matches(value))
			}
		}
	}
	return true
}

// words are the keywords of PromQL, some in other cases, and words that resemble them.
var words = append(parser.Keywords(), "AND", "Inf", "NaN", "nan", "ON", "fill", "Bool", "unknown", "sum_", "on1", "_", "x1", "le")

// texts are one of each rule of the grammar. The value is true if Prometheus takes the text.
var texts = map[string]bool{
	// Braces, commas, space and comments.
	``: false, ` `: false, `{}`: true, "\t{\r\n}": true, `{`: false, `}`: false, `{{}}`: false, `{}{}`: false, `{} {`: false,
	`{,}`: false, `{a="b",}`: true, `{a="b",,}`: false, `{,a="b"}`: false, `{a="b" c="d"}`: false, `{a="b",c="d"}`: true,
	"{a=\"b\"}\v": false, "\u00a0{}": false, "#\n{}": true, "#{}": false, "{}#": true, "{# }\r}": true, "{a#=\n=#\"\n\"b\"#,\n}": true,
	"a#{\n{b='c'}": true, "#\xff\n{}": true, `{a="#"}`: true, `{a="b"} # and`: true, `{a="b"};`: false, "{}\x00": false, "{\x00}": false,
	// Names before braces.
	`a`: true, `a{}`: true, `a {b="c"}`: true, `a:b`: true, `:`: true, `:a{}`: true, `1a`: false, `a.b`: false, `a-b`: false, `"a"`: false,
	`"a"{}`: false, `a b`: false, `a{} b`: false, `A9_:{}`: true, "a\u00e9": false, `a[5m]`: false, `a offset 5m`: false, `a @ 1`: false,
	`a{}[5m]`: false, `a()`: false, `(a)`: false, `sum(a)`: false, `sum`: true, `sum{}`: true, `fill (`: false, `fill`: true, `fill_left{}`: true,
	`+a`: false, `a+b`: false, `5`: false, `0x1f`: false, `.5`: false, `5m`: false, `a == b`: false, `a or b`: false, `or`: true, `a{}or b`: false,
	// Labels.
	`{a="b"}`: true, `{a:b="c"}`: false, `{1a="b"}`: false, `{_="b"}`: true, `{a.b="c"}`: false, `{"a.b"="c"}`: true, "{'a'='b'}": true,
	"{`a`=`b`}": true, `{""="a"}`: true, `{"\xff"="a"}`: true, `{a}`: false, `{"a"}`: true, `{"a",}`: true, `{"a","b"}`: true, `{"a",b="c"}`: true,
	`{b="c","a"}`: true, `{""}`: true, `{"a"b="c"}`: false, `a{"b"}`: true, `a{__name__="b"}`: true, `{__name__="a",__name__="b"}`: true,
	`{a="b",a="c"}`: true, `{"a" "b"}`: false, `{"a"=}`: false, `{a="b"="c"}`: false, `{"__name__"}`: true,
	// Operators.
	`{a=b}`: false, `{a=}`: false, `{a="b}`: false, `{a!="b"}`: true, `{a=~"b"}`: true, `{a!~"b"}`: true, `{a=="b"}`: false, `{a= ~"b"}`: false,
	`{a! ="b"}`: false, `{a<"b"}`: false, `{a>="b"}`: false, `{a~"b"}`: false, `{a!"b"}`: false, `{="a"}`: false, `{a = "b" , c != "d" }`: true,
	`{a=1}`: false, `{"a"!="b"}`: true, `{"a"=~"b"}`: true, `{a=~~"b"}`: false,
	// Strings.
	`{a='b"c'}`: true, `{a="b'c"}`: true, "{a=`b\"'\\`}": true, "{a=`b\nc`}": true, "{a=`b\r`}": true, "{a=\"b\nc\"}": false, "{a='b\rc'}": true,
	`{a="\a\b\f\n\r\t\v\\\""}`: true, `{a='\''}`: true, `{a="\'"}`: false, `{a='\"'}`: false, "{a=\"\\`\"}": false, `{a="\x00\xFF\xfg"}`: false,
	`{a="\x00\xFF\xfa"}`: true, `{a="\0"}`: false, `{a="\000\377"}`: true, `{a="\400"}`: false, `{a="\08"}`: false, `{a="\u00e9\U0001F600"}`: true,
	`{a="\u00e"}`: false, `{a="\ud7ff\ue000"}`: true, `{a="\ud800"}`: false, `{a="\udfff"}`: false, `{a="\U0010ffff"}`: true, `{a="\U00110000"}`: false,
	`{a="\Uffffffff"}`: false, `{a="\x+1"}`: false, `{a="\u_123"}`: false, `{a="\q"}`: false, `{a="\`: false, `{a="\x`: false, "{a=\"\\\n\"}": false,
	"{a=\"\u00e9\"}": true, "{a=\"\xe9\"}": false, "{a=`\xe9`}": false, "{a=\"\ufffd\"}": true, "{a=`\ufffd`}": true, "{a=\"\ufffd}": false, "\ufffd{}": false, `{a="\ufffd"}`: true,
	"{a=\"\x00\"}": true, "{a=\"\ufeff\"}": true, "\ufeff{}": false,
	// Patterns.
	`{a=~""}`: true, `{a!~""}`: true, `{a=~"("}`: false, `{a=~"a)(b"}`: false, `{a=~"*"}`: false, `{a=~"a|b|c"}`: true, `{a=~"^a$"}`: true,
	`{a=~"(?i)a"}`: true, `{a=~"(?-s)a.b"}`: true, `{a=~"\\d+"}`: true, `{a=~"\d+"}`: false, "{a=~`\\d+`}": true, `{a=~"a{1001}"}`: false,
	`{a=~"a{1000}"}`: true, `{a=~"(?P<b>a)"}`: true, `{a=~"(?<b>a)"}`: true, `{a=~"(?=a)"}`: false, "{a=~`\\pL\\p{Greek}`}": true, "{a=~`\\p{greek}`}": false,
	`{a=~"\xff"}`: false, "{a=~`\\xff`}": true, "{a=~`a\\`}": false, "{a=~`\\Qa.b\\E`}": true, "{a=~`\\Qa.b`}": false, `{a=~".*b.*|.*c.*"}`: true, "{a=~`\\C`}": false, `{a=~"a**"}`: false,
}

func TestParseEqualsPrometheus(t *testing.T) {
	for text, taken := range texts {
		if strings.Contains(text, "{greek}") { // a newer name of a class, see newClasses
			check(t, text)
			continue
		}
		if got := check(t, text); got != taken {
			t.Errorf("%q: taken %v, want %v", text, got, taken)
		}
	}
	taken := 0
	for _, word := range words {
		if check(t, word) {
			taken++
		}
		for _, text := range []string{word + `{a="b"}`, "{" + word + `="a"}`, word + " (", word + "(", "{" + word + "}", `{a="b"}` + word} {
			check(t, text)
		}
	}
	if taken < 20 || taken == len(words) {
		t.Errorf("%d of %d words are names", taken, len(words))
	}
}

// FuzzParse: S1, S2.
func FuzzParse(f *testing.F) {
	for text := range texts {
		f.Add(text)
	}
	for _, word := range words {
		f.Add(word + `{` + word + `=~"` + word + `",}`)
	}
	f.Fuzz(func(t *testing.T, text string) { check(t, text) })
}
