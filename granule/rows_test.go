package granule

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/encoding/dict"
	"github.com/granarydb/granary/schema"
)

// G2 and S1: a part has the rows of its batch, in the order of their values;
// rows that tie keep the order of the batch. And keys compare as rows do.
func TestCodeMatchesOracle(t *testing.T) {
	for name, def := range definitions {
		t.Run(name, func(t *testing.T) {
			s := mustSchema(t, def)
			rapid.Check(t, func(rt *rapid.T) {
				gen := NewGeneration(1)
				b := drawBatch(rt, def, rapid.IntRange(1, 25).Draw(rt, "rows"), false)
				coded := code(t, s, gen, b)
				byBucket := map[int64][]row{}
				for _, r := range rowsOf(def, b) {
					byBucket[bucketOf(def, r)] = append(byBucket[bucketOf(def, r)], r)
				}
				if len(coded) != len(byBucket) {
					rt.Fatalf("%d buckets, want %d", len(coded), len(byBucket))
				}
				for bucket, rows := range coded {
					want := sortRows(def, gen, byBucket[bucket])
					got := decode(t, s, whole(rows.Part(0, rows.Len())))
					if diff := gocmp.Diff(text(want), text(got)); diff != "" {
						rt.Fatalf("bucket %d (-want +got):\n%s", bucket, diff)
					}
					checkKeys(rt, def, gen, rows, want)
					lo, hi := s.BucketBounds(bucket)
					for i := range rows.Len() {
						if key := string(rows.Key(i)); key < lo || hi != "" && key >= hi {
							rt.Fatalf("bucket %d [%q, %q) has the key %q", bucket, lo, hi, key)
						}
					}
				}
			})
		})
	}
}

// checkKeys compares each pair of keys with the pair of rows.
func checkKeys(t *rapid.T, def schema.Definition, gen *Generation, rows *Rows, want []row) {
	keys := make([][]byte, rows.Len())
	for i := range keys {
		keys[i] = bytes.Clone(rows.Key(i))
	}
	for i := range keys {
		for k := range i {
			if got, want := bytes.Compare(keys[k], keys[i]), compareRows(def, gen, want[k], want[i]); got != want {
				t.Fatalf("keys of rows %d and %d compare as %d, values as %d", k, i, got, want)
			}
		}
	}
}

// A key is the same from the rows that were inserted and from any part, fresh or rewritten.
func TestKeyOfPart(t *testing.T) {
	def := everything(bucketWidth)
	s := mustSchema(t, def)
	rapid.Check(t, func(rt *rapid.T) {
		b := drawBatch(rt, def, rapid.IntRange(1, 20).Draw(rt, "rows"), true)
		for _, rows := range code(t, s, NewGeneration(1), b) {
			lo := rapid.IntRange(0, rows.Len()).Draw(rt, "lo")
			hi := rapid.IntRange(lo, rows.Len()).Draw(rt, "hi")
			for i, key := range keysOf(s, whole(rows.Part(lo, hi))) {
				if want := string(rows.Key(lo + i)); key != want {
					rt.Fatalf("row %d: key %q of the part, %q of the rows", lo+i, key, want)
				}
			}
			fresh := rows.Part(lo, hi)
			base := Rewrite(s, New("", "").With(whole(fresh)), Limit{Rows: math.MaxInt})[0].base.Part
			for i := range hi - lo {
				want := "before " + string(rows.Key(lo+i))
				for _, p := range []*Part{fresh, base} {
					if got := string(p.AppendKey([]byte("before "), s, i)); got != want {
						rt.Fatalf("row %d: %q of a part, %q of the rows", lo+i, got, want)
					}
				}
			}
		}
	})
}

// Rows can be cut anywhere: the pieces have all rows, in order.
func TestPartOfRange(t *testing.T) {
	def := everything(0)
	s := mustSchema(t, def)
	rapid.Check(t, func(rt *rapid.T) {
		b := drawBatch(rt, def, rapid.IntRange(1, 20).Draw(rt, "rows"), true)
		rows := code(t, s, NewGeneration(1), b)[0]
		cut := rapid.IntRange(0, rows.Len()).Draw(rt, "cut")
		want := decode(t, s, whole(rows.Part(0, rows.Len())))
		got := append(decode(t, s, whole(rows.Part(0, cut))), decode(t, s, whole(rows.Part(cut, rows.Len())))...)
		if diff := gocmp.Diff(text(want), text(got)); diff != "" {
			rt.Fatalf("pieces (-want +got):\n%s", diff)
		}
	})
}

