package union

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/names"
)

// ErrOwner is returned by Join if two members have states of the same attribute.
var ErrOwner = errors.New("attribute has states of two members")

// origin is an attribute in a member.
type origin struct {
	member    uint32
	attribute history.Attribute
}

// History is several histories as one. Any number of goroutines may read it. It is itself a [Member].
type History struct {
	names   history.Names
	members []Member
	places  []origin              // by attribute
	joined  [][]history.Attribute // by member, by its attribute
}

// Join makes one history from the members, which it keeps. They must have the same first and last instant.
// The seed keys the hashes of names, as in history.Options.Seed. Join costs 0.3 us and 12 bytes per
// attribute, in addition to its name, and two states for each attribute that several members have, for which
// a partial history may replay events.
//
// The errors are ErrOwner, with the attribute's path, history.ErrQuery for no members or different
// instants, history.ErrLimit for too many attributes, and any from Member.At.
func Join(ctx context.Context, seed uint64, members ...Member) (*History, error) {
	if len(members) == 0 {
		return nil, fmt.Errorf("%w: no members", history.ErrQuery)
	}
	h := &History{members: members, joined: make([][]history.Attribute, len(members))}
	tree := names.New(seed, math.MaxInt32)
	for i, m := range members {
		if m.Start() != h.Start() || m.End() != h.End() {
			return nil, fmt.Errorf("%w: member %d is from %d to %d, the first from %d to %d", history.ErrQuery, i, m.Start(), m.End(), h.Start(), h.End())
		}
		if err := h.add(ctx, tree, i); err != nil {
			return nil, fmt.Errorf("member %d: %w", i, err)
		}
	}
	h.names = tree.Names()
	return h, nil
}

// add adds a member's attributes.
func (h *History) add(ctx context.Context, tree *names.Tree, member int) error {
	of := h.members[member].Names()
	h.joined[member] = make([]history.Attribute, of.Len())
	for a := range history.Attribute(of.Len()) {
		parent, err := of.Parent(a)
		if err != nil {
			return err
		}
		if parent != history.Top {
			parent = h.joined[member][parent] // parents precede their children
		}
		name, err := of.Name(a)
		if err != nil {
			return err
		}
		j, isNew, err := tree.Add(parent, name)
		if err != nil {
			return err
		}
		h.joined[member][a] = j
		p := origin{uint32(member), a}
		if isNew {
			h.places = append(h.places, p)
		} else if err := h.share(ctx, j, p); err != nil {
			return err
		}
	}
	return nil
}

// share decides which member owns an attribute that several members have.
func (h *History) share(ctx context.Context, j history.Attribute, p origin) error {
	has, err := h.hasStates(ctx, p)
	if err != nil || !has {
		return err
	}
	former := h.places[j]
	if has, err = h.hasStates(ctx, former); err != nil {
		return err
	}
	if has {
		path, err := h.members[p.member].Names().Path(p.attribute)
		return errors.Join(fmt.Errorf("%w: %q, and member %d has them", ErrOwner, path, former.member), err)
	}
	h.places[j] = p
	return nil
}

// hasStates reports whether an attribute has a state other than null at any time.
func (h *History) hasStates(ctx context.Context, p origin) (bool, error) {
	m := h.members[p.member]
	if m.End() < m.Start() {
		return false, nil // the member has no instants
	}
	in, err := m.At(ctx, p.attribute, m.Start())
	return !in.Value.IsNull() || in.End < m.End(), err
}

// Names returns the attributes.
func (h *History) Names() history.Names { return h.names }

// Start returns the first instant.
func (h *History) Start() int64 { return h.members[0].Start() }

// End returns the last instant.
func (h *History) End() int64 { return h.members[0].End() }

// Place returns the member that owns an attribute, by its number in Join, and the attribute there. The
// error is history.ErrAttribute.
func (h *History) Place(a history.Attribute) (member int, there history.Attribute, err error) {
	p, err := h.place(a)
	return int(p.member), p.attribute, err
}

func (h *History) place(a history.Attribute) (origin, error) {
	if err := h.names.Known(a); err != nil {
		return origin{}, err
	}
	return h.places[a], nil
}
