package columnstore

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// A refused insert by codes leaves nothing visible: no row, no series, no column. Earlier and
// later inserts of its transaction are unaffected (C5).
func TestCodes_InsertErrors(t *testing.T) {
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	for _, test := range []struct {
		name     string
		edit     func(f *codesFixture)
		sentinel error
		text     string
	}{
		{"codes of another table", func(f *codesFixture) { f.codes = f.strange }, ErrBatch, `codes of table "strange"`},
		{"codes of a later generation", func(f *codesFixture) { f.codes = f.later }, ErrBatch, "codes are for times from 1970-01-01T00:00:00.0000002Z"},
		{"a row of another generation", func(f *codesFixture) { f.b.Columns["time"] = encoding.Int64s(250) }, ErrBatch, "a row is of 1970-01-01T00:00:00.0000002Z"},
		{"one row of another generation", func(f *codesFixture) {
			f.b.Rows, f.b.Columns["time"] = 3, encoding.Int64s(50, 350, 50)
		}, ErrBatch, "a row is of"},
		{"no list", func(f *codesFixture) { f.b.Columns["stack"] = encoding.ListCodes(0) }, ErrBatch, `"stack" row 0 is null`},
		{"unknown list", func(f *codesFixture) { f.b.Columns["stack"] = encoding.ListCodes(f.lists() + 1) }, ErrBatch, `"stack" row 0: list`},
		{"unknown list in the last row", func(f *codesFixture) {
			f.b.Rows, f.b.Columns["stack"] = 3, encoding.ListCodes(1, 1, math.MaxUint32)
		}, ErrBatch, `"stack" row 2: list 4294967295`},
		{"unknown series", func(f *codesFixture) { f.b.Series = uint32(f.codes.gen.Load().Series.Len()) + 1 }, ErrBatch, "series"},
		{"most series", func(f *codesFixture) { f.b.Series = math.MaxUint32 }, ErrBatch, "series 4294967295"},
		{"series and a label", func(f *codesFixture) { f.b.Columns["labels.new"] = encoding.Strings("x") }, ErrBatch, `"labels.new" is given, and the code of a series`},
		{"series and a column of it", func(f *codesFixture) { f.b.Columns["kind"] = encoding.Strings("x") }, ErrBatch, `"kind" is given, and the code of a series`},
		{"lists and codes", func(f *codesFixture) {
			f.b.Columns["stack"] = encoding.Vector{Type: encoding.UUIDList, Codes: []uint32{1}, UUIDLists: [][]uuid.UUID{{{1}}}}
		}, ErrBatch, `"stack" has lists and codes of lists`},
		{"no series at all", func(f *codesFixture) { f.b.Series = 0 }, ErrBatch, `"kind" is missing`},
		{"too few codes", func(f *codesFixture) { f.b.Rows, f.b.Columns["stack"] = 3, encoding.ListCodes(1, 1) }, ErrBatch, `"stack" has 2 values for 3 rows`},
		{"too few valid flags", func(f *codesFixture) {
			f.b.Columns["stack"] = encoding.Vector{Type: encoding.UUIDList, Codes: []uint32{1}, Valid: []bool{}}
		}, ErrBatch, "0 valid flags"},
		{"codes of another type", func(f *codesFixture) { f.b.Columns["value"] = encoding.ListCodes(1) }, ErrBatch, `"value"`},
		{"cancelled", func(f *codesFixture) { f.ctx = cancelled }, context.Canceled, "canceled"},
		{"the future", func(f *codesFixture) { f.b.Columns["time"] = encoding.Int64s(math.MaxInt64) }, ErrFuture, "row 0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newCodesFixture(t)
			before := stateOf(t, f.store, f.table)
			good := codedRow(t, f.codes, 60)
			codes := f.codes
			test.edit(f)
			alone := f.store.Begin() // Codes.Insert would use the table of the codes
			err := alone.insert(f.ctx, f.table, f.codes, f.b)
			alone.Abort()
			wantError(t, err, test.sentinel, test.text)
			before.visibleCheck(t, f.store, f.table)

			tx := f.store.Begin()
			for i := range 3 {
				if i != 1 {
					if err := tx.InsertCodes(t.Context(), codes, good); err != nil {
						t.Fatal(err)
					}
				} else if err := tx.insert(f.ctx, f.table, f.codes, f.b); !errors.Is(err, test.sentinel) {
					t.Errorf("in a transaction: %v", err)
				}
			}
			before.visibleCheck(t, f.store, f.table)
			if _, err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
			after := stateOf(t, f.store, f.table)
			if len(after.Rows) != len(before.Rows)+2 || len(after.Series) != len(before.Series)+1 || len(after.Columns) != len(before.Columns) {
				t.Errorf("after two good inserts: %d rows, series %v, columns %v", len(after.Rows), after.Series, after.Columns)
			}
		})
	}
}

