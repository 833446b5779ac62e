package trace

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/attrpath"
)

// PathSeparator stands between the names in a path, unless CSVOptions set another.
const PathSeparator = '/'

// ParsePath reads an attribute's path: names joined by separator. A backslash escapes the next character.
// It is the inverse of [history.PathText] if separator is [PathSeparator]. An error means that text is not
// UTF-8 or ends in an unescaped backslash.
func ParsePath(text string, separator rune) ([]string, error) {
	if !utf8.ValidString(text) {
		return nil, fmt.Errorf("%.60q is not UTF-8", text)
	}
	var path []string
	var name strings.Builder
	escaped := false
	for _, r := range text {
		switch {
		case escaped:
			name.WriteRune(r)
			escaped = false
		case r == '\\':
			escaped = true
		case r == separator:
			path = append(path, name.String())
			name.Reset()
		default:
			name.WriteRune(r)
		}
	}
	if escaped {
		return nil, fmt.Errorf(`%q ends in a backslash: for the character itself write \\`, text)
	}
	return append(path, name.String()), nil
}

// ParsePattern reads a pattern for [history.Names.Match]: a path in which * stands for any name and .. for
// the parent. An error comes from ParsePath, or names a * that is not a whole name, or a brace: two equal
// ones are the character.
func ParsePattern(text string) ([]history.Step, error) {
	p, err := attrpath.ParsePattern(text)
	if err != nil {
		return nil, err
	}
	steps, ok := p.Steps()
	if !ok {
		return nil, fmt.Errorf("%q: a label in braces stands for no step", text)
	}
	return steps, nil
}
