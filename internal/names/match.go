package names

import (
	"fmt"
	"regexp"
	"slices"
)

// Step is one step of a pattern. It leads from an attribute to others. [Literal] makes a step to a name,
// which may be "*" or ".."; [Any] and [Up] are the others. The zero Step is Literal("").
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

// Literal returns the step to the child called name.
func Literal(name string) Step { return Step{stepLiteral, name} }

var (
	// Any is the step to every child.
	Any = Step{kind: stepAny}
	// Up is the step to the parent. Top's parent is Top.
	Up = Step{kind: stepUp}
)

// Match returns the attributes to which the steps lead from Top: each once, in order of creation, Top
// before all others. Without steps that is Top itself, and nothing if a step leads nowhere. The cost is a
// visit of each attribute that a step reaches, and sorting the last step's attributes.
func (n Names) Match(steps ...Step) ([]Attribute, error) { return n.MatchFrom(Top, steps...) }

// MatchFrom is Match from base, which may be Top. The error is ErrAttribute for base.
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

// follow returns the distinct nodes that a step leads to from distinct nodes. Only parents can coincide.
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

// DescendantsMatching returns a's children, or with recursive all its descendants, whose whole name the
// expression matches, in the order of [Names.Children] or [Names.Descendants]. The expression's dot matches
// a newline too; nil matches every name. The errors are ErrAttribute, and ErrQuery if a POSIX
// expression's text is not valid for regexp.Compile. The cost is a step for each attribute, and a match for
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
	found := []Attribute{}
	for c := range among {
		code := n.t.node(uint32(c + 1)).name.Load()
		verdict, known := verdicts[code]
		if !known {
			verdict = matches(n.t.texts.At(code))
			verdicts[code] = verdict
		}
		if verdict {
			found = append(found, c)
		}
	}
	return found, nil
}

// wholeMatch returns a function that reports whether re matches all of a text. It compares the longest of
// the leftmost matches with the text. Anchors around the expression would fail, because its text may end
// inside a quotation, which would swallow them.
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