// codesFixture is a table with some rows, and a batch by codes with an unused label.
type codesFixture struct {
	ctx     context.Context
	store   *Store
	table   *Table
	codes   *Codes // for 0 to 199
	later   *Codes // of the next generation, with as many codes
	strange *Codes // of another table, with as many codes
	b       schema.Batch
}

func newCodesFixture(t *testing.T) *codesFixture {
	t.Helper()
	f := &codesFixture{ctx: t.Context()}
	f.store, f.table = open(t, Options{Manual: true, GenerationBuckets: 2, Now: func() time.Time { return time.Unix(0, 1000) }}, samples(100))
	strange, err := f.store.CreateTable("strange", samples(100))
	if err != nil {
		t.Fatal(err)
	}
	for to, from := range map[**Codes]struct {
		table *Table
		at    int64
	}{&f.codes: {f.table, 50}, &f.later: {f.table, 250}, &f.strange: {strange, 50}} {
		if *to, err = from.table.Codes(from.at); err != nil {
			t.Fatal(err)
		}
		f.b = codedRow(t, *to, 50)
		if f.b.Series, err = (*to).Series(map[string]string{"kind": "another", "labels.secret": "s"}); err != nil {
			t.Fatal(err)
		}
	}
	insert(t, f.table, oneRowOf("known", 50))
	insert(t, f.table, oneRowOf("known", 250))
	return f
}

func oneRowOf(kind string, at int64) schema.Batch {
	b := oneRow(at)
	b.Columns["kind"] = encoding.Strings(kind)
	return b
}

func (f *codesFixture) lists() uint32 { return uint32(f.codes.gen.Load().Lists.Len()) }

// A batch with codes is refused without the dictionaries of the codes.
func TestCodes_NotInPlainInsert(t *testing.T) {
	f := newCodesFixture(t)
	before := stateOf(t, f.store, f.table)
	_, err := f.table.Insert(t.Context(), f.b)
	wantError(t, err, ErrBatch, "series")
	f.b.Series, f.b.Columns["kind"] = 0, encoding.Strings("cpu")
	_, err = f.table.Insert(t.Context(), f.b)
	wantError(t, err, ErrBatch, `"stack" has codes: use Codes.Insert`)
	f.b.Rows, f.b.Columns["stack"] = 0, encoding.ListCodes([]uint32{}...)
	_, err = f.table.Insert(t.Context(), schema.Batch{Rows: 1, Series: 1, Columns: oneRow(1).Columns})
	wantError(t, err, ErrBatch, `"kind" is given`)
	before.check(t, f.store, f.table)
}

// A batch without rows is no error and has no effect, but its columns are checked.
func TestCodes_EmptyBatch(t *testing.T) {
	f := newCodesFixture(t)
	before := stateOf(t, f.store, f.table)
	for _, b := range []schema.Batch{
		{Columns: map[string]encoding.Vector{"stack": encoding.ListCodes(), "time": encoding.Int64s(), "value": encoding.Int64s()}, Series: 1},
		{Columns: map[string]encoding.Vector{"stack": encoding.ListCodes(1), "time": encoding.Int64s(5), "value": encoding.Int64s(1)}, Series: 1},
		{Columns: map[string]encoding.Vector{"kind": encoding.Strings(), "stack": encoding.UUIDLists(), "time": encoding.Int64s(), "value": encoding.Int64s()}},
	} {
		if _, err := f.codes.Insert(t.Context(), b); err != nil {
			t.Errorf("%+v: %v", b, err)
		}
	}
	_, err := f.codes.Insert(t.Context(), schema.Batch{})
	wantError(t, err, ErrBatch, "is missing")
	if dst, err := f.codes.UUIDLists(nil, nil); len(dst) != 0 || err != nil {
		t.Errorf("codes of no lists: %v, %v", dst, err)
	}
	if dst, err := f.codes.Lists(nil, nil); len(dst) != 0 || err != nil {
		t.Errorf("codes of no lists of elements: %v, %v", dst, err)
	}
	if dst, err := f.codes.Elements(nil, nil, nil); len(dst) != 0 || err != nil {
		t.Errorf("codes of no elements: %v, %v", dst, err)
	}
	before.check(t, f.store, f.table)
}

