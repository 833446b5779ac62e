package pprof

import (
	"errors"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/granarydb/granary/internal/effort"
)

// drawPattern draws a pattern, mostly a valid one.
func drawPattern(t *rapid.T, depth int) string {
	atom := func() string {
		return rapid.SampledFrom([]string{
			"a", "b", "ab", "aa", ".", "[ab]", "[^a]", `\w`, `\W`, "é", `\pL`, "(?i)A", "(?s).", "(?m)^", "(?m)$",
			"^", "$", `\b`, `\B`, `\A`, `\z`, "", "[[:alpha:]]", `\.`, `\n`, ")", "(", "a)|(b", "[", `\xff`, "K", "(?i:k)",
		}).Draw(t, "atom")
	}
	if depth == 0 {
		return atom()
	}
	switch rapid.IntRange(0, 5).Draw(t, "form") {
	case 0:
		return drawPattern(t, depth-1) + drawPattern(t, depth-1)
	case 1:
		return drawPattern(t, depth-1) + "|" + drawPattern(t, depth-1)
	case 2, 3:
		repeat := rapid.SampledFrom([]string{"*", "+", "?", "*?", "{2}", "{0,3}", "{1,}", ""}).Draw(t, "repeat")
		return "(" + drawPattern(t, depth-1) + ")" + repeat
	case 4:
		return "(?:" + drawPattern(t, depth-1) + ")*" + atom()
	default:
		return atom()
	}
}

// A pattern matches the texts that package regexp matches.
func TestFramePatternEqualsRegexp(t *testing.T) {
	valid, matched := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		text := drawPattern(t, rapid.IntRange(0, 4).Draw(t, "depth"))
		want, err := regexp.Compile("^(" + text + ")$")
		got, errGot := compileFrames(text)
		if errGot != nil || (got == nil) != (err != nil) {
			t.Fatalf("%q: %v, %v; regexp: %v", text, got, errGot, err)
		}
		if got == nil {
			return
		}
		valid++
		for range 4 {
			name := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "A", "k", "K", "é", "\n", " ", ".", "\xff", "xy"}), 0, 8).Draw(t, "name"), "")
			left := math.MaxInt
			if match := got.matches(name, &left); match != want.MatchString(name) {
				t.Fatalf("%q and %q: %t, regexp: %t", text, name, match, !match)
			} else if match {
				matched++
			}
		}
	})
	t.Logf("%d valid patterns, %d matches", valid, matched)
	if valid == 0 || matched == 0 {
		t.Error("the patterns are too strange")
	}
}

// A match ends soon after its steps are used up, however long the text and the pattern.
func TestFramePatternCountsSteps(t *testing.T) {
	for _, text := range []string{"(.*a.*){500}", "((a|b|aa|ab)*){200}", "(a?){1000}a{1000}", `(.*\pL\pN?){500}`, "b)|(a.*c"} {
		p, err := compileFrames(text)
		if p == nil || err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		left, begin := 1<<22, time.Now()
		if p.matches(strings.Repeat("a", 1<<20)+"!", &left) || left >= 0 {
			t.Errorf("%s: %d steps are left", text, left)
		}
		if took := time.Since(begin); took > effort.Patience {
			t.Errorf("%s: %v for 4 million steps", text, took)
		}
	}
	for text, most := range map[string]int{strings.Repeat("a", maxPattern+1): maxPattern, strings.Repeat("(abcdefgh){1000}", 10): maxInstructions} {
		if p, err := compileFrames(text); p != nil || !errors.Is(err, ErrTooLarge) {
			t.Errorf("a pattern beyond %d: %v", most, err)
		}
	}
}
