package granule

import (
	"math"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// G2: Within is exact at every pair of bounds: on keys, just above them, on
// either infinity, and with the upper one below the lower one.
func TestWithin(t *testing.T) {
	s := mustSchema(t, numbers)
	p := numberPart(t, s, NewGeneration(1), 10, 20, 20, 20, 30, 40)
	bounds := []string{"", "\xff"}
	for _, key := range keysOf(s, whole(p)) {
		bounds = append(bounds, key, key+"\x00", key[:len(key)-1])
	}
	for _, section := range []Section{whole(p), {p, 1, 5}, {p, 2, 3}, {p, 0, 0}, {p, 3, 3}, {p, 6, 6}} {
		keys := keysOf(s, whole(p))
		for _, lo := range bounds {
			for _, hi := range bounds {
				got := section.Within(s, lo, hi)
				var want []int
				for i := section.Lo; i < section.Hi; i++ {
					if keys[i] >= lo && (hi == "" || keys[i] < hi) {
						want = append(want, i)
					}
				}
				if got.Part != p || got.Rows() != len(want) || len(want) > 0 && got.Lo != want[0] {
					t.Errorf("[%d,%d).Within(%q, %q) = [%d,%d), want the rows %v",
						section.Lo, section.Hi, lo, hi, got.Lo, got.Hi, want)
				}
				if got.Lo < section.Lo || got.Hi > section.Hi {
					t.Errorf("[%d,%d).Within(%q, %q) = [%d,%d), beyond the section", section.Lo, section.Hi, lo, hi, got.Lo, got.Hi)
				}
			}
		}
	}
}

// Consecutive bounds give each row to exactly one of their ranges, for any columns.
func TestWithinPartitions(t *testing.T) {
	def := everything(bucketWidth)
	s := mustSchema(t, def)
	rapid.Check(t, func(rt *rapid.T) {
		p := partOf(t, s, NewGeneration(1), drawBatch(rt, def, rapid.IntRange(1, 20).Draw(rt, "rows"), true))
		keys := keysOf(s, whole(p))
		bounds := []string{""}
		for range rapid.IntRange(0, 3).Draw(rt, "bounds") {
			bounds = append(bounds, rapid.SampledFrom(keys).Draw(rt, "bound"))
		}
		slices.Sort(bounds)
		at := 0
		for i, lo := range slices.Compact(bounds) {
			hi := ""
			if next := slices.Compact(slices.Clone(bounds)); i+1 < len(next) {
				hi = next[i+1]
			}
			got := whole(p).Within(s, lo, hi)
			if got.Lo != at {
				rt.Fatalf("the range from %q begins at row %d, want %d", lo, got.Lo, at)
			}
			at = got.Hi
		}
		if at != p.Rows() {
			rt.Fatalf("the ranges end at row %d of %d", at, p.Rows())
		}
	})
}

func TestTimeRange(t *testing.T) {
	def := everything(bucketWidth)
	tests := []struct {
		name   string
		def    schema.Definition
		times  []int64
		lo, hi int64
	}{
		{"one", def, []int64{3}, 3, 3},
		{"several, out of order", def, []int64{4, 2, 9, 5}, 2, 9},
		{"all equal", def, []int64{4, 4, 4}, 4, 4},
		{"negative", def, []int64{-3, -10, -1}, -10, -1},
		{"no buckets", everything(0), []int64{1, 2}, math.MinInt64, math.MaxInt64},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := partOf(t, mustSchema(t, tt.def), NewGeneration(1), &schema.Batch{
				Rows: len(tt.times),
				Columns: map[string]encoding.Vector{
					"time": encoding.Int64s(tt.times...), "unit": encoding.Strings("ns"), "value": encoding.Int64s(1),
				},
			})
			if lo, hi := p.TimeRange(); lo != tt.lo || hi != tt.hi {
				t.Errorf("TimeRange() = %d, %d, want %d, %d", lo, hi, tt.lo, tt.hi)
			}
		})
	}
}

