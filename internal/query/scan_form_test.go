package query

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/memory"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/granarydb/granary/arrowconv"
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/oracle"
	"github.com/granarydb/granary/internal/query/filter"
	"github.com/granarydb/granary/internal/querytest"
	"github.com/granarydb/granary/schema"
)

// wantRows are the rows of the oracle that a scan must yield, as text, without order.
func wantRows(rows []oracle.Row, columns []string, names bool) []string {
	var out []oracle.Row
	for _, row := range rows {
		if names {
			row = querytest.NamesOf(row, "stack", nil)
		}
		kept := oracle.Row{}
		for name, value := range row {
			family, _, _ := strings.Cut(name, ".")
			if columns == nil || slices.Contains(columns, name) || slices.Contains(columns, family) {
				kept[name] = value
			}
		}
		out = append(out, kept)
	}
	return oracle.Texts(out)
}

// TestScan_Forms: each form has the table's rows, with nulls and empty strings distinct, in slices too,
// for any order, columns and dictionaries.
func TestScan_Forms(t *testing.T) {
	effort.Slow(t)
	for _, generation := range []int64{16, 7} {
		table, rows := filled(t, querytest.Options{GranuleRows: 100, GenerationBuckets: generation}, 900)
		r := table.Read()
		for _, form := range recordForms {
			for i := range 16 {
				if effort.Race && i%5 > 0 {
					continue // one goroutine scans
				}
				opts := ScanOptions{Form: form, Ordered: i&1 > 0, OwnDictionaries: i&2 > 0, Memory: memory.NewCheckedAllocator(memory.NewGoAllocator())}
				names := i&4 > 0
				if names {
					opts.Elements = querytest.ElementNames
				}
				if i&8 > 0 {
					opts.Columns = []string{"value", "labels", "stack", "nums.n"}
				}
				t.Run(fmt.Sprintf("%v/generation=%d/ordered=%v/own=%v/names=%v/columns=%v", form, generation, opts.Ordered, opts.OwnDictionaries, names, opts.Columns), func(t *testing.T) {
					got, schemas := scanForm(t, r, opts)
					slices.Sort(got)
					if diff := cmp.Diff(wantRows(rows, opts.Columns, names), got); diff != "" {
						t.Errorf("rows (-want +got):\n%s", diff)
					}
					want, err := RecordSchema(r, opts)
					if err != nil {
						t.Fatal(err)
					}
					for _, s := range schemas {
						if !s.Equal(want) {
							t.Fatalf("schema %v, want %v", s, want)
						}
					}
					opts.Memory.(*memory.CheckedAllocator).AssertSize(t, 0)
				})
			}
		}
	}
}

// scanForm reads the rows of a scan, each record whole or in two slices, and the schemas.
func scanForm(t *testing.T, r *filter.Read, opts ScanOptions) (rows []string, schemas []*arrow.Schema) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	for rec, err := range scanned(context.Background(), r, opts) {
		if err != nil {
			t.Fatal(err)
		}
		schemas = append(schemas, rec.Schema())
		cut := rng.Int64N(rec.NumRows() + 1)
		head, tail := rec.NewSlice(0, cut), rec.NewSlice(cut, rec.NumRows())
		if whole, parts := querytest.FormRows(rec), append(querytest.FormRows(head), querytest.FormRows(tail)...); !slices.Equal(whole, parts) {
			t.Errorf("slices at %d differ from the record:\n%s", cut, cmp.Diff(whole, parts))
		} else {
			rows = append(rows, whole...)
		}
		head.Release()
		tail.Release()
		rec.Release()
	}
	return rows, schemas
}

// TestScan_FormsInOrder: with Ordered, rows come in key order in each form, and a limit returns the first
// rows.
func TestScan_FormsInOrder(t *testing.T) {
	table, rows := filled(t, querytest.Options{GranuleRows: 100}, 600)
	r := table.Read()
	all, _ := scanForm(t, r, ScanOptions{Ordered: true})
	for _, form := range recordForms {
		for _, limit := range []int{0, 1, 50, 333, 1000} {
			got, _ := scanForm(t, r, ScanOptions{Ordered: true, Form: form, Limit: limit})
			want := all
			if limit > 0 && limit < len(rows) {
				want = all[:limit]
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%v, limit %d (-want +got):\n%s", form, limit, diff)
			}
		}
	}
}

