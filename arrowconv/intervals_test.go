package arrowconv

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/memory"
)

// stateTextsOf are the texts of the codes of the tests, of strings and of bytes.
var stateTextsOf = []string{"", "a", "\x00", "\u00e9\u4e16", strings.Repeat("x", 300)}

// stateOptions is a builder's options for tests, with paths that have the empty one.
func stateOptions(mem memory.Allocator, form Form) IntervalOptions {
	return IntervalOptions{
		Memory: mem, Form: form, MaxRows: 1000, MaxBytes: 1 << 20,
		Path: func(dst []byte, a uint32) ([]byte, error) {
			if a == 0 {
				return dst, nil
			}
			return fmt.Appendf(dst, "%0*d", 2*(a%300), a), nil
		},
		Text: func(code uint32) []byte { return []byte(stateTextsOf[code]) },
	}
}

func newStates(t testing.TB, opts IntervalOptions) *IntervalBuilder {
	t.Helper()
	b, err := NewIntervalBuilder(opts)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// kindNames are the names of the kinds by number.
var kindNames = []string{"null", "bool", "int", "float", "string", "bytes"}

// someIntervals returns rows of few attributes, most of which adjoin.
func someIntervals(rng *rand.Rand, n int) *IntervalRows {
	r := &IntervalRows{}
	attribute := uint32(rng.IntN(9))
	for range n {
		if rng.IntN(4) == 0 {
			attribute = uint32(rng.IntN(9)) * []uint32{1, 7, 1 << 20}[rng.IntN(3)]
		}
		kind := uint8(rng.IntN(len(kindNames)))
		word := rng.Uint64()
		switch stateKind(kind) {
		case stateBool:
			word %= 2
		case stateFloat:
			word = math.Float64bits([]float64{0, math.Copysign(0, -1), 1.5, math.Inf(-1)}[rng.IntN(4)])
		case stateString, stateBytes:
			word = uint64(rng.IntN(len(stateTextsOf)))
		}
		r.Attributes = append(r.Attributes, attribute)
		r.Starts = append(r.Starts, int64(rng.Uint64()))
		r.Ends = append(r.Ends, int64(rng.Uint64()))
		r.Open = append(r.Open, rng.IntN(2) == 0)
		r.Kinds = append(r.Kinds, kind)
		r.Words = append(r.Words, word)
	}
	return r
}

// stateRows returns the expected rows [lo, hi) of a record of all columns.
func stateRows(t testing.TB, opts *IntervalOptions, r *IntervalRows, lo, hi int) (rows [][]any) {
	t.Helper()
	for i := lo; i < hi; i++ {
		path, err := opts.Path(nil, r.Attributes[i])
		if err != nil {
			t.Fatal(err)
		}
		kind, word := r.Kinds[i], r.Words[i]
		row := []any{r.Attributes[i], string(path), r.Starts[i], r.Ends[i], r.Open[i], kindNames[kind], nil, nil, nil, nil, nil}
		switch stateKind(kind) {
		case stateBool:
			row[columnBool] = word != 0
		case stateInt:
			row[columnInt] = int64(word)
		case stateFloat:
			row[columnFloat] = math.Float64frombits(word)
		case stateString:
			row[columnString] = string(opts.Text(uint32(word)))
		case stateBytes:
			row[columnBytes] = opts.Text(uint32(word))
		}
		rows = append(rows, row)
	}
	return rows
}

// stateCell is rowOf, of the types that only intervals have too.
func stateCell(a arrow.Array, i int) any {
	switch a := a.(type) {
	case *array.RunEndEncoded:
		return stateCell(a.Values(), a.GetPhysicalIndex(i))
	case *array.Uint32:
		return a.Value(i)
	case *array.Binary:
		if a.IsNull(i) {
			return nil
		}
		return append([]byte{}, a.Value(i)...)
	}
	return rowOf(a, i)
}

// checkStates compares a record with rows, and checks the invariants of its form (A1, A2, A6).
func checkStates(t testing.TB, rec arrow.Record, want [][]any) {
	t.Helper()
	if int(rec.NumRows()) != len(want) {
		t.Fatalf("%d rows, want %d", rec.NumRows(), len(want))
	}
	for c, f := range rec.Schema().Fields() {
		a := rec.Column(c)
		if a.Len() != len(want) || !arrow.TypeEqual(a.DataType(), f.Type) || !f.Nullable && a.NullN() > 0 {
			t.Fatalf("%s: %d rows of %v, %d nulls", f.Name, a.Len(), a.DataType(), a.NullN())
		}
		var got []any
		for i := range a.Len() {
			got = append(got, stateCell(a, i))
			at := slices.Index(intervalColumnNames[:], f.Name)
			if fmt.Sprintf("%T %#v", got[i], got[i]) != fmt.Sprintf("%T %#v", want[i][at], want[i][at]) {
				t.Fatalf("%s of row %d: %#v, want %#v", f.Name, i, got[i], want[i][at])
			}
		}
		if ints, ok := a.(*array.Int64); ok {
			for i, v := range ints.Int64Values() {
				if got[i] == nil && v != 0 {
					t.Fatalf("%s of row %d is null, and holds %d of another record", f.Name, i, v)
				}
			}
		}
		if r, ok := a.(*array.RunEndEncoded); ok {
			checkRuns(t, r, got)
			a = r.Values()
		}
		if d, ok := a.(*array.Dictionary); ok {
			seen := map[string]bool{}
			for i := range d.Dictionary().Len() {
				seen[d.Dictionary().ValueStr(i)] = true
			}
			used := map[any]bool{}
			for _, v := range got {
				used[v] = true
			}
			if delete(used, nil); len(seen) != d.Dictionary().Len() || len(used) != len(seen) {
				t.Fatalf("%s: a dictionary of %d values, %d distinct, %d used", f.Name, d.Dictionary().Len(), len(seen), len(used))
			}
		}
	}
}

// checkRuns: there are as many as values differ (A6), and none of them is null.
func checkRuns(t testing.TB, r *array.RunEndEncoded, cells []any) {
	t.Helper()
	runs := 0
	for i := range cells {
		if i == 0 || cells[i] != cells[i-1] {
			runs++
		}
	}
	if r.Values().Len() != runs || r.RunEndsArr().Len() != runs || r.NullN() != 0 || r.Values().NullN() != 0 {
		t.Fatalf("%d values and %d ends for %d runs", r.Values().Len(), r.RunEndsArr().Len(), runs)
	}
}

// TestIntervals: intervals appended in pieces are in the records, in every form; a builder is
// reused, and records outlive it.
func TestIntervals(t *testing.T) {
	for _, form := range allForms {
		rng := rand.New(rand.NewPCG(1, uint64(form)))
		mem := checked(t)
		opts := stateOptions(mem, form)
		var records []arrow.Record
		var wants [][][]any
		b := newStates(t, opts)
		for range 50 {
			r := someIntervals(rng, rng.IntN(400))
			for from := 0; from < len(r.Words); {
				before := b.Rows()
				// A piece ends where it pleases.
				piece := rng.IntN(len(r.Words) - from + 1)
				part := &IntervalRows{
					Attributes: r.Attributes[:from+piece], Starts: r.Starts[:from+piece], Ends: r.Ends[:from+piece],
					Open: r.Open[:from+piece], Kinds: r.Kinds[:from+piece], Words: r.Words[:from+piece],
				}
				n, err := b.Append(part, from)
				if err != nil || n > piece || n < piece && !b.Full() || b.Rows() != before+n {
					t.Fatalf("%d of %d rows, %v", n, piece, err)
				}
				if len(wants) == len(records) {
					wants = append(wants, nil)
				}
				wants[len(wants)-1] = append(wants[len(wants)-1], stateRows(t, &opts, r, from, from+n)...)
				if from += n; b.Full() || rng.IntN(10) == 0 {
					records = append(records, b.Record())
				}
			}
			if len(records) > 2 {
				checkStates(t, records[0], wants[0])
				records[0].Release()
				records, wants = records[1:], wants[1:]
			}
		}
		b.Release()
		b.Release()
		for i, rec := range records {
			checkStates(t, rec, wants[i])
			rec.Release()
		}
	}
}

// TestIntervals_Empty: a record of no rows, and one of no columns.
func TestIntervals_Empty(t *testing.T) {
	for _, form := range allForms {
		opts := stateOptions(checked(t), form)
		b := newStates(t, opts)
		rec := b.Record()
		checkStates(t, rec, nil)
		rec.Release()
		b.Release()
		opts.Columns = []string{}
		b = newStates(t, opts)
		if n, err := b.Append(someIntervals(rand.New(rand.NewPCG(1, 1)), 5), 2); n != 3 || err != nil {
			t.Errorf("%d rows, %v", n, err)
		}
		if rec = b.Record(); rec.NumRows() != 3 || rec.NumCols() != 0 {
			t.Errorf("%d rows and %d columns", rec.NumRows(), rec.NumCols())
		}
		rec.Release()
		b.Release()
	}
}

// TestIntervals_Full: a record ends with the row that brings its texts to a size.
func TestIntervals_Full(t *testing.T) {
	for _, form := range allForms {
		opts := stateOptions(checked(t), form)
		opts.MaxBytes = 3000
		b := newStates(t, opts)
		r := &IntervalRows{}
		for i := range 100 {
			r.Attributes, r.Starts, r.Ends = append(r.Attributes, 100), append(r.Starts, int64(i)), append(r.Ends, int64(i))
			r.Open, r.Kinds, r.Words = append(r.Open, false), append(r.Kinds, uint8(stateBytes)), append(r.Words, 4)
		}
		n, err := b.Append(r, 0)
		// 300 bytes a row, and in the plain form 200 of the path.
		if want := map[Form]int{FormDictionary: 10, FormNative: 10, FormPlain: 6}[form]; err != nil || n != want {
			t.Errorf("%v: %d rows, want %d, %v", form, n, want, err)
		}
		if again, err := b.Append(r, n); again != 0 || err != nil || !b.Full() {
			t.Errorf("%v: %d rows of a full record, %v", form, again, err)
		}
		b.Release()
	}
}

// TestIntervals_Errors: mistakes are errors, and leave no memory.
func TestIntervals_Errors(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for name, change := range map[string]func(o *IntervalOptions){
		"form":         func(o *IntervalOptions) { o.Form = 7 },
		"column":       func(o *IntervalOptions) { o.Columns = []string{"open", "value"} },
		"column twice": func(o *IntervalOptions) { o.Columns = []string{"open", "kind", "open"} },
		"rows":         func(o *IntervalOptions) { o.MaxRows = 0 },
		"bytes":        func(o *IntervalOptions) { o.MaxBytes = 0 },
	} {
		opts := stateOptions(nil, FormDictionary)
		change(&opts)
		if b, err := NewIntervalBuilder(opts); b != nil || !errors.Is(err, ErrBuild) {
			t.Errorf("%s: %v", name, err)
		}
	}
	errPath := errors.New("no path")
	for name, c := range map[string]struct {
		change func(r *IntervalRows)
		from   int
		path   error
		want   error
	}{
		"starts":  {func(r *IntervalRows) { r.Starts = r.Starts[1:] }, 0, nil, ErrBuild},
		"ends":    {func(r *IntervalRows) { r.Ends = nil }, 0, nil, ErrBuild},
		"open":    {func(r *IntervalRows) { r.Open = r.Open[1:] }, 0, nil, ErrBuild},
		"kinds":   {func(r *IntervalRows) { r.Kinds = r.Kinds[1:] }, 0, nil, ErrBuild},
		"words":   {func(r *IntervalRows) { r.Words = append(r.Words, 1) }, 0, nil, ErrBuild},
		"kind":    {func(r *IntervalRows) { r.Kinds[5] = uint8(len(kindNames)) }, 0, nil, ErrBuild},
		"before":  {func(*IntervalRows) {}, -1, nil, ErrBuild},
		"behind":  {func(*IntervalRows) {}, 10, nil, ErrBuild},
		"no path": {func(*IntervalRows) {}, 0, errPath, errPath},
	} {
		for _, form := range allForms {
			opts := stateOptions(checked(t), form)
			if c.path != nil {
				opts.Path = func(dst []byte, _ uint32) ([]byte, error) { return dst, c.path }
			}
			b := newStates(t, opts)
			r := someIntervals(rng, 9)
			c.change(r)
			if n, err := b.Append(r, c.from); n != 0 || !errors.Is(err, c.want) {
				t.Errorf("%s: %d, %v", name, n, err)
			}
			b.Release()
		}
	}
}

// TestIntervals_Large: texts beyond the range of Arrow's offsets.
func TestIntervals_Large(t *testing.T) {
	for _, form := range allForms {
		for _, kind := range []uint8{uint8(stateString), uint8(stateBytes)} {
			b := newStates(t, stateOptions(checked(t), form))
			for _, to := range []*stateTexts{&b.texts[columnPath], &b.texts[columnString], &b.texts[columnBytes]} {
				to.values.limit = 250
			}
			r := &IntervalRows{Attributes: []uint32{1}, Starts: []int64{0}, Ends: []int64{0}, Open: []bool{false}, Kinds: []uint8{kind}, Words: []uint64{4}}
			if _, err := b.Append(r, 0); !errors.Is(err, ErrBuild) || !errors.Is(err, errLarge) {
				t.Errorf("%v: a text that is too large: %v", form, err)
			}
			r.Words[0], r.Attributes[0] = 1, 299
			if _, err := b.Append(r, 0); !errors.Is(err, errLarge) {
				t.Errorf("%v: a path that is too large: %v", form, err)
			}
			b.Release()
		}
	}
}

// TestIntervalSchema: each form's types, and columns as they are named.
func TestIntervalSchema(t *testing.T) {
	text := "dictionary<values=utf8, indices=uint32, ordered=false>"
	for form, want := range map[Form][]string{
		FormDictionary: {"uint32", text, "int64", "int64", "bool", text, "bool", "int64", "float64", text, "binary"},
		FormNative:     {"run_end_encoded<run_ends: int32, values: uint32>", "run_end_encoded<run_ends: int32, values: " + text + ">", "int64", "int64", "bool", text, "bool", "int64", "float64", text, "binary"},
		FormPlain:      {"uint32", "utf8", "int64", "int64", "bool", "utf8", "bool", "int64", "float64", "utf8", "binary"},
	} {
		schema, err := NewIntervalSchema(form, nil)
		if err != nil {
			t.Fatal(err)
		}
		var got, names []string
		for i, f := range schema.Fields() {
			if got, names = append(got, fmt.Sprint(f.Type)), append(names, f.Name); f.Nullable != (i >= 6) {
				t.Errorf("%v: %s is nullable: %v", form, f.Name, f.Nullable)
			}
		}
		diff(t, want, got)
		diff(t, intervalColumnNames[:], names)
		some, err := NewIntervalSchema(form, []string{"value_int", "attribute"})
		if err != nil || len(some.Fields()) != 2 || !some.Field(0).Equal(schema.Field(7)) || !some.Field(1).Equal(schema.Field(1)) {
			t.Errorf("%v: two columns: %v, %v", form, some, err)
		}
	}
	if _, err := NewIntervalSchema(Form(3), nil); !errors.Is(err, ErrBuild) {
		t.Errorf("unknown form: %v", err)
	}
}

func BenchmarkIntervals(b *testing.B) {
	r := someIntervals(rand.New(rand.NewPCG(1, 1)), 4096)
	for i := range r.Attributes {
		r.Attributes[i], r.Kinds[i] = uint32(i/256), uint8(stateInt)
	}
	for _, form := range allForms {
		b.Run(fmt.Sprintf("form=%v", form), func(b *testing.B) {
			opts := stateOptions(nil, form)
			opts.MaxRows = 32 << 10
			out := newStates(b, opts)
			defer out.Release()
			for b.Loop() {
				if _, err := out.Append(r, 0); err != nil {
					b.Fatal(err)
				}
				if out.Full() {
					out.Record().Release()
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/4096, "ns/interval")
		})
	}
}