// An invalid value cannot be interned: the error gives the reason, and dst is unchanged. So
// are the dictionaries if the input is refused before the first lookup.
func TestCodes_InternErrors(t *testing.T) {
	f := newCodesFixture(t)
	known := codedRow(t, f.codes, 1).Columns["stack"].Codes
	dst := append(make([]uint32, 0, 8), 7)
	elements := uint32(f.codes.gen.Load().Lists.Elements())
	long := make([]uuid.UUID, schema.MaxList+1)
	text := string(make([]byte, schema.MaxString+1))
	size := f.codes.gen.Load().Size()
	series := func(labels map[string]string) func() ([]uint32, error) {
		return func() ([]uint32, error) {
			code, err := f.codes.Series(labels)
			if code != 0 {
				t.Errorf("code %d with an error", code)
			}
			return dst, err
		}
	}
	lists := func(lists ...[]uint32) func() ([]uint32, error) {
		return func() ([]uint32, error) { return f.codes.Lists(dst, lists) }
	}
	for _, test := range []struct {
		name     string
		intern   func() ([]uint32, error)
		sentinel error
		text     string
	}{
		{"series: a column is missing", series(map[string]string{"labels.a": "b"}), ErrBatch, `"kind" is missing`},
		{"series: a column of another kind", series(map[string]string{"kind": "cpu", "tags.t": "b"}), ErrBatch, `"tags.t" is not one that leads the sorting key`},
		{"series: an unknown column", series(map[string]string{"kind": "cpu", "nope": "b"}), ErrBatch, `"nope"`},
		{"series: the family itself", series(map[string]string{"kind": "cpu", "labels": "b"}), ErrBatch, `"labels"`},
		{"series: a bad name", series(map[string]string{"kind": "cpu", "labels.\x01": "b"}), ErrBatch, `"labels.\x01"`},
		{"series: not UTF-8", series(map[string]string{"kind": "\xff"}), ErrBatch, "not valid UTF-8"},
		{"series: a long value", series(map[string]string{"kind": text}), ErrLimit, `"kind" row 0`},
		{"lists: element 0", lists([]uint32{1}, []uint32{1, 0}), ErrBatch, "list 1: no element has the code 0"},
		{"lists: an unknown element", lists([]uint32{1, elements + 1}), ErrBatch, "list 0: no element"},
		{"lists: the last code", lists([]uint32{math.MaxUint32}), ErrBatch, "list 0: no element"},
		{"lists: too long", lists([]uint32{1}, make([]uint32, schema.MaxList+1)), ErrLimit, "list 1 of 16385"},
		{"UUID lists: too long", func() ([]uint32, error) { return f.codes.UUIDLists(dst, [][]uuid.UUID{{{9}}, long}) }, ErrLimit, "row 1: list of 16385"},
		{"elements: a long record", func() ([]uint32, error) {
			return f.codes.Elements(dst, []uuid.UUID{{8}, {9}}, [][]byte{nil, make([]byte, schema.MaxRecord+1)})
		}, ErrLimit, "1048577 bytes"},
		{"elements: too few records", func() ([]uint32, error) {
			return f.codes.Elements(dst, []uuid.UUID{{8}, {9}}, [][]byte{nil})
		}, ErrBatch, "1 records for 2 elements"},
	} {
		got, err := test.intern()
		wantError(t, err, test.sentinel, test.text)
		if len(got) != 1 || got[0] != 7 {
			t.Errorf("%s: dst is %v", test.name, got)
		}
		if now := f.codes.gen.Load().Size(); now != size {
			t.Errorf("%s: the dictionaries grew from %d to %d bytes", test.name, size, now)
		}
	}
	if again := codedRow(t, f.codes, 1).Columns["stack"].Codes; again[0] != known[0] {
		t.Errorf("a known list has the code %d, then %d", known[0], again[0])
	}
	// Values at the limits are valid.
	if _, err := f.codes.Lists(nil, [][]uint32{make16(schema.MaxList)}); err != nil {
		t.Error(err)
	}
	if _, err := f.codes.Elements(nil, []uuid.UUID{{8}}, [][]byte{make([]byte, schema.MaxRecord)}); err != nil {
		t.Error(err)
	}
	_, plain := open(t, Options{Manual: true}, schema.Definition{Columns: []schema.Column{{Name: "n", Type: encoding.Int64, Encoding: encoding.Plain}}})
	codes, err := plain.Codes(0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = codes.UUIDLists(nil, [][]uuid.UUID{{{1}}})
	wantError(t, err, ErrBatch, "no column of type")
}

// make16 returns a list of the element 1 n times.
func make16(n int) []uint32 {
	list := make([]uint32, n)
	for i := range list {
		list[i] = 1
	}
	return list
}

// A closed store refuses to return and to accept codes.
func TestCodes_Closed(t *testing.T) {
	f := newCodesFixture(t)
	tx := f.store.Begin()
	if err := tx.InsertCodes(t.Context(), f.codes, f.b); err != nil {
		t.Fatal(err)
	}
	f.store.Close()
	for name, do := range map[string]func() error{
		"Codes":       func() error { _, err := f.table.Codes(50); return err },
		"Series":      func() error { _, err := f.codes.Series(map[string]string{"kind": "x"}); return err },
		"Elements":    func() error { _, err := f.codes.Elements(nil, []uuid.UUID{{1}}, nil); return err },
		"Lists":       func() error { _, err := f.codes.Lists(nil, [][]uint32{{1}}); return err },
		"UUIDLists":   func() error { _, err := f.codes.UUIDLists(nil, [][]uuid.UUID{{{1}}}); return err },
		"Insert":      func() error { _, err := f.codes.Insert(t.Context(), f.b); return err },
		"InsertCodes": func() error { return f.store.Begin().InsertCodes(t.Context(), f.codes, f.b) },
		"Commit":      func() error { _, err := tx.Commit(); return err },
	} {
		if err := do(); !errors.Is(err, ErrClosed) {
			t.Errorf("%s of a closed store: %v", name, err)
		}
	}
	if err := tx.InsertCodes(t.Context(), f.codes, f.b); !errors.Is(err, ErrTxDone) {
		t.Errorf("InsertCodes after the end of a transaction: %v", err)
	}
	other, _ := open(t, Options{Manual: true}, samples(100))
	wantError(t, other.Begin().InsertCodes(t.Context(), f.codes, f.b), ErrTable, "different stores")
}

// Codes for a time dropped by retention are refused, new codes too. So are rows that were inserted before
// the drop and committed after it.
func TestCodes_Dropped(t *testing.T) {
	store, table := open(t, Options{Manual: true, FutureLimit: -1, Retention: 25, GenerationBuckets: 2}, samples(10))
	old, err := table.Codes(5)
	if err != nil {
		t.Fatal(err)
	}
	b := codedRow(t, old, 5)
	late := store.Begin()
	if err := late.InsertCodes(t.Context(), old, b); err != nil {
		t.Fatal(err)
	}
	insert(t, table, oneRow(45)) // 45-25 = 20: the buckets 0 and 10, a generation, are over
	before := stateOf(t, store, table)
	_, err = old.Insert(t.Context(), b)
	wantError(t, err, ErrTooOld, "kept from 1970-01-01T00:00:00.00000002Z")
	_, err = late.Commit()
	wantError(t, err, ErrTooOld, "kept from")
	for _, at := range []int64{math.MinInt64, 5, 19} {
		_, err = table.Codes(at)
		wantError(t, err, ErrTooOld, `table "samples"`)
	}
	before.visibleCheck(t, store, table)
	size := old.gen.Load().Size() // no longer counted, so it must not grow
	_, err = old.Series(map[string]string{"kind": "new"})
	wantError(t, err, ErrTooOld, "kept from")
	_, err = old.UUIDLists(nil, [][]uuid.UUID{{{7}}})
	wantError(t, err, ErrTooOld, "kept from")
	_, err = old.Elements(nil, []uuid.UUID{{7}}, nil)
	wantError(t, err, ErrTooOld, "kept from")
	if now := old.gen.Load().Size(); now != size {
		t.Errorf("dropped dictionaries grew from %d to %d bytes", size, now)
	}
	if now, err := table.Codes(25); err != nil {
		t.Error(err)
	} else if _, err := now.Insert(t.Context(), codedRow(t, now, 25)); err != nil {
		t.Error(err)
	}
}

// The same for an evicted time: old codes are not accepted as codes of the new dictionaries.
func TestCodes_Evicted(t *testing.T) {
	_, table := tight(t, 6)
	codes, err := table.Codes(0)
	if err != nil {
		t.Fatal(err)
	}
	b := codedRow(t, codes, 0)
	for i := range int64(20) {
		insert(t, table, heavy(i*10, 500))
	}
	if table.floor() <= 0 {
		t.Fatal("nothing was evicted")
	}
	_, err = codes.Insert(t.Context(), b)
	wantError(t, err, ErrTooOld, "kept from")
	b.Columns["time"] = encoding.Int64s(195) // of a live generation
	_, err = codes.Insert(t.Context(), b)
	wantError(t, err, ErrBatch, "codes are for times from")
}

// Between the check of a batch's codes and the building of its parts, another goroutine can drop their
// generation, and is then about to publish a root without it. Rows must not be built with codes from one
// generation and dictionaries from another.
func TestCodes_DroppedMeanwhile(t *testing.T) {
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("panic: %v", r)
		}
	}()
	_, table := open(t, Options{Manual: true, FutureLimit: -1, GenerationBuckets: 1}, samples(10))
	codes, err := table.Codes(5)
	if err != nil {
		t.Fatal(err)
	}
	b := codedRow(t, codes, 5)
	ctx := &hook{Context: t.Context(), do: func() { table.dropGenerations(100, 1) }} // like Table.finish
	tx := table.store.Begin()
	defer tx.Abort()
	if err := tx.InsertCodes(ctx, codes, b); err != nil {
		wantError(t, err, ErrTooOld, "kept from")
		return
	}
	for _, p := range tx.pieces {
		if p.Part.Generation() != codes.gen.Load().Generation {
			t.Error("the rows are of other dictionaries than their codes")
		}
	}
}