// numbers is a table of one Int64 column, its key.
var numbers = schema.Definition{
	Columns:    []schema.Column{{Name: "n", Type: encoding.Int64, Encoding: encoding.Plain}},
	SortingKey: []string{"n"},
}

// numberRows codes numbers.
func numberRows(t testing.TB, s *schema.Schema, gen *Generation, n ...int64) *Rows {
	t.Helper()
	return code(t, s, gen, &schema.Batch{Rows: len(n), Columns: map[string]encoding.Vector{"n": encoding.Int64s(n...)}})[0]
}

func numberPart(t testing.TB, s *schema.Schema, gen *Generation, n ...int64) *Part {
	t.Helper()
	rows := numberRows(t, s, gen, n...)
	return rows.Part(0, rows.Len())
}

// numberKey is the key of a row of numbers.
func numberKey(n int64) string {
	return string(schema.AppendWord(schema.AppendPresent(nil), encoding.Int64, uint64(n)))
}

func TestRowsSearch(t *testing.T) {
	s := mustSchema(t, numbers)
	rows := numberRows(t, s, NewGeneration(1), 30, 10, 20, 20)
	tests := []struct {
		name  string
		lo    int
		bound string
		want  int
	}{
		{"minus infinity", 0, "", 0},
		{"below all", 0, numberKey(5), 0},
		{"the first key", 0, numberKey(10), 0},
		{"just above the first key", 0, numberKey(10) + "\x00", 1},
		{"equal keys: the first of them", 0, numberKey(20), 1},
		{"equal keys, from the second of them", 2, numberKey(20), 2},
		{"from beyond the bound", 3, numberKey(10), 3},
		{"the last key", 0, numberKey(30), 3},
		{"above all", 0, numberKey(31), 4},
		{"from the end", 4, numberKey(10), 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := rows.Search(tt.lo, tt.bound); got != tt.want {
				t.Errorf("Search(%d, %q) = %d, want %d", tt.lo, tt.bound, got, tt.want)
			}
		})
	}
}

// Rows of one batch with one series share its code; a label that is empty is
// none, so it makes no other series.
func TestSeriesOfBatch(t *testing.T) {
	def := everything(0)
	s := mustSchema(t, def)
	times := encoding.Int64s(0, 0, 0, 0)
	tests := []struct {
		name string
		pods encoding.Vector
		want int
	}{
		{"one for all", encoding.Strings("p"), 1},
		{"no value for all", encoding.Strings(""), 1},
		{"all alike", encoding.Strings("p", "p", "p", "p"), 1},
		{"neighbours differ", encoding.Strings("p", "q", "p", "q"), 2},
		{"all differ", encoding.Strings("p", "q", "r", "s"), 4},
		{"null and empty are one", encoding.Vector{
			Type: encoding.String, Strings: []string{"", "ignored", "p", "p"}, Valid: []bool{true, false, true, true},
		}, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			gen := NewGeneration(1)
			p := partOf(t, s, gen, &schema.Batch{Rows: 4, Columns: map[string]encoding.Vector{
				"time": times, "unit": encoding.Strings("ns"), "value": encoding.Int64s(1), "labels.pod": tt.pods,
			}})
			if got := len(p.SeriesSet()); got != tt.want || gen.Series.Len() != tt.want {
				t.Errorf("%d series in the part, %d in the dictionary, want %d", got, gen.Series.Len(), tt.want)
			}
		})
	}
}

