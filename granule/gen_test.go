package granule

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// This file draws schemas' rows at random.

// everything is a definition with every type in every encoding that fits it,
// fixed and dynamic, in the series prefix, in the suffix and outside the key.
func everything(bucket int64) schema.Definition {
	def := schema.Definition{
		Columns: []schema.Column{
			{Name: "kind", Type: encoding.String, Encoding: encoding.Dictionary, Nullable: true},
			{Name: "labels", Type: encoding.String, Encoding: encoding.DictionaryRLE, Dynamic: true},
			{Name: "unit", Type: encoding.String, Encoding: encoding.DictionaryRLE},
			{Name: "stack", Type: encoding.UUIDList, Encoding: encoding.Dictionary, Nullable: true},
			{Name: "time", Type: encoding.Int64, Encoding: encoding.Delta},
			{Name: "tags", Type: encoding.String, Encoding: encoding.Dictionary, Dynamic: true},
			{Name: "nums", Type: encoding.Int64, Encoding: encoding.RLE, Dynamic: true},
			{Name: "ratio", Type: encoding.Float64, Encoding: encoding.Plain, Nullable: true},
			{Name: "flag", Type: encoding.Bool, Encoding: encoding.RLE, Nullable: true},
			{Name: "span", Type: encoding.UUID, Encoding: encoding.DictionaryRLE, Nullable: true},
			{Name: "trace", Type: encoding.UUID, Encoding: encoding.Plain, Nullable: true},
			{Name: "note", Type: encoding.String, Encoding: encoding.Plain, Nullable: true},
			{Name: "count", Type: encoding.Uint64, Encoding: encoding.Delta, Nullable: true},
			{Name: "value", Type: encoding.Int64, Encoding: encoding.Plain},
		},
	}
	if bucket > 0 { // with and without
		def.Header = []string{"time", "value"}
	}
	for _, c := range def.Columns {
		if c.Name != "value" {
			def.SortingKey = append(def.SortingKey, c.Name)
		}
	}
	for t := encoding.Int64; t.Known(); t++ {
		for e := encoding.Plain; e.Known(); e++ {
			if !e.Fits(t) {
				continue
			}
			name := fmt.Sprintf("%v %v", t, e)
			def.Columns = append(def.Columns, schema.Column{Name: name, Type: t, Encoding: e, Nullable: true})
			if t != encoding.UUIDList {
				def.Columns = append(def.Columns, schema.Column{Name: name + "s", Type: t, Encoding: e, Dynamic: true})
			}
		}
	}
	if bucket > 0 {
		def.Bucket = schema.Bucket{Column: "time", Width: bucket}
	}
	return def
}

// lastFamilies is a definition whose last columns are families in the key, so that no column follows them in a row.
var lastFamilies = schema.Definition{
	Columns: []schema.Column{
		{Name: "n", Type: encoding.Int64, Encoding: encoding.Plain, Nullable: true},
		{Name: "nums", Type: encoding.Int64, Encoding: encoding.RLE, Dynamic: true},
		{Name: "tags", Type: encoding.String, Encoding: encoding.Dictionary, Dynamic: true},
	},
	SortingKey: []string{"n", "nums", "tags"},
}

// timesLead is a definition whose key continues with a number and then the header, and not with a list.
var timesLead = schema.Definition{
	Columns: []schema.Column{
		{Name: "n", Type: encoding.Int64, Encoding: encoding.Plain, Nullable: true},
		{Name: "time", Type: encoding.Int64, Encoding: encoding.Delta},
		{Name: "value", Type: encoding.Int64, Encoding: encoding.Plain},
	},
	SortingKey: []string{"n", "time"},
	Header:     []string{"time", "value"},
}

// definitions are tables whose rows are drawn at random.
var definitions = map[string]schema.Definition{
	"bucket=0": everything(0), "bucket=10": everything(bucketWidth), "last families": lastFamilies, "times lead": timesLead,
}

