package history

import (
	"fmt"
	"regexp"
	"slices"
)

// Step is one step of a pattern: where it leads from an attribute that was reached. Steps
// are made by [Literal]; [Any] and [Up] are the others. Every name can be asked for, also
// one that is "*" or "..". The zero Step is Literal("").
type Step struct {
	kind stepKind
	name string
}

type stepKind uint8

const (
	stepLiteral stepKind = iota
	stepAny
	stepUp
)

// Literal returns the step to the child that has the name.
func Literal(name string) Step { return Step{stepLiteral, name} }

var (
	// Any is the step to every child.
	Any = Step{kind: stepAny}
	// Up is the step to the parent; Root is its own.
	Up = Step{kind: stepUp}
)

// Match returns the attributes that the steps lead to from Root: each once, in order of
// creation, Root before all others. That is Root itself if there are no steps, and nothing
// if one leads nowhere. Cost: what each step reaches, and sorting that.
func (n Names) Match(steps ...Step) ([]Attribute, error) { return n.MatchFrom(Root, steps...) }

// MatchFrom is Match from base, which may be Root. The error is ErrAttribute, of base.
func (n Names) MatchFrom(base Attribute, steps ...Step) ([]Attribute, error) {
	at, err := n.node(base)
	if err != nil {
		return nil, err
	}
	reached := []uint32{at}
	for _, step := range steps {
		reached = n.follow(reached, step)
	}
	slices.Sort(reached)
	attributes := make([]Attribute, len(reached))
	for i, at := range reached {
		attributes[i] = Attribute(at - 1)
	}
	return attributes, nil
}

// follow returns where a step leads from distinct nodes: to distinct nodes. Only parents
// can meet.
func (n Names) follow(from []uint32, step Step) []uint32 {
	var to []uint32
	for _, at := range from {
		switch step.kind {
		case stepAny:
			for c := n.first(at); c != 0; c = n.next(c) {
				to = append(to, c)
			}
		case stepUp:
			to = append(to, n.up(at))
		default:
			if c := n.child(at, step.name); c != 0 {
				to = append(to, c)
			}
		}
	}
	if step.kind == stepUp {
		slices.Sort(to)
		to = slices.Compact(to)
	}
	return to
}

// DescendantsMatching returns the children of a, or with recursive all its descendants,
// whose whole name the expression matches, in the order of [Names.Children] or
// [Names.Descendants]. The dot of the expression matches a newline too; nil matches every
// name. Errors: ErrAttribute, and ErrQuery if the text of an expression that was compiled
// as a POSIX one is none otherwise. Cost: a step for each attribute asked, and a match for
// each distinct name.
func (n Names) DescendantsMatching(a Attribute, re *regexp.Regexp, recursive bool) ([]Attribute, error) {
	if _, err := n.node(a); err != nil {
		return nil, err
	}
	matches, err := wholeMatch(re)
	if err != nil {
		return nil, err
	}
	among := n.Children(a)
	if recursive {
		among = n.Descendants(a)
	}
	verdicts := map[uint32]bool{} // by text
	var found []Attribute
	for c := range among {
		code := n.t.node(uint32(c + 1)).name.Load()
		verdict, known := verdicts[code]
		if !known {
			verdict = matches(n.t.texts.at(code))
			verdicts[code] = verdict
		}
		if verdict {
			found = append(found, c)
		}
	}
	return found, nil
}

// wholeMatch returns whether re matches all of a text. The expression is not put between
// anchors, because its text may end inside a quotation, which would swallow them: of the
// leftmost matches the longest is all of the text if any is.
func wholeMatch(re *regexp.Regexp) (func(text []byte) bool, error) {
	if re == nil {
		return func([]byte) bool { return true }, nil
	}
	longest, err := regexp.Compile("(?s)" + re.String())
	if err != nil {
		return nil, fmt.Errorf("%w: expression: %w", ErrQuery, err)
	}
	longest.Longest()
	return func(text []byte) bool {
		found := longest.FindIndex(text)
		return found != nil && found[0] == 0 && found[1] == len(text)
	}, nil
}
