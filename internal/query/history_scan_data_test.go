package query

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"

	"github.com/granarydb/granary/history"
)

// intervalText returns the tests' text of an interval.
func intervalText(view *history.View, a history.Attribute, in history.Interval) string {
	path, err := view.Path(a)
	if err != nil {
		return err.Error()
	}
	v := in.Value
	text := v.String()
	switch v.Kind() {
	case history.KindFloat:
		text = fmt.Sprintf("%x", math.Float64bits(v.Float()))
	case history.KindString, history.KindBytes:
		text = fmt.Sprintf("%q", v.Text())
	}
	return fmt.Sprintf("%d %q %d..%d %v %v %s", a, history.PathText(path), in.Start, in.End, in.Open, v.Kind(), text)
}

// arrowCell returns a cell of a column of any form; nil for null.
func arrowCell(t testing.TB, column arrow.Array, row int) any {
	t.Helper()
	switch c := column.(type) {
	case *array.RunEndEncoded:
		return arrowCell(t, c.Values(), c.GetPhysicalIndex(row))
	case *array.Dictionary:
		if c.IsNull(row) {
			return nil
		}
		return arrowCell(t, c.Dictionary(), c.GetValueIndex(row))
	}
	if column.IsNull(row) {
		return nil
	}
	switch c := column.(type) {
	case *array.Uint32:
		return c.Value(row)
	case *array.Int64:
		return c.Value(row)
	case *array.Boolean:
		return c.Value(row)
	case *array.Float64:
		return fmt.Sprintf("%x", math.Float64bits(c.Value(row)))
	case *array.String:
		return c.Value(row)
	case *array.Binary:
		return string(c.Value(row))
	}
	t.Fatalf("a column of %v", column.DataType())
	return nil
}

// recordTexts returns the intervals of a record as text, and checks the invariants of all
// records.
func recordTexts(t testing.TB, rec arrow.Record) (rows []string) {
	t.Helper()
	for row := range int(rec.NumRows()) {
		cells := map[string]any{}
		for i, f := range rec.Schema().Fields() {
			if cells[f.Name] = arrowCell(t, rec.Column(i), row); cells[f.Name] == nil && !f.Nullable {
				t.Fatalf("row %d: %s is null", row, f.Name)
			}
		}
		value, kinds := "null", "null"
		for _, kind := range []string{"bool", "int", "float", "string", "bytes"} {
			cell := cells["value_"+kind]
			if cell == nil {
				continue
			}
			if kinds != "null" {
				t.Fatalf("row %d has two values: %v", row, cells)
			}
			kinds, value = kind, fmt.Sprint(cell)
			if kind == "string" || kind == "bytes" {
				value = fmt.Sprintf("%q", cell)
			}
		}
		if kinds != cells["kind"] {
			t.Fatalf("row %d is of kind %v and has the value %s", row, cells["kind"], value)
		}
		rows = append(rows, fmt.Sprintf("%d %q %d..%d %v %v %s",
			cells["attribute_id"], cells["attribute"], cells["start"], cells["end"], cells["open"], cells["kind"], value))
	}
	return rows
}

// scanTexts returns all rows of a scan as text.
func scanTexts(t testing.TB, q HistoryScan, scan iter.Seq2[arrow.Record, error]) (rows []string) {
	t.Helper()
	schema, err := q.Schema()
	if err != nil {
		t.Fatal(err)
	}
	for rec, err := range scan {
		if err != nil {
			t.Fatal(err)
		}
		if !rec.Schema().Equal(schema) || rec.NumRows() == 0 || rec.NumRows() > recordRows {
			t.Fatalf("a record of %d rows and the schema %v", rec.NumRows(), rec.Schema())
		}
		rows = append(rows, recordTexts(t, rec)...)
		rec.Release()
	}
	return rows
}

