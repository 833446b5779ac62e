package granule

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/encoding/dict"
	"github.com/granarydb/granary/internal/damaged"
	"github.com/granarydb/granary/internal/fields"
	"github.com/granarydb/granary/schema"
)

// copyGeneration returns a generation with the same codes and other hashes.
func copyGeneration(t testing.TB, s *schema.Schema, gen *Generation) *Generation {
	t.Helper()
	image := gen.AppendImageTo(nil, Watermark{}, gen.NextWatermark())
	out := NewGeneration(7)
	addGeneration(t, s, out, image)
	return out
}

func addGeneration(t testing.TB, s *schema.Schema, gen *Generation, image []byte) {
	t.Helper()
	add, err := gen.OpenImage(s, image, dict.LocationCodes)
	if err != nil {
		t.Fatal(err)
	}
	add()
}

// readerOf returns a reader of parts of a generation.
func readerOf(s *schema.Schema, gen *Generation) *PartReader {
	return &PartReader{Schema: s, Generation: gen, Codes: gen.Watermark()}
}

// readPart reads a sound image.
func readPart(t testing.TB, r *PartReader, bucket int64, image []byte) *Part {
	t.Helper()
	p, err := r.Read(bucket, image)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// checkSamePart compares a part that was read with the one that was written.
func checkSamePart(t testing.TB, s *schema.Schema, want, got *Part) {
	t.Helper()
	checkSameRows(t, "part", decode(t, s, whole(want)), decode(t, s, whole(got)))
	if a, b := text(decode(t, s, whole(got))), text(decode(t, s, whole(want))); !slices.Equal(a, b) {
		t.Fatal("the rows have another order")
	}
	if a, b := keysOf(s, whole(got)), keysOf(s, whole(want)); !slices.Equal(a, b) {
		t.Fatal("the rows have other keys")
	}
	lo, hi := want.TimeRange()
	if l, h := got.TimeRange(); l != lo || h != hi || got.Rows() != want.Rows() || !slices.Equal(got.SeriesSet(), want.SeriesSet()) {
		t.Fatalf("%d rows of series %v, times %d to %d; want %d, %v, %d, %d", got.Rows(), got.SeriesSet(), l, h, want.Rows(), want.SeriesSet(), lo, hi)
	}
	for i, c := range got.Columns() {
		other := want.Columns()[i]
		if c.Index != other.Index || c.Name != other.Name || c.Words().Layout() != other.Words().Layout() || c.Nulls() != other.Nulls() {
			t.Fatalf("column %d is %q, %v; want %q, %v", i, c.Name, c.Words().Layout(), other.Name, other.Words().Layout())
		}
		if _, ordinals := c.Words().Lookup(); ordinals != nil && ordinals != got.ordinals {
			t.Fatalf("column %q has ordinals of its own", c.Name)
		}
	}
	if got.Size() > want.Size()*11/10+200 { // a part that was made can have room for more columns
		t.Errorf("Size() = %d, want at most about %d", got.Size(), want.Size())
	}
}

// Parts of any rows, as they are inserted and as rewrites make them, are read as they were
// written, and are rewritten as they would have been. Generations come along in pieces.
func TestPartImage(t *testing.T) {
	for _, width := range []int64{0, bucketWidth} {
		def := everything(width)
		s := mustSchema(t, def)
		t.Run(fmt.Sprint("bucket=", width), func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				gen, other := NewGeneration(1), NewGeneration(2)
				lo, hi := s.BucketBounds(0)
				made, read := New(lo, hi), New(lo, hi)
				var mark Watermark
				for range rapid.IntRange(1, 4).Draw(rt, "parts") {
					p := partOf(t, s, gen, drawBatch(rt, def, rapid.IntRange(1, 12).Draw(rt, "rows"), true))
					bytes := rapid.OneOf(rapid.Just(1<<20), rapid.IntRange(0, 300)).Draw(rt, "bytes of an image")
					for to := gen.NextWatermark(); mark != to; {
						next := gen.Fit(mark, to, bytes)
						image := gen.AppendImageTo(nil, mark, next)
						if len(image) > bytes+1000 || next.Entries() < mark.Entries() {
							rt.Fatalf("an image from %+v to %+v has %d bytes, want about %d", mark, next, len(image), bytes)
						}
						addGeneration(t, s, other, image)
						mark = next
					}
					made, read = made.With(whole(p)), read.With(whole(copyPart(t, s, p, other)))
				}
				limit := Limit{Rows: rapid.IntRange(3, 60).Draw(rt, "limit")}
				a, b := Rewrite(s, made, limit), Rewrite(s, read, limit)
				checkSameRows(t, "G3: rewrite of parts that were read", decodeAll(t, s, made), decodeAll(t, s, b...))
				if len(a) != len(b) {
					t.Fatalf("%d granules, want %d", len(b), len(a))
				}
				for i := range a {
					checkSamePart(t, s, a[i].base.Part, b[i].base.Part)
					copyPart(t, s, a[i].base.Part, other)
				}
			})
		})
	}
}

