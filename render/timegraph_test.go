package render

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/recorded"
)

var update = flag.Bool("update", false, "write the golden files in testdata")

// Each pixel of each row is the state in the middle of its column, whatever the range.
func TestTimeGraphShowsPixels(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	v := build(t, 2_000_000, func(w *history.Writer) error {
		for i := range 9 {
			a, err := w.Attribute("CPUs", fmt.Sprint(i))
			if err != nil {
				return err
			}
			for at := int64(1000); at < 2_000_000; at += 1 + rng.Int64N(int64(math.Pow(4, float64(i+2)))) {
				value := history.Int(rng.Int64N(20) * 1000)
				if rng.IntN(4) == 0 {
					value = history.Value{}
				}
				if err := w.Change(at, a, value); err != nil {
					return err
				}
			}
		}
		return nil
	})
	for _, tc := range []struct {
		from, to int64
		width    int
	}{{1000, 2_000_000, 1200}, {1000, 2_000_000, 400}, {777_777, 800_000, 700}, {5000, 5000, 400}, {5000, 5099, 900}, {5000, 5999, 1200}} {
		f, file := drawTime(t, v, attributesOf(v), tc.from, tc.to, TimeOptions{Width: tc.width, Numbers: NumbersAsColors})
		width := plotWidth(t, file)
		columns := int(min(int64(width), tc.to-tc.from+1))
		colors := map[string]string{} // of each value
		for i, row := range f.rows() {
			classes, titles := row.paint(t, width)
			for c := range columns {
				in, err := v.At(history.Attribute(i), middle(tc.from, tc.to, columns, c))
				if err != nil {
					t.Fatal(err)
				}
				for x := c * width / columns; x < (c+1)*width/columns; x++ {
					value := in.Value.String()
					if in.Value.IsNull() != (classes[x] == "") || classes[x] != "" && !strings.HasPrefix(titles[x], value+"\n") {
						t.Fatalf("%+v: row %s, pixel %d of %d: %q %q, want %v", tc, row.label(), x, width, classes[x], titles[x], in)
					}
					if before, known := colors[value]; known && before != classes[x] {
						t.Fatalf("%+v: value %s is %q and %q", tc, value, before, classes[x])
					}
					colors[value] = classes[x]
				}
			}
		}
		if len(f.rows()) != v.Len() || columns > 100 && len(colors) < 15 {
			t.Errorf("%+v: %d rows of %d, %d values", tc, len(f.rows()), v.Len(), len(colors))
		}
	}
}

// middle returns the instant in the middle of column c of `columns`.
func middle(from, to int64, columns, c int) int64 {
	n := new(big.Int).Sub(big.NewInt(to), big.NewInt(from))
	n.Add(n, big.NewInt(1)).Mul(n, big.NewInt(int64(2*c+1))).Div(n, big.NewInt(int64(2*columns)))
	return from + n.Int64()
}

// small is a history with one of each: states, names to escape, a counter, floats.
func small(t testing.TB) *history.View {
	return build(t, 1000+9_999_999_999, func(w *history.Writer) error {
		var errs []error
		change := func(seconds float64, value history.Value, path ...string) {
			a, err := w.Attribute(path...)
			errs = append(errs, err, w.Change(1000+int64(seconds*1e9), a, value))
		}
		for i, state := range []int64{0, 1, 0, 2, 1} {
			change(float64(2*i), history.Int(state), "CPUs", "0")
			change(float64(2*i)+0.5, history.Int(2-state), "CPUs", "1")
		}
		change(1, history.String("open(<&>)"), "Threads", "a/b \"c\"", "call")
		change(2, history.Value{}, "Threads", "a/b \"c\"", "call")
		change(3, history.String("\x00\u202ewrite"), "Threads", "a/b \"c\"", "call")
		change(0, history.Bool(true), "on")
		change(5, history.Bool(false), "on")
		for i := range 20 {
			change(float64(i)/2, history.Int(int64(i*i*100)), "sent")
			load := math.Sin(float64(i) / 3)
			if i == 12 {
				load = math.NaN()
			}
			change(float64(i)/2, history.Float(load), "load")
		}
		return errors.Join(errs...)
	})
}

