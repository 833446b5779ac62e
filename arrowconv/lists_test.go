package arrowconv

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/encoding/dict"
	"github.com/granarydb/granary/internal/effort"
)

// someLists is lists of a dictionary, the i-th of up to 40 elements that end alike.
func someLists(n int) encoding.Vector {
	v := encoding.Vector{Type: encoding.UUIDList}
	for i := range n {
		list := []uuid.UUID{}
		for k := range i * 7 % 40 {
			if k < 3 {
				list = append(list, uuid.UUID{byte(i), byte(i >> 8), byte(k), 1})
			} else {
				list = append(list, uuid.UUID{byte(k), 15: byte(k) ^ byte(i/100)})
			}
		}
		v.UUIDLists = append(v.UUIDLists, list)
	}
	return v
}

// part returns rows [lo, hi) of a column's words.
func (w *words) part(lo, hi int) words { return words{w.from, w.words[lo:hi], w.valid[lo:hi]} }

// oneRecord makes a record of some rows.
func oneRecord(t *testing.T, b *RecordBuilder, w words) arrow.Record {
	t.Helper()
	b.Words(0, w.from, w.words, w.valid)
	rec, err := b.Record()
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func dictionaryOf(rec arrow.Record) *array.Dictionary {
	a := rec.Column(0)
	if r, ok := a.(*array.RunEndEncoded); ok {
		a = r.Values()
	}
	return a.(*array.Dictionary)
}

// TestShared: records that may share a dictionary of lists do, from the first on if many
// are to come and else after an eighth of them, until the lists are others (A1).
func TestShared(t *testing.T) {
	const n = 400
	v := someLists(n)
	for _, form := range []Form{FormDictionary, FormNative} {
		for _, many := range []bool{false, true} {
			for _, runs := range []bool{false, true} {
				t.Run(fmt.Sprintf("%v/many=%v/runs=%v", form, many, runs), func(t *testing.T) {
					s := spec(encoding.UUIDList, true)
					w := encode(t, s, v)
					b := NewRecordBuilder(checked(t), form, []Field{{Name: "c", Type: encoding.UUIDList, Shared: true, Many: many, Runs: runs, Nullable: true}})
					defer b.Release()
					var first *array.Data
					for i := range 5 {
						rec := oneRecord(t, b, w.part(30*i, 30*i+30))
						equal(t, rows(v)[30*i:30*i+30], rowsOf(rec.Column(0)))
						dict := dictionaryOf(rec)
						switch data := dict.Data().Dictionary().(*array.Data); {
						case !many && i < 2:
							if dict.Dictionary().Len() > 30 {
								t.Errorf("record %d: %d lists in the dictionary", i, dict.Dictionary().Len())
							}
							checkDictionary(t, dict, rowsOf(dict))
						case first == nil:
							first = data
							diff(t, s.Lists.Len(), data.Len())
						case data != first:
							t.Errorf("record %d has a dictionary of its own", i)
						}
						rec.Release()
					}
					other := encode(t, spec(encoding.UUIDList, true), v)
					rec := oneRecord(t, b, other.part(0, 30))
					equal(t, rows(v)[:30], rowsOf(rec.Column(0)))
					if dictionaryOf(rec).Data().Dictionary() == arrow.ArrayData(first) {
						t.Error("lists of another dictionary have that of the first")
					}
					rec.Release()
				})
			}
		}
	}
}

// TestSharedNot: a field without Shared has a dictionary of its rows in each record, and so
// have lists of names.
func TestSharedNot(t *testing.T) {
	v := someLists(100)
	for _, f := range []Field{{Many: true}, {Shared: true, Many: true, Names: hexNames}} {
		f.Name, f.Type = "c", encoding.UUIDList
		b := NewRecordBuilder(checked(t), FormNative, []Field{f})
		w := encode(t, spec(encoding.UUIDList, true), v)
		for lo := 0; lo < 100; lo += 10 {
			rec := oneRecord(t, b, w.part(lo, lo+10))
			if n := dictionaryOf(rec).Dictionary().Len(); n > 10 {
				t.Errorf("%d lists in the dictionary of 10 rows", n)
			}
			rec.Release()
		}
		b.Release()
	}
}

// TestSharedGrows: a record with a list that came after all were read has its own
// dictionary, wherever in the record it is.
func TestSharedGrows(t *testing.T) {
	v := someLists(60)
	for at := range 5 {
		s := spec(encoding.UUIDList, true)
		b := NewRecordBuilder(checked(t), FormNative, []Field{{Name: "c", Type: encoding.UUIDList, Shared: true, Many: true, Nullable: true}})
		old := v
		old.UUIDLists = v.UUIDLists[:20]
		w := encode(t, s, old)
		oneRecord(t, b, w).Release()
		later := encode(t, s, v)
		want := []any{nil}
		b.Nulls(0, 1)
		for i := range 5 {
			row := i
			if i == at {
				row = 59
			}
			p := later.part(row, row+1)
			b.Words(0, p.from, p.words, p.valid)
			want = append(want, rows(v)[row])
		}
		b.Constant(0, later.from, later.words[58], 2)
		rec, err := b.Record()
		if err != nil {
			t.Fatal(err)
		}
		equal(t, append(want, rows(v)[58], rows(v)[58]), rowsOf(rec.Column(0)))
		checkDictionary(t, rec.Column(0), rowsOf(rec.Column(0)))
		rec.Release()
		rec = oneRecord(t, b, later.part(3, 9))
		equal(t, rows(v)[3:9], rowsOf(rec.Column(0)))
		rec.Release()
		b.Release()
	}
}

// TestSharedNulls: a row marked as null is null, with any word, also with a shared dictionary.
func TestSharedNulls(t *testing.T) {
	v := someLists(20)
	w := encode(t, spec(encoding.UUIDList, true), v)
	w.valid = slices.Repeat([]bool{true}, 20)
	want := rows(v)
	w.valid[3], want[3] = false, nil
	w.words[5], want[5] = 0, nil
	b := NewRecordBuilder(checked(t), FormDictionary, []Field{{Name: "c", Type: encoding.UUIDList, Shared: true, Many: true, Nullable: true}})
	defer b.Release()
	rec := oneRecord(t, b, w)
	defer rec.Release()
	checkRows(t, want, rec)
	diff(t, 20, dictionaryOf(rec).Dictionary().Len())
}

// TestSharedTooLarge: a dictionary beyond the limit is read list by list.
func TestSharedTooLarge(t *testing.T) {
	if effort.Race {
		t.Skip("one goroutine fills a large dictionary")
	}
	s := spec(encoding.UUIDList, true)
	var list []uint32
	for i := range 1000 {
		code, err := s.Lists.InternElement(uuid.UUID{byte(i), byte(i >> 8)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, code)
	}
	var words []uint64
	for i := range mostElements/len(list) + 2 {
		list[0], list[1] = uint32(i%1000+1), uint32(i/1000+1)
		code, err := s.Lists.InternList(list)
		if err != nil {
			t.Fatal(err)
		}
		words = append(words, uint64(code))
	}
	for _, shared := range []bool{false, true} {
		b := NewRecordBuilder(checked(t), FormDictionary, []Field{{Name: "c", Type: encoding.UUIDList, Shared: shared, Many: true}})
		column := encoding.NewColumn(s, encoding.Encode(encoding.Dictionary, words), nil)
		b.Words(0, &column, words[:3], nil)
		rec, err := b.Record()
		if err != nil {
			t.Fatal(err)
		}
		if n := dictionaryOf(rec).Dictionary().Len(); n != 3 {
			t.Errorf("shared=%v: %d lists, want those of 3 rows", shared, n)
		}
		want := []any{s.Lists.UUIDs(nil, uint32(words[0])), s.Lists.UUIDs(nil, uint32(words[1])), s.Lists.UUIDs(nil, uint32(words[2]))}
		equal(t, want, rowsOf(rec.Column(0)))
		rec.Release()
		b.Release()
	}
}

// hexNames are an element's names: none, one or two of them, not all UTF-8.
func hexNames(dst []string, id uuid.UUID, record []byte) []string {
	for k := range int(id[0]) % 3 {
		dst = append(dst, fmt.Sprintf("%x.%d.%s\xff", id[:2], k, record))
	}
	return dst
}

// wantNames is the names of a list of ids, as documented.
func wantNames(ids []uuid.UUID, records map[uuid.UUID]string) []string {
	names := []string{}
	for _, id := range ids {
		for k := range int(id[0]) % 3 {
			names = append(names, fmt.Sprintf("%x.%d.%s\uFFFD", id[:2], k, records[id]))
		}
	}
	return names
}

// TestNames: lists are the names of their elements; Names is called once for each element,
// with its record.
func TestNames(t *testing.T) {
	v := someLists(50)
	v.Valid = slices.Repeat([]bool{true}, 50)
	v.Valid[7], v.Valid[8] = false, false
	for _, form := range allForms {
		for _, many := range []bool{false, true} {
			asked := map[uuid.UUID]int{}
			names := func(dst []string, id uuid.UUID, record []byte) []string {
				asked[id]++
				return hexNames(dst, id, record)
			}
			s := spec(encoding.UUIDList, true)
			records := map[uuid.UUID]string{}
			for i, list := range v.UUIDLists {
				for _, id := range list {
					if i%2 == 0 {
						records[id] = fmt.Sprint("r", id[0])
						if _, err := s.Lists.InternElement(id, []byte(records[id])); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
			w := encode(t, s, v)
			var want []any
			for i, list := range v.UUIDLists {
				want = append(want, wantNames(list, records))
				if v.Null(i) {
					want[i] = nil
				}
			}
			b := NewRecordBuilder(checked(t), form, []Field{{Name: "c", Type: encoding.UUIDList, Names: names, Many: many, Nullable: true}})
			for range 3 {
				rec := oneRecord(t, b, w)
				checkRows(t, want, rec)
				rec.Release()
			}
			for id, n := range asked {
				if n != 1 {
					t.Errorf("%v, many=%v: asked %d times about %v", form, many, n, id)
				}
			}
			if len(asked) == 0 {
				t.Errorf("%v: nobody was asked", form)
			}
			var codes []uint32
			for _, word := range w.words {
				codes = append(codes, uint32(word))
			}
			b.Nulls(0, 2)
			b.Lists(0, s.Lists.View(), codes)
			b.Constant(0, w.from, w.words[3], 2)
			rec, err := b.Record()
			if err != nil {
				t.Fatal(err)
			}
			equal(t, slices.Concat([]any{nil, nil}, want, []any{want[3], want[3]}), rowsOf(rec.Column(0)))
			rec.Release()
			b.Release()
		}
	}
}

// TestNamesTooLarge: 32-bit offsets of names never overflow, nor those of their number.
func TestNamesTooLarge(t *testing.T) {
	for _, form := range allForms {
		b := NewRecordBuilder(checked(t), form, []Field{{Name: "c", Type: encoding.UUIDList, Names: hexNames}})
		of := &b.columns[0].cells.values
		if form != FormPlain {
			of = &b.columns[0].cells.dict.values
		}
		of.limit = 100
		w := encode(t, spec(encoding.UUIDList, true), someLists(40))
		for _, lists := range []int{4, 40} { // bytes are too many, and names too
			p := w.part(0, lists)
			b.Words(0, p.from, p.words, nil)
			if _, err := b.Record(); !errors.Is(err, errLarge) || !errors.Is(err, ErrBuild) {
				t.Errorf("%v, %d lists: %v", form, lists, err)
			}
		}
		rec := oneRecord(t, b, w.part(0, 1))
		equal(t, []any{[]string{}}, rowsOf(rec.Column(0)))
		rec.Release()
		b.Release()
	}
}

// TestLists: lists of an answer, by codes in a row and not, of one dictionary and two.
func TestLists(t *testing.T) {
	v := someLists(400)
	one, two := spec(encoding.UUIDList, true), spec(encoding.UUIDList, true)
	some := v
	some.UUIDLists = v.UUIDLists[:350]
	encode(t, one, some)
	encode(t, two, v)
	union := dict.NewUnion(one.Lists, two.Lists)
	for code := uint32(1); int(code) <= one.Lists.Len(); code++ {
		union.Add(0, code)
	}
	for code := uint32(1); int(code) <= two.Lists.Len(); code++ {
		union.Add(1, code)
	}
	for name, from := range map[string]dict.ListView{"one": two.Lists.View(), "union": union.View()} {
		for order, codes := range map[string][]uint32{
			"all":       steps(0, 380, 1),
			"some":      steps(1, 390, 3),
			"most":      steps(2, 390, 2),
			"backwards": steps(389, 0, -1),
			"twice":     append(steps(1, 200, 1), steps(1, 200, 1)...),
			"few":       {5},
			"none":      {},
			"nulls":     {0, 0, 3, 0},
		} {
			for _, form := range allForms {
				t.Run(fmt.Sprintf("%s/%s/%v", name, order, form), func(t *testing.T) {
					want := []any{}
					for _, code := range codes {
						if code == 0 {
							want = append(want, nil)
							continue
						}
						want = append(want, append([]uuid.UUID{}, from.UUIDs(nil, code)...))
					}
					b := NewRecordBuilder(checked(t), form, []Field{{Name: "c", Type: encoding.UUIDList, Nullable: true}})
					defer b.Release()
					for range 2 {
						b.Lists(0, from, codes)
						rec, err := b.Record()
						if err != nil {
							t.Fatal(err)
						}
						equal(t, want, rowsOf(rec.Column(0)))
						checkArray(t, rec.Column(0), false)
						rec.Release()
					}
				})
			}
		}
	}
}

func steps(from, to, by int) []uint32 {
	var out []uint32
	for ; by > 0 && from < to || by < 0 && from > to; from += by {
		out = append(out, uint32(from))
	}
	return out
}