// copyPart returns a part written and read again, and checks it.
func copyPart(t testing.TB, s *schema.Schema, p *Part, gen *Generation) *Part {
	t.Helper()
	image, wide := p.AppendImage(s, nil)
	got := readPart(t, readerOf(s, gen), p.bucket, image)
	checkSamePart(t, s, p, got)
	if got.Size() < len(image) {
		t.Errorf("a part of %d bytes keeps an image of %d", got.Size(), len(image))
	}
	if again, at := got.AppendImage(s, nil); !bytes.Equal(again, image) || at != wide {
		t.Fatalf("the image of the part that was read has %d bytes, not the same %d", len(again), len(image))
	}
	checkNarrow(t, s, p, readerOf(s, gen), image[:wide], image[wide:])
	return got
}

// The size of parts that were read is that of their heap, images included.
func TestPartImage_SizeIsHeap(t *testing.T) {
	s := mustSchema(t, profiles)
	gen := NewGeneration(1)
	rng := rand.New(rand.NewPCG(1, 2))
	g, stacks := New(s.BucketBounds(0)), profileStacks(rng, 500)
	for i := range 10 {
		g = g.With(whole(partOf(t, s, gen, profile(rng, stacks, 400, int64(i)*1e9))))
	}
	r := readerOf(s, gen)
	for name, p := range map[string]*Part{"fresh": g.Sections()[0].Part, "base": Rewrite(s, g, Limit{Rows: math.MaxInt})[0].base.Part} {
		image, _ := p.AppendImage(s, nil)
		parts := make([]*Part, 500)
		before := heap()
		for i := range parts {
			parts[i] = readPart(t, r, 0, bytes.Clone(image))
		}
		const elsewhere = 128 // the granule and the cell, which Size counts too
		got, want := (heap()-before)/len(parts), parts[0].Size()-elsewhere
		if got < want*95/100 || got > want*115/100 { // the allocator rounds up
			t.Errorf("a %s part takes %d bytes, and Size() is %d", name, got, want+elsewhere)
		}
		runtime.KeepAlive(parts)
	}
}

// heap returns the bytes in use after a collection.
func heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// The image of a part that a split divided is that of all its rows.
func TestPartImage_Divided(t *testing.T) {
	s := mustSchema(t, profiles)
	gen := NewGeneration(1)
	rng := rand.New(rand.NewPCG(1, 2))
	stacks := profileStacks(rng, 300)
	lo, hi := s.BucketBounds(0)
	old := New(lo, hi).With(whole(partOf(t, s, gen, profile(rng, stacks, 200, 1e9))))
	children := Rewrite(s, old, Limit{Rows: 100})
	p := partOf(t, s, gen, profile(rng, stacks, 200, 2e9))
	successors, ok := old.With(whole(p)).Succeed(s, old, children)
	if !ok || len(successors) != 2 || len(successors[1].Sections()) != 2 {
		t.Fatalf("%v, %d granules", ok, len(successors))
	}
	divided := successors[1].Sections()[1]
	if divided.Part != p || divided.Lo == 0 {
		t.Fatalf("the second granule has rows from %d on", divided.Lo)
	}
	if got := copyPart(t, s, divided.Part, copyGeneration(t, s, gen)); got.Rows() != 200 {
		t.Errorf("%d rows, want all 200", got.Rows())
	}
}

