package render

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/summary"
)

// sharesOf sums up the shares of attributes in a column by asking for each state.
func sharesOf(t testing.TB, v *history.View, attributes []history.Attribute, from, to int64) map[string]float64 {
	t.Helper()
	all := map[string]float64{}
	for _, a := range attributes {
		for name, instants := range timesOf(t, v, a, from, to) {
			all[name] += float64(instants) / (float64(to-from) + 1) / float64(len(attributes))
		}
	}
	return all
}

// textOf returns a value's name in timesOf.
func textOf(v history.Value) string {
	if v.Kind() == history.KindString {
		return v.Text()
	}
	return v.String()
}

// TestFolder: the parts of columns are the shares of their states, of one attribute and of several, with a pyramid and without.
func TestFolder(t *testing.T) {
	v := mixedView(t)
	all := attributesOf(v)
	p, err := summary.Of(v)
	if err != nil {
		t.Fatal(err)
	}
	rests := 0
	for _, tc := range pageRanges {
		const pixels = 40
		plain := shareSum{pyramid: summary.Bare(v), from: tc.from, to: tc.to, pixels: pixels, err: never}
		nodes := shareSum{pyramid: p, from: tc.from, to: tc.to, pixels: pixels, parts: 2, err: never}
		for _, some := range [][]history.Attribute{all, all[:1], all[1:2], all[4:5], all[3:8], all[2:6]} {
			got, err := plain.of(some)
			if err != nil {
				t.Fatal(err)
			}
			again, err := nodes.of(some)
			if err != nil {
				t.Fatal(err)
			}
			n := len(got.parts)
			if want := int(min(pixels, tc.to-tc.from+1)); n != want || len(again.parts) != n {
				t.Fatalf("%d and %d columns, want %d", n, len(again.parts), want)
			}
			for c := range n {
				want := sharesOf(t, v, some, columnIn(tc.from, tc.to, c, n), columnIn(tc.from, tc.to, c+1, n)-1)
				rests += checkParts(t, got, c, want)
				checkParts(t, again, c, want)
			}
		}
	}
	if rests == 0 {
		t.Error("no column has a rest")
	}
}

// TestFolderOfManyStates: states that are not kept are in the rest, in each part and in the sum of parts.
func TestFolderOfManyStates(t *testing.T) {
	v := mixedView(t)
	all := attributesOf(v)
	const n, from, to = 50, 1000, 2_000_000
	for parts := 1; parts <= 4; parts++ {
		f := shareSum{pyramid: summary.Bare(v), from: from, to: to, pixels: n, parts: parts, kept: 5, err: never}
		got, err := f.fold([][]history.Attribute{all[:4], all[4:]})
		if err != nil {
			t.Fatal(err)
		}
		for row, some := range [][]history.Attribute{all[:4], all[4:]} {
			rests := 0
			for c := range n {
				want := sharesOf(t, v, some, columnIn(from, to, c, n), columnIn(from, to, c+1, n)-1)
				for _, p := range got[row].parts[c] {
					share := 1 - sumOf(got[row], c, want)
					if p.state == restState {
						rests++
					} else {
						share = want[textOf(got[row].states[p.state])]
					}
					if math.Abs(p.share-share) > 1e-9 {
						t.Fatalf("%d parts, row %d, column %d: %+v, want %g", parts, row, c, p, share)
					}
				}
			}
			if rests == 0 || len(got[row].states) != 5 {
				t.Errorf("%d parts, row %d: %d columns have a rest, %d states", parts, row, rests, len(got[row].states))
			}
		}
	}
}

// sumOf returns the shares in a column of the states that are told apart.
func sumOf(c *sharedColumns, column int, want map[string]float64) (sum float64) {
	for _, p := range c.parts[column] {
		if p.state != restState {
			sum += want[textOf(c.states[p.state])]
		}
	}
	return sum
}

