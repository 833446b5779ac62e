package pattern

import (
	"context"
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"
	"time"
)

// TestMatch compares matches with those of package regexp, with texts short enough for its fastest way and longer
// ones (P1).
func TestMatch(t *testing.T) {
	for _, text := range []string{
		``, `a`, `^a`, `a$`, `^(?s:a.*b)$`, `\bb\b`, `(?i)AB`, `^$`, `x*`, `a|b`, `(?m)^b$`, `a{2,}`, `(a.{0,300}){3}b`, `[^\x00-\x{10FFFF}]`, "\ufffd", `(?-s).b`, `\pL`,
	} {
		re := regexp.MustCompile(text)
		p := New(re)
		if p.String() != text {
			t.Errorf("%q is %q", text, p)
		}
		for _, of := range []string{"", "a", "b", "ab", "a\nb", "\xff", "a\xffb", "é b", "\ufffd", "aab"} {
			for _, n := range []int{1, 2, 20_000} {
				value := []byte(strings.Repeat(of, n))
				if got, want := p.Match(value, nil), re.Match(value); got != want {
					t.Errorf("%q of %d times %q: %t, want %t", text, n, of, got, want)
				}
			}
		}
	}
	posix := regexp.MustCompilePOSIX(`a|ab`)
	if p := New(posix); !p.Match([]byte("cab"), nil) || p.Match([]byte("c"), nil) {
		t.Error("a POSIX pattern")
	}
}

// TestMatch_Abandoned ends a match that would take minutes (P2).
func TestMatch_Abandoned(t *testing.T) {
	p := New(regexp.MustCompile(`^(?s:` + strings.Repeat(".{0,1000}", 30) + `b)$`))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	value := []byte(strings.Repeat("a", 20_000))
	start := time.Now()
	if p.Match(value, Until(ctx)) {
		t.Error("it matches")
	}
	if took := time.Since(start); took > 2*time.Second || ctx.Err() == nil {
		t.Errorf("it took %s", took)
	}
	if p := New(regexp.MustCompile("")); p.Match(nil, Until(ctx)) {
		t.Error("a match after the end")
	}
}

// TestSize bounds programs.
func TestSize(t *testing.T) {
	for _, text := range []string{``, `a`, `abc|abd`, `x{1000}`, `(xyz){0,300}`, `(a{10}){100}`, `\pL+`, `a*b?c+`, `(?i)hello[a-f0-9]`, `.{0,1000}.{0,1000}b`} {
		parsed, err := syntax.Parse(text, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		size := Size(parsed)
		prog, err := syntax.Compile(parsed.Simplify())
		if err != nil {
			t.Fatal(err)
		}
		if n := len(prog.Inst); size+3 < n { // 3 for the start, the failure and the match
			t.Errorf("%q: %d, but it has %d instructions", text, size, n)
		}
	}
}
