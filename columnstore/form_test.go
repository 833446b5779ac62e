package columnstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/memory"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/oracle"
	"github.com/granarydb/granary/schema"
)

// elementNames returns an element's names in these tests: none to two.
func elementNames(dst []string, id uuid.UUID, record []byte) []string {
	for k := range int(id[0]) % 3 {
		dst = append(dst, fmt.Sprintf("f%d.%d %s", id[0], k, record))
	}
	return dst
}

// namesOf returns a row with the elementNames of its list in place of the list.
func namesOf(row oracle.Row, column string, records map[uuid.UUID][]byte) oracle.Row {
	row = maps.Clone(row)
	if list, ok := row[column].([]uuid.UUID); ok {
		names := []any{}
		for _, id := range list {
			for k := range int(id[0]) % 3 {
				names = append(names, fmt.Sprintf("f%d.%d %s", id[0], k, records[id]))
			}
		}
		row[column] = names
	}
	return row
}

// formCell reads a value of a record as the Arrow format describes it.
func formCell(a arrow.Array, i int) any {
	if r, ok := a.(*array.RunEndEncoded); ok {
		row := int32(i + a.Data().Offset())
		run := slices.IndexFunc(r.RunEndsArr().(*array.Int32).Int32Values(), func(end int32) bool { return end > row })
		return formCell(r.Values(), run)
	}
	if a.IsNull(i) {
		return nil
	}
	switch a := a.(type) {
	case *array.Dictionary:
		return formCell(a.Dictionary(), a.GetValueIndex(i))
	case *array.List:
		lo, hi := a.ValueOffsets(i)
		if ids, ok := a.ListValues().(*array.FixedSizeBinary); ok {
			list := []uuid.UUID{}
			for k := lo; k < hi; k++ {
				list = append(list, uuid.UUID(ids.Value(int(k))))
			}
			return list
		}
		names := []any{}
		for k := lo; k < hi; k++ {
			names = append(names, strings.Clone(a.ListValues().(*array.String).Value(int(k))))
		}
		return names
	}
	value, err := cell(a, i)
	if err != nil {
		panic(err)
	}
	return value
}

// formRows reads a record, as text.
func formRows(rec arrow.Record) []string {
	out := make([]string, rec.NumRows())
	for i := range out {
		row := map[string]any{}
		for c, column := range rec.Columns() {
			row[rec.ColumnName(c)] = formCell(column, i)
		}
		out[i] = oracle.Text(row)
	}
	return out
}

