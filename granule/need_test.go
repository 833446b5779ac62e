package granule

import (
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// TestNeed: Need bounds the growth of dictionaries and part, with and without looking values
// up, for any previous content.
func TestNeed(t *testing.T) {
	def := everything(0)
	s := mustSchema(t, def)
	rapid.Check(t, func(rt *rapid.T) {
		gen := NewGeneration(1)
		for range 3 {
			b := drawBatch(rt, def, rapid.IntRange(1, 40).Draw(rt, "rows"), true)
			columns, err := s.Check(b)
			if err != nil {
				rt.Fatal(err)
			}
			before := gen.Size()
			quick, exact := Need(s, gen, false, b, columns, nil, 1), Need(s, gen, true, b, columns, nil, 1)
			part := partOf(t, s, gen, b)
			if grew := gen.Size() - before + part.Size(); quick < grew || exact < grew {
				rt.Fatalf("%d rows grew by %d bytes, Need said %d, and %d looked up", b.Rows, grew, quick, exact)
			}
			if exact > quick {
				rt.Fatalf("Need of known values is %d, of unknown ones %d", exact, quick)
			}
		}
	})
}

// Known values need no room in dictionaries, although the quick estimate counts them.
func TestNeed_KnownStacks(t *testing.T) {
	s := mustSchema(t, schema.Definition{
		Columns: []schema.Column{
			{Name: "kind", Type: encoding.String, Encoding: encoding.DictionaryRLE},
			{Name: "stack", Type: encoding.UUIDList, Encoding: encoding.Dictionary},
			{Name: "value", Type: encoding.Int64, Encoding: encoding.Plain},
		},
		SortingKey: []string{"kind", "stack"},
	})
	const rows, depth = 500, 20
	stacks := make([][]uuid.UUID, rows)
	for i := range stacks {
		stacks[i] = make([]uuid.UUID, depth)
		for d := range stacks[i] {
			stacks[i][d] = uuid.UUID{byte(i), byte(i >> 8), byte(d)}
		}
	}
	records := map[uuid.UUID][]byte{stacks[0][0]: []byte("main.main")}
	b := &schema.Batch{Rows: rows, Records: records, Columns: map[string]encoding.Vector{
		"kind": encoding.Strings("cpu"), "stack": encoding.UUIDLists(stacks...), "value": encoding.Int64s(1),
	}}
	columns, err := s.Check(b)
	if err != nil {
		t.Fatal(err)
	}
	gen := NewGeneration(1)
	unknown := Need(s, gen, true, b, columns, nil, 1)
	partOf(t, s, gen, b)
	known, quick := Need(s, gen, true, b, columns, nil, 1), Need(s, gen, false, b, columns, nil, 1)
	if least := rows * depth * 16; unknown < least || quick < least || known > least {
		t.Errorf("Need is %d for unknown stacks, %d for known ones, %d without a look: %d is the elements alone", unknown, known, quick, least)
	}
}
