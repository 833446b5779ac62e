package arrowconv

import (
	"testing"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/memory"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/encoding/dict"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/schema"
)

func TestMain(m *testing.M) {
	effort.CollectRarely()
	goleak.VerifyTestMain(m)
}

// checked returns an allocator that fails the test if memory is left in it.
func checked(t *testing.T) memory.Allocator {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	t.Cleanup(func() { mem.AssertSize(t, 0) })
	return mem
}

// id returns a UUID that is told by one byte.
func id(b byte) uuid.UUID { return uuid.UUID{0: b, 15: ^b} }

// words is an encoded column and all that was read from it.
type words struct {
	from  *encoding.Column
	words []uint64
	valid []bool
}

// encode makes a column of a vector in the given encoding. Columns of one
// spec share its dictionaries.
func encode(t testing.TB, spec encoding.Spec, v encoding.Vector) words {
	t.Helper()
	b := encoding.NewBuilder(spec, v.Len())
	for i := range v.Len() {
		switch {
		case v.Null(i):
			b.Null()
		case spec.Type.Fixed():
			b.Word(fixedWord(&v, i))
		case spec.Encoding == encoding.Plain:
			b.Bytes(valueBytes(&v, i))
		case spec.Type == encoding.UUIDList:
			b.Word(internList(t, spec.Lists, v.UUIDLists[i]))
		default:
			code, err := spec.Dict.Intern(valueBytes(&v, i))
			if err != nil {
				t.Fatal(err)
			}
			b.Word(uint64(code))
		}
	}
	c := b.Build()
	return words{&c, c.Words().Append(nil, 0, c.Len()), c.AppendValid(nil, 0, c.Len())}
}

func fixedWord(v *encoding.Vector, i int) uint64 {
	switch v.Type {
	case encoding.Int64:
		return encoding.FromInt64(v.Int64s[i])
	case encoding.Uint64:
		return v.Uint64s[i]
	case encoding.Float64:
		return encoding.FromFloat64(v.Float64s[i])
	default:
		return encoding.FromBool(v.Bools[i])
	}
}

func valueBytes(v *encoding.Vector, i int) []byte {
	if v.Type == encoding.UUID {
		return v.UUIDs[i][:]
	}
	return []byte(v.Strings[i])
}

func internList(t testing.TB, lists *dict.Lists, list []uuid.UUID) uint64 {
	t.Helper()
	var codes []uint32
	for _, e := range list {
		code, err := lists.InternElement(e, nil)
		if err != nil {
			t.Fatal(err)
		}
		codes = append(codes, code)
	}
	code, err := lists.InternList(codes)
	if err != nil {
		t.Fatal(err)
	}
	return uint64(code)
}

// spec returns the spec of columns of a type; coded ones get new dictionaries.
func spec(typ encoding.Type, coded bool) encoding.Spec {
	s := encoding.Spec{Type: typ, Encoding: encoding.Plain}
	if coded {
		s.Encoding, s.Dict = encoding.Dictionary, dict.NewValues(1)
	}
	if typ == encoding.UUIDList {
		s = encoding.Spec{Type: typ, Encoding: encoding.Dictionary, Lists: dict.NewLists(1)}
	}
	return s
}

// tableOf returns a schema with one nullable column "c" of the type, and a
// family "labels" of strings.
func tableOf(t testing.TB, typ encoding.Type) *schema.Schema {
	t.Helper()
	e := encoding.Plain
	if typ == encoding.UUIDList {
		e = encoding.Dictionary
	}
	s, err := schema.New(schema.Definition{Columns: []schema.Column{
		{Name: "c", Type: typ, Encoding: e, Nullable: true},
		{Name: "labels", Type: encoding.String, Encoding: encoding.Dictionary, Dynamic: true},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// rows returns a vector as one Go value a row, nil for null.
func rows(v encoding.Vector) []any {
	out := make([]any, v.Len())
	for i := range out {
		if v.Null(i) {
			continue
		}
		switch v.Type {
		case encoding.Int64:
			out[i] = v.Int64s[i]
		case encoding.Uint64:
			out[i] = v.Uint64s[i]
		case encoding.Float64:
			out[i] = v.Float64s[i]
		case encoding.Bool:
			out[i] = v.Bools[i]
		case encoding.String:
			out[i] = v.Strings[i]
		case encoding.UUID:
			out[i] = v.UUIDs[i]
		default:
			out[i] = append([]uuid.UUID{}, v.UUIDLists[i]...)
		}
	}
	return out
}

// mustBatch reads the one column "c" of a record.
func mustBatch(t *testing.T, typ encoding.Type, rec arrow.Record) encoding.Vector {
	t.Helper()
	batch, err := Batch(tableOf(t, typ), rec)
	if err != nil {
		t.Fatalf("Batch: %v", err)
	}
	if batch.Rows != int(rec.NumRows()) {
		t.Fatalf("%d rows, want %d", batch.Rows, rec.NumRows())
	}
	return spreadOne(batch.Columns["c"], batch.Rows)
}

func diff(t *testing.T, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