// The code of a series stands for the columns of its tuple.
func TestSeriesCodeOfBatch(t *testing.T) {
	def := everything(0)
	s := mustSchema(t, def)
	gen := NewGeneration(1)
	labels := map[string]encoding.Vector{"unit": encoding.Strings("ns"), "kind": encoding.Strings("cpu"), "labels.pod": encoding.Strings("p")}
	columns, err := s.Check(&schema.Batch{Rows: 1, Columns: map[string]encoding.Vector{
		"time": encoding.Int64s(0), "value": encoding.Int64s(1), "unit": labels["unit"], "kind": labels["kind"], "labels.pod": labels["labels.pod"],
	}})
	if err != nil {
		t.Fatal(err)
	}
	code, err := InternSeries(s, gen, columns)
	if err != nil || code != 1 {
		t.Fatalf("InternSeries = %d, %v", code, err)
	}
	rest := map[string]encoding.Vector{"time": encoding.Int64s(3, 1, 2), "value": encoding.Int64s(1)}
	coded := partOf(t, s, gen, &schema.Batch{Rows: 3, Series: code, Columns: rest})
	maps.Copy(labels, rest)
	plain := partOf(t, s, gen, &schema.Batch{Rows: 3, Columns: labels})
	if diff := gocmp.Diff(text(decode(t, s, whole(plain))), text(decode(t, s, whole(coded)))); diff != "" {
		t.Errorf("rows (-with labels +with a code):\n%s", diff)
	}
	for name, p := range map[string]*Part{"labels": plain, "a code": coded} {
		if word, ok := p.Series().Constant(); !ok || word != uint64(code) {
			t.Errorf("the series of a part with %s are %v", name, p.Series())
		}
	}
}

// Codes of lists are used as they are, of all rows or of some, with nulls or without.
func TestListCodes(t *testing.T) {
	s := mustSchema(t, scrapes)
	gen := NewGeneration(1)
	partOf(t, s, gen, profileBatch(rand.New(rand.NewPCG(1, 3)), profileShape{kinds: 1, stacks: 5, times: 1}, 50))
	valid := []bool{true, false, true, true}
	for _, test := range []struct {
		name  string
		valid []bool
		rows  []int32
		want  []uint64
	}{
		{"all", nil, nil, []uint64{1, 2, 3, 4}},
		{"with a null", valid, nil, []uint64{0, 1, 3, 4}},
		{"some", nil, []int32{3, 1}, []uint64{2, 3}},
		{"some, with a null", valid, []int32{1, 0}, []uint64{0, 4}},
	} {
		for range 2 { // the second time in the memory of the first
			stack := encoding.ListCodes(4, 3, 1, 2)
			if test.valid != nil {
				stack = encoding.ListCodes(4, 2, 1, 3) // a null can have any code
				stack.Valid = test.valid
			}
			b := &schema.Batch{Rows: 4, Columns: map[string]encoding.Vector{
				"kind": encoding.Strings("cpu"), "stack": stack, "time": encoding.Int64s(1), "duration": encoding.Int64s(1),
				"rate": encoding.Float64s(1), "value": encoding.Int64s(1),
			}}
			columns, err := s.Check(b)
			if err != nil {
				t.Fatal(err)
			}
			rows, err := Code(s, gen, 0, b, columns, test.rows)
			if err != nil {
				t.Fatal(err)
			}
			p := rows.Part(0, rows.Len())
			rows.Done()
			if got := p.Find(1, "stack").Words().Append(nil, 0, p.Rows()); !slices.Equal(got, test.want) {
				t.Errorf("%s: codes %v, want %v", test.name, got, test.want)
			}
		}
	}
}

// Records reach the dictionary with the elements that they belong to, and a
// list that many rows share by reference is the same as its copies.
func TestListsAndRecords(t *testing.T) {
	def := everything(0)
	s := mustSchema(t, def)
	gen := NewGeneration(1)
	main, run, other := uuid.UUID{1}, uuid.UUID{2}, uuid.UUID{3}
	shared := []uuid.UUID{main, run}
	p := partOf(t, s, gen, &schema.Batch{
		Rows: 5,
		Columns: map[string]encoding.Vector{
			"time": encoding.Int64s(0, 1, 2, 3, 4), "unit": encoding.Strings("ns"), "value": encoding.Int64s(1),
			// The second is shorter than the first but begins at the same place.
			"stack": encoding.UUIDLists(shared, shared[:1], shared, []uuid.UUID{main, run, other}, nil),
		},
		Records: map[uuid.UUID][]byte{main: []byte("main.main"), other: []byte("other")},
	})
	rows := decode(t, s, whole(p))
	got := map[int64][]uuid.UUID{}
	for _, r := range rows {
		got[r["time"].(int64)], _ = r["stack"].([]uuid.UUID)
	}
	want := map[int64][]uuid.UUID{0: shared, 1: {main}, 2: shared, 3: {main, run, other}, 4: nil}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("stacks by time (-want +got):\n%s", diff)
	}
	if gen.Lists.Len() != 4 || gen.Lists.Elements() != 3 {
		t.Errorf("%d lists of %d elements in the dictionary, want 4 of 3", gen.Lists.Len(), gen.Lists.Elements())
	}
	for id, want := range map[uuid.UUID]string{main: "main.main", run: "", other: "other"} {
		code, _ := gen.Lists.InternElement(id, nil)
		if got := string(gen.Lists.Record(code)); got != want {
			t.Errorf("record of %x = %q, want %q", id[0], got, want)
		}
	}
}

