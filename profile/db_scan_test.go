package profile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/memory"
	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/granarydb/granary/columnstore"
)

// TestScanEqualsOracle checks that a scan returns a query's rows, of one type or of all, in each form.
// Stacks are names of functions, as in other answers.
func TestScanEqualsOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		db, facts, snap := drawSnapshot(t, 0, 5)
		defer db.store.Close()
		defer snap.Close()
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		q := drawQuery(t)
		opts := columnstore.ScanOptions{
			Form:     rapid.SampledFrom([]columnstore.Form{columnstore.Dictionary, columnstore.Native, columnstore.Plain}).Draw(t, "form"),
			Elements: FunctionNames, Memory: mem,
		}
		var want []fact
		if types := oracleTypes; rapid.Bool().Draw(t, "one type") {
			opts.Where, want = Query{}.Expr(types[0]), rowsOf(facts, types[0], q)
		} else {
			want = append(rowsOf(facts, types[0], q), rowsOf(facts, types[1], q)...)
		}
		var texts []string
		for i := range want {
			f := &want[i]
			texts = append(texts, fmt.Sprint(f.typ, f.time, f.duration, f.value, f.functions()))
		}
		slices.Sort(texts)
		if diff := gocmp.Diff(texts, scanTexts(t, db, snap, q, opts)); diff != "" {
			t.Fatalf("rows of %v %v: -want +got\n%s", q, opts.Form, diff)
		}
		if n := mem.CurrentAlloc(); n != 0 {
			t.Fatalf("%d bytes are left", n)
		}
	})
}

// scanTexts returns the rows of a scan as sorted text.
func scanTexts(t *rapid.T, db *DB, snap *columnstore.Snapshot, q Query, opts columnstore.ScanOptions) []string {
	want, err := db.RecordSchema(snap, opts)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for rec, err := range db.Scan(ctx, snap, q, opts) {
		if err != nil {
			t.Fatal(err)
		}
		if !rec.Schema().Equal(want) {
			t.Fatalf("schema %v, want %v", rec.Schema(), want)
		}
		column := func(name string) arrow.Array { return rec.Column(rec.Schema().FieldIndices(name)[0]) }
		number := func(name string, i int) int64 { return column(name).(*array.Int64).Value(i) }
		for i := range int(rec.NumRows()) {
			typ := Type{
				scanText(column(ColumnSampleType), i), scanText(column(ColumnSampleUnit), i),
				scanText(column(ColumnPeriodType), i), scanText(column(ColumnPeriodUnit), i),
			}
			names := scanNames(column(ColumnStacktrace), i)
			texts = append(texts, fmt.Sprint(typ, number(ColumnTimestamp, i), number(ColumnDuration, i), number(ColumnValue, i), names))
		}
		rec.Release()
	}
	slices.Sort(texts)
	return texts
}

func scanText(a arrow.Array, i int) string {
	switch a := a.(type) {
	case *array.RunEndEncoded:
		return scanText(a.Values(), a.GetPhysicalIndex(i))
	case *array.Dictionary:
		return scanText(a.Dictionary(), a.GetValueIndex(i))
	}
	return strings.Clone(a.(*array.String).Value(i))
}

func scanNames(a arrow.Array, i int) []string {
	if coded, ok := a.(*array.Dictionary); ok {
		return scanNames(coded.Dictionary(), coded.GetValueIndex(i))
	}
	list, names := a.(*array.List), []string{}
	lo, hi := list.ValueOffsets(i)
	for k := lo; k < hi; k++ {
		names = append(names, strings.Clone(list.ListValues().(*array.String).Value(int(k))))
	}
	return names
}

// TestFunctionNames checks the names of records with lines, without lines, and with invalid
// bytes.
func TestFunctionNames(t *testing.T) {
	db := testDB(t, Options{})
	insert(t, db, makeProfile(start, "n:count", stack{frames: "deep+middle+caller ? root", values: []int64{1}}))
	got := [][]string{}
	for rec, err := range db.Scan(ctx, view(t, db), Query{}, columnstore.ScanOptions{Elements: FunctionNames}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, scanNames(rec.Column(rec.Schema().FieldIndices(ColumnStacktrace)[0]), 0))
		rec.Release()
	}
	if diff := gocmp.Diff([][]string{{"deep", "middle", "caller", "[app]", "root"}}, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for _, record := range [][]byte{nil, {}, []byte("not a record"), {0, 0, 0, 0, 200}} {
		if names := FunctionNames([]string{"before"}, uuid.UUID{}, record); !slices.Equal(names, []string{"before", "<unknown>"}) {
			t.Errorf("of %x: %v", record, names)
		}
	}
}

// TestScanErrors checks that Scan returns the errors of the table's scan.
func TestScanErrors(t *testing.T) {
	db := testDB(t, Options{})
	insert(t, db, makeProfile(start, "n:count", stack{frames: "f", values: []int64{1}}))
	snap := view(t, db)
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	for name, c := range map[string]struct {
		ctx  context.Context
		opts columnstore.ScanOptions
		want error
	}{
		"column":    {ctx, columnstore.ScanOptions{Columns: []string{"nope"}}, columnstore.ErrQuery},
		"condition": {ctx, columnstore.ScanOptions{Where: columnstore.Equal("nope", "x")}, columnstore.ErrQuery},
		"cancelled": {cancelled, columnstore.ScanOptions{}, context.Canceled},
	} {
		for rec, err := range db.Scan(c.ctx, snap, Query{}, c.opts) {
			if rec != nil || !errors.Is(err, c.want) {
				t.Errorf("%s: %v, %v", name, rec, err)
			}
		}
	}
	if _, err := db.RecordSchema(snap, columnstore.ScanOptions{Columns: []string{"nope"}}); !errors.Is(err, columnstore.ErrQuery) {
		t.Errorf("schema of an unknown column: %v", err)
	}
}
