package schema_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// definition is a small table with every kind of column. Its sorting key is
// not in the order of its columns.
func definition() schema.Definition {
	return schema.Definition{
		Columns: []schema.Column{
			{Name: "time", Type: encoding.Int64, Encoding: encoding.Delta},
			{Name: "labels", Type: encoding.String, Encoding: encoding.DictionaryRLE, Dynamic: true},
			{Name: "job", Type: encoding.String, Encoding: encoding.Dictionary, Nullable: true},
			{Name: "stack", Type: encoding.UUIDList, Encoding: encoding.Dictionary, Nullable: true},
			{Name: "kind", Type: encoding.String, Encoding: encoding.Dictionary, Nullable: true},
			{Name: "trace", Type: encoding.UUID, Encoding: encoding.Plain, Nullable: true},
			{Name: "note", Type: encoding.String, Encoding: encoding.Plain, Nullable: true},
			{Name: "nums", Type: encoding.Int64, Encoding: encoding.RLE, Dynamic: true},
			{Name: "count", Type: encoding.Uint64, Encoding: encoding.Plain, Nullable: true},
			{Name: "value", Type: encoding.Float64, Encoding: encoding.Plain, Nullable: true},
			{Name: "ok", Type: encoding.Bool, Encoding: encoding.RLE, Nullable: true},
			{Name: "notes", Type: encoding.String, Encoding: encoding.Plain, Dynamic: true},
		},
		SortingKey: []string{"job", "labels", "stack", "kind", "time"},
		Bucket:     schema.Bucket{Column: "time", Width: 1000},
	}
}

func mustNew(t testing.TB, def schema.Definition) *schema.Schema {
	t.Helper()
	s, err := schema.New(def)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestNew(t *testing.T) {
	def := definition()
	s := mustNew(t, def)
	def.Columns[0].Name = "changed" // the schema keeps a copy

	if diff := cmp.Diff(definition().Columns, s.Columns()); diff != "" {
		t.Errorf("Columns() (-want +got):\n%s", diff)
	}
	// "kind" is a coded string, but not a leading one.
	if diff := cmp.Diff([]int{2, 1}, s.Series()); diff != "" {
		t.Errorf("Series() (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{3, 4, 0}, s.Suffix()); diff != "" {
		t.Errorf("Suffix() (-want +got):\n%s", diff)
	}
	for i, c := range s.Columns() {
		if want := c.Name == "job" || c.Name == "labels"; s.IsSeries(i) != want {
			t.Errorf("IsSeries(%s) = %v, want %v", c.Name, s.IsSeries(i), want)
		}
	}
	if s.BucketColumn() != 0 || s.BucketWidth() != 1000 {
		t.Errorf("bucket of column %d, width %d; want 0, 1000", s.BucketColumn(), s.BucketWidth())
	}
}

func TestNewRefuses(t *testing.T) {
	column := func(change func(c *schema.Column)) func(def *schema.Definition) {
		return func(def *schema.Definition) { change(&def.Columns[2]) }
	}
	tests := []struct {
		name   string
		change func(def *schema.Definition)
		text   string // part of the message
	}{
		{"no columns", func(def *schema.Definition) { def.Columns = nil }, "0 columns"},
		{"too many columns", func(def *schema.Definition) { def.Columns = make([]schema.Column, schema.MaxColumns+1) }, "1025 columns"},
		{"empty name", column(func(c *schema.Column) { c.Name = "" }), `""`},
		{"dot in name", column(func(c *schema.Column) { c.Name = "a.b" }), `"a.b"`},
		{"control character in name", column(func(c *schema.Column) { c.Name = "a\n" }), `"a\n"`},
		{"delete in name", column(func(c *schema.Column) { c.Name = "a\x7f" }), `"a\x7f"`},
		{"name not UTF-8", column(func(c *schema.Column) { c.Name = "a\xff" }), `"a\xff"`},
		{"long name", column(func(c *schema.Column) { c.Name = strings.Repeat("a", schema.MaxName+1) }), "aaa"},
		{"name twice", column(func(c *schema.Column) { c.Name = "time" }), `"time"`},
		{"no type", column(func(c *schema.Column) { c.Type = 0 }), `"job": unknown type(0)`},
		{"no encoding", column(func(c *schema.Column) { c.Encoding = 0 }), `"job": encoding(0) cannot hold string`},
		{"encoding does not fit", column(func(c *schema.Column) { c.Encoding = encoding.Delta }), `"job": delta cannot hold string`},
		{"dynamic lists", column(func(c *schema.Column) { c.Type, c.Dynamic = encoding.UUIDList, true }), `"job": a dynamic column`},
		{"unknown key column", func(def *schema.Definition) { def.SortingKey = []string{"job", "no"} }, `"no"`},
		{"concrete key column", func(def *schema.Definition) { def.SortingKey = []string{"labels.pod"} }, `"labels.pod"`},
		{"key column twice", func(def *schema.Definition) { def.SortingKey = []string{"time", "time"} }, `"time"`},
		{"unknown bucket column", func(def *schema.Definition) { def.Bucket.Column = "no" }, `"no"`},
		{"bucket without a column", func(def *schema.Definition) { def.Bucket.Column = "" }, `""`},
		{"bucket of strings", func(def *schema.Definition) { def.Bucket.Column = "job" }, `"job"`},
		{"bucket of a family", func(def *schema.Definition) { def.Bucket.Column = "nums" }, `"nums"`},
		{"nullable bucket", func(def *schema.Definition) { def.Columns[0].Nullable = true }, `"time"`},
		{"bucket width zero", func(def *schema.Definition) { def.Bucket.Width = 0 }, "width 0"},
		{"bucket width negative", func(def *schema.Definition) { def.Bucket.Width = -1 }, "width -1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			def := definition()
			tt.change(&def)
			s, err := schema.New(def)
			if s != nil || !errors.Is(err, schema.ErrSchema) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("New() = %v, %v; want nil, ErrSchema with %s", s, err, tt.text)
			}
		})
	}
}