// hook is a context that runs do when it is asked for its error.
type hook struct {
	context.Context
	do func()
}

func (h *hook) Err() error {
	h.do()
	return nil
}

// Codes do not bypass the limits of other columns: only list columns accept codes.
func TestCodes_OnOtherColumns(t *testing.T) {
	f := newCodesFixture(t)
	for _, codes := range [][]uint32{{}, {1}} {
		f.b.Columns["tags.t"] = encoding.Vector{Type: encoding.String, Strings: []string{"not UTF-8: \xff"}, Codes: codes}
		_, err := f.codes.Insert(t.Context(), f.b)
		wantError(t, err, ErrBatch, `"tags.t"`)
		f.b.Columns["tags.t"] = encoding.Vector{Type: encoding.String, Strings: []string{string(make([]byte, schema.MaxString+1))}, Codes: codes}
		if _, err = f.codes.Insert(t.Context(), f.b); !errors.Is(err, ErrLimit) && !errors.Is(err, ErrBatch) {
			t.Errorf("a string of %d bytes beside codes: %v", schema.MaxString+1, err)
		}
	}
}

// Codes for a time beyond the future limit are refused like its rows, since nothing would ever
// evict their entries.
func TestCodes_Future(t *testing.T) {
	f := newCodesFixture(t)
	generations := len(f.table.generations.All())
	_, err := f.table.Codes(math.MaxInt64)
	wantError(t, err, ErrFuture, "the clock is at")
	if n := len(f.table.generations.All()); n != generations {
		t.Errorf("%d generations, %d before", n, generations)
	}
}