// Columns are in schema order, families by name; columns without a value are left out.
func TestColumnsAndFind(t *testing.T) {
	def := everything(0)
	s := mustSchema(t, def)
	none := encoding.Vector{Type: encoding.String, Strings: []string{"x", "y"}, Valid: []bool{false, false}}
	p := partOf(t, s, NewGeneration(1), &schema.Batch{Rows: 2, Columns: map[string]encoding.Vector{
		"value": encoding.Int64s(7, 8), "time": encoding.Int64s(1), "unit": encoding.Strings("ns"),
		"labels.pod": encoding.Strings("p"),
		"tags.b":     encoding.Strings("1", ""), "tags.a": encoding.Strings("", "2"),
		"tags.empty": encoding.Strings(""), "tags.null": none, "note": none,
		"nums.n": encoding.Int64s(5),
	}})
	column := map[string]int{}
	for i, c := range def.Columns {
		column[c.Name] = i
	}
	var got []string
	for i, c := range p.Columns() {
		got = append(got, c.Name)
		if found := p.Find(c.Index, c.Name); found != &p.Columns()[i].Column {
			t.Errorf("Find(%d, %q) is another column", c.Index, c.Name)
		}
	}
	if diff := gocmp.Diff([]string{"time", "tags.a", "tags.b", "nums.n", "value"}, got); diff != "" {
		t.Errorf("Columns (-want +got):\n%s", diff)
	}
	for _, absent := range []struct{ column, name string }{
		{"tags", "tags.empty"},
		{"tags", "tags.null"},
		{"tags", "tags.aa"},
		{"tags", "tags.c"},
		{"tags", ""},
		{"note", "note"},
		{"labels", "labels.pod"},
		{"unit", "unit"},
		{"nums", "tags.a"},
		{"value", "w"},
	} {
		if p.Find(column[absent.column], absent.name) != nil {
			t.Errorf("Find(%q, %q) finds a column", absent.column, absent.name)
		}
	}
}

func TestSeriesSet(t *testing.T) {
	def := everything(0)
	s := mustSchema(t, def)
	rapid.Check(t, func(rt *rapid.T) {
		gen := NewGeneration(1)
		rows := rapid.SliceOfN(rapid.SampledFrom([]string{"z", "y", "x", "w", ""}), 1, 20).Draw(rt, "pods")
		p := partOf(t, s, gen, &schema.Batch{Rows: len(rows), Columns: map[string]encoding.Vector{
			"time": encoding.Int64s(1), "unit": encoding.Strings("ns"), "value": encoding.Int64s(1),
			"labels.pod": encoding.Strings(rows...),
		}})
		var want []uint32
		for i := range p.Rows() {
			want = append(want, uint32(p.Series().At(i)))
		}
		slices.Sort(want)
		if diff := gocmp.Diff(slices.Compact(want), p.SeriesSet()); diff != "" {
			rt.Fatalf("SeriesSet (-want +got):\n%s", diff)
		}
	})
}

// The size counts the bytes of values and not those of the dictionaries.
func TestSize(t *testing.T) {
	def := everything(0)
	s := mustSchema(t, def)
	sized := func(note string, tag string) int {
		return partOf(t, s, NewGeneration(1), &schema.Batch{Rows: 1, Columns: map[string]encoding.Vector{
			"time": encoding.Int64s(1), "unit": encoding.Strings("ns"), "value": encoding.Int64s(1),
			"note": encoding.Strings(note), "tags.t": encoding.Strings(tag),
		}}).Size()
	}
	small := sized("n", "t")
	if grown := sized("n"+string(make([]byte, 5000)), "t") - small; grown < 5000 || grown > 6000 {
		t.Errorf("5,000 bytes more in a plain column: %d bytes more", grown)
	}
	if grown := sized("n", "t"+string(make([]byte, 5000))) - small; grown != 0 {
		t.Errorf("5,000 bytes more in the dictionary: %d bytes more in the part", grown)
	}
}

func TestStamp(t *testing.T) {
	p := numberPart(t, mustSchema(t, numbers), NewGeneration(1), 1)
	if p.Begin() != 0 || p.Commit() != 0 {
		t.Errorf("a new part is of transaction %d, %d", p.Begin(), p.Commit())
	}
	p.Stamp(3, 5)
	if p.Begin() != 3 || p.Commit() != 5 {
		t.Errorf("Begin, Commit = %d, %d, want 3, 5", p.Begin(), p.Commit())
	}
}

func TestMove(t *testing.T) {
	p := numberPart(t, mustSchema(t, numbers), NewGeneration(1), 1)
	if p.Move(7); p.Bucket() != 7 {
		t.Errorf("Bucket() = %d", p.Bucket())
	}
}

// G1: reading takes no lock and writes nothing, so any number may do it.
func TestConcurrentReads(t *testing.T) {
	s := mustSchema(t, everything(0))
	p := partOf(t, s, NewGeneration(1), &schema.Batch{Rows: 3, Columns: map[string]encoding.Vector{
		"time": encoding.Int64s(1, 2, 3), "unit": encoding.Strings("ns"), "value": encoding.Int64s(1),
		"stack": encoding.UUIDLists([]uuid.UUID{{1}}, []uuid.UUID{{2}}, []uuid.UUID{{1}}),
	}})
	want := text(decode(t, s, whole(p)))
	g := New("", "").With(whole(p)).With(whole(p))
	done := make(chan []string)
	for range 4 {
		go func() {
			Rewrite(s, g, Limit{Rows: 2})
			p.SeriesSet()
			done <- text(decode(t, s, whole(p).Within(s, "", "\xff")))
		}()
	}
	for range 4 {
		if diff := gocmp.Diff(want, <-done); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
