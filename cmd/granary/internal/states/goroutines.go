package states

import (
	"slices"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/trace/golang"
)

// functionName is the attribute below a goroutine that names it.
const functionName = "function"

// asides are the attributes below a goroutine that say which one it is and what woke it, not what it does.
var asides = []string{functionName, "goid", "label", "woken by"}

// functionOf returns a function for render.TimeOptions.Label: the first function of a goroutine from an instant on.
func functionOf(v *history.View, from int64) func(history.Attribute) string {
	top, err := v.Lookup(golang.Goroutines)
	if err != nil {
		return nil
	}
	return func(a history.Attribute) string {
		if parent, err := v.Parent(a); err != nil || parent != top {
			return ""
		}
		function, err := v.LookupFrom(a, functionName)
		if err != nil {
			return ""
		}
		in, ok, err := v.NextNonNull(function, from)
		if err != nil || !ok {
			return ""
		}
		return in.Value.Text()
	}
}

// functionAt returns the function of the goroutine of an attribute from an instant on, or "" for other attributes.
func (r *recording) functionAt(a history.Attribute, at int64) string {
	if r.whole == nil {
		return ""
	}
	if of := functionOf(r.whole, at); of != nil {
		return of(a)
	}
	return ""
}

// withoutAsides omits the asides of goroutines.
func withoutAsides(names history.Names, attributes []history.Attribute) []history.Attribute {
	top, err := names.Lookup(golang.Goroutines)
	if err != nil {
		return attributes
	}
	return slices.DeleteFunc(attributes, func(a history.Attribute) bool {
		name, err := names.Name(a)
		if err != nil || !slices.Contains(asides, name) {
			return false
		}
		parent, err := names.Parent(a)
		if err != nil || parent == history.Top {
			return false
		}
		above, err := names.Parent(parent)
		return err == nil && above == top
	})
}