// TestRecordSchema: the documented Arrow types of the forms, and the errors.
func TestRecordSchema(t *testing.T) {
	def := querytest.Wide(100, querytest.WideKey)
	def.Columns = append(slices.Clone(def.Columns),
		schema.Column{Name: "length", Type: encoding.Int64, Encoding: encoding.RLE},
		schema.Column{Name: "dictionary", Type: encoding.UUID, Encoding: encoding.DictionaryRLE, Nullable: true})
	def.Header = []string{"time", "length"}
	table := querytest.Open(t, querytest.Options{}, def)
	r := table.Read()
	for form, want := range map[arrowconv.Form]string{
		arrowconv.FormDictionary: `kind dictionary<values=utf8, indices=uint32, ordered=false>; zone? dictionary<values=utf8, indices=uint32, ordered=false>; ` +
			`stack? dictionary<values=list<item: fixed_size_binary[16], nullable>, indices=uint32, ordered=false>; time int64; ` +
			`host? dictionary<values=fixed_size_binary[16], indices=uint32, ordered=false>; trace? fixed_size_binary[16]; note? utf8; ` +
			`size? uint64; ratio? float64; flag? bool; value int64; bonus? int64; length int64; ` +
			`dictionary? dictionary<values=fixed_size_binary[16], indices=uint32, ordered=false>; `,
		arrowconv.FormNative: `kind runs of dictionary<values=utf8, indices=uint32, ordered=false>; zone? runs of dictionary<values=utf8, indices=uint32, ordered=false>; ` +
			`stack? dictionary<values=list<item: fixed_size_binary[16], nullable>, indices=uint32, ordered=false>; time int64; ` +
			`host? dictionary<values=fixed_size_binary[16], indices=uint32, ordered=false>; trace? fixed_size_binary[16]; note? utf8; ` +
			`size? runs of uint64; ratio? float64; flag? runs of bool; value int64; bonus? int64; length int64; ` +
			`dictionary? runs of dictionary<values=fixed_size_binary[16], indices=uint32, ordered=false>; `,
		arrowconv.FormPlain: `kind utf8; zone? utf8; stack? list<item: fixed_size_binary[16], nullable>; time int64; host? fixed_size_binary[16]; ` +
			`trace? fixed_size_binary[16]; note? utf8; size? uint64; ratio? float64; flag? bool; value int64; bonus? int64; length int64; ` +
			`dictionary? fixed_size_binary[16]; `,
	} {
		s, err := RecordSchema(r, ScanOptions{Form: form})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, f := range s.Fields() {
			typ := f.Type.String()
			if runs, ok := f.Type.(*arrow.RunEndEncodedType); ok {
				typ = "runs of " + runs.Encoded().String()
			}
			name := f.Name
			if f.Nullable {
				name += "?"
			}
			got += name + " " + typ + "; "
		}
		if got != want {
			t.Errorf("%v (-want +got):\n%s", form, cmp.Diff(want, got))
		}
	}
	s, err := RecordSchema(r, ScanOptions{Columns: []string{"stack"}, Form: arrowconv.FormPlain, Elements: querytest.ElementNames})
	if err != nil || s.Field(0).Type.String() != "list<item: utf8, nullable>" {
		t.Errorf("stacks as names: %v, %v", s, err)
	}
	if _, err := RecordSchema(r, ScanOptions{Columns: []string{"nope"}}); !errors.Is(err, filter.ErrQuery) {
		t.Errorf("unknown column: %v", err)
	}
	for _, err := range []error{lastError(r, ScanOptions{Form: 3}), schemaError(r, ScanOptions{Form: 3})} {
		if !errors.Is(err, filter.ErrQuery) {
			t.Errorf("unknown form: %v", err)
		}
	}
}

func schemaError(r *filter.Read, opts ScanOptions) error {
	_, err := RecordSchema(r, opts)
	return err
}

func lastError(r *filter.Read, opts ScanOptions) (last error) {
	for rec, err := range scanned(context.Background(), r, opts) {
		if last = err; rec != nil {
			rec.Release()
		}
	}
	return last
}

// TestScan_Dictionaries: records of a scan of everything share a dictionary of all lists,
// unless each is to have its own. An own dictionary has only the lists of the record's rows. It
// is also used with Elements, a limit, or a condition, which may be for access control.
func TestScan_Dictionaries(t *testing.T) {
	table := querytest.Open(t, querytest.Options{}, querytest.Samples(0))
	lists := make([][]uuid.UUID, 1000)
	for i := range lists {
		lists[i] = []uuid.UUID{{byte(i), byte(i >> 8)}, {15: 1}}
	}
	for i := range int64(70) {
		n := 1000
		if i == 69 {
			n = 1
		}
		table.Insert(schema.Batch{Rows: n, Columns: map[string]encoding.Vector{
			"kind": encoding.Strings(fmt.Sprint("kind", i)), "stack": encoding.UUIDLists(lists[:n]...),
			"time": encoding.Int64s(i), "value": encoding.Int64s(i),
		}})
	}
	for name, test := range map[string]struct {
		opts   ScanOptions
		shared bool
	}{
		"everything":   {ScanOptions{}, true},
		"native":       {ScanOptions{Form: arrowconv.FormNative, Where: filter.And(filter.And(), filter.Expr{})}, true},
		"own":          {ScanOptions{OwnDictionaries: true}, false},
		"native, own":  {ScanOptions{Form: arrowconv.FormNative, OwnDictionaries: true}, false},
		"a condition":  {ScanOptions{Where: filter.AtLeast("value", 1)}, false},
		"one list":     {ScanOptions{Where: filter.Equal("labels.nobody", ""), Form: arrowconv.FormNative}, false},
		"a limit":      {ScanOptions{Limit: 66_000}, false},
		"few":          {ScanOptions{Where: filter.Equal("kind", "kind69")}, false},
		"names":        {ScanOptions{Elements: querytest.ElementNames}, false},
		"in order":     {ScanOptions{Ordered: true}, true},
		"some columns": {ScanOptions{Columns: []string{"value", "stack"}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			dictionaries, records := map[arrow.ArrayData]bool{}, 0
			for rec, err := range scanned(context.Background(), table.Read(), test.opts) {
				if err != nil {
					t.Fatal(err)
				}
				defer rec.Release() // deferred, so that no array reuses an address
				records++
				stacks := rec.Column(rec.Schema().FieldIndices("stack")[0]).(*array.Dictionary)
				dictionaries[stacks.Data().Dictionary()] = true
				used := map[int]bool{}
				for row := range stacks.Len() {
					used[stacks.GetValueIndex(row)] = true
				}
				want := len(used)
				if test.shared {
					want = len(lists)
				}
				if n := stacks.Dictionary().Len(); n != want {
					t.Errorf("record %d: %d lists in the dictionary, want %d; %d are in use", records, n, want, len(used))
				}
			}
			want := records
			if test.shared {
				want = 1
			}
			if len(dictionaries) != want {
				t.Errorf("%d dictionaries for %d records, want %d", len(dictionaries), records, want)
			}
		})
	}
}

