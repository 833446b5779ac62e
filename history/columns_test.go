package history_test

import (
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/history"
)

// columnRow is a row of columns.
type columnRow struct {
	attribute history.Attribute
	in        history.Interval
}

// rowsOfColumns returns the rows of columns, and checks that each part has at most that many.
func rowsOfColumns(t testing.TB, v *history.View, most int, all iter.Seq2[*history.Columns, error]) (rows []columnRow) {
	t.Helper()
	short := false
	for c, err := range all {
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Attributes) == 0 || len(c.Attributes) > most || short {
			t.Fatalf("%d rows of at most %d, short before: %v", len(c.Attributes), most, short)
		}
		short = len(c.Attributes) < most
		for i, kind := range c.Kinds {
			var value history.Value
			switch kind {
			case history.KindBool:
				value = history.Bool(c.Words[i] == 1)
			case history.KindInt:
				value = history.Int(int64(c.Words[i]))
			case history.KindString:
				value = history.String(string(v.Text(c.Words[i])))
			case history.KindBytes:
				value = history.Bytes(v.Text(c.Words[i]))
			}
			rows = append(rows, columnRow{c.Attributes[i], history.Interval{Start: c.Starts[i], End: c.Ends[i], Open: c.Open[i], Value: value}})
		}
	}
	return rows
}

