package chrome

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// ErrFormat means that the bytes are no trace, or a trace without events.
var ErrFormat = errors.New("bad trace in the JSON of Chrome")

const (
	windowBytes = 256 << 10
	// maxKept bounds a text, a number, or arguments of which the reader wants the bytes. It is less than the window.
	maxKept = 64 << 10
	// headBytes is what is left of a longer one.
	headBytes = 8 << 10
)

// scanner reads JSON through a window of its input. It is lenient: it skips values without a check of their grammar,
// because tracers write NaN, commas too many and texts that are not UTF-8. After the first error, which stays, it returns
// zeros. encoding/json's decoder takes ten times the time.
type scanner struct {
	in      io.Reader
	window  []byte
	at, end int   // of the window: the next byte, and the end of the bytes
	before  int64 // bytes before the window
	err     error // fault or the input's error
	done    error // why in has no more bytes

	keep    int // from here on bytes are kept; -1: none are
	isLong  bool
	head    []byte // the first bytes of what is too long
	decoded []byte // the last text, without its escapes
	name    []byte // the last name whose colon is apart
}

func newScanner(in io.Reader) *scanner {
	return &scanner{in: in, window: make([]byte, windowBytes), keep: -1}
}

// scanBytes returns a scanner of bytes in memory.
func scanBytes(b []byte) scanner { return scanner{window: b, end: len(b), keep: -1, done: io.EOF} }

// fault sets the error, unless there is one.
func (s *scanner) fault(format string, args ...any) {
	if s.err != nil {
		return
	}
	if s.done != nil && !errors.Is(s.done, io.EOF) {
		s.err = s.done
		return
	}
	s.err = fmt.Errorf("byte %d: %s", s.before+int64(s.at), fmt.Sprintf(format, args...))
}

// fill reads more bytes behind the end. It reports whether there are any.
func (s *scanner) fill() bool {
	from := s.at
	if s.keep >= 0 {
		if s.at-s.keep > maxKept {
			if !s.isLong {
				s.head = append(s.head[:0], s.window[s.keep:s.keep+headBytes]...)
			}
			s.isLong, s.keep = true, s.at
		}
		from = s.keep
		s.keep = 0
	}
	if s.done != nil {
		if s.keep >= 0 {
			s.keep = from
		}
		return false
	}
	copy(s.window, s.window[from:s.end])
	s.before += int64(from)
	s.at, s.end = s.at-from, s.end-from
	for range 100 {
		n, err := s.in.Read(s.window[s.end:])
		s.end += n
		s.done = err
		if n > 0 {
			return true
		}
		if err != nil {
			return false
		}
	}
	s.done = io.ErrNoProgress
	return false
}

// next goes on to the next byte that is no space, and returns it. It returns 0 at the end.
func (s *scanner) next() byte {
	for s.err == nil {
		for at := s.at; at < s.end; at++ {
			if c := s.window[at]; c > ' ' {
				s.at = at
				return c
			}
		}
		s.at = s.end
		if !s.fill() {
			return 0
		}
	}
	return 0
}

// more goes to the next element of a list or an object, behind commas, or behind its closing byte, where it returns false.
func (s *scanner) more(closing byte) bool {
	for {
		switch c := s.next(); c {
		case ',':
			s.at++
			continue
		case closing:
			s.at++
			return false
		case 0:
			s.fault("the end, where %q should be", closing)
			return false
		}
		return true
	}
}

// plain reads a string without escapes that is whole in the window, as most are, and of which the next byte is the quote. It
// reports false for others, and reads nothing then.
func (s *scanner) plain() ([]byte, bool) {
	w := s.window[s.at+1 : s.end]
	n := bytes.IndexByte(w, '"')
	if n < 0 || n > maxKept || bytes.IndexByte(w[:n], '\\') >= 0 {
		return nil, false
	}
	s.at += n + 2
	return w[:n], true
}

// key reads the name of a value in an object, with escapes as they are, and goes on to the value.
func (s *scanner) key() []byte {
	if s.next() != '"' {
		s.fault("no name of a value")
		return nil
	}
	key, ok := s.plain()
	if !ok {
		s.begin()
		s.string()
		key = s.kept()
	}
	if s.err != nil {
		return nil
	}
	// The colon is nearly always there, and the key stays valid until the window moves.
	if s.at < s.end && s.window[s.at] == ':' {
		s.at++
		return key
	}
	s.name = append(s.name[:0], key...)
	if s.next() != ':' {
		s.fault("no colon behind %.40q", s.name)
		return nil
	}
	s.at++
	return s.name
}

// each calls f with the names in an object. f reads or skips the value of each. Any other value is skipped.
func (s *scanner) each(f func(key []byte)) {
	if s.next() != '{' {
		s.skip()
		return
	}
	s.at++
	for s.more('}') {
		if key := s.key(); s.err == nil {
			f(key)
		}
		if s.err != nil {
			return
		}
	}
}

// begin keeps the bytes from here on, for kept.
func (s *scanner) begin() { s.keep, s.isLong = s.at, false }