func mustSchema(t testing.TB, def schema.Definition) *schema.Schema {
	t.Helper()
	s, err := schema.New(def)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The domains are small, so that rows tie on long prefixes of the key, and full of values that
// are hard to encode in it.
var (
	int64s   = []int64{0, 1, -1, 7, math.MinInt64, math.MaxInt64}
	uint64s  = []uint64{0, 1, 255, 256, 1 << 63, math.MaxUint64}
	float64s = []float64{0, math.Copysign(0, -1), 1.5, -1.5, -2, math.Inf(1), math.Inf(-1), math.SmallestNonzeroFloat64}
	texts    = []string{"", "a", "a\x00", "a\x00b", "\x00", "b", "é", "ab"}
	ids      = []uuid.UUID{{}, {1}, {15: 1}, {0, 1}, {0xff, 0}, {0xff, 0xff}}
	lists    = [][]uuid.UUID{{}, {{1}}, {{2}}, {{1}, {2}}, {{2}, {1}}, {{1}, {1}}, {{}}, {{1}, {2}, {3}}}
	names    = []string{"a", "b", "aa", "a.b", "z", "é"}
)

// drawBatch draws rows that fit the definition. With one bucket, all times are
// within [0, width).
func drawBatch(t *rapid.T, def schema.Definition, rows int, oneBucket bool) *schema.Batch {
	b := &schema.Batch{Rows: rows, Columns: map[string]encoding.Vector{}}
	keys := len(def.SortingKey)
	for i, c := range def.Columns {
		// Columns outside the key are many: most are left out.
		if i > keys && !rapid.SampledFrom([]bool{true, false, false, false, false}).Draw(t, "use "+c.Name) {
			continue
		}
		switch {
		case c.Dynamic:
			for _, name := range names {
				if rapid.IntRange(0, 3).Draw(t, "has "+c.Name+"."+name) == 0 {
					b.Columns[c.Name+"."+name] = drawVector(t, c, rows)
				}
			}
		case c.Name == "time":
			b.Columns[c.Name] = drawTimes(t, rows, oneBucket)
		case c.Nullable && rapid.IntRange(0, 4).Draw(t, "no "+c.Name) == 0:
		default:
			b.Columns[c.Name] = drawVector(t, c, rows)
		}
	}
	return b
}

const bucketWidth = 10

func drawTimes(t *rapid.T, rows int, oneBucket bool) encoding.Vector {
	v := encoding.Int64s(make([]int64, broadcast(t, rows))...)
	lo, hi := -25, 25
	if oneBucket {
		lo, hi = 0, bucketWidth-1
	}
	for i := range v.Int64s {
		v.Int64s[i] = int64(rapid.IntRange(lo, hi).Draw(t, "time"))
	}
	return v
}

// broadcast draws the number of values of a column: one for all rows, or one
// for each.
func broadcast(t *rapid.T, rows int) int {
	if rapid.IntRange(0, 3).Draw(t, "broadcast") == 0 {
		return 1
	}
	return rows
}

func drawVector(t *rapid.T, c schema.Column, rows int) encoding.Vector {
	v := encoding.Vector{Type: c.Type}
	n := broadcast(t, rows)
	nulls := (c.Nullable || c.Dynamic) && rapid.Bool().Draw(t, "nulls")
	for range n {
		if nulls {
			v.Valid = append(v.Valid, rapid.IntRange(0, 2).Draw(t, "valid") > 0)
		}
		switch c.Type {
		case encoding.Int64:
			v.Int64s = append(v.Int64s, rapid.SampledFrom(int64s).Draw(t, c.Name))
		case encoding.Uint64:
			v.Uint64s = append(v.Uint64s, rapid.SampledFrom(uint64s).Draw(t, c.Name))
		case encoding.Float64:
			v.Float64s = append(v.Float64s, rapid.SampledFrom(float64s).Draw(t, c.Name))
		case encoding.Bool:
			v.Bools = append(v.Bools, rapid.Bool().Draw(t, c.Name))
		case encoding.String:
			v.Strings = append(v.Strings, rapid.SampledFrom(texts).Draw(t, c.Name))
		case encoding.UUID:
			v.UUIDs = append(v.UUIDs, rapid.SampledFrom(ids).Draw(t, c.Name))
		case encoding.UUIDList:
			v.UUIDLists = append(v.UUIDLists, rapid.SampledFrom(lists).Draw(t, c.Name))
		}
	}
	return v
}

// code checks a batch, and codes its rows by bucket.
func code(t testing.TB, s *schema.Schema, gen *Generation, b *schema.Batch) map[int64]*Rows {
	t.Helper()
	columns, err := s.Check(b)
	if err != nil {
		t.Fatalf("Check: %v", err)
	}
	byBucket := map[int64][]int32{}
	for i := range b.Rows {
		bucket := int64(0)
		if s.BucketColumn() >= 0 {
			v := b.Columns[s.Columns()[s.BucketColumn()].Name]
			bucket = s.BucketStart(v.Int64s[i%v.Len()])
		}
		byBucket[bucket] = append(byBucket[bucket], int32(i))
	}
	out := map[int64]*Rows{}
	for bucket, rows := range byBucket {
		if len(rows) == b.Rows && len(rows)%2 == 0 { // as an insert does
			rows = nil
		}
		if out[bucket], err = Code(s, gen, bucket, b, columns, rows); err != nil {
			t.Fatalf("Code: %v", err)
		}
	}
	return out
}

// partOf codes a batch of one bucket, and makes one part of it.
func partOf(t testing.TB, s *schema.Schema, gen *Generation, b *schema.Batch) *Part {
	t.Helper()
	for _, rows := range code(t, s, gen, b) {
		return rows.Part(0, rows.Len())
	}
	t.Fatal("a batch without rows has no part")
	return nil
}

func whole(p *Part) Section { return Section{p, 0, p.Rows()} }
