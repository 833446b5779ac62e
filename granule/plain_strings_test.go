package granule

import (
	"fmt"
	"math"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// Parts store the strings that a full dictionary lacks, and use the codes of the others. A rewrite of both kinds of
// parts, and their images, have the same rows.
func TestPlainStrings(t *testing.T) {
	def := schema.Definition{
		Columns: []schema.Column{
			{Name: "n", Type: encoding.Int64, Encoding: encoding.Plain},
			{Name: "name", Type: encoding.String, Encoding: encoding.Dictionary, Nullable: true},
			{Name: "tags", Type: encoding.String, Encoding: encoding.DictionaryRLE, Dynamic: true},
			{Name: "id", Type: encoding.UUID, Encoding: encoding.Dictionary, Nullable: true},
		},
		SortingKey: []string{"n", "name"},
	}
	s, gen := mustSchema(t, def), NewGeneration(1)
	g := New("", "")
	var want []row
	add := func(plain bool, columns map[string]encoding.Vector) {
		t.Helper()
		b := &schema.Batch{Rows: 4, Columns: columns}
		columns["n"] = encoding.Int64s(1, 2, 1, 2)
		p := partOf(t, s, gen, b)
		want = append(want, rowsOf(def, b)...)
		checkSameRows(t, "part", rowsOf(def, b), decode(t, s, whole(p)))
		if got := p.Find(1, "name").Dict() == nil; got != plain {
			t.Errorf("part %d is plain: %t", g.Parts(), got)
		}
		copyPart(t, s, p, copyGeneration(t, s, gen))
		if _, _, found := p.AppendSearchable(s, nil, nil); len(found) > 0 {
			t.Errorf("columns %v have ids of their own", found)
		}
		g = g.With(whole(p))
	}
	nullable := encoding.Vector{Type: encoding.String, Strings: []string{"", "known", "", "new"}, Valid: []bool{false, true, true, true}}
	add(false, map[string]encoding.Vector{"name": encoding.Strings("known", "", "a", "b"), "tags.t": encoding.Strings("known", "", "a", "b")})
	coded := Rewrite(s, g, Limit{Rows: math.MaxInt})[0]
	gen.MostStrings = gen.Strings.Size() + 1
	add(false, map[string]encoding.Vector{"name": encoding.Strings("fits", "", "a", "b"), "id": encoding.UUIDs(ids[1])})
	entries := gen.Strings.Len()
	gen.MostStrings = gen.Strings.Size()
	add(true, map[string]encoding.Vector{"name": nullable, "tags.t": encoding.Strings("known", "b", "a", "b"), "id": encoding.UUIDs(ids[2])})
	add(false, map[string]encoding.Vector{"name": encoding.Strings("known", "b", "known", "")})
	add(false, map[string]encoding.Vector{"name": encoding.Strings("known")})
	add(true, map[string]encoding.Vector{"name": encoding.Strings("new"), "tags.t": encoding.Strings("", "", "", "new")})
	if gen.Strings.Len() != entries {
		t.Errorf("a full dictionary has %d values, had %d", gen.Strings.Len(), entries)
	}
	for _, maxRows := range []int{math.MaxInt, 7} {
		children := Rewrite(s, g, Limit{Rows: maxRows})
		checkRewrite(t, s, g, children, maxRows)
		checkSameRows(t, fmt.Sprintf("rewrite to %d rows", maxRows), want, decodeAll(t, s, children...))
		for _, child := range children {
			copyPart(t, s, child.base.Part, copyGeneration(t, s, gen))
		}
	}
	if c := coded.base.Part.Find(1, "name"); c.Dict() == nil {
		t.Error("a rewrite of coded strings stores them")
	}
	base := Rewrite(s, g, Limit{Rows: math.MaxInt})[0].base.Part
	got := map[string]bool{}
	for _, c := range base.Columns() {
		got[c.Name] = c.Type() == encoding.String && c.Dict() == nil
	}
	if diff := gocmp.Diff(map[string]bool{"n": false, "name": true, "tags.t": true, "id": false}, got); diff != "" {
		t.Errorf("columns with values of their own (-want +got):\n%s", diff)
	}
}
