package arrowconv

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
)

// benchRows is the size of the records that are measured.
const benchRows = 64 << 10

// benchVector returns rows of a type: strings and UUIDs of 1,000 values, lists
// of 4,000 of 30 elements each.
func benchVector(typ encoding.Type) encoding.Vector {
	r := rand.New(rand.NewPCG(1, 2))
	v := encoding.Vector{Type: typ}
	var stacks [][]uuid.UUID
	for range 4000 {
		var stack []uuid.UUID
		for range 30 {
			stack = append(stack, id(byte(r.Uint32())))
		}
		stacks = append(stacks, stack)
	}
	for range benchRows {
		n := r.IntN(1000)
		switch typ {
		case encoding.Int64:
			v.Int64s = append(v.Int64s, int64(n))
		case encoding.Bool:
			v.Bools = append(v.Bools, n%2 == 0)
		case encoding.String:
			v.Strings = append(v.Strings, fmt.Sprintf("pod-%d", n))
		case encoding.UUID:
			v.UUIDs = append(v.UUIDs, uuid.UUID{byte(n), byte(n >> 8)})
		default:
			v.UUIDLists = append(v.UUIDLists, stacks[r.IntN(len(stacks))])
		}
	}
	return v
}

func benchCases() []Field {
	return []Field{
		{Name: "int64", Type: encoding.Int64},
		{Name: "bool", Type: encoding.Bool},
		{Name: "string", Type: encoding.String},
		{Name: "string-coded", Type: encoding.String, Coded: true},
		{Name: "uuid", Type: encoding.UUID},
		{Name: "uuid-coded", Type: encoding.UUID, Coded: true},
		{Name: "list", Type: encoding.UUIDList, Coded: true},
	}
}

func BenchmarkWords(b *testing.B) {
	for _, form := range allForms {
		for _, f := range benchCases() {
			b.Run(fmt.Sprintf("form=%v/type=%s", form, f.Name), func(b *testing.B) {
				w := encode(b, spec(f.Type, f.Coded), benchVector(f.Type))
				f.Runs = true
				out := NewRecordBuilder(nil, form, []Field{f})
				defer out.Release()
				b.ReportAllocs()
				for b.Loop() {
					out.Words(0, w.from, w.words, nil)
					rec, err := out.Record()
					if err != nil {
						b.Fatal(err)
					}
					rec.Release()
				}
				perRow(b)
			})
		}
	}
}

func BenchmarkRepeat(b *testing.B) {
	for _, form := range allForms {
		b.Run(fmt.Sprint("form=", form), func(b *testing.B) {
			out := NewRecordBuilder(nil, form, []Field{{Name: "c", Type: encoding.String, Coded: true, Runs: true}})
			defer out.Release()
			for b.Loop() {
				for range benchRows / 64 {
					out.Repeat(0, "pod-7", 64)
				}
				rec, err := out.Record()
				if err != nil {
					b.Fatal(err)
				}
				rec.Release()
			}
			perRow(b)
		})
	}
}

func BenchmarkBatch(b *testing.B) {
	for _, f := range benchCases() {
		b.Run("type="+f.Name, func(b *testing.B) {
			w := encode(b, spec(f.Type, f.Coded), benchVector(f.Type))
			f.Name = "c"
			out := NewRecordBuilder(nil, FormDictionary, []Field{f})
			defer out.Release()
			out.Words(0, w.from, w.words, nil)
			rec, err := out.Record()
			if err != nil {
				b.Fatal(err)
			}
			defer rec.Release()
			table := tableOf(b, f.Type)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Batch(table, rec); err != nil {
					b.Fatal(err)
				}
			}
			perRow(b)
		})
	}
}

func perRow(b *testing.B) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRows, "ns/row")
}