// G5: plain values go to no dictionary; coded ones go to that of their kind.
func TestDictionaries(t *testing.T) {
	def := everything(0)
	s := mustSchema(t, def)
	gen := NewGeneration(1)
	p := partOf(t, s, gen, &schema.Batch{Rows: 2, Columns: map[string]encoding.Vector{
		"time": encoding.Int64s(0), "unit": encoding.Strings("ns"), "value": encoding.Int64s(1),
		"note":   encoding.Strings("plain", "plain"),
		"trace":  encoding.UUIDs(uuid.UUID{1}, uuid.UUID{1}),
		"tags.a": encoding.Strings("coded"),
		"span":   encoding.UUIDs(uuid.UUID{2}),
		"stack":  encoding.UUIDLists([]uuid.UUID{{3}}),
	}})
	type sizes struct{ Strings, UUIDs, Lists, Series int }
	got := sizes{gen.Strings.Len(), gen.UUIDs.Len(), gen.Lists.Len(), gen.Series.Len()}
	if diff := gocmp.Diff(sizes{1, 1, 1, 1}, got); diff != "" {
		t.Errorf("dictionaries (-want +got):\n%s", diff)
	}
	want := map[string]*dict.Values{"note": nil, "trace": nil, "tags.a": gen.Strings, "span": gen.UUIDs, "stack": nil}
	for _, c := range p.Columns() {
		if dict, ok := want[c.Name]; ok && c.Dict() != dict {
			t.Errorf("column %q is of another dictionary", c.Name)
		}
	}
	if stack := p.Find(3, "stack"); stack == nil || stack.Lists() != gen.Lists {
		t.Error(`column "stack" is not of the generation's lists`)
	}
}

// Many goroutines may code into one generation; each gets its own rows back.
func TestCodeConcurrently(t *testing.T) {
	def := everything(0)
	s := mustSchema(t, def)
	gen := NewGeneration(1)
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 50 {
				n := 1 + (w*31+i)%17
				b := &schema.Batch{Rows: n, Columns: map[string]encoding.Vector{
					"time": encoding.Int64s(int64(i)), "unit": encoding.Strings("ns"), "value": encoding.Int64s(int64(w)),
				}}
				var tags []string
				var stacks [][]uuid.UUID
				for k := range n {
					tags = append(tags, fmt.Sprint("tag", k*i%13))
					stacks = append(stacks, []uuid.UUID{{byte(k)}, {byte(i)}})
				}
				b.Columns["tags.t"] = encoding.Strings(tags...)
				b.Columns["stack"] = encoding.UUIDLists(stacks...)
				columns, err := s.Check(b)
				if err != nil {
					t.Error(err)
					return
				}
				all := make([]int32, n)
				for k := range all {
					all[k] = int32(k)
				}
				rows, err := Code(s, gen, 0, b, columns, all)
				if err != nil {
					t.Error(err)
					return
				}
				got := decode(t, s, whole(rows.Part(0, n)))
				if diff := gocmp.Diff(bag(rowsOf(def, b)), bag(got)); diff != "" {
					t.Errorf("writer %d, batch %d (-want +got):\n%s", w, i, diff)
				}
			}
		})
	}
	wg.Wait()
}

// Code takes the requested rows, in any order, and no others.
func TestCodeWantedRows(t *testing.T) {
	s := mustSchema(t, numbers)
	b := &schema.Batch{Rows: 6, Columns: map[string]encoding.Vector{"n": encoding.Int64s(5, 0, 3, 9, 1, 4)}}
	columns, err := s.Check(b)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := Code(s, NewGeneration(1), 0, b, columns, []int32{5, 0, 3})
	if err != nil {
		t.Fatal(err)
	}
	var got []int64
	for _, r := range decode(t, s, whole(rows.Part(0, rows.Len()))) {
		got = append(got, r["n"].(int64))
	}
	if diff := gocmp.Diff([]int64{4, 5, 9}, got); diff != "" {
		t.Errorf("rows 5, 0 and 3 (-want +got):\n%s", diff)
	}
}
