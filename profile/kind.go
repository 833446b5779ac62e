package profile

import (
	"encoding/json"
	"slices"

	codec "github.com/granarydb/granary/profile/pprof"
)

// kind is the types of the profiles of one source, in their own order, and the type to show
// first. Rows keep neither the order nor that type.
type kind struct {
	Types   []Type
	Default int  // index in Types
	Named   bool `json:",omitempty"` // the profile names a default type, known or not
}

// newKind returns the kind of a profile. Without a default sample type the last one is shown
// first, as in go tool pprof.
func newKind(f *codec.Flat) kind {
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

// shown returns the default type of a merge of k and the kinds with the same types. As in
// pprof it is that of the first kind that names one.
func (k kind) shown(kinds []kind) Type {
	for _, other := range kinds {
		if other.Named && slices.Equal(other.Types, k.Types) {
			return other.Types[other.Default]
		}
	}
	return k.Types[k.Default]
}

// note returns the kind as a note of the table. Notes also keep types whose values are all
// zero.
func (k kind) note() (string, error) {
	text, err := json.Marshal(k)
	return string(text), err
}
