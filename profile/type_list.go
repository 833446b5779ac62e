package profile

import (
	"encoding/json"
	"slices"

	"github.com/granarydb/granary/columnstore"
	codec "github.com/granarydb/granary/profile/pprof"
)

// typeList is the types that a profile lists, in its order, and the type to show first. Rows keep
// neither, so each list is a note of the table.
type typeList struct {
	Types   []Type
	Default int  // index in Types
	Named   bool `json:",omitempty"` // the profile names a default type, known or not
}

// newTypeList returns the list of a profile. Without a default sample type the last type is shown first,
// as in go tool pprof.
func newTypeList(f *codec.Flat) typeList {
	l := typeList{Default: len(f.Types) - 1, Named: f.Preferred != ""}
	for i, t := range f.Types {
		typ := Type{f.Strings[t.Name], f.Strings[t.Unit], f.Strings[f.Period.Name], f.Strings[f.Period.Unit]}
		l.Types = append(l.Types, typ)
		if typ.Sample == f.Preferred && f.Preferred != "" {
			l.Default = i
		}
	}
	return l
}

// shown returns the default type for a merge of profiles with l and with lists of the same types. As in
// pprof, it comes from the first list that names one.
func (l typeList) shown(lists []typeList) Type {
	for _, other := range lists {
		if other.Named && slices.Equal(other.Types, l.Types) {
			return other.Types[other.Default]
		}
	}
	return l.Types[l.Default]
}

// note returns the list as a note of the table. Notes also keep types whose values are all zero.
func (l typeList) note() (string, error) {
	text, err := json.Marshal(l)
	return string(text), err
}

// tableLists are the type lists of a table. They are immutable.
type tableLists struct {
	notes []string
	all   []typeList
	sets  [][]Type // distinct sets of types of the lists
}

// typeLists returns the lists of a snapshot's profiles, including profiles without rows, in order of
// first commit. It skips notes of the table that are not lists.
func (db *DB) typeLists(snap *columnstore.Snapshot) (*tableLists, error) {
	notes, err := db.table.Notes(snap)
	if err != nil {
		return nil, err
	}
	if last := db.lists.Load(); last != nil && slices.Equal(last.notes, notes) {
		return last, nil
	}
	lists := &tableLists{notes: notes}
	for _, text := range notes {
		var l typeList
		if json.Unmarshal([]byte(text), &l) != nil || l.Default < 0 || l.Default >= len(l.Types) {
			continue
		}
		lists.all = append(lists.all, l)
		if !slices.ContainsFunc(lists.sets, func(types []Type) bool { return sameTypes(types, l.Types) }) {
			lists.sets = append(lists.sets, l.Types)
		}
	}
	db.lists.Store(lists)
	return lists, nil
}

// sameTypes reports whether two lists, each without duplicates, have the same types.
func sameTypes(a, b []Type) bool { return len(a) == len(b) && common(a, b) == len(a) }

// common returns how many types of a are also in b.
func common(a, b []Type) (n int) {
	for _, t := range a {
		if slices.Contains(b, t) {
			n++
		}
	}
	return n
}
