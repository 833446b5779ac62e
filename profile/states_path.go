package profile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/granarydb/granary/columnstore"
)

// statePath is the names of attributes, with labels in place of values.
type statePath struct {
	names  [][]namePart
	labels []string // distinct
}

// namePart is a piece of a name: text, or the value of a label.
type namePart struct {
	text  string
	label int // index in statePath.labels, or -1 for text
}

// parseStatePath parses the templates of the names of a path.
func parseStatePath(templates []string) (statePath, error) {
	var p statePath
	if len(templates) == 0 {
		return p, fmt.Errorf("%w: states: the path is empty", columnstore.ErrQuery)
	}
	for _, template := range templates {
		parts, err := p.parse(template)
		if err != nil {
			return p, fmt.Errorf("%w: states: path element %q: %w", columnstore.ErrQuery, template, err)
		}
		p.names = append(p.names, parts)
	}
	return p, nil
}

// parse parses the template of one name.
func (p *statePath) parse(template string) (parts []namePart, err error) {
	var text strings.Builder
	for rest := template; rest != ""; {
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
			name, after, ok := strings.Cut(rest[1:], "}")
			if rest[0] == '}' || !ok || name == "" || strings.Contains(name, "{") {
				return nil, fmt.Errorf("brace without a label at %q", rest)
			}
			parts = append(parts, namePart{text: text.String(), label: -1}, namePart{label: p.label(name)})
			text.Reset()
			rest = after
		}
	}
	return append(parts, namePart{text: text.String(), label: -1}), nil
}

// label returns the index of a label. It adds the label if it is new.
func (p *statePath) label(name string) int {
	i := slices.Index(p.labels, name)
	if i < 0 {
		i = len(p.labels)
		p.labels = append(p.labels, name)
	}
	return i
}

// of returns the names for the given values of the labels.
func (p *statePath) of(values []string) []string {
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
