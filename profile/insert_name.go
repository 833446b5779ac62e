package profile

import (
	"maps"
	"slices"
	"strings"

	codec "github.com/granarydb/granary/profile/pprof"
)

// originNames are the names of Go's profiles that share their types with another profile. Its
// heap and allocs profiles count the same allocations: only the rarer one gets a name, as files
// of heap profiles have many.
var originNames = []struct{ types, names []string }{
	{[]string{"contentions", "delay"}, []string{"block", "mutex"}},
	{[]string{"alloc_objects", "alloc_space", "inuse_objects", "inuse_space"}, []string{"allocs"}},
}

// labelsOf returns the labels of a profile: those of opts, and the name in its origin.
func (opts InsertOptions) labelsOf(f *codec.Flat) map[string]string {
	if opts.Origin == "" || opts.Labels[NameLabel] != "" {
		return opts.Labels
	}
	for _, of := range originNames {
		same := func(name string, t codec.FlatType) bool { return name == f.Strings[t.Name] }
		if !slices.EqualFunc(of.types, f.Types, same) {
			continue
		}
		name := nameIn(opts.Origin, of.names)
		if name == "" {
			break
		}
		labels := maps.Clone(opts.Labels)
		if labels == nil {
			labels = map[string]string{}
		}
		labels[NameLabel] = name
		return labels
	}
	return opts.Labels
}

// nameIn returns the only one of some names that is a word of the last element of a path or
// URL, or if none is, of the element before it. It returns "" otherwise.
func nameIn(origin string, names []string) string {
	if _, rest, isURL := strings.Cut(origin, "://"); isURL {
		_, origin, _ = strings.Cut(rest, "/") // not the host
		origin, _, _ = strings.Cut(origin, "?")
	}
	elements := strings.FieldsFunc(origin, func(r rune) bool { return r == '/' || r == '\\' })
	for _, element := range slices.Backward(elements[max(0, len(elements)-2):]) {
		var found []string
		for word := range strings.FieldsFuncSeq(strings.ToLower(element), func(r rune) bool { return r < 'a' || r > 'z' }) {
			if slices.Contains(names, word) && !slices.Contains(found, word) {
				found = append(found, word)
			}
		}
		switch len(found) {
		case 0:
		case 1:
			return found[0]
		default:
			return ""
		}
	}
	return ""
}
