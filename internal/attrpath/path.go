// Package attrpath parses paths of attributes whose names contain labels in braces.
//
//	name = { text | "{" label "}" | "{{" | "}}" } .
//
// Two equal braces stand for one. The text is anything except braces; a label is not empty.
//
// # Invariants
//
//	A1  Names replaces each label by its value and changes nothing else: the values are not
//	    parsed.
//	A2  Values is the inverse of Names: Names returns the given names for the values that
//	    Values returned, and for no other values.
package attrpath

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Path is the names of an attribute and its ancestors, from the root of a history down. It is immutable after
// Parse.
type Path struct {
	names [][]piece
	// Labels are the distinct labels of the names, in the order of their first use.
	Labels []string
}

// piece is a text in a name, or the value of a label in it.
type piece struct {
	text  string
	label int // index in Path.Labels, or -1 for text
}

// Parse parses the names of a path. A path without names and a brace without a label are errors, which show
// the place.
func Parse(names []string) (Path, error) {
	var p Path
	if len(names) == 0 {
		return p, errors.New("the path is empty")
	}
	for _, name := range names {
		parts, err := p.parse(name)
		if err != nil {
			return p, fmt.Errorf("path element %q: %w", name, err)
		}
		p.names = append(p.names, parts)
	}
	return p, nil
}

// parse parses one name.
func (p *Path) parse(name string) (parts []piece, err error) {
	var text strings.Builder
	for rest := name; rest != ""; {
		i := strings.IndexAny(rest, "{}")
		if i < 0 {
			i = len(rest)
		}
		text.WriteString(rest[:i])
		switch rest = rest[i:]; {
		case rest == "":
		case strings.HasPrefix(rest, "{{"), strings.HasPrefix(rest, "}}"):
			text.WriteByte(rest[0])
			rest = rest[2:]
		default:
			label, after, ok := strings.Cut(rest[1:], "}")
			if rest[0] == '}' || !ok || label == "" || strings.Contains(label, "{") {
				return nil, fmt.Errorf("brace without a label at %q", rest)
			}
			parts = append(parts, piece{text: text.String(), label: -1}, piece{label: p.label(label)})
			text.Reset()
			rest = after
		}
	}
	return append(parts, piece{text: text.String(), label: -1}), nil
}

// label returns the index of a label. It adds the label if it is new.
func (p *Path) label(label string) int {
	i := slices.Index(p.Labels, label)
	if i < 0 {
		i = len(p.Labels)
		p.Labels = append(p.Labels, label)
	}
	return i
}

// Names returns the names for the given values of Labels.
func (p *Path) Names(values []string) []string {
	names := make([]string, len(p.names))
	for i, parts := range p.names {
		for _, part := range parts {
			if part.label >= 0 {
				part.text = values[part.label]
			}
			names[i] += part.text
		}
	}
	return names
}

// Pattern returns an expression that matches all of name i, with a group for each label; labels have values
// that are not empty. If the name has no labels, Pattern returns nil and the name.
func (p Path) Pattern(i int) (pattern *regexp.Regexp, name string) {
	var expr strings.Builder
	hasLabel := false
	for _, part := range p.names[i] {
		if part.label < 0 {
			expr.WriteString(regexp.QuoteMeta(part.text))
			name += part.text
			continue
		}
		hasLabel = true
		expr.WriteString("((?s:.+?))")
	}
	if !hasLabel {
		return nil, name
	}
	return regexp.MustCompile(`\A` + expr.String() + `\z`), ""
}

// Len returns the number of names.
func (p Path) Len() int { return len(p.names) }

// Values returns the values of Labels for which Names returns the given names. ok is false if there are none,
// or if several are possible, because a name has two labels.
func (p Path) Values(names []string) (values []string, ok bool) {
	if len(names) != len(p.names) {
		return nil, false
	}
	values = make([]string, len(p.Labels))
	for i, parts := range p.names {
		pattern, name := p.Pattern(i)
		if pattern == nil {
			if name != names[i] {
				return nil, false
			}
			continue
		}
		found := pattern.FindStringSubmatch(names[i])
		if len(found) != 2 {
			return nil, false
		}
		for _, part := range parts {
			if part.label >= 0 {
				if old := values[part.label]; old != "" && old != found[1] {
					return nil, false
				}
				values[part.label] = found[1]
			}
		}
	}
	return values, true
}