func TestResolve(t *testing.T) {
	s := mustNew(t, definition())
	tests := []struct {
		name   string
		column string // "" if there is none
		family bool   // it is the name of a family itself
	}{
		{"time", "time", false},
		{"labels.pod", "labels", false},
		{"labels.a.b", "labels", false},
		{"labels..", "labels", false},
		{"labels", "", true},
		{"labels.", "", false},
		{".pod", "", false},
		{"", "", false},
		{"time.x", "", false},
		{"no", "", false},
		{"no.x", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			if i, ok := s.Resolve(tt.name); ok {
				got = s.Columns()[i].Name
			}
			if got != tt.column {
				t.Errorf("Resolve() = %q, want %q", got, tt.column)
			}
			if i, ok := s.Family(tt.name); ok != tt.family || ok && s.Columns()[i].Name != tt.name {
				t.Errorf("Family() = %d, %v; want %v", i, ok, tt.family)
			}
		})
	}
}

func bucketed(t testing.TB, width int64) *schema.Schema {
	return mustNew(t, schema.Definition{
		Columns: []schema.Column{{Name: "time", Type: encoding.Int64, Encoding: encoding.Delta}},
		Bucket:  schema.Bucket{Column: "time", Width: width},
	})
}

func TestBucketStart(t *testing.T) {
	tests := []struct{ width, time, want int64 }{
		{10, 0, 0},
		{10, 9, 0},
		{10, 10, 10},
		{10, -1, -10},
		{10, -10, -10},
		{10, -11, -20},
		{1, -7, -7},
		{10, math.MaxInt64, math.MaxInt64 - 7},
		{10, math.MinInt64, math.MinInt64},     // cut short: starts 2 before
		{10, math.MinInt64 + 7, math.MinInt64}, // its last time
		{10, math.MinInt64 + 8, -math.MaxInt64 + 7}, // the next bucket
		{math.MaxInt64, math.MaxInt64, math.MaxInt64},
		{math.MaxInt64, -1, -math.MaxInt64},
		{math.MaxInt64, math.MinInt64, math.MinInt64},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%d by %d", tt.time, tt.width), func(t *testing.T) {
			if got := bucketed(t, tt.width).BucketStart(tt.time); got != tt.want {
				t.Errorf("BucketStart() = %d, want %d", got, tt.want)
			}
		})
	}
}