// Parts with values of their own are read with and without them.
func TestPartImage_Wide(t *testing.T) {
	s, gen, fresh, base := smallGranule(t)
	other := copyGeneration(t, s, gen)
	for _, section := range append(fresh.Sections(), base.Sections()...) {
		copyPart(t, s, section.Part, other)
	}
	p := base.base.Part
	image, wide := p.AppendImage(s, nil)
	narrow, err := readerOf(s, other).ReadParts(0, image[:wide], nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, absent := range []struct {
		column int
		name   string
	}{{6, "other"}, {5, "note"}, {5, "tags.other"}} {
		if narrow.Find(absent.column, absent.name) != nil {
			t.Errorf("column %d, %q is there", absent.column, absent.name)
		}
	}
	image, wide, ids := p.AppendSearchable(s, []byte("before"), nil)
	plain, at := p.AppendImage(s, []byte("before"))
	if !bytes.Equal(image, plain) || wide != at {
		t.Error("an image to be searched differs")
	}
	if len(ids) != 1 || ids[0].Name != "trace" || ids[0].Place == (encoding.IDPlace{}) {
		t.Errorf("columns of ids: %+v", ids)
	}
	_, _, both := p.AppendSearchable(s, nil, []IDColumn{{Name: "earlier"}})
	if len(both) != 2 || both[0].Name != "earlier" || both[1].Name != "trace" {
		t.Errorf("columns of ids behind an earlier one: %+v", both)
	}
}

// A table without a header has no part with headers.
func TestPartImage_NoHeader(t *testing.T) {
	_, gen, _, base := smallGranule(t)
	def := small
	def.Header = nil
	image, _ := base.base.Part.AppendImage(mustSchema(t, small), nil)
	if _, err := readerOf(mustSchema(t, def), gen).Read(0, image); !errors.Is(err, ErrImage) || !strings.Contains(err.Error(), "headers") {
		t.Errorf("a part with headers: %v", err)
	}
}

// small is a table whose parts show every kind of column in few bytes.
var small = schema.Definition{
	Columns: []schema.Column{
		{Name: "type", Type: encoding.String, Encoding: encoding.DictionaryRLE},
		{Name: "labels", Type: encoding.String, Encoding: encoding.DictionaryRLE, Dynamic: true},
		{Name: "stack", Type: encoding.UUIDList, Encoding: encoding.Dictionary},
		{Name: "time", Type: encoding.Int64, Encoding: encoding.Delta},
		{Name: "duration", Type: encoding.Int64, Encoding: encoding.RLE},
		{Name: "tags", Type: encoding.String, Encoding: encoding.Dictionary, Dynamic: true},
		{Name: "note", Type: encoding.String, Encoding: encoding.Plain, Nullable: true},
		{Name: "trace", Type: encoding.UUID, Encoding: encoding.Plain, Nullable: true},
		{Name: "value", Type: encoding.Int64, Encoding: encoding.Plain},
	},
	SortingKey: []string{"type", "labels", "stack", "time"},
	Bucket:     schema.Bucket{Column: "time", Width: 1000},
	Header:     []string{"time", "duration"},
}

// smallGranule returns a granule of three fresh parts of the table small, and its rewrite.
func smallGranule(t testing.TB) (s *schema.Schema, gen *Generation, fresh, base *Granule) {
	t.Helper()
	s, gen = mustSchema(t, small), NewGeneration(1)
	lo, hi := s.BucketBounds(0)
	fresh = New(lo, hi)
	for i := range 3 {
		b := &schema.Batch{Rows: 5, Columns: map[string]encoding.Vector{
			"type": encoding.Strings("cpu"), "labels.pod": encoding.Strings("a"),
			"stack": encoding.UUIDLists(lists[1], lists[2], lists[3], lists[4], lists[5]),
			"time":  encoding.Int64s(int64(100 * i)), "duration": encoding.Int64s(10 + int64(i)),
			"value": encoding.Int64s(10, 20, 70, 30, 10),
		}}
		if i == 1 {
			b.Columns["tags.thread"] = encoding.Vector{Type: encoding.String, Strings: []string{"x", "", "y", "", "x"}}
			b.Columns["note"] = encoding.Vector{Type: encoding.String, Strings: []string{"", "", "one", "zwölf", ""}, Valid: []bool{false, true, true, true, false}}
			b.Columns["trace"] = encoding.Vector{Type: encoding.UUID, UUIDs: ids[:5], Valid: []bool{true, false, true, false, false}}
		}
		fresh = fresh.With(whole(partOf(t, s, gen, b)))
	}
	return s, gen, fresh, Rewrite(s, fresh, Limit{Rows: math.MaxInt})[0]
}

// The golden files have a fresh part's bytes, of a base part, and of their dictionaries.
func TestImageGolden(t *testing.T) {
	s, gen, fresh, base := smallGranule(t)
	const head = "# Made by: go test ./granule -run TestImageGolden -update\n# A field a line: its place, its bytes in order, and their meaning.\n\n"
	for name, p := range map[string]*Part{"fresh": fresh.Sections()[1].Part, "base": base.base.Part} {
		image, wide := p.AppendImage(s, nil)
		dump := fields.Dump{Image: image}
		r := readerOf(s, gen)
		r.in.Trace = dump.Field
		readPart(t, r, 0, image)
		checkGolden(t, name+"_image.golden", fmt.Sprintf("# A %s part of %d rows. Its wide columns begin at %#x.\n%s%s", name, p.Rows(), wide, head, dump.Text.String()))
	}
}

// use reads a part in every way, and rewrites it.
func use(t *testing.T, s *schema.Schema, p *Part) {
	t.Helper()
	rows := decode(t, s, whole(p))
	p.SeriesSet()
	g := New(s.BucketBounds(p.bucket)).With(whole(p))
	key := keysOf(s, Section{p, p.Rows() / 2, p.Rows()/2 + 1})[0]
	if section := whole(p).Within(s, "", key); section.Rows() > p.Rows() {
		t.Fatalf("%d rows of %d", section.Rows(), p.Rows())
	}
	for i := range p.columns {
		c := &p.columns[i]
		if table, ordinals := c.Words().Lookup(); table != nil {
			ordinals.Bits(make([]uint64, p.Rows()/64+1), 0, p.Rows(), make([]byte, table.Len()))
		}
		c.MayHave(encoding.HashID(ids[0]))
		c.RowsOf(nil, ids[0])
	}
	for _, limit := range []int{4, math.MaxInt} {
		checkSameRows(t, "rewrite", rows, decodeAll(t, s, Rewrite(s, g, Limit{Rows: limit})...))
	}
	if image, _ := p.AppendImage(s, nil); len(image) == 0 {
		t.Fatal("no image")
	}
}

// partToDamage is a part's image.
func partToDamage(name string, s *schema.Schema, gen *Generation, image []byte) damaged.Image {
	return damaged.Image{
		Name: name, Bytes: image, Bad: ErrImage,
		Open: func(image []byte) (any, error) {
			r := readerOf(s, gen)
			r.MaxRows = 300
			return r.Read(0, image)
		},
		Use: func(t *testing.T, opened any) { use(t, s, opened.(*Part)) },
	}
}

// generationToDamage is the image of a part's dictionaries, with which its rows are used.
func generationToDamage(s *schema.Schema, image []byte) damaged.Image {
	return damaged.Image{
		Name: "generation", Bytes: image, Bad: ErrImage,
		Open: func(image []byte) (any, error) {
			gen := NewGeneration(3)
			add, err := gen.OpenImage(s, image, dict.LocationCodes)
			if err == nil {
				add()
			}
			return gen, err
		},
		Use: func(t *testing.T, opened any) {
			gen := opened.(*Generation)
			columns, _ := gen.SeriesColumns(s, func(int) bool { return true })
			columns.Each(func(string, SeriesColumn) {})
			for code := range uint32(gen.UUIDs.Len()) {
				if len(gen.UUIDs.Value(code+1)) != 16 {
					t.Fatalf("UUID %d has another length", code+1)
				}
			}
			gen.Size()
		},
	}
}

// narrowToDamage is the image of a part without its wide words.
func narrowToDamage(name string, s *schema.Schema, gen *Generation, image []byte) damaged.Image {
	return damaged.Image{
		Name: name, Bytes: image, Bad: ErrImage,
		Open: func(image []byte) (any, error) {
			r := readerOf(s, gen)
			r.MaxRows = 300
			return r.ReadParts(0, image, nil)
		},
		Use: func(t *testing.T, opened any) {
			p := opened.(*Part)
			p.SeriesSet()
			for i := range p.columns {
				c := &p.columns[i]
				if n := len(c.Words().Append(nil, 0, p.rows)) + len(c.AppendValid(nil, 0, p.rows)); n != 2*p.rows {
					t.Fatalf("%d words of %d rows", n, p.rows)
				}
			}
		},
	}
}

// checkNarrow reads the image of a part without its wide words, and in two parts. What was left out is
// never taken for null.
func checkNarrow(t testing.TB, s *schema.Schema, p *Part, r *PartReader, narrow, wide []byte) {
	t.Helper()
	got, err := r.ReadParts(p.bucket, narrow, wide)
	if err != nil {
		t.Fatal(err)
	}
	checkSamePart(t, s, p, got)
	if got, err = r.ReadParts(p.bucket, narrow, nil); err != nil {
		t.Fatal(err)
	}
	unread := 0
	for i := range p.columns {
		c := &p.columns[i]
		if IsWide(s.Columns()[c.Index]) {
			unread++
			mustPanic(t, func() { got.Find(c.Index, c.Name) })
			continue
		}
		same := got.Find(c.Index, c.Name)
		if same == nil || !slices.Equal(same.Words().Append(nil, 0, p.rows), c.Words().Append(nil, 0, p.rows)) ||
			!slices.Equal(same.AppendValid(nil, 0, p.rows), c.AppendValid(nil, 0, p.rows)) {
			t.Fatalf("column %q differs without wide columns", c.Name)
		}
	}
	if unread == 0 {
		checkSamePart(t, s, p, got)
		return
	}
	mustPanic(t, func() { got.Columns() })
	mustPanic(t, func() { got.AppendKey(nil, s, 0) })
	mustPanic(t, func() { got.AppendImage(s, nil) })
	mustPanic(t, func() { Rewrite(s, New(s.BucketBounds(p.bucket)).With(whole(got)), Limit{Rows: 10}) })
}

func mustPanic(t testing.TB, f func()) {
	t.Helper()
	defer func() {
		if text := fmt.Sprint(recover()); !strings.Contains(text, "was not read from its file") {
			t.Fatalf("a column that was not read: %s", text)
		}
	}()
	f()
}

// toDamage returns images of parts of a small table, and of their dictionaries.
func toDamage(t testing.TB) (images []damaged.Image) {
	s, gen, fresh, base := smallGranule(t)
	for name, p := range map[string]*Part{"fresh": fresh.Sections()[1].Part, "plain fresh": fresh.Sections()[0].Part, "base": base.base.Part} {
		image, wide := p.AppendImage(s, nil)
		images = append(images, partToDamage(name, s, gen, image), narrowToDamage(name+" without wide columns", s, gen, image[:wide]))
	}
	image := gen.AppendImageTo(nil, Watermark{}, gen.NextWatermark())
	images = append(images, generationToDamage(s, image))
	slices.SortFunc(images, func(a, b damaged.Image) int { return strings.Compare(a.Name, b.Name) })
	return images
}

// G8: every byte of a small image, changed to every value, is an error, or makes a part or
// dictionaries that can be used.
func TestImage_EveryByte(t *testing.T) {
	for _, image := range toDamage(t) {
		image.EveryByte(t, 256*32)
	}
}

func TestImage_RandomChanges(t *testing.T) { damaged.RandomChanges(t, toDamage(t)) }

// wrote makes an image field by field, as AppendImage does.
func wrote(fields func(w *encoding.ImageWriter)) []byte {
	var w encoding.ImageWriter
	fields(&w)
	image, _ := w.AppendTo(nil)
	return image
}

// Part by part, what reading relies on is checked, and the error names the place.
func TestPartImageErrors(t *testing.T) {
	s, gen, _, _ := smallGranule(t)
	one := encoding.Constant(1, 3)
	words := func(w *encoding.ImageWriter, words encoding.Words) {
		c := encoding.NewColumn(encoding.Spec{Type: encoding.Int64, Encoding: encoding.Plain}, words, nil)
		w.Column(&c, true)
	}
	column := func(w *encoding.ImageWriter, step, kind uint64, of encoding.Words) {
		w.Uint(step)
		w.Uint(kind)
		words(w, of)
	}
	kind := func(i int) uint64 { return kindOf(s.Columns()[i]) }
	// begin writes the fields before the columns.
	begin := func(w *encoding.ImageWriter, columns uint64) {
		w.Uint(3)
		w.Words(&one)
		w.Uint(0)
		w.Uint(columns)
	}
	stack, times, durations := 2, 3, 4
	tests := []struct {
		name  string
		write func(w *encoding.ImageWriter)
		want  string
	}{
		{"no rows", func(w *encoding.ImageWriter) { w.Uint(0) }, "it has no rows"},
		{"too many rows", func(w *encoding.ImageWriter) { w.Uint(schema.MaxRows + 1) }, "rows is 4194305, at most 4194304"},
		{"a series that is not there", func(w *encoding.ImageWriter) {
			w.Uint(3)
			two := encoding.Constant(2, 3)
			w.Words(&two)
		}, "not all words are 1 to 1"},
		{"series 0", func(w *encoding.ImageWriter) {
			w.Uint(3)
			none := encoding.Constant(0, 3)
			w.Words(&none)
		}, "not all words are 1 to 1"},
		{"more headers than rows", func(w *encoding.ImageWriter) {
			w.Uint(3)
			w.Words(&one)
			w.Uint(4)
		}, "headers is 4, at most 3"},
		{"an ordinal of no header", func(w *encoding.ImageWriter) {
			w.Uint(3)
			w.Words(&one)
			w.Uint(1)
			w.Ordinals(&one)
		}, "not all words are 0 to 0"},
		{"many columns", func(w *encoding.ImageWriter) { begin(w, 9) }, "columns is 9, and there are bytes for 0"},
		{"a column of the series", func(w *encoding.ImageWriter) {
			begin(w, 1)
			column(w, 0, kind(0), one)
		}, "column 0, of 9, is none of the rows"},
		{"a column that the schema has not", func(w *encoding.ImageWriter) {
			begin(w, 1)
			column(w, 9, kind(2), one)
		}, "column 9, of 9, is none of the rows"},
		{"another type", func(w *encoding.ImageWriter) {
			begin(w, 1)
			column(w, 3, kind(2), one)
		}, "type and encoding are 39, and the schema has 81: int64, delta"},
		{"a list that is not there", func(w *encoding.ImageWriter) {
			begin(w, 1)
			column(w, 2, kind(stack), encoding.Constant(9, 3))
		}, `column 0, "stack": malformed image: words before byte 20: not all words are 1 to 5`},
		{"a null where there must be none", func(w *encoding.ImageWriter) {
			begin(w, 1)
			column(w, 2, kind(stack), encoding.Constant(0, 3))
		}, "not all words are 1 to 5"},
		{"the same column again", func(w *encoding.ImageWriter) {
			begin(w, 2)
			column(w, 2, kind(stack), one)
			column(w, 0, kind(stack), one)
		}, `"stack" follows "stack"`},
		{"a name of another column", func(w *encoding.ImageWriter) {
			begin(w, 1)
			w.Uint(5)
			w.Uint(kind(5))
			w.Text("labels.pod")
			words(w, one)
		}, `"labels.pod" is no name of column "tags"`},
		{"a name with a control character", func(w *encoding.ImageWriter) {
			begin(w, 1)
			w.Uint(5)
			w.Uint(kind(5))
			w.Text("tags.\x00")
			words(w, one)
		}, `"tags.\x00" is no name of column "tags"`},
		{"a column that must be there", func(w *encoding.ImageWriter) {
			begin(w, 1)
			column(w, 2, kind(stack), one)
		}, `column "time" is missing`},
		{"a lookup outside of the header", func(w *encoding.ImageWriter) {
			w.Uint(3)
			w.Words(&one)
			w.Uint(2)
			w.Ordinals(&one)
			w.Uint(1)
			column(w, 2, kind(stack), encoding.Lookup(encoding.Constant(1, 2), &one))
		}, "a lookup in a column that is not of the header"},
		{"times of another bucket", func(w *encoding.ImageWriter) {
			begin(w, 4)
			column(w, 2, kind(stack), one)
			column(w, 1, kind(times), encoding.Constant(1000, 3))
			column(w, 1, kind(durations), one)
			column(w, 4, kind(8), one)
		}, "times of 1000 to 1000 are not in bucket 0"},
		{"bytes behind the end", func(w *encoding.ImageWriter) {
			begin(w, 4)
			column(w, 2, kind(stack), one)
			column(w, 1, kind(times), one)
			column(w, 1, kind(durations), one)
			column(w, 4, kind(8), one)
			w.Uint(1)
		}, "1 bytes of the descriptor, 0 words and 0 wide words are left"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := readerOf(s, gen).Read(0, wrote(tt.write))
			if !errors.Is(err, ErrImage) || !strings.HasSuffix(err.Error(), tt.want) || p != nil {
				t.Errorf("Read: %v, %v; want %q", p, err, tt.want)
			}
		})
	}
}

