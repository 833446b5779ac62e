package fanout

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/granarydb/granary/profile"
)

// A node with several kinds refuses a query that must not add up profiles of several kinds. A front also
// has to know whether two nodes have different kinds, so it asks for an answer's kinds.

// KindsHeader is the header of a front's query that asks for the answer's kinds, and the header of the
// answer with them.
const KindsHeader = "Granary-Kinds"

// kind is a kind of profiles in KindsHeader.
type kind struct {
	Name  string
	Types []profile.Type
}

// maxKinds bounds the bytes of KindsHeader. A store has a dozen kinds.
const maxKinds = 64 << 10

// EncodeKinds returns the value of KindsHeader in an answer: the kinds that have one of types, or all
// kinds if there are no types.
func EncodeKinds(found []profile.ProfileKind, types ...profile.Type) (string, error) {
	kinds := []kind{} // null would mean no answer
	for _, k := range found {
		if len(types) == 0 || slices.ContainsFunc(types, func(t profile.Type) bool { return slices.Contains(k.Types, t) }) {
			kinds = append(kinds, kind{k.Name, k.Types})
		}
	}
	text, err := json.Marshal(kinds)
	return string(text), err
}

// kindsOf has the kinds that nodes have, by type.
type kindsOf map[profile.Type][]profile.ProfileKind

// add adds the kinds in a node's answer.
func (of kindsOf) add(n *node, header string) error {
	var kinds []kind
	if len(header) > maxKinds {
		return n.away("%d bytes of kinds of profiles, at most %d", len(header), maxKinds)
	}
	if err := json.Unmarshal([]byte(header), &kinds); err != nil || kinds == nil {
		return n.away("an answer without the kinds of its profiles: is it a Granary of this version?")
	}
	for _, k := range kinds {
		for _, t := range k.Types {
			if !slices.ContainsFunc(of[t], k.is) {
				of[t] = append(of[t], profile.ProfileKind{Name: k.Name, Types: k.Types})
			}
		}
	}
	return nil
}

// is reports whether two kinds on two nodes are the same, by the rule for kinds on one node (P8 of profile): by their name, or
// without one by their types.
func (k kind) is(other profile.ProfileKind) bool {
	if k.Name != "" || other.Name != "" {
		return k.Name == other.Name
	}
	has := func(types []profile.Type) func(profile.Type) bool {
		return func(t profile.Type) bool { return !slices.Contains(types, t) }
	}
	return !slices.ContainsFunc(k.Types, has(other.Types)) && !slices.ContainsFunc(other.Types, has(k.Types))
}

// check returns a profile.MixedError if types, or the types of an answer without any, have several kinds.
func (of kindsOf) check(types ...profile.Type) error {
	for t, kinds := range of {
		if len(kinds) > 1 && (len(types) == 0 || slices.Contains(types, t)) {
			return fmt.Errorf("over all nodes: %w", &profile.MixedError{Type: t, Kinds: kinds})
		}
	}
	return nil
}
