package page

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/tree"
	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/server/internal/source"
)

// lens returns how a query wants its stacks to be read.
func (q *pageQuestion) lens() tree.Lens {
	name := q.of.Get("granularity")
	by, ok := tree.ParseGranularity(name)
	if !ok {
		q.refuse(fault.Invalid("parameter granularity: want function, line, file, package or binary, not %s", fault.Quoted(name)))
	}
	return tree.Lens{By: by, Fold: q.flag("fold")}
}

// read returns the sides as the lens has them.
func read(r tree.Lens, sides []*profile.Stacks) []tree.StackList {
	out := make([]tree.StackList, len(sides))
	for i, s := range sides {
		out[i] = r.Of(s)
	}
	return out
}

// found sets what matches the search of a query, of frames that stand for more or less than functions.
func (of *Type) found(ctx context.Context, p *pageSides, r tree.Lens, sides []*profile.Stacks) (err error) {
	if p.search == nil || r.By == tree.ByFunction {
		return nil
	}
	for i, s := range sides {
		if of.Found[i], err = tree.Found(ctx, r.Of(s), p.search.MatchString); err != nil {
			return err
		}
	}
	return nil
}

// MostGroups bounds the values of a label at the root of a tree. A last group has all other values.
const MostGroups = 100

// checkGroup refuses what a tree with the values of a label at its root cannot have.
func (q *pageQuestion) checkGroup(label, function string) {
	if label == "" {
		return
	}
	if _, err := q.view.Store(source.Labels); err != nil {
		q.refuse(err)
	}
	for name, has := range map[string]bool{
		"function": function != "", "bq, bfrom or bto": q.of.Get("bq")+q.of.Get("bfrom")+q.of.Get("bto") != "",
		"h, p, state, status, attribute or shares": slices.ContainsFunc([]string{"h", "p", "state", "status", "attribute", "shares"}, q.of.Has),
	} {
		if has {
			q.refuse(fault.Invalid("parameter group: ask without %s", name))
		}
	}
}

// addGroups adds the stacks by the values of a label, each below a frame of its value.
func (q *pageQuestion) addGroups(ctx context.Context, calls *tree.Calls, p *pageSides, r tree.Lens, label string) error {
	ask := []source.Side{{Query: p.queries[0], Name: q.of.Get("t"), Selector: p.selectors[0]}}
	return q.view.Stacks(ctx, p.found, ask, func(found *source.Profiles) error {
		all, err := found.DB.MergeBy(ctx, found.Snap, p.typ, found.Queries[0], label)
		if err != nil {
			return err
		}
		slices.SortStableFunc(all, func(a, b profile.StackGroup) int { return cmp.Compare(b.Stacks.Magnitude, a.Stacks.Magnitude) })
		for i, g := range all {
			r.Root = valueName(label, g.Labels)
			if i >= MostGroups-1 && len(all) > MostGroups {
				r.Root = fmt.Sprintf("%d other values of %s", len(all)-MostGroups+1, label)
			}
			if err := calls.Add(ctx, 0, r.Of(g.Stacks)); err != nil {
				return err
			}
		}
		return nil
	})
}

// valueName returns the name of the frame of a label's value.
func valueName(label string, of []profile.Label) string {
	for _, l := range of {
		if l.Name == label && l.Value != "" {
			return label + "=" + l.Value
		}
	}
	return "no " + label
}