// A part of many columns of few bytes takes memory in proportion, and their names once.
func TestPartImage_ManyColumns(t *testing.T) {
	const rows, columns = 300, 20_000
	s, gen, _, _ := smallGranule(t)
	half := encoding.Encode(encoding.RLE, slices.Concat(slices.Repeat([]uint64{1}, rows/2), slices.Repeat([]uint64{2}, rows/2)))
	one := encoding.Constant(1, rows)
	image := partToDamage("many columns", s, gen, wrote(func(w *encoding.ImageWriter) {
		w.Uint(rows)
		w.Words(&one)
		w.Uint(0)
		w.Uint(4 + columns)
		column := func(step, index int, name string, words encoding.Words) {
			w.Uint(uint64(step))
			w.Uint(kindOf(s.Columns()[index]))
			if name != "" {
				w.Text(name)
			}
			c := encoding.NewColumn(encoding.Spec{Type: encoding.Int64, Encoding: encoding.Plain}, words, nil)
			w.Column(&c, true)
		}
		column(2, 2, "", one)
		column(1, 3, "", one)
		column(1, 4, "", one)
		for i := range columns {
			column(max(0, 1-i), 5, fmt.Sprintf("tags.%05d", i), half)
		}
		column(3, 8, "", one)
	}))
	image.Use = func(t *testing.T, opened any) {
		p := opened.(*Part)
		if c := p.Find(5, "tags.19999"); len(p.Columns()) != 4+columns || c == nil || c.Words().At(rows-1) != 2 {
			t.Errorf("%d columns, the last %v", len(p.Columns()), c)
		}
	}
	if err := image.Try(t, image.Bytes); err != nil {
		t.Error(err)
	}
}

