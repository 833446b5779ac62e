package pattern

import (
	"bytes"
	"context"
	"io"
	"math"
	"regexp"
	"regexp/syntax"
	"runtime"
	"time"
)

// Stop reports whether a match is no longer wanted. Once it returns true it always does. A nil Stop never does.
type Stop func() bool

// Until returns the Stop of a context.
func Until(ctx context.Context) Stop { return func() bool { return ctx.Err() != nil } }

// Now reports whether a match is no longer wanted.
func (s Stop) Now() bool { return s != nil && s() }

// Regexp is a regular expression with its size. It is immutable and safe for concurrent use.
type Regexp struct {
	re   *regexp.Regexp
	size int
}

// New returns the pattern of a regular expression. It parses the expression's text again.
func New(re *regexp.Regexp) *Regexp {
	size := math.MaxInt32 // of POSIX expressions, whose text can mean nothing here
	if parsed, err := syntax.Parse(re.String(), syntax.Perl); err == nil {
		size = Size(parsed)
	}
	return &Regexp{re, size}
}

// Size bounds the instructions of a compiled pattern, and the ranges of its character classes. The parser of
// regexp/syntax limits the depth of the tree and the product of nested repetitions, so neither the recursion nor the
// product overflows.
func Size(re *syntax.Regexp) int {
	size := 2 + len(re.Rune)
	for _, sub := range re.Sub {
		size += Size(sub)
	}
	if re.Op == syntax.OpRepeat {
		size *= max(re.Min, re.Max, 0) + 1
	}
	return size
}

// Steps of a match, of about 15 ns.
const (
	// stepsAtOnce is the number between two looks at Stop. Fewer are done by regexp's fastest way.
	stepsAtOnce = 1 << 14
	// stepsToYield is the number after which a match yields to other goroutines, because many matches follow each
	// other, and what waits for a processor would get it after 10 ms at the earliest.
	stepsToYield = 1 << 12
)

// String returns the text of the regular expression.
func (p *Regexp) String() string { return p.re.String() }

// Size returns a bound on the pattern's instructions, as Size of its parsed text.
func (p *Regexp) Size() int { return p.size }

// LiteralPrefix returns the text with which every match begins.
func (p *Regexp) LiteralPrefix() string {
	prefix, _ := p.re.LiteralPrefix()
	return prefix
}

// Match reports whether the pattern matches text. It looks at stop first, and then again and again.
func (p *Regexp) Match(text []byte, stop Stop) bool {
	if stop.Now() {
		return false
	}
	steps := (len(text) + 1) * p.size
	if steps <= stepsAtOnce {
		if steps > stepsToYield {
			defer runtime.Gosched()
		}
		return p.re.Match(text)
	}
	if !begin(stop) {
		return false
	}
	r := &reader{Reader: *bytes.NewReader(text), stop: stop, every: max(1, stepsAtOnce/p.size)}
	match := p.re.MatchReader(r)
	if !r.isAbandoned {
		<-turns
	}
	return match
}

// turns are the long matches that run at once, on all processors but one. Go looks at the network only when a processor
// has nothing else to do, or after 10 ms: with a long match on each, every other request would wait for that.
var turns = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)-1))

// begin takes a turn. It returns false if the match is no longer wanted.
func begin(stop Stop) bool {
	select {
	case turns <- struct{}{}:
		return true
	default:
	}
	const look = 10 * time.Millisecond
	for !stop.Now() {
		select {
		case turns <- struct{}{}:
			return true
		case <-time.After(look):
		}
	}
	return false
}

// reader reads the text of a match, which has a turn. When the match is abandoned it loses the turn, and the text ends.
type reader struct {
	bytes.Reader
	stop        Stop
	every       int // characters between two looks at stop
	read        int
	isAbandoned bool
}

// ReadRune implements io.RuneReader.
func (r *reader) ReadRune() (rune, int, error) {
	if r.read++; r.read%r.every == 0 && !r.isAbandoned {
		<-turns
		r.isAbandoned = r.stop.Now() || !begin(r.stop)
	}
	if r.isAbandoned {
		return 0, 0, io.EOF
	}
	return r.Reader.ReadRune()
}
