package attrpath

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/granarydb/granary/history"
)

// Pattern is the text of a path. It is immutable after ParsePattern.
type Pattern struct {
	Path Path
	// Names are the names as Parse takes them. They are without meaning for * and .. (IsWild).
	Names []string
	wild  []history.Step // by name: Any, Up, or neither
}

// ParsePattern parses a pattern:
//
//	pattern = step { "/" step } .   step = "*" | ".." | name .
//
// A backslash before a character is the character, without a meaning. An error shows what is wrong.
func ParsePattern(text string) (Pattern, error) {
	var p Pattern
	if !utf8.ValidString(text) {
		return p, fmt.Errorf("%.60q is not UTF-8", text)
	}
	if err := p.split(text); err != nil {
		return p, err
	}
	var err error
	p.Path, err = Parse(p.Names)
	return p, err
}

// split splits a text into names, in which each escaped brace is two.
func (p *Pattern) split(text string) error {
	var name strings.Builder
	isBare, isEscaped := true, false
	for _, r := range text {
		switch {
		case isEscaped:
			if r == '{' || r == '}' {
				name.WriteRune(r)
			}
			name.WriteRune(r)
			isEscaped = false
		case r == '\\':
			isEscaped, isBare = true, false
		case r != '/':
			name.WriteRune(r)
		default:
			if err := p.add(name.String(), isBare); err != nil {
				return fmt.Errorf("%q: %w", text, err)
			}
			name.Reset()
			isBare = true
		}
	}
	if isEscaped {
		return fmt.Errorf(`%q ends in a backslash: for the character itself write \\`, text)
	}
	if err := p.add(name.String(), isBare); err != nil {
		return fmt.Errorf("%q: %w", text, err)
	}
	return nil
}

// add adds a name. A bare one has no escapes.
func (p *Pattern) add(name string, isBare bool) error {
	var step history.Step
	switch {
	case isBare && name == "*":
		step = history.Any
	case isBare && name == "..":
		step = history.Up
	case isBare && strings.Contains(name, "*"):
		return errors.New(`* stands for a whole name; for the character itself write \*`)
	}
	p.Names, p.wild = append(p.Names, name), append(p.wild, step)
	return nil
}

// IsWild reports whether the pattern has a * or a .., which have no values.
func (p Pattern) IsWild() bool {
	return slices.ContainsFunc(p.wild, func(s history.Step) bool { return s != history.Step{} })
}

// Steps returns the steps of a pattern without labels. ok is false if it has some.
func (p Pattern) Steps() (steps []history.Step, ok bool) {
	for i, step := range p.wild {
		if step == (history.Step{}) {
			_, name := p.Path.Pattern(i)
			step = history.Literal(name)
		}
		steps = append(steps, step)
	}
	return steps, len(p.Path.Labels) == 0
}

// Match returns the attributes to which the pattern leads from base, with any values of its labels: each once, in the
// order of creation. The cost is a visit of each attribute that a step reaches. The error is ctx's, or
// history.ErrAttribute for base.
func (p Pattern) Match(ctx context.Context, names history.Names, base history.Attribute) ([]history.Attribute, error) {
	found := []history.Attribute{base}
	for i, step := range p.wild {
		var next []history.Attribute
		pattern, name := p.Path.Pattern(i)
		if step == (history.Step{}) && pattern == nil {
			step = history.Literal(name)
		}
		for k, a := range found {
			if k%1024 == 0 && ctx.Err() != nil {
				return nil, ctx.Err()
			}
			var to []history.Attribute
			var err error
			if step == (history.Step{}) {
				to, err = names.DescendantsMatching(a, pattern, false)
			} else {
				to, err = names.MatchFrom(a, step)
			}
			if err != nil {
				return nil, err
			}
			next = append(next, to...)
		}
		if step == history.Up {
			slices.Sort(next)
			next = slices.Compact(next)
		}
		found = next
	}
	slices.Sort(found)
	return found, nil
}