// columnViews returns views of a history of 150 attributes during its building and after its
// close, with more attributes each time, some of them without an interval.
func columnViews(t testing.TB) (views []*history.View) {
	t.Helper()
	rng := rand.New(rand.NewPCG(7, 8))
	h, err := history.New(history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	at := int64(0)
	for i := range 6 {
		tx, err := h.Begin()
		if err != nil {
			t.Fatal(err)
		}
		n := 25 * (i + 1)
		for k := range n {
			if _, err := tx.Attribute(fmt.Sprint("a", k), "x"); err != nil {
				t.Fatal(err)
			}
		}
		for range 3000 {
			at += rng.Int64N(2)
			a := history.Attribute(rng.IntN(2 * n))
			values := []history.Value{{}, history.Bool(true), history.Int(at), history.String(fmt.Sprint(at % 9)), history.Bytes([]byte{byte(at % 5)})}
			value := values[int(a)%5]
			if a%5 > 0 && at%4 == 0 {
				value = history.Value{}
			}
			if err := tx.Change(at, a, value); err != nil {
				t.Fatal(err)
			}
		}
		at++
		if i == 5 {
			if err := tx.Close(at); err != nil {
				t.Fatal(err)
			}
		}
		v, err := tx.Commit()
		if err != nil {
			t.Fatal(err)
		}
		views = append(views, v)
	}
	return views
}

// TestColumns compares columns with Range, At and Sample, for views during the building of the
// history, and for old views.
func TestColumns(t *testing.T) {
	views := columnViews(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 200 {
		v := views[rng.IntN(len(views))]
		some := make([]history.Attribute, rng.IntN(40))
		for i := range some {
			some[i] = history.Attribute(rng.IntN(v.Len()))
		}
		from, to := rng.Int64N(v.End()+1), rng.Int64N(v.End()+1)
		from, to = min(from, to), max(from, to)
		times := []int64{to, from, rng.Int64N(v.End() + 1)}[:rng.IntN(4)]
		resolution := []int64{0, 1, 10, 1 << 40}[rng.IntN(4)]
		most := []int{1, 3, 64, 1 << 20}[rng.IntN(4)]
		var inRange, inSlice, inSample, inPixels []columnRow
		for _, a := range some {
			for in, err := range v.Range(a, from, to, history.RangeOptions{Resolution: resolution}) {
				if err != nil {
					t.Fatal(err)
				}
				inRange = append(inRange, columnRow{a, in})
			}
			in, err := v.At(a, to)
			if err != nil {
				t.Fatal(err)
			}
			inSlice = append(inSlice, columnRow{a, in})
		}
		sample, err := v.Sample(some, times)
		if err != nil {
			t.Fatal(err)
		}
		for i := range sample.Len() {
			a, in := sample.At(i)
			inSample = append(inSample, columnRow{a, in})
		}
		if sample, err = v.Pixels(some, from, to, 1+round); err != nil {
			t.Fatal(err)
		}
		for i := range sample.Len() {
			a, in := sample.At(i)
			inPixels = append(inPixels, columnRow{a, in})
		}
		for name, c := range map[string]struct {
			want []columnRow
			got  iter.Seq2[*history.Columns, error]
		}{
			"range":  {inRange, v.RangeColumns(some, from, to, resolution, most)},
			"slice":  {inSlice, v.SliceColumns(to, some, most)},
			"sample": {inSample, v.SampleColumns(some, times, most)},
			"pixels": {inPixels, v.SampleColumns(some, history.PixelTimes(from, to, 1+round), most)},
		} {
			got := rowsOfColumns(t, v, most, c.got)
			if !slices.Equal(got, c.want) {
				t.Fatalf("round %d, %s of %d attributes from %d to %d: %d rows, want %d:\n%v\n%v", round, name, len(some), from, to, len(got), len(c.want), got, c.want)
			}
		}
	}
}

// TestColumnsOfMany: a sample is returned in parts.
func TestColumnsOfMany(t *testing.T) {
	v := columnViews(t)[5]
	var all []history.Attribute
	for range 20 {
		for a := range history.Attribute(v.Len()) {
			all = append(all, a)
		}
	}
	times := make([]int64, 300)
	for i := range times {
		times[i] = v.End() * int64(i) / 299
	}
	want, err := v.Sample(all, times)
	if err != nil {
		t.Fatal(err)
	}
	got := rowsOfColumns(t, v, 1000, v.SampleColumns(all, times, 1000))
	if len(got) != want.Len() || len(got) < 1<<16 {
		t.Fatalf("%d rows, want %d", len(got), want.Len())
	}
	for i, row := range got {
		if a, in := want.At(i); row != (columnRow{a, in}) {
			t.Fatalf("row %d: %v, want %v of %d", i, row, in, a)
		}
	}
	// One sample has more times than intervals.
	often := slices.Repeat(times, 300)
	if got = rowsOfColumns(t, v, 1000, v.SampleColumns(all[:v.Len()], often, 1000)); len(got) != want.Len()/20 {
		t.Errorf("%d rows of many times, want %d", len(got), want.Len()/20)
	}
	n := 0
	for range v.SampleColumns(all, times, 1000) {
		if n++; n == 3 {
			break
		}
	}
}

// TestColumnsErrors: an error comes first and alone.
func TestColumnsErrors(t *testing.T) {
	v := columnViews(t)[2]
	some := []history.Attribute{1, history.Attribute(v.Len())}
	for name, c := range map[string]struct {
		got  iter.Seq2[*history.Columns, error]
		want error
	}{
		"range":      {v.RangeColumns(some, 0, 1, 0, 9), history.ErrAttribute},
		"slice":      {v.SliceColumns(0, some, 9), history.ErrAttribute},
		"sample":     {v.SampleColumns(some, []int64{0}, 9), history.ErrAttribute},
		"bounds":     {v.RangeColumns(nil, 0, v.End()+1, 0, 9), history.ErrOutside},
		"turned":     {v.RangeColumns(nil, 1, 0, 0, 9), history.ErrQuery},
		"resolution": {v.RangeColumns(nil, 0, 1, -1, 9), history.ErrQuery},
		"instant":    {v.SliceColumns(-1, nil, 9), history.ErrOutside},
		"times":      {v.SampleColumns([]history.Attribute{}, []int64{0, -1}, 9), history.ErrOutside},
	} {
		n := 0
		for columns, err := range c.got {
			if n++; columns != nil || !errors.Is(err, c.want) || n > 1 {
				t.Errorf("%s: %v, %v, want %v", name, columns, err, c.want)
			}
		}
		if n != 1 {
			t.Errorf("%s: %d elements", name, n)
		}
	}
	for range v.SliceColumns(0, []history.Attribute{}, 9) {
		t.Error("a slice of no attribute has rows")
	}
}

// TestPathText: examples, the same text from AppendPath, and different texts for different
// paths.
func TestPathText(t *testing.T) {
	for text, path := range map[string][]string{
		"":                 {},
		"Threads/4297":     {"Threads", "4297"},
		`a\/b`:             {"a/b"},
		`a\\/b`:            {`a\`, "b"},
		`\*/x\*`:           {"*", "x*"},
		`\../...`:          {"..", "..."},
		"/":                {"", ""},
		"//a":              {"", "", "a"},
		"\x00/\u00e9\n/ '": {"\x00", "\u00e9\n", " '"},
	} {
		if got := history.PathText(path); got != text {
			t.Errorf("%q is %q, want %q", path, got, text)
		}
	}
	_, tx := begun(t)
	rng := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		path := make([]string, 1+rng.IntN(4))
		for i := range path {
			for range rng.IntN(3) {
				path[i] += []string{"/", `\`, "*", "..", ".", "a", "\x00", "\u00e9"}[rng.IntN(8)]
			}
		}
		if _, err := tx.Attribute(path...); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := tx.Attribute(strings.Split(strings.Repeat("deep/", 100), "/")...); err != nil {
		t.Fatal(err)
	}
	v, err := tx.Commit()
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]history.Attribute{}
	for a := range history.Attribute(v.Len()) {
		path, err := v.Path(a)
		if err != nil {
			t.Fatal(err)
		}
		got, err := v.AppendPath([]byte("before "), a)
		if diff := cmp.Diff("before "+history.PathText(path), string(got)); err != nil || diff != "" {
			t.Fatalf("%v (-want +got):\n%s", err, diff)
		}
		if other, known := texts[string(got)]; known {
			t.Fatalf("attributes %d and %d are both %q", other, a, got)
		}
		texts[string(got)] = a
	}
	if _, err := v.AppendPath(nil, history.Attribute(v.Len())); !errors.Is(err, history.ErrAttribute) {
		t.Errorf("path of an unknown attribute: %v", err)
	}
}
