package pprof

import (
	"slices"
	"strings"
)

// originNames are the names of Go's profiles that share their types with another profile. Heap and allocs
// profiles count the same allocations, and only allocs, the rarer of the two, gets a name, because heap
// profiles have files with many names.
var originNames = []struct{ types, names []string }{
	{[]string{"contentions", "delay"}, []string{"block", "mutex"}},
	{[]string{"alloc_objects", "alloc_space", "inuse_objects", "inuse_space"}, []string{"allocs"}},
}

// NameIn returns the name of a Go profile, block, mutex or allocs, if its types do not tell it and
// origin, the name of its file or URL, does. It returns "" for other profiles.
func (f *Flat) NameIn(origin string) string {
	same := func(name string, t FlatType) bool { return name == f.Strings[t.Name] }
	for _, of := range originNames {
		if slices.EqualFunc(of.types, f.Types, same) {
			return nameIn(origin, of.names)
		}
	}
	return ""
}

// nameIn returns the only name in names that is a word of the last element of a path or URL, or if none
// is, of the element before it. It returns "" otherwise.
func nameIn(origin string, names []string) string {
	if _, rest, isURL := strings.Cut(origin, "://"); isURL {
		_, origin, _ = strings.Cut(rest, "/") // without the host
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