// What a dictionary may not have is refused, and nothing of the image is added.
func TestGenerationImageErrors(t *testing.T) {
	s, _, _, _ := smallGranule(t)
	text := func(value string) func(gen *Generation) {
		return func(gen *Generation) { _, _ = gen.Strings.Intern([]byte(value)) }
	}
	series := func(tuple []byte) func(gen *Generation) {
		return func(gen *Generation) { _, _ = gen.Series.Intern(tuple) }
	}
	labels := func(values ...schema.SeriesValue) func(gen *Generation) { return series(s.AppendTuple(nil, values)) }
	longest := NewGeneration(1)
	text(strings.Repeat("x", schema.MaxString))(longest)
	copyGeneration(t, s, longest)
	tests := []struct {
		name string
		add  func(gen *Generation)
		want string
	}{
		{"a string that is not UTF-8", text("\xff"), "value 2: a string of 1 bytes, at most 65536 of UTF-8"},
		{"a long string", text(strings.Repeat("x", schema.MaxString+1)), "value 2: a string of 65537 bytes, at most 65536 of UTF-8"},
		{"a UUID of another length", func(gen *Generation) { _, _ = gen.UUIDs.Intern([]byte("short")) }, "value 1: a UUID of 5 bytes"},
		{"a tuple that ends early", series([]byte("\x01cpu\x00\x00")), "value 1: malformed series tuple"},
		{"a name of another family", labels(schema.SeriesValue{Column: 1, Name: "tags.a", Value: "b"}), `"tags.a" is no name of its column`},
		{"an empty label", labels(schema.SeriesValue{Column: 1, Name: "labels.a"}), `"labels.a" is empty`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			gen, got := NewGeneration(1), NewGeneration(2)
			text("sound")(gen)
			tt.add(gen)
			image := gen.AppendImageTo(nil, Watermark{}, gen.NextWatermark())
			if _, err := got.OpenImage(s, image, dict.LocationCodes); !errors.Is(err, ErrImage) || !strings.HasSuffix(err.Error(), tt.want) {
				t.Errorf("OpenImage: %v, want %q", err, tt.want)
			}
			if now := got.Watermark(); now != (Watermark{}) {
				t.Errorf("after the error it has %+v", now)
			}
		})
	}
	image := NewGeneration(1).AppendImageTo(nil, Watermark{}, Watermark{})
	if _, err := NewGeneration(1).OpenImage(s, append(image, 0), dict.LocationCodes); !errors.Is(err, ErrImage) {
		t.Errorf("bytes behind the image: %v", err)
	}
}

