package trace

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/granarydb/granary/history"
)

// PathSeparator stands between the names in a path, unless CSVOptions set another.
const PathSeparator = '/'

// ParsePath reads an attribute's path: names joined by separator. A backslash escapes the next character.
// It is the inverse of [history.PathText] if separator is [PathSeparator]. An error means that text is not
// UTF-8 or ends in an unescaped backslash.
func ParsePath(text string, separator rune) ([]string, error) {
	names, err := splitPath(text, separator)
	path := make([]string, len(names))
	for i, n := range names {
		path[i] = n.name
	}
	return path, err
}

// ParsePattern reads a pattern for [history.Names.Match]: a path in which * stands for any name and .. for
// the parent. An error comes from ParsePath, or names a * that is not a whole name.
func ParsePattern(text string) ([]history.Step, error) {
	names, err := splitPath(text, PathSeparator)
	if err != nil {
		return nil, err
	}
	steps := make([]history.Step, len(names))
	for i, n := range names {
		switch {
		case n.bare && n.name == "*":
			steps[i] = history.Any
		case n.bare && n.name == "..":
			steps[i] = history.Up
		case n.bare && strings.Contains(n.name, "*"):
			return nil, fmt.Errorf(`%q: * stands for a whole name; for the character itself write \*`, text)
		default:
			steps[i] = history.Literal(n.name)
		}
	}
	return steps, nil
}

// pathName is one name of a path.
type pathName struct {
	name string
	bare bool // no character was escaped
}

func splitPath(text string, separator rune) ([]pathName, error) {
	if !utf8.ValidString(text) {
		return nil, fmt.Errorf("%.60q is not UTF-8", text)
	}
	names := []pathName{{bare: true}}
	var name strings.Builder
	escaped := false
	for _, r := range text {
		last := &names[len(names)-1]
		switch {
		case escaped:
			name.WriteRune(r)
			escaped = false
		case r == '\\':
			escaped, last.bare = true, false
		case r == separator:
			last.name = name.String()
			name.Reset()
			names = append(names, pathName{bare: true})
		default:
			name.WriteRune(r)
		}
	}
	if escaped {
		return nil, fmt.Errorf(`%q ends in a backslash: for the character itself write \\`, text)
	}
	names[len(names)-1].name = name.String()
	return names, nil
}
