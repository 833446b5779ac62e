package fanout

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/granarydb/granary/profile"
)

// A node with several kinds refuses a query that must not add up profiles of several kinds. A front also
// has to know whether two nodes have different kinds, so it asks for an answer's kinds.

// KindsHeader is the header of a front's query that asks for the answer's kinds, and the header of the
// answer with them.
const KindsHeader = "Granary-Kinds"

// kind is a kind of profiles in KindsHeader. Without sources there are too many.
type kind struct {
	Name    string
	Types   []profile.Type
	Sources [][]profile.Label `json:",omitempty"`
}

// maxKinds bounds the bytes of KindsHeader. A store has a dozen kinds.
const maxKinds = 64 << 10

// maxSources bounds the sources of all kinds in KindsHeader. They tell kinds apart for people.
const maxSources = 100

// EncodeKinds returns the value of KindsHeader in an answer: the kinds that have one of types, or all
// kinds if there are no types.
func EncodeKinds(found []profile.ProfileKind, types ...profile.Type) (string, error) {
	kinds, sources := []kind{}, 0 // null would mean no answer
	for _, k := range found {
		if len(types) == 0 || slices.ContainsFunc(types, func(t profile.Type) bool { return slices.ContainsFunc(k.Types, t.Includes) }) {
			kinds = append(kinds, kind{k.Name, k.Types, k.Sources})
			sources += len(k.Sources)
		}
	}
	text, err := json.Marshal(kinds)
	if sources > maxSources || len(text) > maxKinds/2 {
		for i := range kinds {
			kinds[i].Sources = nil
		}
		text, err = json.Marshal(kinds)
	}
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
			of[t] = append(of[t], profile.ProfileKind{Name: k.Name, Types: k.Types, Sources: k.Sources})
		}
	}
	return nil
}

// join adds the kinds of another node.
func (of kindsOf) join(other kindsOf) {
	for t, kinds := range other {
		of[t] = append(of[t], kinds...)
	}
}

// check returns a profile.MixedError if types, or the types of an answer without any, have several kinds by the rule for kinds
// on one node (P8 of profile).
func (of kindsOf) check(types ...profile.Type) error {
	if len(types) == 0 {
		types = slices.Collect(maps.Keys(of))
	}
	for _, t := range types {
		var kinds []profile.ProfileKind
		for own, all := range of {
			if !t.Includes(own) {
				continue
			}
			for _, k := range all {
				same := slices.IndexFunc(kinds, func(other profile.ProfileKind) bool { return k.AddsTo(other, t) })
				switch {
				case same < 0:
					kinds = append(kinds, k)
				case k.Sources == nil || kinds[same].Sources == nil:
					kinds[same].Sources = nil
				default:
					kinds[same].Sources = append(slices.Clip(kinds[same].Sources), k.Sources...)
				}
			}
		}
		if len(kinds) > 1 {
			slices.SortFunc(kinds, func(a, b profile.ProfileKind) int { return cmp.Compare(a.String(), b.String()) })
			profile.SeparateKinds(kinds)
			return fmt.Errorf("over all nodes: %w", &profile.MixedError{Type: t, Kinds: kinds})
		}
	}
	return nil
}
