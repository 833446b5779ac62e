package profile

import (
	"slices"

	codec "github.com/granarydb/granary/profile/pprof"
)

// flat is a profile to insert, with the columns of its labels.
type flat struct {
	codec.Flat
	columns labelColumns
}

// reset empties f and keeps its memory.
func (f *flat) reset() {
	f.Reset()
	f.columns.reset()
}

// kind returns the kind of a profile. Without a default sample type the last one is shown
// first, as in go tool pprof.
func (f *flat) kind() kind {
	k := kind{Default: len(f.Types) - 1, Named: f.Preferred != ""}
	for i, t := range f.Types {
		typ := Type{f.Strings[t.Name], f.Strings[t.Unit], f.Strings[f.Period.Name], f.Strings[f.Period.Unit]}
		k.Types = append(k.Types, typ)
		if typ.Sample == f.Preferred && f.Preferred != "" {
			k.Default = i
		}
	}
	return k
}

// isEmpty reports whether a profile has no rows.
func (f *flat) isEmpty(zeros bool) bool {
	return len(f.Values) == 0 || !zeros && !slices.ContainsFunc(f.Values, func(v int64) bool { return v != 0 })
}
