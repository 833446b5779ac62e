//go:build cgo

package duckdb

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func openStore(t testing.TB) *columnstore.Store {
	t.Helper()
	store, err := columnstore.Open(columnstore.Options{GranuleRows: 10_000}) // several granules
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

func openDB(t testing.TB, opts Options) *DB {
	t.Helper()
	db, err := Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func snapshotOf(t testing.TB, store *columnstore.Store) *columnstore.Snapshot {
	t.Helper()
	snap, err := store.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(snap.Close)
	return snap
}

// everything is a table with a column of each type, and its rows. Each row has a unique
// number.
type everything struct {
	*columnstore.Table
	rows []row
}

// row is a row of everything. nil is null.
type row struct {
	pod, zone any // string, dynamic
	stack     []uuid.UUID
	n         int64
	value     int64
	note      any // string: null and empty differ
	text      string
	id        any // uuid.UUID
	ratio     any // float64
	count     any // uint64
	hot       any // bool
}

func everyType() schema.Definition {
	return schema.Definition{
		Columns: []schema.Column{
			{Name: "labels", Type: encoding.String, Encoding: encoding.DictionaryRLE, Dynamic: true},
			{Name: "stack", Type: encoding.UUIDList, Encoding: encoding.DictionaryRLE},
			{Name: "n", Type: encoding.Int64, Encoding: encoding.Delta},
			{Name: "value", Type: encoding.Int64, Encoding: encoding.RLE},
			{Name: "note", Type: encoding.String, Encoding: encoding.Dictionary, Nullable: true},
			{Name: "text", Type: encoding.String, Encoding: encoding.Plain},
			{Name: "id", Type: encoding.UUID, Encoding: encoding.Plain, Nullable: true},
			{Name: "ratio", Type: encoding.Float64, Encoding: encoding.Plain, Nullable: true},
			{Name: "count", Type: encoding.Uint64, Encoding: encoding.Plain, Nullable: true},
			{Name: "hot", Type: encoding.Bool, Encoding: encoding.Plain, Nullable: true},
		},
		SortingKey: []string{"labels", "stack", "n"},
	}
}

// newEverything makes the table and inserts n rows in batches.
func newEverything(t testing.TB, store *columnstore.Store, name string, n int) *everything {
	t.Helper()
	table, err := store.CreateTable(name, everyType())
	if err != nil {
		t.Fatal(err)
	}
	e := &everything{Table: table}
	r := rand.New(rand.NewPCG(1, uint64(n)))
	for len(e.rows) < n {
		at := len(e.rows)
		for range min(n-at, 7000) {
			e.rows = append(e.rows, newRow(r, int64(len(e.rows))))
		}
		if _, err := table.Insert(context.Background(), batchOf(e.rows[at:])); err != nil {
			t.Fatal(err)
		}
	}
	return e
}

func newRow(r *rand.Rand, n int64) row {
	maybe := func(v any) any {
		if r.IntN(5) == 0 {
			return nil
		}
		return v
	}
	out := row{
		pod: fmt.Sprintf("pod-of-a-long-name-%d", n%7), zone: maybe(fmt.Sprintf("z%d", n%3)),
		n: n, value: n%1000 - 3, note: maybe(newNote(r, n)), text: fmt.Sprintf("row %d", n),
		ratio: maybe([]float64{r.NormFloat64(), math.Inf(1), 0}[r.IntN(3)]), count: maybe(math.MaxUint64 - uint64(n)), hot: maybe(n%2 == 0),
	}
	var id uuid.UUID
	binary.BigEndian.PutUint64(id[:], r.Uint64())
	binary.BigEndian.PutUint64(id[8:], r.Uint64())
	out.id = maybe(id)
	out.stack = []uuid.UUID{}
	for i := range r.IntN(4) {
		out.stack = append(out.stack, frame(r.IntN(6), i))
	}
	if n%5 == 4 {
		out.stack = append(out.stack, frame(5, int(n)%250), frame(5, int(n)/250%250)) // thousands of stacks
	}
	return out
}

// newNote returns one of few texts, or a unique one.
func newNote(r *rand.Rand, n int64) string {
	if r.IntN(4) == 0 {
		return fmt.Sprintf("a note for row %d alone", n)
	}
	return strings.Repeat("é", r.IntN(9))
}

// frame returns the id of a location. With a of 5 the first byte is 255, where sign errors
// show.
func frame(a, b int) uuid.UUID { return uuid.UUID{byte(a * 51), byte(b), 15: 7} }

func batchOf(rows []row) schema.Batch {
	vectors := map[string]*encoding.Vector{}
	add := func(name string, typ encoding.Type, v any) {
		to := vectors[name]
		if to == nil {
			to = &encoding.Vector{Type: typ}
			vectors[name] = to
		}
		to.Valid = append(to.Valid, v != nil)
		switch typ {
		case encoding.Int64:
			to.Int64s = append(to.Int64s, v.(int64))
		case encoding.Uint64:
			word, _ := v.(uint64)
			to.Uint64s = append(to.Uint64s, word)
		case encoding.Float64:
			float, _ := v.(float64)
			to.Float64s = append(to.Float64s, float)
		case encoding.Bool:
			yes, _ := v.(bool)
			to.Bools = append(to.Bools, yes)
		case encoding.String:
			text, _ := v.(string)
			to.Strings = append(to.Strings, text)
		case encoding.UUID:
			id, _ := v.(uuid.UUID)
			to.UUIDs = append(to.UUIDs, id)
		case encoding.UUIDList:
			to.UUIDLists = append(to.UUIDLists, v.([]uuid.UUID))
		}
	}
	for _, r := range rows {
		add("labels.pod", encoding.String, r.pod)
		add("labels.zone", encoding.String, r.zone)
		add("stack", encoding.UUIDList, r.stack)
		add("n", encoding.Int64, r.n)
		add("value", encoding.Int64, r.value)
		add("note", encoding.String, r.note)
		add("text", encoding.String, r.text)
		add("id", encoding.UUID, r.id)
		add("ratio", encoding.Float64, r.ratio)
		add("count", encoding.Uint64, r.count)
		add("hot", encoding.Bool, r.hot)
	}
	b := schema.Batch{Rows: len(rows), Columns: map[string]encoding.Vector{}}
	for name, v := range vectors {
		b.Columns[name] = *v
	}
	return b
}

// answer returns the rows of a query, in order.
func answer(ctx context.Context, db *DB, snap *columnstore.Snapshot, tables []Table, query string, args ...any) (out [][]any, err error) {
	rows, err := db.Query(ctx, snap, tables, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		values, to := make([]any, len(names)), make([]any, len(names))
		for i := range values {
			to[i] = &values[i]
		}
		if err := rows.Scan(to...); err != nil {
			return nil, err
		}
		out = append(out, values)
	}
	return out, rows.Err()
}

// lines returns an answer as text: a row a line, blanks between the values.
func lines(rows [][]any) string {
	var b strings.Builder
	for _, row := range rows {
		b.WriteString(strings.TrimSuffix(fmt.Sprintln(row...), "\n") + "\n")
	}
	return b.String()
}

// wantLines compares the answer to a query with want.
func wantLines(t testing.TB, db *DB, snap *columnstore.Snapshot, tables []Table, query, want string) {
	t.Helper()
	got, err := answer(context.Background(), db, snap, tables, query)
	if err != nil {
		t.Errorf("%s: %v", query, err)
		return
	}
	diff(t, query, want, lines(got))
}

func diff(t testing.TB, what string, want, got any) {
	t.Helper()
	if reflect.DeepEqual(want, got) {
		return // cmp takes its time
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}