// TestScan_ElementsAreAskedOnce: names come from an element's record, and Elements is called once for
// each in a generation.
func TestScan_ElementsAreAskedOnce(t *testing.T) {
	table := querytest.Open(t, querytest.Options{}, querytest.Samples(0))
	records := map[uuid.UUID][]byte{{1}: []byte("one"), {2}: []byte("two"), {5}: []byte("five")}
	stacks := [][]uuid.UUID{{{1}, {2}}, {}, {{2}, {5}, {4}}, {{3}}, {{1}, {2}}}
	var want []string
	for i := range 3 {
		b := schema.Batch{Rows: len(stacks), Records: records, Columns: map[string]encoding.Vector{
			"kind": encoding.Strings("cpu"), "stack": encoding.UUIDLists(stacks...), "time": encoding.Int64s(int64(i)),
			"value": encoding.Int64s(1, 2, 3, 4, 5),
		}}
		table.Insert(b)
		for _, stack := range stacks {
			want = append(want, oracle.Text(querytest.NamesOf(oracle.Row{"stack": stack}, "stack", records)))
		}
	}
	slices.Sort(want)
	for _, form := range recordForms {
		asked := map[uuid.UUID]int{}
		got, _ := scanForm(t, table.Read(), ScanOptions{Form: form, Columns: []string{"stack"}, Elements: func(dst []string, id uuid.UUID, record []byte) []string {
			asked[id]++
			return querytest.ElementNames(dst, id, record)
		}})
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", form, diff)
		}
		if diff := cmp.Diff(map[uuid.UUID]int{{1}: 1, {2}: 1, {3}: 1, {4}: 1, {5}: 1}, asked); diff != "" {
			t.Errorf("%v: how often elements were asked about (-want +got):\n%s", form, diff)
		}
	}
}

// TestScan_RecordsAreCutBySize: strings of tens of kilobytes make records of few rows, so that
// 32-bit offsets suffice.
func TestScan_RecordsAreCutBySize(t *testing.T) {
	effort.Long(t)
	if effort.Race {
		t.Skip("one goroutine scans 100 MB")
	}
	table := querytest.Open(t, querytest.Options{}, schema.Definition{Columns: []schema.Column{
		{Name: "text", Type: encoding.String, Encoding: encoding.Plain}, {Name: "code", Type: encoding.String, Encoding: encoding.Dictionary},
	}})
	const rows, size = 12_000, 8 << 10
	for lo := 0; lo < rows; lo += 3000 {
		texts := make([]string, 3000)
		for i := range texts {
			texts[i] = fmt.Sprintf("%*d", size, lo+i)
		}
		table.Insert(schema.Batch{Rows: len(texts), Columns: map[string]encoding.Vector{
			"text": encoding.Strings(texts...), "code": encoding.Strings(slices.Repeat(texts[:30], 100)...),
		}})
	}
	for _, form := range recordForms {
		total, records := int64(0), 0
		for rec, err := range scanned(context.Background(), table.Read(), ScanOptions{Form: form}) {
			if err != nil {
				t.Fatal(err)
			}
			bytes := 0
			for _, buffer := range rec.Column(0).Data().Buffers()[2:] {
				bytes += buffer.Len()
			}
			if bytes > recordBytes+pieceRows*size {
				t.Errorf("%v: a record of %d bytes of text", form, bytes)
			}
			records, total = records+1, total+rec.NumRows()
			rec.Release()
		}
		if total != rows || records < 2 {
			t.Errorf("%v: %d rows in %d records", form, total, records)
		}
	}
}
