package arrow18

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	arrow14 "github.com/apache/arrow/go/v14/arrow"
	memory14 "github.com/apache/arrow/go/v14/arrow/memory"
	"github.com/google/uuid"

	arrow18 "github.com/apache/arrow-go/v18/arrow"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// samples is a table with a column of each type and encoding, in the order of scans.
func samples(t testing.TB) (*columnstore.Store, *columnstore.Table) {
	t.Helper()
	store, err := columnstore.Open(columnstore.Options{FutureLimit: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	table, err := store.CreateTable("samples", schema.Definition{
		Columns: []schema.Column{
			{Name: "label", Type: encoding.String, Encoding: encoding.DictionaryRLE, Dynamic: true},
			{Name: "time", Type: encoding.Int64, Encoding: encoding.Delta},
			{Name: "stack", Type: encoding.UUIDList, Encoding: encoding.Dictionary},
			{Name: "value", Type: encoding.Int64, Encoding: encoding.Plain},
			{Name: "note", Type: encoding.String, Encoding: encoding.Plain, Nullable: true},
			{Name: "period", Type: encoding.Uint64, Encoding: encoding.RLE, Nullable: true},
			{Name: "share", Type: encoding.Float64, Encoding: encoding.Plain},
			{Name: "kernel", Type: encoding.Bool, Encoding: encoding.RLE},
			{Name: "trace", Type: encoding.UUID, Encoding: encoding.Plain, Nullable: true},
			{Name: "build", Type: encoding.UUID, Encoding: encoding.Dictionary},
		},
		SortingKey: []string{"label", "time"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return store, table
}

// insert adds random rows, and returns them as a scan does, with lists as plain Go slices.
func insert(t testing.TB, table *columnstore.Table, seed uint64, rows int) [][]any {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 0))
	id := func(b int) uuid.UUID { return uuid.UUID{0: byte(b), 15: byte(seed)} }
	b := schema.Batch{Rows: rows, Columns: map[string]encoding.Vector{
		"label.job": encoding.Strings(fmt.Sprint("job-", seed)),
		"build":     encoding.UUIDs(id(1)),
	}}
	columns := map[string]*encoding.Vector{}
	for _, name := range []string{"time", "value", "stack", "note", "period", "share", "kernel", "trace", "label.pod"} {
		columns[name] = &encoding.Vector{}
	}
	var out [][]any
	for i := range rows {
		pod := fmt.Sprint("pod-", i*5/rows)
		stack := make([]uuid.UUID, rng.IntN(4))
		list := []any{}
		for j := range stack {
			stack[j] = id(rng.IntN(9))
			list = append(list, bin(stack[j][:]))
		}
		row := []any{fmt.Sprint("job-", seed), pod, int64(i / 10), list, rng.Int64N(100), nil, nil, rng.Float64(), i%700 < 350, nil, bin(idBytes(id(1)))}
		add(columns["label.pod"], encoding.String, pod, true)
		add(columns["time"], encoding.Int64, row[2], true)
		columns["stack"].Type = encoding.UUIDList
		columns["stack"].UUIDLists = append(columns["stack"].UUIDLists, stack)
		add(columns["value"], encoding.Int64, row[4], true)
		if i%3 == 0 {
			row[5] = fmt.Sprint("note ", i)
		}
		add(columns["note"], encoding.String, row[5], i%3 == 0)
		if i%200 > 50 {
			row[6] = uint64(i / 200)
		}
		add(columns["period"], encoding.Uint64, row[6], i%200 > 50)
		add(columns["share"], encoding.Float64, row[7], true)
		add(columns["kernel"], encoding.Bool, row[8], true)
		trace := id(rng.IntN(200))
		if i%2 == 0 {
			row[9] = bin(idBytes(trace))
		}
		columns["trace"].Type = encoding.UUID
		columns["trace"].UUIDs = append(columns["trace"].UUIDs, trace)
		columns["trace"].Valid = append(columns["trace"].Valid, i%2 == 0)
		out = append(out, row)
	}
	for name, v := range columns {
		b.Columns[name] = *v
	}
	if _, err := table.Insert(context.Background(), b); err != nil {
		t.Fatal(err)
	}
	return out
}

func idBytes(id uuid.UUID) []byte { return id[:] }

// add appends a value to a vector; v is ignored unless valid.
func add(to *encoding.Vector, typ encoding.Type, v any, valid bool) {
	to.Type = typ
	to.Valid = append(to.Valid, valid)
	switch typ {
	case encoding.Int64:
		n, _ := v.(int64)
		to.Int64s = append(to.Int64s, n)
	case encoding.Uint64:
		n, _ := v.(uint64)
		to.Uint64s = append(to.Uint64s, n)
	case encoding.Float64:
		n, _ := v.(float64)
		to.Float64s = append(to.Float64s, n)
	case encoding.Bool:
		n, _ := v.(bool)
		to.Bools = append(to.Bools, n)
	default:
		n, _ := v.(string)
		to.Strings = append(to.Strings, n)
	}
}

// schemaOf returns the schema of the records of a scan.
func schemaOf(t testing.TB, table *columnstore.Table, snap *columnstore.Snapshot, opts columnstore.ScanOptions) *arrow14.Schema {
	t.Helper()
	opts.Limit, opts.Memory = 1, nil
	for rec, err := range table.Scan(context.Background(), snap, opts) {
		if err != nil {
			t.Fatal(err)
		}
		defer rec.Release()
		return rec.Schema()
	}
	t.Fatal("no rows")
	return nil
}

// scanned begins to read a scan.
func scanned(t testing.TB, table *columnstore.Table, snap *columnstore.Snapshot, opts columnstore.ScanOptions) *Reader {
	t.Helper()
	r, err := NewReader(schemaOf(t, table, snap, opts), table.Scan(context.Background(), snap, opts))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// rowKey returns a text that is equal for equal rows only.
func rowKey(row []any) string {
	var key []byte
	for _, v := range row {
		switch v := v.(type) {
		case nil:
			key = append(key, 'n')
		case bool:
			key = strconv.AppendBool(key, v)
		case int64:
			key = strconv.AppendInt(append(key, 'i'), v, 10)
		case uint64:
			key = strconv.AppendUint(append(key, 'u'), v, 10)
		case float64:
			key = strconv.AppendFloat(append(key, 'f'), v, 'g', -1, 64)
		case string:
			key = strconv.AppendQuote(key, v)
		case bin:
			key = strconv.AppendQuote(append(key, 'b'), string(v))
		case []any:
			key = append(append(append(key, '['), rowKey(v)...), ']')
		default:
			panic(fmt.Sprintf("a value of type %T", v))
		}
		key = append(key, ' ')
	}
	return string(key)
}

// sameRows compares the counts of two tallies.
func sameRows(t *testing.T, want, got map[string]int) {
	t.Helper()
	if !maps.Equal(want, got) {
		diff(t, "rows", want, got)
	}
}

// tally counts equal rows of a record.
func tally(into map[string]int, rec arrow18.RecordBatch) {
	var columns [][]any
	for _, c := range rec.Columns() {
		columns = append(columns, rows18(c))
	}
	row := make([]any, len(columns))
	for i := range int(rec.NumRows()) {
		for j, c := range columns {
			row[j] = c[i]
		}
		into[rowKey(row)]++
	}
}

// A scan of a real table has in v18 the inserted values, in each form.
func TestScan(t *testing.T) {
	store, table := samples(t)
	want := map[string]int{}
	for seed := range 3 {
		for _, row := range insert(t, table, uint64(seed), 12_000) {
			want[rowKey(row)]++
		}
	}
	snap, err := store.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	for _, form := range []columnstore.Form{columnstore.Dictionary, columnstore.Native, columnstore.Plain} {
		for _, ordered := range []bool{false, true} {
			for _, keep := range []bool{false, true} {
				name := fmt.Sprintf("form=%v/ordered=%t/keep=%t", form, ordered, keep)
				t.Run(name, func(t *testing.T) {
					mem := checked(t)
					r := scanned(t, table, snap, columnstore.ScanOptions{Form: form, Ordered: ordered, Memory: mem})
					got := map[string]int{}
					var kept []arrow18.RecordBatch
					for r.Next() {
						rec := r.RecordBatch()
						if !keep {
							tally(got, rec)
							continue
						}
						rec.Retain() // records outlive their scan
						kept = append(kept, rec)
					}
					if err := r.Err(); err != nil {
						t.Fatal(err)
					}
					r.Release()
					for _, rec := range kept {
						tally(got, rec)
						rec.Release()
					}
					sameRows(t, want, got)
				})
			}
		}
	}
}

// Elements of lists as names.
func TestScanOfNames(t *testing.T) {
	store, table := samples(t)
	want := insert(t, table, 1, 500)
	snap, err := store.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	for _, form := range []columnstore.Form{columnstore.Dictionary, columnstore.Native, columnstore.Plain} {
		r := scanned(t, table, snap, columnstore.ScanOptions{
			Columns: []string{"stack"}, Form: form, Memory: checked(t),
			Elements: func(dst []string, id uuid.UUID, _ []byte) []string { return append(dst, id.String(), "inlined") },
		})
		counts := map[string]int{}
		for r.Next() {
			tally(counts, r.RecordBatch())
		}
		if r.Err() != nil {
			t.Fatal(r.Err())
		}
		r.Release()
		for _, row := range want {
			names := []any{}
			for _, e := range row[3].([]any) {
				names = append(names, uuid.UUID([]byte(e.(bin))).String(), "inlined")
			}
			counts[rowKey([]any{names})]--
		}
		for row, n := range counts {
			if n != 0 {
				t.Errorf("%v: %d times too often: %s", form, n, row)
			}
		}
	}
}

// Records may be released by other goroutines while the scan goes on, which reuses their
// memory.
func TestScanReleasedElsewhere(t *testing.T) {
	store, table := samples(t)
	want := map[string]int{}
	for i := range 4 {
		for _, row := range insert(t, table, uint64(i), 20_000) {
			want[rowKey(row)]++
		}
	}
	snap, err := store.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	r := scanned(t, table, snap, columnstore.ScanOptions{Form: columnstore.Native, Memory: checked(t)})
	if !r.Next() { // the snapshot may be closed while the scan runs
		t.Fatal(r.Err())
	}
	snap.Close()
	var wg sync.WaitGroup
	var mu sync.Mutex
	got := map[string]int{}
	for more := true; more; more = r.Next() {
		rec := r.RecordBatch()
		for half := range int64(2) {
			part := rec.NewSlice(half*rec.NumRows()/2, (half+1)*rec.NumRows()/2)
			wg.Go(func() {
				defer part.Release()
				own := map[string]int{}
				tally(own, part)
				mu.Lock()
				defer mu.Unlock()
				for row, n := range own {
					got[row] += n
				}
			})
		}
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	r.Release()
	wg.Wait()
	sameRows(t, want, got)
}

// The reader returns the errors of a scan, and leaving it early leaks nothing.
func TestScanEnds(t *testing.T) {
	store, table := samples(t)
	insert(t, table, 1, 40_000)
	snap, err := store.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	mem := checked(t)
	opts := columnstore.ScanOptions{Memory: mem, Form: columnstore.Native}
	schema := schemaOf(t, table, snap, opts)

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r, err := NewReader(schema, table.Scan(ctx, snap, opts))
	if err != nil {
		t.Fatal(err)
	}
	if r.Next() || !errors.Is(r.Err(), context.Canceled) {
		t.Errorf("error %v, want that of the context", r.Err())
	}
	r.Release()

	r = scanned(t, table, snap, opts)
	if !r.Next() {
		t.Fatal(r.Err())
	}
	r.Release()
	mem.AssertSize(t, 0)

	opts.Form = columnstore.Plain // differs from the schema
	if r, err = NewReader(schema, table.Scan(context.Background(), snap, opts)); err != nil {
		t.Fatal(err)
	}
	if r.Next() || !errors.Is(r.Err(), ErrRecord) {
		t.Errorf("error %v, want ErrRecord", r.Err())
	}
	r.Release()
}

// BenchmarkReader reads a million rows of a table. The difference between the two is the cost
// of v18.
func BenchmarkReader(b *testing.B) {
	store, table := samples(b)
	for seed := range 20 {
		insert(b, table, uint64(seed), 50_000)
	}
	snap, err := store.Snapshot()
	if err != nil {
		b.Fatal(err)
	}
	defer snap.Close()
	opts := columnstore.ScanOptions{Form: columnstore.Native, Memory: memory14.DefaultAllocator}
	b.Run("arrow=v14", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			rows := int64(0)
			for rec, err := range table.Scan(context.Background(), snap, opts) {
				if err != nil {
					b.Fatal(err)
				}
				rows += rec.NumRows()
				rec.Release()
			}
			b.ReportMetric(float64(rows), "rows/op")
		}
	})
	b.Run("arrow=v18", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			rows := int64(0)
			r := scanned(b, table, snap, opts)
			for r.Next() {
				rows += r.RecordBatch().NumRows()
			}
			if r.Err() != nil {
				b.Fatal(r.Err())
			}
			r.Release()
			b.ReportMetric(float64(rows), "rows/op")
		}
	})
}