// oddPaths are the paths of attributes with values of all kinds. Number i is of kind i % 6,
// where null stands for attributes without a value.
var oddPaths = [][]string{
	{"nothing"},
	{"bool"},
	{"int"},
	{"float"},
	{"string"},
	{"bytes"},
	{"a/b"},
	{"a"},
	{"a", "b"},
	{`a\`, "b"},
	{""},
	{"", ""},
	{"\x00"},
	{".."},
	{"*"},
	{"..", "*", "x/\\y"},
	{"\u00e9\u4e16\n"},
	{"a", "..."},
}

// oddValue returns a value of a kind.
func oddValue(rng *rand.Rand, kind int) history.Value {
	texts := []string{"", "\x00", "a", "\u00e9\u4e16", "null", strings.Repeat("long", 50)}
	switch {
	case kind == 0 || rng.IntN(5) == 0:
		return history.Value{}
	case kind == 1:
		return history.Bool(rng.IntN(2) == 0)
	case kind == 2:
		return history.Int([]int64{0, -1, math.MinInt64, math.MaxInt64, 7}[rng.IntN(5)])
	case kind == 3:
		return history.Float([]float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), 0.1, math.Float64frombits(0x7ff8000000000bad)}[rng.IntN(6)])
	case kind == 4:
		return history.String(texts[rng.IntN(len(texts))])
	}
	return history.Bytes([]byte([]string{"", "\xff\xfe", "a", "\x00\x00"}[rng.IntN(4)]))
}

// oddViews returns views of a history while it is built, and the view after it is closed.
func oddViews(t testing.TB, seed uint64) (views []*history.View) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 5))
	states, err := history.New(history.Options{Start: -1000})
	if err != nil {
		t.Fatal(err)
	}
	at := int64(-1000)
	fed := map[int]int64{} // the end so far, for attributes fed by Add
	for i := range 7 {
		tx, err := states.Begin()
		if err != nil {
			t.Fatal(err)
		}
		for n := range len(oddPaths) { // some of them are created by later commits
			if n > 6 && n > 4*i {
				break
			}
			if _, err := tx.Attribute(oddPaths[n]...); err != nil {
				t.Fatal(err)
			}
		}
		for range []int{300, 900, 4000}[rng.IntN(3)] {
			at += int64(rng.IntN(3))
			n := rng.IntN(min(len(oddPaths), 7+4*i))
			if n%6 == 0 || n > 6 && n > 4*i {
				continue
			}
			a, err := tx.Lookup(oddPaths[n]...)
			if err != nil {
				t.Fatal(err)
			}
			if n >= 12 {
				start, known := fed[n]
				if !known {
					start = -1000
				}
				if at <= start {
					continue
				}
				fed[n] = at + 1
				err = tx.Add(a, start, at, oddValue(rng, n%6))
			} else {
				err = tx.Change(at, a, oddValue(rng, n%6))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		at += 2
		if i == 6 {
			if err := tx.Close(at); err != nil {
				t.Fatal(err)
			}
		}
		view, err := tx.Commit()
		if err != nil {
			t.Fatal(err)
		}
		views = append(views, view)
	}
	return views
}

// someAttributes returns some attributes of a view, some twice, and sometimes nil.
func someAttributes(rng *rand.Rand, view *history.View) []history.Attribute {
	if rng.IntN(4) == 0 {
		return nil
	}
	some := []history.Attribute{}
	for range rng.IntN(2 * view.Len()) {
		some = append(some, history.Attribute(rng.IntN(view.Len())))
	}
	return some
}

// allOf returns a scan's attributes.
func allOf(view *history.View, some []history.Attribute) []history.Attribute {
	if some != nil {
		return some
	}
	var all []history.Attribute
	for a := range history.Attribute(view.Len()) {
		all = append(all, a)
	}
	return all
}

// instant returns a random instant of a view.
func instant(rng *rand.Rand, view *history.View) int64 {
	return view.Start() + rng.Int64N(view.End()-view.Start()+1)
}

// manyStates returns a view of a history with `attributes` attributes and `intervals` intervals each.
func manyStates(t testing.TB, attributes, intervals int, value func(i int) history.Value) *history.View {
	t.Helper()
	states, err := history.New(history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tx, err := states.Begin()
	if err != nil {
		t.Fatal(err)
	}
	var all []history.Attribute
	for n := range attributes {
		a, err := tx.Attribute("Threads", fmt.Sprint(n), "Status")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, a)
	}
	for i := range intervals {
		for n, a := range all {
			if err := tx.Change(int64(i*len(all)+n), a, value(i*len(all)+n)); err != nil {
				t.Fatal(err)
			}
		}
	}
	view, err := tx.Commit()
	if err != nil {
		t.Fatal(err)
	}
	return view
}

func intValue(i int) history.Value { return history.Int(int64(i % 7)) }

// hit returns the intervals of an attribute that contain one of times.
func hit(t testing.TB, view *history.View, a history.Attribute, times []int64) (rows []string) {
	t.Helper()
	for _, at := range slices.Sorted(slices.Values(times)) {
		in, err := view.At(a, at)
		if err != nil {
			t.Fatal(err)
		}
		if text := intervalText(view, a, in); !slices.Contains(rows, text) {
			rows = append(rows, text)
		}
	}
	return rows
}
