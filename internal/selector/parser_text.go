package selector

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// peek returns the next byte, or 0 at the end, because no token begins with 0.
func (p *parser) peek() byte {
	if p.at == len(p.text) {
		return 0
	}
	return p.text[p.at]
}

// take skips a token, and the space after it, if the token is next.
func (p *parser) take(token string) bool {
	if !strings.HasPrefix(p.text[p.at:], token) {
		return false
	}
	p.at += len(token)
	p.skipSpace()
	return true
}

// skipSpace skips space and comments.
func (p *parser) skipSpace() {
	for p.at < len(p.text) {
		switch p.text[p.at] {
		case ' ', '\t', '\r', '\n':
			p.at++
		case '#':
			end := strings.IndexAny(p.text[p.at:], "\r\n")
			if end < 0 {
				end = len(p.text) - p.at
			}
			p.at += end
		default:
			return
		}
	}
}

// quoted reads a quoted string and returns its value.
func (p *parser) quoted() (string, error) {
	start, quote := p.at, p.text[p.at]
	var value []byte
	for at := start + 1; at < len(p.text); {
		r, size := utf8.DecodeRuneInString(p.text[at:])
		switch {
		case r == utf8.RuneError && size == 1:
			return "", p.errorf(at, "no valid UTF-8 in a string")
		case r == rune(quote):
			p.at = at + 1
			p.skipSpace()
			return string(value), nil
		case r == '\n' && quote != '`':
			return "", p.errorf(start, "a string without its end on the line")
		case r == '\\' && quote != '`':
			var err error
			if value, size, err = unescape(value, p.text[at:], quote); err != nil {
				return "", p.errorf(at, "%w", err)
			}
		default:
			value = append(value, p.text[at:at+size]...)
		}
		at += size
	}
	return "", p.errorf(start, "a string without its end")
}

// unescape appends the value of the escape sequence at the start of the text, and returns its length. Octal
// and \x are bytes, \u and \U are characters.
func unescape(value []byte, text string, quote byte) ([]byte, int, error) {
	const letters, values = `abfnrtv\`, "\a\b\f\n\r\t\v\\"
	if len(text) < 2 {
		return nil, 0, errors.New("unfinished escape sequence")
	}
	c := text[1]
	if i := strings.IndexByte(letters, c); i >= 0 {
		return append(value, values[i]), 2, nil
	}
	from, digits, base, limit := 2, 0, 16, uint64(utf8.MaxRune)
	switch {
	case c == quote:
		return append(value, quote), 2, nil
	case '0' <= c && c <= '7':
		from, digits, base, limit = 1, 3, 8, 0xff
	case c == 'x':
		digits = 2
	case c == 'u':
		digits = 4
	case c == 'U':
		digits = 8
	default:
		return nil, 0, fmt.Errorf("no escape sequence begins with %q", text[:2])
	}
	end := min(from+digits, len(text))
	n, err := strconv.ParseUint(text[from:end], base, 32)
	surrogate := 0xd800 <= n && n < 0xe000
	if err != nil || end < from+digits || n > limit || surrogate {
		return nil, 0, fmt.Errorf("invalid escape sequence %q", text[:end])
	}
	if c == 'u' || c == 'U' {
		return utf8.AppendRune(value, rune(n)), end, nil
	}
	return append(value, byte(n)), end, nil
}

// unexpected returns the error for a text whose next token is not the wanted one.
func (p *parser) unexpected(want string) error {
	if p.at == len(p.text) {
		return p.errorf(p.at, "the selector ends, want %s", want)
	}
	r, size := utf8.DecodeRuneInString(p.text[p.at:])
	if r == utf8.RuneError && size == 1 {
		return p.errorf(p.at, "no valid UTF-8, want %s", want)
	}
	return p.errorf(p.at, "unexpected %q, want %s", p.text[p.at:p.at+size], want)
}

func (p *parser) errorf(at int, format string, args ...any) error {
	before := p.text[:at]
	line, column := 1+strings.Count(before, "\n"), at-strings.LastIndexByte(before, '\n')
	return fmt.Errorf("%d:%d: %w", line, column, fmt.Errorf(format, args...))
}

func isLetter(c byte) bool { return c == '_' || 'a' <= c|0x20 && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isQuote(c byte) bool  { return c == '"' || c == '\'' || c == '`' }