// A generation that was read goes on where it ended, also with records for what was read.
func TestGenerationImage_GoesOn(t *testing.T) {
	s, gen, _, _ := smallGranule(t)
	got := copyGeneration(t, s, gen)
	mark := got.Watermark()
	if now := got.NextWatermark(); now != mark {
		t.Errorf("nothing is new, and the watermark is %+v, was %+v", now, mark)
	}
	third := copyGeneration(t, s, got)
	if err := got.Lists.KeepRecord(lists[1][0], []byte("late")); err != nil {
		t.Fatal(err)
	}
	now := got.NextWatermark()
	image := got.AppendImageTo(nil, mark, now)
	addGeneration(t, s, third, image)
	code := third.Lists.FindElement(lists[1][0])
	if record := string(third.Lists.Record(code)); record != "late" || now == mark {
		t.Errorf("a late record is %q, the watermark %+v", record, now)
	}
}

// FuzzPartImage reads any bytes as a part, and as dictionaries.
func FuzzPartImage(f *testing.F) {
	for _, image := range toDamage(f) {
		f.Add(image.Bytes)
	}
	s, gen, _, _ := smallGranule(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		part, dictionaries := partToDamage("part", s, gen, nil), generationToDamage(s, nil)
		_ = part.Try(t, data)
		_ = dictionaries.Try(t, data)
	})
}