func drawTime(t *rapid.T, name string) int64 {
	edges := rapid.SampledFrom([]int64{0, math.MinInt64, math.MaxInt64, 1_790_000_000_000_000_000})
	nearEdge := rapid.Custom(func(t *rapid.T) int64 {
		return edges.Draw(t, "edge") + rapid.Int64Range(-3000, 3000).Draw(t, "off") // may wrap
	})
	return rapid.OneOf(rapid.Int64(), nearEdge).Draw(t, name)
}

// BucketStart is floor(t/width)*width, limited to the range of int64, as computed with big
// integers. A bucket begins at any time of a range, and its keys end before those of a bucket
// that begins a nanosecond later.
func TestBucketModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		width := rapid.OneOf(rapid.Int64Range(1, 2000), rapid.Int64Range(1, math.MaxInt64), rapid.Just(int64(15*60*1e9))).Draw(rt, "width")
		time := drawTime(rt, "time")
		s := bucketed(t, width)

		w := big.NewInt(width)
		index := new(big.Int).Div(big.NewInt(time), w) // Euclidean: floor for positive widths
		start := new(big.Int).Mul(index, w)
		wantStart := int64(math.MinInt64)
		if start.IsInt64() {
			wantStart = start.Int64()
		}
		if got := s.BucketStart(time); got != wantStart {
			rt.Fatalf("BucketStart(%d) = %d, want %d", time, got, wantStart)
		}
		if end := new(big.Int).Add(start, w); end.IsInt64() && s.BucketEnd(wantStart) != end.Int64() {
			rt.Fatalf("BucketEnd(%d) = %d, want %d", wantStart, s.BucketEnd(wantStart), end)
		}
		wantHi := "" // of a bucket from any time on: there may be one a nanosecond later
		if time < math.MaxInt64 {
			wantHi = string(s.AppendBucket(nil, time+1))
		}
		lo, hi := s.BucketBounds(time)
		if want := string(s.AppendBucket(nil, time)); lo != want || hi != wantHi {
			rt.Fatalf("BucketBounds(%d) = %x, %x; want %x, %x", time, lo, hi, want, wantHi)
		}
	})
}

// Bounds are ordered as times are, and a bucket ends where the next begins or
// before.
func TestBucketBoundsOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := bucketed(t, rapid.Int64Range(1, 2000).Draw(rt, "width"))
		early, late := drawTime(rt, "a"), drawTime(rt, "b")
		if early > late {
			early, late = late, early
		}
		loE, hiE := s.BucketBounds(s.BucketStart(early))
		loL, hiL := s.BucketBounds(s.BucketStart(late))
		if loE == loL {
			if hiE != hiL {
				rt.Fatalf("one bucket, two ends: %x, %x", hiE, hiL)
			}
			return
		}
		if hiE == "" || loE >= hiE || hiE > loL || hiL != "" && loL >= hiL {
			rt.Fatalf("bounds of %d: %x, %x; of %d: %x, %x", early, loE, hiE, late, loL, hiL)
		}
	})
}

func TestNoBucket(t *testing.T) {
	def := definition()
	def.Bucket = schema.Bucket{}
	s := mustNew(t, def)
	if s.BucketColumn() != -1 || s.BucketWidth() != 0 || s.BucketStart(-5) != 0 {
		t.Errorf("bucket of column %d, width %d, start %d; want -1, 0, 0", s.BucketColumn(), s.BucketWidth(), s.BucketStart(-5))
	}
	if lo, hi := s.BucketBounds(0); lo != "" || hi != "" {
		t.Errorf("BucketBounds() = %q, %q; want none", lo, hi)
	}
	if got := s.AppendBucket([]byte("x"), 7); string(got) != "x" {
		t.Errorf("AppendBucket() = %q, want nothing appended", got)
	}
}

// The layout of doc.go: big endian, sign bit flipped.
func TestAppendBucket(t *testing.T) {
	s := bucketed(t, 10)
	got := s.AppendBucket([]byte("x"), -20)
	if want := binary.BigEndian.AppendUint64([]byte("x"), 1<<63-20); !bytes.Equal(got, want) {
		t.Errorf("AppendBucket() = %x, want %x", got, want)
	}
}
