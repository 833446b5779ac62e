package granule

import (
	"math"
	"testing"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// fuzzed is a table with rows that a few bytes can fill.
var fuzzed = schema.Definition{
	Columns: []schema.Column{
		{Name: "kind", Type: encoding.String, Encoding: encoding.DictionaryRLE, Nullable: true},
		{Name: "labels", Type: encoding.String, Encoding: encoding.DictionaryRLE, Dynamic: true},
		{Name: "stack", Type: encoding.UUIDList, Encoding: encoding.Dictionary},
		{Name: "time", Type: encoding.Int64, Encoding: encoding.Delta},
		{Name: "note", Type: encoding.String, Encoding: encoding.Plain, Nullable: true},
		{Name: "ratio", Type: encoding.Float64, Encoding: encoding.Plain, Nullable: true},
		{Name: "value", Type: encoding.Int64, Encoding: encoding.Plain},
	},
	SortingKey: []string{"kind", "labels", "stack", "time", "note", "ratio"},
}

// reader takes values from bytes; at their end it gives zeros.
type reader []byte

func (r *reader) byte() byte {
	if len(*r) == 0 {
		return 0
	}
	b := (*r)[0]
	*r = (*r)[1:]
	return b
}

// text takes up to three bytes of text.
func (r *reader) text() string {
	n := int(r.byte() % 4)
	s := make([]byte, n)
	for i := range s {
		s[i] = r.byte() & 0x7f
	}
	return string(s)
}

func (r *reader) int() int64 {
	v := int64(int8(r.byte()))
	return v << (r.byte() % 57)
}

func (r *reader) batch() *schema.Batch {
	n := 1 + int(r.byte()%8)
	b := &schema.Batch{Rows: n}
	kind := encoding.Vector{Type: encoding.String}
	note := encoding.Vector{Type: encoding.String}
	ratio := encoding.Vector{Type: encoding.Float64}
	var pod, job []string
	var stacks [][]uuid.UUID
	var times, values []int64
	for range n {
		flags := r.byte()
		kind.Valid = append(kind.Valid, flags&1 > 0)
		kind.Strings = append(kind.Strings, r.text())
		note.Valid = append(note.Valid, flags&2 > 0)
		note.Strings = append(note.Strings, r.text())
		ratio.Valid = append(ratio.Valid, flags&4 > 0)
		ratio.Float64s = append(ratio.Float64s, math.Float64frombits(uint64(r.int())))
		pod, job = append(pod, r.text()), append(job, r.text())
		var stack []uuid.UUID
		for range flags >> 6 {
			stack = append(stack, uuid.UUID{r.byte()})
		}
		stacks = append(stacks, stack)
		times, values = append(times, r.int()), append(values, r.int())
	}
	b.Columns = map[string]encoding.Vector{
		"kind": kind, "labels.pod": encoding.Strings(pod...), "labels.job": encoding.Strings(job...),
		"stack": encoding.UUIDLists(stacks...), "time": encoding.Int64s(times...),
		"note": note, "ratio": ratio, "value": encoding.Int64s(values...),
	}
	return b
}

// FuzzRewrite makes parts of any bytes and checks that a rewrite, with a part
// that arrives while it runs, is the identity on rows (G3) and keeps to the
// bounds (G2, G4).
func FuzzRewrite(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\x03\x02granule"))
	f.Add([]byte("\x02\x05\x07\xc7abc\x00\x01\x02\x03\xff\x80\x7fkind\x00note\x00\x00\xff\x01\x02\x03"))
	f.Add([]byte("\x01\x01\x03\x40\x02\x00\x00\x01\x41\x02\x00\xff\x01\x42\x00\x00\x00\x00\x00\x01\x07"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := mustSchema(t, fuzzed)
		gen := NewGeneration(1)
		r := reader(data)
		maxRows := 1 + int(r.byte()%16)
		var want []row
		g := New("", "")
		for range 1 + r.byte()%6 {
			b := r.batch()
			want = append(want, rowsOf(fuzzed, b)...)
			g = g.With(whole(partOf(t, s, gen, b)))
		}
		children := Rewrite(s, g, Limit{Rows: maxRows})
		checkRewrite(t, s, g, children, maxRows)
		checkSameRows(t, "G3: rewrite", want, decodeAll(t, s, children...))

		late := r.batch()
		want = append(want, rowsOf(fuzzed, late)...)
		successors, ok := g.With(whole(partOf(t, s, gen, late))).Succeed(s, g, children)
		if !ok {
			t.Fatal("Succeed = false, want true")
		}
		checkTiling(t, s, "", "", successors)
		checkSameRows(t, "successors", want, decodeAll(t, s, successors...))
		for _, child := range successors {
			checkRewrite(t, s, child, Rewrite(s, child, Limit{Rows: maxRows}), maxRows)
		}
	})
}