// kept returns the bytes since begin, or the first of them if they are too long (isLong). They are valid until the next read.
func (s *scanner) kept() []byte {
	b := s.window[max(s.keep, 0):s.at]
	if s.isLong || len(b) > maxKept {
		if !s.isLong {
			s.head = append(s.head[:0], b[:headBytes]...)
		}
		s.isLong = true
		b = s.head
	}
	s.keep = -1
	if len(b) > 0 && b[0] == '"' {
		b = b[1:]
		if !s.isLong && len(b) > 0 {
			b = b[:len(b)-1]
		}
	}
	return b
}

// string skips a string, of which the next byte is the quote.
func (s *scanner) string() {
	if _, ok := s.plain(); ok {
		return
	}
	s.at++
	for {
		at := s.at
		for at < s.end && s.window[at] != '"' && s.window[at] != '\\' {
			at++
		}
		s.at = at
		switch {
		case at == s.end:
			if !s.fill() {
				s.fault("the end in a text")
				return
			}
		case s.window[at] == '"':
			s.at++
			return
		default:
			if s.at++; s.at == s.end && !s.fill() {
				s.fault("the end in a text")
				return
			}
			s.at++
		}
	}
}

// skip skips a value.
func (s *scanner) skip() {
	switch c := s.next(); c {
	case '"':
		s.string()
	case '{', '[':
		s.nested()
	case '}', ']', ',', ':', 0:
		s.fault("no value")
	default:
		s.scalar()
	}
}

// endsScalar are the bytes that end a number or a word.
var endsScalar = func() (ends [256]bool) {
	for c := range ends[:' '+1] {
		ends[c] = true
	}
	for _, c := range `,}]"{[:` {
		ends[c] = true
	}
	return ends
}()

// scalar skips a number or a word.
func (s *scanner) scalar() {
	for {
		at := s.at
		for at < s.end && !endsScalar[s.window[at]] {
			at++
		}
		s.at = at
		if at < s.end {
			if c := s.window[at]; c == '"' || c == '{' || c == '[' || c == ':' {
				s.fault("%q in a number", c)
			}
			return
		}
		if !s.fill() {
			return
		}
	}
}

// inNested are the bytes that matter in a list or an object that is skipped: the change of the depth, and 2 for a quote.
var inNested = [256]int8{'{': 1, '[': 1, '}': -1, ']': -1, '"': 2}

// nested skips a list or an object.
func (s *scanner) nested() {
	depth := 0
	for {
		at := s.at
		for at < s.end && inNested[s.window[at]] == 0 {
			at++
		}
		s.at = at
		if at == s.end {
			if !s.fill() {
				s.fault("the end, %d lists and objects deep", depth)
				return
			}
			continue
		}
		change := int(inNested[s.window[at]])
		if change == 2 {
			if s.string(); s.err != nil {
				return
			}
			continue
		}
		s.at++
		if depth += change; depth == 0 {
			return
		}
	}
}

// text reads a scalar: the text of a string, or the bytes of a number. A list or an object is skipped, and has no text.
// The bytes are valid until the next read.
func (s *scanner) text() []byte {
	switch s.next() {
	case '"':
		if b, ok := s.plain(); ok {
			return b
		}
		s.begin()
		s.string()
		if b := s.kept(); s.err == nil {
			return s.unescape(b)
		}
	case '{', '[':
		s.nested()
	default:
		s.begin()
		s.skip()
		if b := s.kept(); s.err == nil {
			return b
		}
	}
	return nil
}

// value reads any value, and returns its bytes as they are, or nil if they are too long.
func (s *scanner) value() []byte {
	s.next()
	s.begin()
	s.skip()
	from, isShort := s.keep, !s.isLong && s.at-s.keep <= maxKept
	s.keep = -1
	if s.err != nil || !isShort {
		return nil
	}
	return s.window[from:s.at]
}

// unescape returns a text without its escapes.
func (s *scanner) unescape(b []byte) []byte {
	i := 0
	for i < len(b) && b[i] != '\\' {
		i++
	}
	if i == len(b) {
		return b
	}
	out := append(s.decoded[:0], b[:i]...)
	for i < len(b) {
		c := b[i]
		if c != '\\' || i+1 == len(b) {
			out = append(out, c)
			i++
			continue
		}
		i += 2
		switch c = b[i-1]; c {
		case 'n':
			out = append(out, '\n')
		case 't':
			out = append(out, '\t')
		case 'r':
			out = append(out, '\r')
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'u':
			r, n := runeAt(b[i:])
			out = utf8.AppendRune(out, r)
			i += n
		default:
			out = append(out, c)
		}
	}
	s.decoded = out
	return out
}

// runeAt reads the digits of an escape, and those of the other half of a pair. Bad ones are U+FFFD.
func runeAt(b []byte) (r rune, n int) {
	first, ok := hex(b)
	switch {
	case !ok:
		return utf8.RuneError, 0
	case !utf16.IsSurrogate(first):
		return first, 4
	case len(b) >= 6 && b[4] == '\\' && b[5] == 'u':
		if second, ok := hex(b[6:]); ok {
			if r := utf16.DecodeRune(first, second); r != utf8.RuneError {
				return r, 10
			}
		}
	}
	return utf8.RuneError, 4
}

func hex(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	v, err := strconv.ParseUint(string(b[:4]), 16, 16)
	return rune(v), err == nil
}
