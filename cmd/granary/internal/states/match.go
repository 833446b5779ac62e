package states

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/attrpath"
	"github.com/granarydb/granary/trace"
	"github.com/spf13/cobra"
)

// matchFlag adds --match.
func matchFlag(cmd *cobra.Command, patterns *[]string) {
	cmd.Flags().StringArrayVar(patterns, "match", nil, "only attributes that match `PATTERN`, such as 'Threads/*'; may be repeated (default: all)")
}

// match returns the attributes that match the patterns, each once. Patterns are in the given order, and the
// attributes of a pattern in the order of their names. Without patterns match returns all attributes, parents
// before children.
func match(ctx context.Context, names history.Names, patterns []string) ([]history.Attribute, error) {
	found := []history.Attribute{} // not nil, because nil would mean all
	if len(patterns) == 0 {
		return sortByName(names, slices.AppendSeq(found, names.Descendants(history.Top))), nil
	}
	known := map[history.Attribute]bool{history.Top: true} // the root is not an attribute, but a pattern can match it
	for _, text := range patterns {
		pattern, err := attrpath.ParsePattern(text)
		if err != nil {
			return nil, cli.Usage(fmt.Errorf("--match %w", err))
		}
		matched, err := pattern.Match(ctx, names, history.Top)
		if err != nil {
			return nil, err
		}
		hit := false
		for _, a := range sortByName(names, matched) {
			hit = hit || a != history.Top
			if !known[a] {
				known[a] = true
				found = append(found, a)
			}
		}
		if !hit {
			return nil, cli.Usage(fmt.Errorf("--match %q matches no attribute%s", text, topText(names, history.Top, nil)))
		}
	}
	return found, nil
}

// sortByName sorts attributes in depth-first order, siblings by name, and returns them.
func sortByName(names history.Names, attributes []history.Attribute) []history.Attribute {
	place := make([]int, names.Len()+1) // place of the attribute with the previous number, because 0 is the top
	next := 0
	ahead := []history.Attribute{history.Top}
	for len(ahead) > 0 {
		a := ahead[len(ahead)-1]
		ahead = ahead[:len(ahead)-1]
		place[a-history.Top] = next
		next++
		type child struct {
			attribute history.Attribute
			name      string
		}
		var children []child
		for c := range names.Children(a) {
			name, _ := names.Name(c) // ok, because c exists
			children = append(children, child{c, name})
		}
		slices.SortFunc(children, func(a, b child) int { return compareNames(b.name, a.name) })
		for _, c := range children { // in reverse, because the last pushed is visited first
			ahead = append(ahead, c.attribute)
		}
	}
	slices.SortFunc(attributes, func(a, b history.Attribute) int { return cmp.Compare(place[a-history.Top], place[b-history.Top]) })
	return attributes
}

// compareNames compares two names, with the numbers in them in numeric order: 9 is before 10, and cpu9 before
// cpu10. Only equal names compare as equal.
func compareNames(a, b string) int {
	wholeA, wholeB := a, b
	for a != "" && b != "" {
		digitsA, digitsB := digits(a), digits(b)
		if digitsA == 0 || digitsB == 0 {
			if a[0] != b[0] {
				return cmp.Compare(a[0], b[0])
			}
			a, b = a[1:], b[1:]
			continue
		}
		numberA, numberB := strings.TrimLeft(a[:digitsA], "0"), strings.TrimLeft(b[:digitsB], "0")
		if c := cmp.Or(cmp.Compare(len(numberA), len(numberB)), cmp.Compare(numberA, numberB)); c != 0 {
			return c
		}
		a, b = a[digitsA:], b[digitsB:]
	}
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(wholeA, wholeB))
}

// digits returns the number of leading digits in a text.
func digits(text string) int {
	n := 0
	for n < len(text) && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	return n
}

// lookup returns the attribute of a path from the command line.
func lookup(names history.Names, text string) (history.Attribute, error) {
	path, err := trace.ParsePath(text, trace.PathSeparator)
	if err != nil {
		return 0, cli.Usage(err)
	}
	at := history.Top
	for i, name := range path {
		next, err := names.LookupFrom(at, name)
		if err != nil {
			return 0, cli.Usage(fmt.Errorf("there is no attribute %q%s%s", text, topText(names, at, path[:i]), patternText(text)))
		}
		at = next
	}
	return at, nil
}

// patternText names the commands that take a pattern, for the error for a path that does not exist, if the
// path is a pattern.
func patternText(text string) string {
	if pattern, err := attrpath.ParsePattern(text); err == nil && !pattern.IsWild() && len(pattern.Path.Labels) == 0 {
		return ""
	}
	return "; patterns are for slice, sample and plot, with --match"
}

// topText lists some children of an attribute, for the error for a path that does not exist.
func topText(names history.Names, parent history.Attribute, path []string) string {
	const most = 8
	var children []string
	all := 0
	for c := range names.Children(parent) {
		if all++; all <= most {
			name, _ := names.Name(c) // ok, because c exists
			children = append(children, history.PathText([]string{name}))
		}
	}
	where := "at the top"
	if len(path) > 0 {
		where = "in " + history.PathText(path)
	}
	switch {
	case all == 0:
		return fmt.Sprintf(": %s there is none", where)
	case all > most:
		return fmt.Sprintf("; %s there are %s and %s", where, strings.Join(children, ", "), cli.Many(all-most, "other"))
	}
	return fmt.Sprintf("; %s there is: %s", where, strings.Join(children, ", "))
}
