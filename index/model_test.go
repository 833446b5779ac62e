package index

import (
	"fmt"
	"slices"
	"sort"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// model is the index as a sorted slice: slow, and plainly right.
type model []modelEntry

type modelEntry struct {
	Bound string
	Value int
}

// above returns the number of entries with a bound at or below key.
func (m model) above(key string) int {
	return sort.Search(len(m), func(i int) bool { return m[i].Bound > key })
}

func (m model) set(bound string, value int) model {
	m = m.delete(bound)
	return slices.Insert(m, m.above(bound), modelEntry{bound, value})
}

func (m model) delete(bound string) model {
	return slices.DeleteFunc(slices.Clone(m), func(e modelEntry) bool { return e.Bound == bound })
}

// overlapping returns the entries whose range [bound, next bound) has a key of
// [lo, hi).
func (m model) overlapping(lo, hi string) model {
	var out model
	for i, e := range m {
		endsAfter := i+1 == len(m) || m[i+1].Bound > lo
		if endsAfter && (hi == "" || e.Bound < hi) {
			out = append(out, e)
		}
	}
	return out
}

func (m model) values() (values []int) {
	for _, e := range m {
		values = append(values, e.Value)
	}
	return values
}

func collect(seq func(func(string, int) bool)) model {
	var out model
	for bound, value := range seq {
		out = append(out, modelEntry{bound, value})
	}
	return out
}

// boundGen makes few and close bounds, so that edits meet entries.
var boundGen = rapid.StringOfN(rapid.RuneFrom([]rune("ab\x00")), 0, 4, -1)

// X1, X2, X3: after any edits, published or dropped, every version made so far answers as the
// sorted slice did when the version was made.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type frozen struct {
			version *Version[int]
			want    model
		}
		versions := []frozen{{New[int](), nil}}
		var edit *Edit[int]
		var pending model
		start := func() {
			if edit == nil {
				last := versions[len(versions)-1]
				edit, pending = last.version.Edit(), slices.Clone(last.want)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"set": func(t *rapid.T) {
				start()
				bound, value := boundGen.Draw(t, "bound"), rapid.Int().Draw(t, "value")
				edit.Set(bound, value)
				pending = pending.set(bound, value)
			},
			"amend": func(t *rapid.T) {
				start()
				bound, value := boundGen.Draw(t, "bound"), rapid.Int().Draw(t, "value")
				edit.Amend(bound, value)
				pending = pending.set(bound, value)
			},
			"amend all": func(t *rapid.T) { // more than are kept beside the tree
				start()
				value := rapid.Int().Draw(t, "value")
				for i := range pending {
					edit.Amend(pending[i].Bound, value+i)
					pending[i].Value = value + i
				}
			},
			"set many": func(*rapid.T) {
				start()
				for i := range maxAmended + 8 {
					bound := fmt.Sprintf("b%02d", i)
					edit.Set(bound, i)
					pending = pending.set(bound, i)
				}
			},
			"delete": func(t *rapid.T) {
				start()
				bound := boundGen.Draw(t, "bound")
				edit.Delete(bound)
				pending = pending.delete(bound)
			},
			"get, then amend": func(t *rapid.T) {
				start()
				bound, value := boundGen.Draw(t, "bound"), rapid.Int().Draw(t, "value")
				got, ok := edit.Get(bound)
				i := slices.IndexFunc(pending, func(e modelEntry) bool { return e.Bound == bound })
				if ok != (i >= 0) || ok && got != pending[i].Value {
					t.Fatalf("Get(%q) = %d, %t; the model has it at %d", bound, got, ok, i)
				}
				switch rapid.IntRange(0, 3).Draw(t, "before") {
				case 0:
					edit.Delete(bound)
				case 1:
					edit.Set(bound, value-1)
				}
				edit.Amend(bound, value)
				pending = pending.set(bound, value)
			},
			"rest of the edit": func(t *rapid.T) {
				start()
				if diff := cmp.Diff(pending, collect(edit.Between("", "")), cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("entries of the edit (-want +got):\n%s", diff)
				}
				if bound, value, ok := edit.First(); ok != (len(pending) > 0) || ok && pending[0] != (modelEntry{bound, value}) {
					t.Fatalf("First() = %q, %d, %t", bound, value, ok)
				}
			},
			"floor of the edit": func(t *rapid.T) {
				start()
				key := boundGen.Draw(t, "key")
				bound, value, ok := edit.Floor(key)
				checkFloor(t, pending, key, modelEntry{bound, value}, ok)
			},
			"done": func(*rapid.T) {
				start()
				versions = append(versions, frozen{edit.Done(), pending})
				edit = nil
			},
			"drop": func(*rapid.T) { edit = nil },
			"read": func(t *rapid.T) {
				v := rapid.SampledFrom(versions).Draw(t, "version")
				key, hi := boundGen.Draw(t, "key"), boundGen.Draw(t, "hi")
				bound, value, ok := v.version.Floor(key)
				checkFloor(t, v.want, key, modelEntry{bound, value}, ok)
				checkGet(t, v.version, v.want, key)
				if hi == "" || key < hi {
					want, got := v.want.overlapping(key, hi), collect(v.version.Overlapping(key, hi))
					if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
						t.Fatalf("Overlapping(%q, %q) (-want +got):\n%s", key, hi, diff)
					}
					for _, again := range []bool{false, true} { // the second call may use the list made by the first
						if diff := cmp.Diff(want.values(), v.version.AppendOverlapping(nil, key, hi), cmpopts.EquateEmpty()); diff != "" {
							t.Fatalf("AppendOverlapping(%q, %q), again %v (-want +got):\n%s", key, hi, again, diff)
						}
					}
				}
			},
			"": func(t *rapid.T) {
				for i, v := range versions {
					checkAmended(t, v.version)
					if v.version.Len() != len(v.want) {
						t.Fatalf("version %d: Len() = %d, want %d", i, v.version.Len(), len(v.want))
					}
					if diff := cmp.Diff(v.want, collect(v.version.All()), cmpopts.EquateEmpty()); diff != "" {
						t.Fatalf("version %d changed (-want +got):\n%s", i, diff)
					}
				}
			},
		})
	})
}

func checkFloor(t *rapid.T, m model, key string, got modelEntry, ok bool) {
	t.Helper()
	n := m.above(key)
	if ok != (n > 0) {
		t.Fatalf("Floor(%q) found an entry: %t, want %t", key, ok, n > 0)
	}
	if ok && got != m[n-1] {
		t.Fatalf("Floor(%q) = %v, want %v", key, got, m[n-1])
	}
}

func checkGet(t *rapid.T, v *Version[int], m model, bound string) {
	t.Helper()
	value, ok := v.Get(bound)
	i := slices.IndexFunc(m, func(e modelEntry) bool { return e.Bound == bound })
	if ok != (i >= 0) || ok && value != m[i].Value {
		t.Fatalf("Get(%q) = %d, %t; the model has it at %d", bound, value, ok, i)
	}
}