// checkParts compares the parts of a column with the shares of all states, and returns 1 if some are in the rest.
func checkParts(t testing.TB, got *sharedColumns, c int, want map[string]float64) (rests int) {
	t.Helper()
	sum, own, least := 0.0, map[string]bool{}, 1.0
	for _, p := range got.parts[c] {
		sum += p.share
		if p.state == restState {
			rests++
			continue
		}
		name := textOf(got.states[p.state])
		own[name] = true
		least = min(least, p.share)
		if math.Abs(p.share-want[name]) > 1e-9 {
			t.Fatalf("column %d: %q has %g, want %g", c, name, p.share, want[name])
		}
	}
	for name, share := range want {
		if !own[name] && (rests == 0 || share > least+1e-9) {
			t.Fatalf("column %d: %q has a share of %g that is missing", c, name, share)
		}
	}
	if math.Abs(sum-1) > 1e-9 || len(own) > keptParts {
		t.Fatalf("column %d: %d parts are %g", c, len(own), sum)
	}
	return rests
}

// heights returns how high the areas of a path are, by pixel.
func heights(t testing.TB, d string, width int, height float64) []float64 {
	t.Helper()
	out := make([]float64, width)
	x, y := 0, 0.0
	for d != "" {
		var n int
		switch d[0] {
		case 'M':
			n = strings.IndexAny(d[1:], "vhVz")
			if _, err := fmt.Sscanf(d[1:1+n], "%d %f", &x, &y); err != nil {
				t.Fatal(err)
			}
		case 'v':
			n = strings.IndexAny(d[1:], "vhVz")
			var by float64
			if _, err := fmt.Sscanf(d[1:1+n], "%f", &by); err != nil {
				t.Fatal(err)
			}
			y += by
		case 'h':
			n = strings.IndexAny(d[1:], "vhVz")
			var by int
			if _, err := fmt.Sscanf(d[1:1+n], "%d", &by); err != nil {
				t.Fatal(err)
			}
			for ; by > 0; by-- {
				out[x] = height - y
				x++
			}
		case 'V':
			n = strings.IndexAny(d[1:], "z")
		case 'z':
		default:
			t.Fatalf("path %q", d)
		}
		d = d[1+n:]
	}
	return out
}

// foldedFile is a picture of rows of several attributes, or the shares in rows of one.
type foldedFile struct {
	Groups []struct {
		Class string    `xml:"class,attr"`
		Texts []svgText `xml:"text"`
		Paths []svgPath `xml:"path"`
		Inner []struct {
			Class string    `xml:"class,attr"`
			Paths []svgPath `xml:"path"`
		} `xml:"g"`
	} `xml:"g"`
	Texts []string `xml:"text"`
}

func drawFolded(t testing.TB, v *history.View, opts TimeOptions) (f foldedFile, file []byte) {
	t.Helper()
	var b bytes.Buffer
	if err := TimeGraph(&b, v, attributesOf(v), 1000, v.End(), opts); err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal(b.Bytes(), &f); err != nil {
		t.Fatal(err)
	}
	return f, b.Bytes()
}

