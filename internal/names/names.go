package names

import (
	"fmt"
	"iter"
	"slices"
)

// Names is a history's attributes at one moment. It is a value and may be copied. Any number of goroutines
// may use it, without locks, while a writer goes on. It does not show later attributes. The zero Names has
// none.
//
// An attribute is a child of another attribute or of [Top], and its name is unique among its siblings.
// Every valid UTF-8 text of at most 64 KiB is a name. "", "*", ".." and names with a "/", a newline or a
// NUL have no special meaning. No attribute has a name that is not UTF-8.
//
// A method costs as much as its answer is long, and a lookup one search in a hash table per name. No
// iteration uses the stack for the tree's depth. Returned slices belong to the caller.
type Names struct {
	t *Tree
	n int
}

// Len returns the number of attributes, which are 0 to Len-1.
func (n Names) Len() int { return n.n }

// All returns all attributes.
func (n Names) All() []Attribute {
	all := make([]Attribute, n.n)
	for a := range all {
		all[a] = Attribute(a)
	}
	return all
}

// Known returns ErrAttribute if a is none of the attributes.
func (n Names) Known(a Attribute) error {
	if int64(a) >= int64(n.n) {
		return fmt.Errorf("%w: %d of %d", ErrAttribute, a, n.n)
	}
	return nil
}

// Lookup returns the attribute at path, or Top if the path is empty. The error is ErrAttribute.
func (n Names) Lookup(path ...string) (Attribute, error) { return n.LookupFrom(Top, path...) }

// LookupFrom returns the attribute at path from base, which may be Top; base itself if the path is empty.
// The error is ErrAttribute for base or a missing name.
func (n Names) LookupFrom(base Attribute, path ...string) (Attribute, error) {
	at, err := n.node(base)
	if err != nil {
		return 0, err
	}
	for i, name := range path {
		if at = n.child(at, name); at == 0 {
			return 0, fmt.Errorf("%w: there is no %.100q, name %d of %d from %s",
				ErrAttribute, name, i+1, len(path), describe(base))
		}
	}
	return Attribute(at - 1), nil
}

// Name returns the name of a. The error is ErrAttribute; Top has no name.
func (n Names) Name(a Attribute) (string, error) {
	at, err := n.node(a)
	if err != nil || at == 0 {
		return "", unknown(a)
	}
	return string(n.t.text(at)), nil
}

// Path returns the names that lead from Top to a; none for Top. The error is ErrAttribute.
func (n Names) Path(a Attribute) ([]string, error) {
	at, err := n.node(a)
	if err != nil {
		return nil, err
	}
	var path []string
	for ; at != 0; at = n.t.node(at).parent.Load() {
		path = append(path, string(n.t.text(at)))
	}
	slices.Reverse(path)
	return path, nil
}

// Parent returns the parent of a, or Top; Top is its own parent. The
// error is ErrAttribute.
func (n Names) Parent(a Attribute) (Attribute, error) {
	at, err := n.node(a)
	if err != nil {
		return 0, err
	}
	return Attribute(n.up(at) - 1), nil
}

// Children returns the children of a, which may be Top, in order of creation; none if a is unknown.
func (n Names) Children(a Attribute) iter.Seq[Attribute] {
	return func(yield func(Attribute) bool) {
		at, err := n.node(a)
		if err != nil {
			return
		}
		for at = n.first(at); at != 0; at = n.next(at) {
			if !yield(Attribute(at - 1)) {
				return
			}
		}
	}
}

// Descendants returns the children of a, which may be Top, each followed by its own descendants: depth
// first, siblings in order of creation. None if a is unknown.
func (n Names) Descendants(a Attribute) iter.Seq[Attribute] {
	return func(yield func(Attribute) bool) {
		base, err := n.node(a)
		if err != nil {
			return
		}
		for at := n.first(base); at != 0; at = n.following(at, base) {
			if !yield(Attribute(at - 1)) {
				return
			}
		}
	}
}

// following returns the node after `at` among base's descendants, or 0.
func (n Names) following(at, base uint32) uint32 {
	if first := n.first(at); first != 0 {
		return first
	}
	for at != base && at != 0 { // 0 comes before base only in Names whose writer was aborted
		if next := n.next(at); next != 0 {
			return next
		}
		at = n.up(at)
	}
	return 0
}

// node returns a's node, which is 0 for Top.
func (n Names) node(a Attribute) (uint32, error) {
	if at := uint32(a + 1); int64(at) <= int64(n.n) {
		return at, nil
	}
	return 0, unknown(a)
}

// first, next and child return a node in n, or 0; up returns the parent, which for 0 is 0. They read
// nothing later than n (N1).
func (n Names) first(at uint32) uint32 {
	if n.n == 0 {
		return 0
	}
	return n.known(n.t.node(at).first.Load())
}

func (n Names) next(at uint32) uint32 { return n.known(n.t.node(at).next.Load()) }

func (n Names) child(at uint32, name string) uint32 {
	if n.n == 0 {
		return 0
	}
	return n.t.find(at, name, n.t.texts.hash(name), uint32(n.n))
}

func (n Names) up(at uint32) uint32 {
	if at == 0 {
		return 0
	}
	return n.t.node(at).parent.Load()
}

func (n Names) known(at uint32) uint32 {
	if int64(at) <= int64(n.n) {
		return at
	}
	return 0
}
