package columnstore

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/oracle"
)

var recordForms = []Form{Dictionary, Native, Plain}

// leftOut are the columns of the scan that the inserted records lack, and newLabel is a column
// that they add.
var leftOut = []string{"note", "labels.pod", "ratio", "trace"}

const newLabel = "labels.new"

// labelOf returns the new label of a row of a kind, or nil.
func labelOf(kind any) any {
	if kind == "" {
		return nil
	}
	return fmt.Sprint("new ", kind)
}

// TestInsertRecord_Forms copies a table through records of each form, in
// slices, with the columns shuffled, some of them missing and one added.
func TestInsertRecord_Forms(t *testing.T) {
	effort.Alone(t)
	store, table, rows := filled(t, Options{GranuleRows: 100}, 800)
	snap := snapshot(t, store)
	var want []string
	for _, row := range rows {
		row = maps.Clone(row)
		for _, name := range leftOut {
			delete(row, name)
		}
		row[newLabel] = labelOf(row["kind"])
		want = append(want, oracle.Text(row))
	}
	slices.Sort(want)
	for _, form := range recordForms {
		for _, ordered := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v/ordered=%v", form, ordered), func(t *testing.T) {
				mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
				defer mem.AssertSize(t, 0)
				rng := rand.New(rand.NewPCG(5, 6))
				copyStore, copied := open(t, Options{Manual: true, GranuleRows: 150}, wide(100, wideKey))
				for rec, err := range table.Scan(context.Background(), snap, ScanOptions{Ordered: ordered, Form: form, Memory: mem}) {
					if err != nil {
						t.Fatal(err)
					}
					if runs := runColumns(rec); (runs > 0) != (form == Native) {
						t.Fatalf("%d run-end encoded columns", runs)
					}
					insertSlices(t, copied, changedRecord(t, rng, form, rec), rng)
					rec.Release()
				}
				for _, when := range []string{"fresh", "compacted"} {
					for _, again := range recordForms {
						got := allRows(t, copied, snapshot(t, copyStore), ScanOptions{Form: again})
						if diff := cmp.Diff(want, got); diff != "" {
							t.Fatalf("%s, read as %v (-want +got):\n%s", when, again, diff)
						}
					}
					compact(t, copyStore)
				}
			})
		}
	}
}

// runColumns counts the columns that are run-end encoded.
func runColumns(rec arrow.Record) (n int) {
	for _, f := range rec.Schema().Fields() {
		if f.Type.ID() == arrow.RUN_END_ENCODED {
			n++
		}
	}
	return n
}

// changedRecord makes a record from another record's columns: shuffled, without leftOut, and with the new
// label. The result shares no memory with rec.
func changedRecord(t *testing.T, rng *rand.Rand, form Form, rec arrow.Record) arrow.Record {
	t.Helper()
	added := newLabels(t, form, rec)
	defer added.Release()
	fields := []arrow.Field{{Name: newLabel, Type: added.DataType(), Nullable: true}}
	columns := []arrow.Array{added}
	for i, f := range rec.Schema().Fields() {
		if !slices.Contains(leftOut, f.Name) {
			fields, columns = append(fields, f), append(columns, rec.Column(i))
		}
	}
	rng.Shuffle(len(fields), func(i, j int) {
		fields[i], fields[j] = fields[j], fields[i]
		columns[i], columns[j] = columns[j], columns[i]
	})
	return array.NewRecord(arrow.NewSchema(fields, nil), columns, rec.NumRows())
}

// newLabels makes the new column of a record, with Arrow's own builders.
func newLabels(t *testing.T, form Form, rec arrow.Record) arrow.Array {
	t.Helper()
	rows, err := decode(rec)
	if err != nil {
		t.Fatal(err)
	}
	dict := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint16, ValueType: arrow.BinaryTypes.String}
	mem := memory.NewGoAllocator()
	var b array.Builder
	switch form {
	case Plain:
		b = array.NewStringBuilder(mem)
	case Dictionary:
		b = array.NewDictionaryBuilder(mem, dict)
	case Native:
		b = array.NewRunEndEncodedBuilder(mem, arrow.PrimitiveTypes.Int16, dict)
	}
	defer b.Release()
	for i, row := range rows {
		label := labelOf(row["kind"])
		values := b
		if runs, ok := b.(*array.RunEndEncodedBuilder); ok {
			if i > 0 && label == labelOf(rows[i-1]["kind"]) {
				runs.ContinueRun(1)
				continue
			}
			runs.Append(1)
			values = runs.ValueBuilder()
		}
		if label == nil {
			values.AppendNull()
			continue
		}
		if err := values.AppendValueFromString(label.(string)); err != nil {
			t.Fatal(err)
		}
	}
	return b.NewArray()
}

// insertSlices inserts a record in slices of any length, and releases it.
func insertSlices(t *testing.T, table *Table, rec arrow.Record, rng *rand.Rand) {
	t.Helper()
	defer rec.Release()
	for lo := int64(0); lo < rec.NumRows(); {
		hi := min(rec.NumRows(), lo+1+rng.Int64N(70))
		part := rec.NewSlice(lo, hi)
		_, err := table.InsertRecord(context.Background(), part)
		part.Release()
		if err != nil {
			t.Fatal(err)
		}
		lo = hi
	}
}