// A small history's picture, whole: go test ./render -run Golden -update writes it.
func TestTimeGraphGolden(t *testing.T) {
	v := small(t)
	_, got := drawTime(t, v, attributesOf(v), v.Start(), v.End(), TimeOptions{
		Title: "Small & <new>", Width: 640, Name: func(_ history.Attribute, value history.Value) string {
			return map[string]string{"1": "running", "2": "in a system call"}[value.String()]
		},
	})
	_, again := drawTime(t, small(t), attributesOf(v), v.Start(), v.End(), TimeOptions{
		Title: "Small & <new>", Width: 640, Name: func(_ history.Attribute, value history.Value) string {
			return map[string]string{"1": "running", "2": "in a system call"}[value.String()]
		},
	})
	if !bytes.Equal(got, again) {
		t.Error("the same history gives other bytes")
	}
	name := filepath.Join("testdata", "timegraph.svg")
	if *update {
		if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(name, got, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatalf("%v; go test ./render -run Golden -update writes it", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s: -want +got\n%s", name, diff)
	}
}

// Floats and counters are bars between the least and the greatest of their row; numbers of
// things are colours. The option decides otherwise.
func TestTimeGraphNumbers(t *testing.T) {
	v := build(t, 100_000, func(w *history.Writer) error {
		rng := rand.New(rand.NewPCG(1, 1))
		var errs []error
		for i := range int64(50) {
			for name, value := range map[string]history.Value{
				"counter": history.Int(i * 100), "queue": history.Int(min(i, 50-i)), "thread": history.Int(rng.Int64N(100_000)),
				"state": history.Int(i % 5), "float": history.Float(float64(i%2) - 0.5), "text": history.String(fmt.Sprint(i)),
			} {
				a, err := w.Attribute(name)
				errs = append(errs, err, w.Change(1000+i*1000, a, value))
			}
		}
		return errors.Join(errs...)
	})
	for numbers, bars := range map[Numbers]string{
		NumbersAuto: "counter float queue", NumbersAsColors: "", NumbersAsBars: "counter float queue state thread",
	} {
		f, _ := drawTime(t, v, attributesOf(v), 1000, 51_000, TimeOptions{Numbers: numbers})
		for _, row := range f.rows() {
			isBars := row.Paths[0].Class == "b"
			if want := strings.Contains(" "+bars+" ", " "+row.label()+" "); isBars != want {
				t.Errorf("numbers %d: %s is bars: %t", numbers, row.label(), isBars)
			}
			if isBars != (len(row.Texts) > 1 && row.Texts[1].Class == "label above") {
				t.Errorf("numbers %d: %s has these texts: %+v", numbers, row.label(), row.Texts)
			}
		}
	}
	f, _ := drawTime(t, v, attributesOf(v), 1000, 51_000, TimeOptions{})
	for _, row := range f.rows() {
		if row.label() != "counter" {
			continue
		}
		var x, first, last int
		_, err1 := fmt.Sscanf(row.Paths[0].D, "M%d %d", &x, &first)
		_, err2 := fmt.Sscanf(row.Paths[len(row.Paths)-1].D, "M%d %d", &x, &last)
		if err := errors.Join(err1, err2); err != nil || first != 27 || last != 0 || row.Texts[1].Text != "0 to 4,900" {
			t.Errorf("counter goes from %d to %d pixels below the top, %q, %v", first, last, row.Texts[1].Text, err)
		}
	}
}

// The rows with the most changes are drawn, in the order that was asked for.
func TestTimeGraphChoosesRows(t *testing.T) {
	v := build(t, 100_000, func(w *history.Writer) error {
		for i := range 30 {
			a, err := w.Attribute(fmt.Sprintf("n%d", i))
			if err != nil {
				return err
			}
			for k := range i % 10 {
				if err := w.Change(1000+int64(k)*9000, a, history.Int(int64(k))); err != nil {
					return err
				}
			}
		}
		return nil
	})
	f, _ := drawTime(t, v, attributesOf(v), 1000, 100_000, TimeOptions{Rows: 4})
	var labels []string
	for _, row := range f.rows() {
		labels = append(labels, row.label())
	}
	if diff := cmp.Diff([]string{"n8", "n9", "n19", "n29"}, labels); diff != "" {
		t.Errorf("rows: -want +got\n%s", diff)
	}
	if !strings.HasPrefix(f.Texts[1], "4 of 30 attributes, with the most changes here") || !strings.HasPrefix(f.Texts[len(f.Texts)-1], "26 attributes") {
		t.Errorf("the picture says %q", f.Texts)
	}
	twice := []history.Attribute{3, 9, 3}
	if f, _ := drawTime(t, v, twice, 1000, 100_000, TimeOptions{}); len(f.rows()) != 3 || f.rows()[2].label() != "n3" {
		t.Errorf("an attribute that is asked for twice: %d rows", len(f.rows()))
	}
	if f, _ := drawTime(t, v, []history.Attribute{}, 1000, 100_000, TimeOptions{}); len(f.rows()) != 0 || f.Texts[2] != "No attributes" {
		t.Errorf("no attributes: %d rows, %q", len(f.rows()), f.Texts)
	}
	if f, _ := drawTime(t, v, nil, 1000, 100_000, TimeOptions{}); len(f.rows()) != v.Len() {
		t.Errorf("all attributes: %d rows of %d", len(f.rows()), v.Len())
	}
}

// The legend has the values that take most room, in colours that differ; others are counted.
func TestTimeGraphLegend(t *testing.T) {
	v := build(t, 1_000_000, func(w *history.Writer) error {
		a, err := w.Attribute("a")
		at := int64(1000)
		for i := range int64(40) {
			err = errors.Join(err, w.Change(at, a, history.String(fmt.Sprintf("v%d", i))))
			at += (40 - i) * 1000
		}
		return errors.Join(err, w.Change(at, a, history.Value{}))
	})
	f, _ := drawTime(t, v, attributesOf(v), 1000, 1_000_000, TimeOptions{})
	legend := f.legend()
	if len(legend) != 13 || legend[0] != "v0" || legend[11] != "v11" || legend[12] != "28 other values" {
		t.Errorf("legend: %q", legend)
	}
	seen := map[string]string{}
	for _, p := range f.rows()[0].Paths {
		value, _, _ := strings.Cut(p.Title, "\n")
		if other, taken := seen[p.Class]; taken && p.Class[0] == 'c' {
			t.Errorf("%s and %s are both %s", other, value, p.Class)
		}
		seen[p.Class] = value
	}
}

// Many states do not make a file of any size: the narrow ones lose their texts, no pixels.
func TestTimeGraphSize(t *testing.T) {
	h, err := history.New(history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tx, err := h.Begin()
	if err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		a, err := tx.Attribute(fmt.Sprintf("t%d", i))
		if err != nil {
			t.Fatal(err)
		}
		for at := int64(0); at < 1_000_000; at += 500 + 300*int64(i%7) {
			if err := tx.Change(at, a, history.Int(at%11)); err != nil {
				t.Fatal(err)
			}
		}
	}
	v, err := tx.Commit()
	if err != nil {
		t.Fatal(err)
	}
	f, file := drawTime(t, v, attributesOf(v), 0, v.End(), TimeOptions{})
	if len(file) > 4<<20 {
		t.Errorf("the file has %d bytes", len(file))
	}
	silent := 0
	for _, row := range f.rows() {
		for _, p := range row.Paths {
			if p.Title == "" && p.Class != "notch" {
				silent += strings.Count(p.D, "M")
			}
		}
	}
	note := f.Texts[len(f.Texts)-1]
	var thousands, rest int
	if _, err := fmt.Sscanf(note, "%d,%d intervals narrower than", &thousands, &rest); err != nil || silent != thousands*1000+rest {
		t.Errorf("%d have no text, the picture says %q", silent, note)
	}
	width := plotWidth(t, file)
	for i, row := range f.rows()[:3] {
		classes, _ := row.paint(t, width)
		for x, class := range classes {
			in, err := v.At(history.Attribute(i), middle(0, v.End(), width, x))
			if want := fmt.Sprintf("c%d", in.Value.Int()); err != nil || class != want {
				t.Fatalf("row %d, pixel %d: %s, want %s", i, x, class, want)
			}
		}
	}
}

func TestTimeGraphErrors(t *testing.T) {
	v := small(t)
	for name, tc := range map[string]struct {
		attributes []history.Attribute
		from, to   int64
		opts       TimeOptions
		want       error
	}{
		"width":     {nil, 1000, 2000, TimeOptions{Width: 399}, history.ErrQuery},
		"rows":      {nil, 1000, 2000, TimeOptions{Rows: -1}, history.ErrQuery},
		"numbers":   {nil, 1000, 2000, TimeOptions{Numbers: 3}, history.ErrQuery},
		"order":     {nil, 2000, 1000, TimeOptions{}, history.ErrQuery},
		"time":      {nil, 999, 2000, TimeOptions{}, history.ErrTime},
		"attribute": {[]history.Attribute{0, 99}, 1000, 2000, TimeOptions{}, history.ErrAttribute},
		"root":      {[]history.Attribute{history.Top}, 1000, 2000, TimeOptions{}, history.ErrAttribute},
	} {
		var b bytes.Buffer
		if err := TimeGraph(&b, v, tc.attributes, tc.from, tc.to, tc.opts); !errors.Is(err, tc.want) || b.Len() > 0 {
			t.Errorf("%s: error %v, want %v; %d bytes", name, err, tc.want, b.Len())
		}
	}
	if err := TimeGraph(failing{}, v, nil, 1000, 2000, TimeOptions{}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("error %v", err)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// Times as far apart as they can be, and values that are long, make a picture too.
func TestTimeGraphExtremes(t *testing.T) {
	h, err := history.New(history.Options{Start: math.MinInt64})
	if err != nil {
		t.Fatal(err)
	}
	tx, err := h.Begin()
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 60_000)
	a, err := tx.Attribute(long, long)
	if err != nil {
		t.Fatal(err)
	}
	b, err := tx.Attribute("b")
	err = errors.Join(err, tx.Change(0, a, history.String(long)), tx.Change(0, b, history.Float(math.MaxFloat64)),
		tx.Change(1<<62, b, history.Float(-math.MaxFloat64)), tx.Change(math.MaxInt64, b, history.Float(math.Inf(1))))
	if err != nil {
		t.Fatal(err)
	}
	v, err := tx.Commit()
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []int64{math.MinInt64, -1, 0, math.MaxInt64} {
		f, file := drawTime(t, v, attributesOf(v), from, math.MaxInt64, TimeOptions{})
		if len(file) > 20_000 || len(f.rows()) != 3 {
			t.Errorf("from %d: %d bytes, %d rows", from, len(file), len(f.rows()))
		}
	}
}

// A picture of thousands of real threads has a few megabytes at most.
func TestTimeGraphOfManyThreads(t *testing.T) {
	effort.Long(t)
	s := recorded.Open(t, "many-threads")
	v := viewOf(t, s)
	threads, err := v.Match(history.Literal("Threads"), history.Any)
	if err != nil || len(threads) != 8595 {
		t.Fatal(len(threads), err)
	}
	for rows, most := range map[int]int{0: 3 << 20, 2000: 4 << 20} {
		f, file := drawTime(t, v, threads, v.Start(), v.End(), TimeOptions{Width: 2000, Rows: rows})
		if want := min(len(threads), max(rows, 200)); len(file) > most || len(f.rows()) != want {
			t.Errorf("%d rows: %d bytes, %d rows", rows, len(file), len(f.rows()))
		}
	}
}