// wantRows are the rows of the oracle that a scan must yield, as text, without order.
func wantRows(rows []oracle.Row, columns []string, names bool) []string {
	var out []oracle.Row
	for _, row := range rows {
		if names {
			row = namesOf(row, "stack", nil)
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
	effort.Long(t)
	collectRarely(t)
	for _, generation := range []int{0, 7} {
		store, table, rows := filled(t, Options{GranuleRows: 100, GenerationBuckets: generation}, 900)
		snap := snapshot(t, store)
		for _, form := range recordForms {
			for i := range 16 {
				if effort.Race && i%5 > 0 {
					continue // one goroutine scans
				}
				opts := ScanOptions{Form: form, Ordered: i&1 > 0, OwnDictionaries: i&2 > 0, Memory: memory.NewCheckedAllocator(memory.NewGoAllocator())}
				names := i&4 > 0
				if names {
					opts.Elements = elementNames
				}
				if i&8 > 0 {
					opts.Columns = []string{"value", "labels", "stack", "nums.n"}
				}
				t.Run(fmt.Sprintf("%v/generation=%d/ordered=%v/own=%v/names=%v/columns=%v", form, generation, opts.Ordered, opts.OwnDictionaries, names, opts.Columns), func(t *testing.T) {
					got, schemas := scanForm(t, table, snap, opts)
					slices.Sort(got)
					if diff := cmp.Diff(wantRows(rows, opts.Columns, names), got); diff != "" {
						t.Errorf("rows (-want +got):\n%s", diff)
					}
					want, err := table.RecordSchema(snap, opts)
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

// scanForm reads a scan's rows, each record whole or in two slices, and the schemas.
func scanForm(t *testing.T, table *Table, snap *Snapshot, opts ScanOptions) (rows []string, schemas []*arrow.Schema) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	for rec, err := range table.Scan(context.Background(), snap, opts) {
		if err != nil {
			t.Fatal(err)
		}
		schemas = append(schemas, rec.Schema())
		cut := rng.Int64N(rec.NumRows() + 1)
		head, tail := rec.NewSlice(0, cut), rec.NewSlice(cut, rec.NumRows())
		if whole, parts := formRows(rec), append(formRows(head), formRows(tail)...); !slices.Equal(whole, parts) {
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
	store, table, rows := filled(t, Options{GranuleRows: 100}, 600)
	snap := snapshot(t, store)
	all, _ := scanForm(t, table, snap, ScanOptions{Ordered: true})
	for _, form := range recordForms {
		for _, limit := range []int{0, 1, 50, 333, 1000} {
			got, _ := scanForm(t, table, snap, ScanOptions{Ordered: true, Form: form, Limit: limit})
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
	def := wide(100, wideKey)
	def.Columns = append(slices.Clone(def.Columns),
		schema.Column{Name: "length", Type: encoding.Int64, Encoding: encoding.RLE},
		schema.Column{Name: "dictionary", Type: encoding.UUID, Encoding: encoding.DictionaryRLE, Nullable: true})
	def.Header = []string{"time", "length"}
	store, table := open(t, Options{Manual: true}, def)
	snap := snapshot(t, store)
	for form, want := range map[Form]string{
		Dictionary: `kind dictionary<values=utf8, indices=uint32, ordered=false>; zone? dictionary<values=utf8, indices=uint32, ordered=false>; ` +
			`stack? dictionary<values=list<item: fixed_size_binary[16], nullable>, indices=uint32, ordered=false>; time int64; ` +
			`host? dictionary<values=fixed_size_binary[16], indices=uint32, ordered=false>; trace? fixed_size_binary[16]; note? utf8; ` +
			`size? uint64; ratio? float64; flag? bool; value int64; bonus? int64; length int64; ` +
			`dictionary? dictionary<values=fixed_size_binary[16], indices=uint32, ordered=false>; `,
		Native: `kind runs of dictionary<values=utf8, indices=uint32, ordered=false>; zone? runs of dictionary<values=utf8, indices=uint32, ordered=false>; ` +
			`stack? dictionary<values=list<item: fixed_size_binary[16], nullable>, indices=uint32, ordered=false>; time int64; ` +
			`host? dictionary<values=fixed_size_binary[16], indices=uint32, ordered=false>; trace? fixed_size_binary[16]; note? utf8; ` +
			`size? runs of uint64; ratio? float64; flag? runs of bool; value int64; bonus? int64; length int64; ` +
			`dictionary? runs of dictionary<values=fixed_size_binary[16], indices=uint32, ordered=false>; `,
		Plain: `kind utf8; zone? utf8; stack? list<item: fixed_size_binary[16], nullable>; time int64; host? fixed_size_binary[16]; ` +
			`trace? fixed_size_binary[16]; note? utf8; size? uint64; ratio? float64; flag? bool; value int64; bonus? int64; length int64; ` +
			`dictionary? fixed_size_binary[16]; `,
	} {
		s, err := table.RecordSchema(snap, ScanOptions{Form: form})
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
	s, err := table.RecordSchema(snap, ScanOptions{Columns: []string{"stack"}, Form: Plain, Elements: elementNames})
	if err != nil || s.Field(0).Type.String() != "list<item: utf8, nullable>" {
		t.Errorf("stacks as names: %v, %v", s, err)
	}
	if _, err := table.RecordSchema(snap, ScanOptions{Columns: []string{"nope"}}); !errors.Is(err, ErrQuery) {
		t.Errorf("unknown column: %v", err)
	}
	for _, err := range []error{lastError(table, snap, ScanOptions{Form: 3}), schemaError(table, snap, ScanOptions{Form: 3})} {
		if !errors.Is(err, ErrQuery) {
			t.Errorf("unknown form: %v", err)
		}
	}
	snap.Close()
	if err := schemaError(table, snap, ScanOptions{}); !errors.Is(err, ErrSnapshotClosed) {
		t.Errorf("closed snapshot: %v", err)
	}
}

func schemaError(table *Table, snap *Snapshot, opts ScanOptions) error {
	_, err := table.RecordSchema(snap, opts)
	return err
}

func lastError(table *Table, snap *Snapshot, opts ScanOptions) (last error) {
	for rec, err := range table.Scan(context.Background(), snap, opts) {
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
	store, table := open(t, Options{Manual: true}, samples(0))
	lists := make([][]uuid.UUID, 1000)
	for i := range lists {
		lists[i] = []uuid.UUID{{byte(i), byte(i >> 8)}, {15: 1}}
	}
	for i := range int64(70) {
		n := 1000
		if i == 69 {
			n = 1
		}
		insert(t, table, schema.Batch{Rows: n, Columns: map[string]encoding.Vector{
			"kind": encoding.Strings(fmt.Sprint("kind", i)), "stack": encoding.UUIDLists(lists[:n]...),
			"time": encoding.Int64s(i), "value": encoding.Int64s(i),
		}})
	}
	for name, test := range map[string]struct {
		opts   ScanOptions
		shared bool
	}{
		"everything":   {ScanOptions{}, true},
		"native":       {ScanOptions{Form: Native, Where: And(And(), Expr{})}, true},
		"own":          {ScanOptions{OwnDictionaries: true}, false},
		"native, own":  {ScanOptions{Form: Native, OwnDictionaries: true}, false},
		"a condition":  {ScanOptions{Where: AtLeast("value", 1)}, false},
		"one list":     {ScanOptions{Where: Equal("labels.nobody", ""), Form: Native}, false},
		"a limit":      {ScanOptions{Limit: 66_000}, false},
		"few":          {ScanOptions{Where: Equal("kind", "kind69")}, false},
		"names":        {ScanOptions{Elements: elementNames}, false},
		"in order":     {ScanOptions{Ordered: true}, true},
		"some columns": {ScanOptions{Columns: []string{"value", "stack"}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			dictionaries, records := map[arrow.ArrayData]bool{}, 0
			for rec, err := range table.Scan(context.Background(), snapshot(t, store), test.opts) {
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
	store, table := open(t, Options{Manual: true}, samples(0))
	records := map[uuid.UUID][]byte{{1}: []byte("one"), {2}: []byte("two"), {5}: []byte("five")}
	stacks := [][]uuid.UUID{{{1}, {2}}, {}, {{2}, {5}, {4}}, {{3}}, {{1}, {2}}}
	var want []string
	for i := range 3 {
		b := schema.Batch{Rows: len(stacks), Records: records, Columns: map[string]encoding.Vector{
			"kind": encoding.Strings("cpu"), "stack": encoding.UUIDLists(stacks...), "time": encoding.Int64s(int64(i)),
			"value": encoding.Int64s(1, 2, 3, 4, 5),
		}}
		insert(t, table, b)
		for _, stack := range stacks {
			want = append(want, oracle.Text(namesOf(oracle.Row{"stack": stack}, "stack", records)))
		}
	}
	slices.Sort(want)
	for _, form := range recordForms {
		asked := map[uuid.UUID]int{}
		got, _ := scanForm(t, table, snapshot(t, store), ScanOptions{Form: form, Columns: []string{"stack"}, Elements: func(dst []string, id uuid.UUID, record []byte) []string {
			asked[id]++
			return elementNames(dst, id, record)
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
	store, table := open(t, Options{Manual: true}, schema.Definition{Columns: []schema.Column{
		{Name: "text", Type: encoding.String, Encoding: encoding.Plain}, {Name: "code", Type: encoding.String, Encoding: encoding.Dictionary},
	}})
	const rows, size = 12_000, 8 << 10
	for lo := 0; lo < rows; lo += 3000 {
		texts := make([]string, 3000)
		for i := range texts {
			texts[i] = fmt.Sprintf("%*d", size, lo+i)
		}
		insert(t, table, schema.Batch{Rows: len(texts), Columns: map[string]encoding.Vector{
			"text": encoding.Strings(texts...), "code": encoding.Strings(slices.Repeat(texts[:30], 100)...),
		}})
	}
	for _, form := range recordForms {
		total, records := int64(0), 0
		for rec, err := range table.Scan(context.Background(), snapshot(t, store), ScanOptions{Form: form}) {
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
