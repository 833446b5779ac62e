package arrow18

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	arrow14 "github.com/apache/arrow/go/v14/arrow"
	memory14 "github.com/apache/arrow/go/v14/arrow/memory"
)

// BenchmarkRecord bridges one column of a record.
func BenchmarkRecord(b *testing.B) {
	for _, c := range []struct {
		name string
		typ  arrow14.DataType
	}{
		{"int64", arrow14.PrimitiveTypes.Int64},
		{"utf8", arrow14.BinaryTypes.String},
		{"dict-utf8", dict14(arrow14.BinaryTypes.String)},
		{"list-id", uuidList14},
		{"dict-list-id", dict14(uuidList14)},
		{"runs-int64", runs14(arrow14.PrimitiveTypes.Int64)},
		{"runs-dict-utf8", runs14(dict14(arrow14.BinaryTypes.String))},
	} {
		for _, n := range []int{100, 100_000} {
			b.Run(fmt.Sprintf("type=%s/rows=%d", c.name, n), func(b *testing.B) {
				values := slices.Repeat(random(rand.New(rand.NewPCG(1, 1)), c.typ, 100), n/100)
				rec := recordOf(build(memory14.DefaultAllocator, c.typ, values))
				defer rec.Release()
				p, err := newPlan(rec.Schema())
				if err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				for b.Loop() {
					got, err := p.record(rec)
					if err != nil {
						b.Fatal(err)
					}
					got.Release()
				}
			})
		}
	}
}

// BenchmarkSchema bridges a schema, as every call of Record does first.
func BenchmarkSchema(b *testing.B) {
	var fields []arrow14.Field
	for i, typ := range bridged() {
		fields = append(fields, arrow14.Field{Name: fmt.Sprint(i), Type: typ})
	}
	schema := arrow14.NewSchema(fields, nil)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Schema(schema); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(fields)), "ns/field")
}