// BenchmarkImage writes and reads a fresh part of a profile of 511 rows, and the part that a
// rewrite makes of 128 of them.
func BenchmarkImage(b *testing.B) {
	s := mustSchema(b, profiles)
	rng := rand.New(rand.NewPCG(1, 2))
	gen := NewGeneration(1)
	stacks := profileStacks(rng, 1000)
	g := New(s.BucketBounds(0))
	for i := range 128 {
		g = g.With(whole(partOf(b, s, gen, profile(rng, stacks, 511, int64(i)*7e9+rng.Int64N(1e6)))))
	}
	for name, p := range map[string]*Part{"fresh": g.Sections()[0].Part, "base": Rewrite(s, g, Limit{Rows: math.MaxInt})[0].base.Part} {
		image, _ := p.AppendImage(s, nil)
		perRow := func(b *testing.B, do func()) {
			b.ReportAllocs()
			for b.Loop() {
				do()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(p.Rows()), "ns/row")
			b.ReportMetric(float64(len(image))/float64(p.Rows()), "B/row")
		}
		b.Run("part="+name+"/op=write", func(b *testing.B) { perRow(b, func() { image, _ = p.AppendImage(s, image[:0]) }) })
		b.Run("part="+name+"/op=read", func(b *testing.B) {
			r := readerOf(s, gen)
			perRow(b, func() { readPart(b, r, 0, image) })
		})
	}
}

