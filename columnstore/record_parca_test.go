package columnstore

import (
	"maps"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/memory"

	"github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/schema"
)

// labelColumns are the columns of one value in the records of BenchmarkInsertRecord.
var labelColumns = map[string]string{
	"kind": "cpu", "labels.cluster": "eu-1", "labels.container": "server", "labels.job": "checkout", "labels.namespace": "production",
	"labels.node": "node-17", "labels.pod": "checkout-6d4c8f-x2x9p", "labels.team": "payments", "labels.version": "v1.42.0", "labels.zone": "b",
}

// parcaRecord makes a record like Parca's from a batch: a column for each label, each a dictionary with
// an index a row, and lists of dictionaries of ids of the given type.
func parcaRecord(b schema.Batch, id arrow.DataType) arrow.Record {
	mem := memory.NewGoAllocator()
	var fields []arrow.Field
	var columns []arrow.Array
	add := func(name string, a arrow.Array) {
		fields = append(fields, arrow.Field{Name: name, Type: a.DataType(), Nullable: true})
		columns = append(columns, a)
	}
	for _, name := range slices.Sorted(maps.Keys(b.Columns)) {
		v := b.Columns[name]
		switch v.Type {
		case encoding.String:
			typ := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint32, ValueType: arrow.BinaryTypes.Binary}
			text := array.NewDictionaryBuilder(mem, typ).(*array.BinaryDictionaryBuilder)
			for i := range b.Rows {
				c := schema.Concrete{Values: v}
				if err := text.AppendString(v.Strings[c.At(i)]); err != nil {
					panic(err)
				}
			}
			add(name, text.NewArray())
		case encoding.Int64:
			numbers := array.NewInt64Builder(mem)
			for i := range b.Rows {
				c := schema.Concrete{Values: v}
				numbers.Append(v.Int64s[c.At(i)])
			}
			add(name, numbers.NewArray())
		case encoding.UUIDList:
			element := arrow.Field{Name: "element", Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint32, ValueType: id}}
			lists := array.NewListBuilderWithField(mem, element)
			for _, list := range v.UUIDLists {
				lists.Append(true)
				for _, id := range list {
					var err error
					switch ids := lists.ValueBuilder().(type) {
					case *array.BinaryDictionaryBuilder:
						err = ids.Append(id[:])
					case *array.FixedSizeBinaryDictionaryBuilder:
						err = ids.Append(id[:])
					}
					if err != nil {
						panic(err)
					}
				}
			}
			add(name, lists.NewArray())
		}
	}
	return array.NewRecord(arrow.NewSchema(fields, nil), columns, int64(b.Rows))
}

// BenchmarkInsertRecord inserts profiles of 500 rows and ten labels, as batches of ids and as
// records with a column a label, without maintenance.
func BenchmarkInsertRecord(b *testing.B) {
	fixed := &arrow.FixedSizeBinaryType{ByteWidth: 16}
	for _, as := range []string{"ids", "record"} {
		b.Run("as="+as, func(b *testing.B) {
			_, table, f := openBench(b, Options{Manual: true, GenerationBuckets: 1 << 20}, 0)
			const prepared = 50
			var batches []schema.Batch
			var records []arrow.Record
			for n := range prepared {
				batch := f.profile(n, 500)
				batch.Records = nil
				for name, value := range labelColumns {
					batch.Columns[name] = encoding.Strings(value)
				}
				batches = append(batches, batch)
				records = append(records, parcaRecord(batch, fixed))
				insert(b, table, batch)
			}
			store := table.store
			compact(b, store)
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				if as == "ids" {
					insert(b, table, batches[n%prepared])
				} else if _, err := table.InsertRecord(b.Context(), records[n%prepared]); err != nil {
					b.Fatal(err)
				}
				if n++; n%500 == 0 {
					b.StopTimer()
					compact(b, store)
					b.StartTimer()
				}
			}
			perRow(b, 500)
		})
	}
}

// TestInsertRecord_Parca: a record like Parca's inserts the same rows as a batch with the same labels and
// ids.
func TestInsertRecord_Parca(t *testing.T) {
	for _, id := range []arrow.DataType{&arrow.FixedSizeBinaryType{ByteWidth: 16}, arrow.BinaryTypes.Binary} {
		var rows [2][]string
		for i := range rows {
			store, table := open(t, Options{Manual: true}, samples(quarter))
			f := newFleet(1, 200)
			for n := range 5 {
				b := f.profile(n, 50)
				b.Records = nil
				if i == 0 {
					insert(t, table, b)
				} else if _, err := table.InsertRecord(t.Context(), parcaRecord(b, id)); err != nil {
					t.Fatal(err)
				}
			}
			rows[i] = allRows(t, table, snapshot(t, store), ScanOptions{})
		}
		if diff := cmp.Diff(rows[0], rows[1]); diff != "" || len(rows[0]) != 250 {
			t.Errorf("%v: %d rows (-batches +records):\n%s", id, len(rows[0]), diff)
		}
	}
}

// TestInsertRecord_Garbage: the insert of a record leaves at most 25 bytes a row more than that of
// the same rows by ids. Its lists are copied into memory that the next insert uses again.
func TestInsertRecord_Garbage(t *testing.T) {
	if effort.Race {
		t.Skip("the race detector drops pooled memory")
	}
	const inserts, prepared, rows = 100, 10, 500
	for _, id := range []arrow.DataType{&arrow.FixedSizeBinaryType{ByteWidth: 16}, arrow.BinaryTypes.Binary} {
		var garbage [2]uint64
		for as := range garbage {
			_, table := open(t, Options{Manual: true, FutureLimit: -1, PastLimit: -1}, samples(quarter))
			f := newFleet(1, 2000)
			var batches []schema.Batch
			var records []arrow.Record
			for n := range prepared {
				b := f.profile(n, rows)
				b.Records = nil
				for name, value := range labelColumns {
					b.Columns[name] = encoding.Strings(value)
				}
				batches, records = append(batches, b), append(records, parcaRecord(b, id))
				insert(t, table, b)
			}
			garbage[as] = effort.Allocated(func() {
				for n := range inserts {
					if as == 0 {
						insert(t, table, batches[n%prepared])
					} else if _, err := table.InsertRecord(t.Context(), records[n%prepared]); err != nil {
						t.Fatal(err)
					}
				}
			}) / inserts
		}
		if garbage[1] > garbage[0]+25*rows {
			t.Errorf("%v: a record leaves %d bytes, ids %d", id, garbage[1], garbage[0])
		}
	}
}