// twoStates has attributes that are "on" for a share of each microsecond that is their own, and "off" or null else.
func twoStates(t testing.TB, n int) *history.View {
	return build(t, 2_000_999, func(w *history.Writer) error {
		for i := range n {
			a, err := w.Attribute("switch", fmt.Sprint(i))
			if err != nil {
				return err
			}
			off := history.String("off")
			if i%2 == 1 {
				off = history.Value{}
			}
			for at := int64(1000); at <= 2_000_000; at += 1000 {
				if err := w.Change(at, a, history.String("on")); err != nil {
					return err
				}
				if err := w.Change(at+int64(1000*(i+1)/(n+1)), a, off); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// TestTimeGraphDividesColumns: a column's areas are as high as the shares of its states, to a pixel, and
// a state without a part in it has none.
func TestTimeGraphDividesColumns(t *testing.T) {
	const n = 9
	f, file := drawFolded(t, twoStates(t, n), TimeOptions{})
	width, row := plotWidth(t, file), 0
	for _, g := range f.Groups {
		if g.Class != "row" {
			continue
		}
		if row++; row == 1 { // the group of all, without states
			if len(g.Inner) != 0 {
				t.Error("null has shares")
			}
			continue
		}
		i := row - 2
		if len(g.Inner) != 1 || g.Inner[0].Class != "shares" || g.Inner[0].Paths[0].Class != "wipe" {
			t.Fatalf("row %d: %+v", i, g.Inner)
		}
		var on, off []float64
		for _, p := range g.Inner[0].Paths[1:] {
			h := heights(t, p.D, width, timeRow-timePaper)
			if on == nil || h[width/2] > on[width/2] {
				on, off = h, on
			} else {
				off = h
			}
		}
		share := float64((1000 * (i + 1) / (n + 1))) / 1000
		top, bottom := share, 0.0 // null is blank
		if i%2 == 0 {             // one covers the other
			top, bottom = 1, -1
		}
		for x := 5; x < width-5; x++ {
			if math.Abs(on[x]-top*(timeRow-timePaper)) > 1 {
				t.Fatalf("row %d, pixel %d: %g high, want %g", i, x, on[x], top*(timeRow-timePaper))
			}
			if bottom == 0 && off != nil {
				t.Fatalf("row %d has two states, and one is null", i)
			}
			if bottom < 0 && math.Abs(off[x]-share*(timeRow-timePaper)) > 1 && math.Abs(off[x]-(1-share)*(timeRow-timePaper)) > 1 {
				t.Fatalf("row %d, pixel %d: the lower state is %g high, want %g or the rest of it", i, x, off[x], share*(timeRow-timePaper))
			}
		}
	}
	if row != n+1 {
		t.Errorf("%d rows", row)
	}
}

// TestTimeGraphFolds: with Fold all attributes are in a few rows, whose areas are the shares of all of them; with a pyramid
// the file is the same.
func TestTimeGraphFolds(t *testing.T) {
	const n = 100
	v := twoStates(t, n)
	p, err := summary.Of(v)
	if err != nil {
		t.Fatal(err)
	}
	f, file := drawFolded(t, v, TimeOptions{Fold: true, Rows: 5})
	if _, again := drawFolded(t, v, TimeOptions{Fold: true, Rows: 5, Pyramid: p}); !bytes.Equal(file, again) {
		t.Error("the picture of a pyramid differs")
	}
	if !strings.HasPrefix(f.Texts[1], "101 attributes in 5 rows · ") {
		t.Errorf("%q", f.Texts[1])
	}
	width, row := plotWidth(t, file), 0
	for _, g := range f.Groups {
		if g.Class != "row" {
			continue
		}
		first, last := 21*row-1, min(n, 21*row+20)-1 // attribute 0 is the group of all
		count := float64(last - first + 1)
		h := heights(t, g.Paths[0].D, width, timeTall*timeRow-timePaper)
		low := heights(t, g.Paths[1].D, width, timeTall*timeRow-timePaper)
		for x := 0; x < width; x += 7 {
			want := sharesOf(t, v, attributesOf(v)[21*row:min(n+1, 21*row+21)], columnIn(1000, v.End(), x, width), columnIn(1000, v.End(), x+1, width)-1)
			on, off := want["on"]*(timeTall*timeRow-timePaper), want["off"]*(timeTall*timeRow-timePaper)
			if math.Abs(h[x]-on-off) > .26 || math.Abs(low[x]-on) > .26 && math.Abs(low[x]-off) > .26 {
				t.Fatalf("row %d, pixel %d: %g and %g high, want %g and %g in all", row, x, low[x], h[x], on, on+off)
			}
		}
		if want := plural(int(count), "attribute"); g.Texts[1].Text != want {
			t.Errorf("row %d says %q, want %q", row, g.Texts[1].Text, want)
		}
		row++
	}
	if row != 5 {
		t.Errorf("%d rows", row)
	}
	// As many rows as attributes, or more, are not folded.
	if f, _ := drawFolded(t, v, TimeOptions{Fold: true, Rows: 101}); strings.Contains(f.Texts[1], "rows") {
		t.Errorf("%q", f.Texts[1])
	}
}

// TestTimePageFolds: a page with Fold has the shares of columns, in millionths.
func TestTimePageFolds(t *testing.T) {
	v := mixedView(t)
	f := drawPage(t, v, nil, 1000, 2_000_000, TimeOptions{Fold: true, Rows: 3})
	all := attributesOf(v)
	if len(f.data.Rows) != 3 || f.data.Columns != pageColumns/2 || !strings.Contains(f.text, "9 attributes in 3 rows") {
		t.Fatalf("%d rows of %d columns", len(f.data.Rows), f.data.Columns)
	}
	for row := range f.data.Rows {
		some := all[3*row : 3*row+3]
		if f.data.Rows[row].Attributes != 3 {
			t.Errorf("%d attributes", f.data.Rows[row].Attributes)
		}
		columns := pageColumnReader{Reader: f.bytesOf(t, row)}
		for c := range f.data.Columns {
			got := columns.next(t, &f, 1_000_000)
			want := sharesOf(t, v, some, columnIn(1000, 2_000_000, c, f.data.Columns), columnIn(1000, 2_000_000, c+1, f.data.Columns)-1)
			for name, millionths := range got {
				if name != "rest" && math.Abs(float64(millionths)-1e6*want[name]) > 1 {
					t.Fatalf("row %d, column %d: %q is %d millionths, want %g", row, c, name, millionths, want[name])
				}
			}
		}
		if columns.Len() > 0 || columns.run > 0 {
			t.Errorf("row %d: %d bytes more", row, columns.Len())
		}
	}
}

// TestTimeGraphMeans: of numbers a column shows the mean and the greatest. The means are between the least and the greatest, and exact.
func TestTimeGraphMeans(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	v := build(t, 1_000_999, func(w *history.Writer) error {
		a, err := w.Attribute("load")
		for at := int64(1000); at <= 1_000_000 && err == nil; at += 100 {
			err = w.Change(at, a, history.Float(float64(rng.IntN(2)))) // 0 or 1
		}
		return err
	})
	f, file := drawFolded(t, v, TimeOptions{})
	width := plotWidth(t, file)
	var group []svgPath
	for _, g := range f.Groups {
		if g.Class == "row" {
			group = g.Inner[0].Paths
		}
	}
	if len(group) < 3 || group[0].Class != "wipe" {
		t.Fatalf("%+v", group)
	}
	means, tops := make([]float64, width), make([]float64, width)
	for _, p := range group[1:] {
		into := map[string][]float64{"b": means, "top": tops}[p.Class]
		for x, h := range heights(t, p.D, width, timeTall*timeRow-timePaper) {
			into[x] = max(into[x], h)
		}
	}
	checked := 0
	for x := range width {
		from, to := columnIn(1000, 1_000_999, x, width), columnIn(1000, 1_000_999, x+1, width)-1
		times := timesOf(t, v, 0, from, to)
		if len(times) < 2 {
			continue // it is a bar of one value
		}
		checked++
		want := 1 + (timeTall*timeRow-timePaper-1)*float64(times["1"])/float64(to-from+1)
		if math.Abs(means[x]-want) > .11 || tops[x] != timeTall*timeRow-timePaper {
			t.Fatalf("pixel %d: %g and %g high, want %g: %v", x, means[x], tops[x], want, times)
		}
	}
	if checked < width/2 {
		t.Errorf("%d columns of %d", checked, width)
	}
}
