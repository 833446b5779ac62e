package states

import (
	"cmp"
	"slices"
	"strings"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/stats"
)

// The orders of rows.
const (
	sortChanges = "changes"
	sortWaits   = "waits"
)

// foundRows returns the attributes with a text in their path or label, in any case, and those below them.
func foundRows(names history.Names, attributes []history.Attribute, text string, label func(history.Attribute) string) (out []history.Attribute) {
	if text == "" {
		return attributes
	}
	text = strings.ToLower(text)
	found := map[history.Attribute]bool{}
	for _, a := range attributes { // parents first
		path, err := names.AppendPath(nil, a)
		name := strings.ToLower(string(path))
		if label != nil {
			name += "\x00" + strings.ToLower(label(a))
		}
		parent, _ := names.Parent(a) // ok, because the attribute is one of the history
		if err == nil && (found[parent] || strings.Contains(name, text)) {
			found[a] = true
			out = append(out, a)
		}
	}
	return out
}

// byWaits orders attributes by their longest waits in a span, each followed by those below it, and returns the first ones.
func byWaits(v *history.View, attributes []history.Attribute, in span, most int, done func() error) ([]history.Attribute, error) {
	type group struct {
		all  []history.Attribute
		wait uint64
	}
	isThere := map[history.Attribute]bool{}
	for _, a := range attributes {
		isThere[a] = true
	}
	var groups []*group
	of := map[history.Attribute]*group{}
	for _, a := range attributes {
		top := a
		for at := a; at != history.Top; {
			parent, err := v.Parent(at)
			if err != nil {
				return nil, err
			}
			if at = parent; isThere[at] {
				top = at
			}
		}
		if of[top] == nil {
			of[top] = &group{}
			groups = append(groups, of[top])
		}
		wait, err := stats.LongestWait(v, a, in.from, in.to)
		if err = cmp.Or(err, done()); err != nil {
			return nil, err
		}
		of[top].all, of[top].wait = append(of[top].all, a), max(of[top].wait, wait)
	}
	slices.SortStableFunc(groups, func(a, b *group) int { return cmp.Compare(b.wait, a.wait) })
	var out []history.Attribute
	for _, g := range groups {
		out = append(out, g.all...)
	}
	return out[:min(len(out), most)], nil
}