// The rows of a bucket that begins amid its range are not before its start, but for a late one.
func TestPartImage_Bucket(t *testing.T) {
	s, gen, _, _ := smallGranule(t)
	first := s.BucketStart(7)
	p := partOf(t, s, gen, &schema.Batch{Rows: 2, Columns: map[string]encoding.Vector{
		"type": encoding.Strings("cpu"), "stack": encoding.UUIDLists(lists[1]), "time": encoding.Int64s(first+7, first+9),
		"duration": encoding.Int64s(10), "value": encoding.Int64s(10, 20),
	}})
	image, _ := p.AppendImage(s, nil)
	for _, of := range []struct {
		bucket int64
		late   bool
		holds  bool
	}{
		{first, false, true},
		{first + 7, false, true},
		{first + 8, false, false},
		{first + 10, false, false},
		{first, true, true},
		{first + 8, true, true},
		{first + 10, true, true},
		{s.BucketEnd(first), false, false},
		{s.BucketEnd(first), true, false},
		{s.BucketEnd(first) + 1, true, false},
		{first - 1, false, false},
		{first - 1, true, false},
	} {
		r := readerOf(s, gen)
		r.Late = of.late
		got, err := r.Read(of.bucket, image)
		if of.holds != (err == nil) || !of.holds && !errors.Is(err, ErrImage) || of.holds && got.Bucket() != of.bucket {
			t.Errorf("bucket %d, late %t: %v", of.bucket, of.late, err)
		}
	}
}
