package render

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/granarydb/granary/history"
)

// pageFile is a time page, read back.
type pageFile struct {
	text, style, script, policy string
	data                        pageData
}

// between returns the text between two others, of which the first stands once.
func between(t testing.TB, text, before, after string) string {
	t.Helper()
	if n := strings.Count(text, before); n != 1 {
		t.Fatalf("%q stands %d times", before, n)
	}
	_, text, _ = strings.Cut(text, before)
	text, _, found := strings.Cut(text, after)
	if !found {
		t.Fatalf("%q has no end %q", before, after)
	}
	return text
}

func readPage(t testing.TB, file []byte) (f pageFile) {
	t.Helper()
	f.text = string(file)
	f.style = between(t, f.text, "<style>", "</style>")
	f.script = between(t, f.text, "<script>", "</script>")
	f.policy = html.UnescapeString(between(t, f.text, `http-equiv="Content-Security-Policy" content="`, `"`))
	if err := json.Unmarshal([]byte(between(t, f.text, `<script type="application/json" id="data">`, "</script>")), &f.data); err != nil {
		t.Fatal(err)
	}
	return f
}

func drawPage(t testing.TB, v *history.View, attributes []history.Attribute, from, to int64, opts TimeOptions) pageFile {
	t.Helper()
	var b bytes.Buffer
	if err := TimePage(&b, v, attributes, from, to, opts); err != nil {
		t.Fatal(err)
	}
	return readPage(t, b.Bytes())
}

// drawColumns draws a page of columns, as if the limits were small ones.
func drawColumns(t testing.TB, v *history.View, from, to int64, opts TimeOptions, cells int) pageFile {
	t.Helper()
	attributes := attributesOf(v)
	g := timeGraph{view: v, opts: opts, from: from, to: to, asked: len(attributes)}
	if err := errors.Join(g.setDefaults(), g.layOut(attributes)); err != nil {
		t.Fatal(err)
	}
	p := pageWriter{g: &g, most: 10, cells: cells, codes: map[pageValue]int{}, titles: map[int]string{}}
	var b bytes.Buffer
	if err := p.write(&b); err != nil {
		t.Fatal(err)
	}
	return readPage(t, b.Bytes())
}

// bytesOf returns a reader of the data of a row.
func (f *pageFile) bytesOf(t testing.TB, row int) *bytes.Reader {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(f.data.Rows[row].Data)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(data)
}

func uvarint(t testing.TB, r *bytes.Reader) uint64 {
	t.Helper()
	n, err := binary.ReadUvarint(r)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// pageColumnReader reads a row's columns.
type pageColumnReader struct {
	*bytes.Reader
	run, code uint64 // columns that are left of one state
}

// next returns how much of a column each state has: all of it, if it has one state alone.
func (r *pageColumnReader) next(t testing.TB, f *pageFile, all uint64) map[string]uint64 {
	t.Helper()
	got := map[string]uint64{}
	if r.run == 0 {
		if many := uvarint(t, r.Reader); many > 0 {
			for range many {
				k := uvarint(t, r.Reader)
				got[f.valueOf(k)] = uvarint(t, r.Reader)
			}
			return got
		}
		r.code, r.run = uvarint(t, r.Reader), uvarint(t, r.Reader)
	}
	if r.run > 0 {
		r.run--
		got[f.valueOf(r.code)] = all
	}
	return got
}

// valueOf returns a code's text.
func (f *pageFile) valueOf(code uint64) string {
	switch {
	case code == 0:
		return "null"
	case code == uint64(f.data.Rest):
		return "rest"
	}
	return f.data.Values[code-1]
}

// mixedView has ints, floats, texts and nulls that change at random distances.
func mixedView(t testing.TB) *history.View {
	rng := rand.New(rand.NewPCG(3, 9))
	return build(t, 2_000_000, func(w *history.Writer) error {
		for i := range 8 {
			a, err := w.Attribute("row", fmt.Sprint(i))
			if err != nil {
				return err
			}
			for at := int64(1000); at < 2_000_000; at += 1 + rng.Int64N(int64(300*(i+1)*(i+1))) {
				n := rng.Int64N(20)
				value := []history.Value{history.Int(n*1000 + 7), history.Float(float64(n) / 8), history.String(fmt.Sprintf("state %d", n))}[i%3]
				if rng.IntN(5) == 0 {
					value = history.Value{}
				}
				if err := w.Change(at, a, value); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

var pageRanges = []struct{ from, to int64 }{{1000, 2_000_000}, {777_777, 800_000}, {5000, 5000}, {5000, 5099}}

// TestTimePageHasIntervals: a page has what View.Range answers, clipped, with the time of the first and the last interval outside.
func TestTimePageHasIntervals(t *testing.T) {
	v := mixedView(t)
	for _, tc := range pageRanges {
		f := drawPage(t, v, nil, tc.from, tc.to, TimeOptions{})
		var attributes []history.Attribute // those with states, in the order of rows
		for a := range v.Descendants(history.Top) {
			attributes = append(attributes, a)
		}
		if f.data.Columns != 0 || len(f.data.Rows) != len(attributes) || f.data.Span != strconv.FormatInt(tc.to-tc.from+1, 10) ||
			f.data.From != strconv.FormatInt(tc.from-v.Start(), 10) || f.data.Start != strconv.FormatInt(v.Start(), 10) {
			t.Fatalf("%+v: %d rows, %+v", tc, len(f.data.Rows), f.data.Span)
		}
		for i, a := range attributes {
			path, err := v.Path(a)
			if err != nil {
				t.Fatal(err)
			}
			if got := f.data.Rows[i].Above + f.data.Rows[i].Name; got != strings.Join(path, "/") {
				t.Errorf("row %d is %q, want %q", i, got, path)
			}
			r := f.bytesOf(t, i)
			before, behind := uvarint(t, r), uvarint(t, r)
			at := tc.from
			for in, err := range v.Range(a, tc.from, tc.to, history.RangeOptions{}) {
				if err != nil {
					t.Fatal(err)
				}
				value, instants := f.valueOf(uvarint(t, r)), int64(uvarint(t, r))+1
				start, end := at, at+instants-1
				if at == tc.from {
					start -= int64(before)
				}
				if r.Len() == 0 {
					end += int64(behind / 2)
					if in.Open != (behind%2 == 1) {
						t.Errorf("%q: open %t, want %t", path, behind%2 == 1, in.Open)
					}
				}
				want := in.Value.String()
				if in.Value.Kind() == history.KindString {
					want = in.Value.Text()
				}
				if start != in.Start || end != in.End || value != want {
					t.Fatalf("%+v: %q: %d to %d %q, want %+v", tc, path, start, end, value, in)
				}
				at += instants
			}
			if r.Len() > 0 || at != tc.to+1 {
				t.Errorf("%q: up to %d, and %d bytes more", path, at, r.Len())
			}
		}
	}
}

// TestTimePageHasShares: a page of columns has each state's time in each, and the least, mean and
// greatest number.
func TestTimePageHasShares(t *testing.T) {
	v := mixedView(t)
	rests, floats := 0, 0
	for _, tc := range pageRanges {
		f := drawColumns(t, v, tc.from, tc.to, TimeOptions{}, 900)
		if tc.to == tc.from {
			if f.data.Columns != 0 { // it has as few intervals as rows
				t.Errorf("%d columns of an instant", f.data.Columns)
			}
			continue
		}
		n := f.data.Columns
		if want := min(100, int(tc.to-tc.from)+1); n != want || !strings.Contains(f.text, plural(n, "column")) {
			t.Fatalf("%+v: %d columns, want %d", tc, n, want)
		}
		row := 0
		for a := range v.Descendants(history.Top) {
			r := f.bytesOf(t, row)
			columns := pageColumnReader{Reader: r}
			for c := range n {
				first, last := columnIn(tc.from, tc.to, c, n), columnIn(tc.from, tc.to, c+1, n)-1
				want := timesOf(t, v, a, first, last)
				if f.data.Rows[row].Range != nil {
					floats += f.checkNumbers(t, r, v, a, first, last)
					continue
				}
				got := columns.next(t, &f, uint64(last-first)+1)
				if rest := got["rest"]; rest > 0 {
					rests++
					checkRest(t, got, want)
					continue
				}
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Fatalf("%+v: row %d, column %d: %v, want %v", tc, row, c, got, want)
				}
			}
			if r.Len() > 0 || columns.run > 0 {
				t.Errorf("row %d: %d bytes more", row, r.Len())
			}
			row++
		}
	}
	if rests == 0 || floats == 0 {
		t.Errorf("%d columns with rests, %d with numbers", rests, floats)
	}
}

// columnIn returns the first instant of a column.
func columnIn(from, to int64, c, n int) int64 { return from + (to-from+1)*int64(c)/int64(n) }

// timesOf returns each state's instants in a range, one by one.
func timesOf(t testing.TB, v *history.View, a history.Attribute, from, to int64) map[string]uint64 {
	t.Helper()
	times := map[string]uint64{}
	for at := from; at <= to; {
		in, err := v.At(a, at)
		if err != nil {
			t.Fatal(err)
		}
		name := in.Value.String()
		if in.Value.Kind() == history.KindString {
			name = in.Value.Text()
		}
		end := min(in.End, to)
		times[name] += uint64(end-at) + 1
		at = end + 1
	}
	return times
}

// checkRest: the states with a share of their own are the longest, and the rest is the time of the others.
func checkRest(t testing.TB, got, want map[string]uint64) {
	t.Helper()
	rest, shortest, longest := uint64(0), uint64(math.MaxUint64), uint64(0)
	for name, instants := range want {
		if own, ok := got[name]; ok {
			shortest = min(shortest, own)
			if own != instants {
				t.Fatalf("%q has %d, want %d", name, own, instants)
			}
			continue
		}
		rest += instants
		longest = max(longest, instants)
	}
	if len(got) != pageShares+1 || rest != got["rest"] || longest > shortest {
		t.Fatalf("%v, want those of %v", got, want)
	}
}

// checkNumbers checks a column of numbers, and returns 1 if it has any.
func (f *pageFile) checkNumbers(t testing.TB, r *bytes.Reader, v *history.View, a history.Attribute, from, to int64) int {
	t.Helper()
	var instants uint64
	least, most, sum := math.Inf(1), math.Inf(-1), 0.0
	for text, n := range timesOf(t, v, a, from, to) {
		if x, err := strconv.ParseFloat(text, 64); err == nil {
			instants, least, most, sum = instants+n, min(least, x), max(most, x), sum+x*float64(n)
		}
	}
	if got := uvarint(t, r); got != instants {
		t.Fatalf("%d instants, want %d", got, instants)
	}
	if instants == 0 {
		return 0
	}
	var got [3]float64
	if err := binary.Read(r, binary.LittleEndian, &got); err != nil {
		t.Fatal(err)
	}
	if mean := sum / float64(instants); got[0] != least || got[2] != most || math.Abs(got[1]-mean) > 1e-9*(1+math.Abs(mean)) {
		t.Fatalf("%v, want %v, %v, %v", got, least, mean, most)
	}
	return 1
}

// TestTimePageAsTimeGraph: rows, legend and colours are those of the picture.
func TestTimePageAsTimeGraph(t *testing.T) {
	v := mixedView(t)
	opts := TimeOptions{Title: "mixed", Rows: 4, Name: func(_ history.Attribute, v history.Value) string {
		return map[bool]string{true: "three thousand"}[v.Kind() == history.KindInt && v.Int() == 3007]
	}}
	picture, _ := drawTime(t, v, nil, 1000, 2_000_000, opts)
	f := drawPage(t, v, nil, 1000, 2_000_000, opts)
	var labels []string
	for _, row := range f.data.Rows {
		labels = append(labels, row.Above+row.Name)
	}
	var want []string
	for _, row := range picture.rows() {
		want = append(want, row.label())
	}
	if !slices.Equal(labels, want) || len(labels) != 4 {
		t.Errorf("rows %q, want %q", labels, want)
	}
	legend := picture.legend()
	keys := regexp.MustCompile(`data-color="([^"]*)"></span>([^<]*) <span`).FindAllStringSubmatch(f.text, -1)
	if len(keys) != len(legend) || !strings.Contains(f.text, "4 of 9 attributes, with the most changes here") || !strings.Contains(f.text, "<title>mixed</title>") {
		t.Errorf("%d keys, want %d", len(keys), len(legend))
	}
	strong := 0
	for i, key := range keys {
		if html.UnescapeString(key[2]) != legend[i] {
			t.Errorf("key %q, want %q", key[2], legend[i])
		}
		if code := slices.Index(f.data.Values, html.UnescapeString(key[2])); code >= 0 && key[1] != "bars" {
			strong++
			if want := strconv.Itoa(f.data.Colors[code]); key[1] != want {
				t.Errorf("key %q has colour %s, its states %s", key[2], key[1], want)
			}
		}
	}
	code := slices.Index(f.data.Values, "three thousand")
	if strong < timeColors || code < 0 || f.data.Titles[code+1] != "three thousand (3007)" || len(f.data.Palette[0]) != 2*timeColors || len(f.data.Palette[1]) != 2*timeColors {
		t.Errorf("%d strong colours; title %q", strong, f.data.Titles[code+1])
	}
}

// TestTimePageIsClosed: the policy allows the script and the style of the page alone, and nothing in it refers elsewhere or
// makes code or markup of text.
func TestTimePageIsClosed(t *testing.T) {
	hostile := []string{"</script><script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "{{.Style}}", "<!--", "]]>", "a\u202eb\x00c", "\u2028", "' onload='x"}
	v := build(t, 5000, func(w *history.Writer) error {
		for i, name := range hostile {
			a, err := w.Attribute("top", name)
			if err == nil {
				err = w.Change(int64(1000+i), a, history.String(name))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	f := drawPage(t, v, nil, 1000, 5000, TimeOptions{Title: strings.Join(hostile, " ")})
	if got := len(f.data.Rows); got != len(hostile)+1 {
		t.Fatalf("%d rows", got)
	}
	for i, name := range hostile {
		if got := f.data.Rows[i+1].Name; got != clean(name) || !slices.Contains(f.data.Values, clean(name)) {
			t.Errorf("%q, want %q", got, clean(name))
		}
	}
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	if want := "default-src 'none'; script-src " + hash(f.script) + "; style-src " + hash(f.style) + "; base-uri 'none'; form-action 'none'"; f.policy != want {
		t.Errorf("policy %q, want %q", f.policy, want)
	}
	for _, no := range []string{"eval(", "Function(", "innerHTML", "outerHTML", "insertAdjacent", "document.write", "fetch(", "XMLHttpRequest", "import(", "://", "localStorage"} {
		if strings.Contains(f.script, no) || strings.Contains(f.style, no) {
			t.Errorf("the page has %q", no)
		}
	}
	markup := strings.NewReplacer(f.script, "", f.style, "").Replace(f.text)
	markup = regexp.MustCompile(`(?s)<script type="application/json" id="data">.*?</script>`).ReplaceAllString(markup, "")
	markup = regexp.MustCompile(`"[^"]*"`).ReplaceAllString(markup, `""`) // what is quoted is escaped
	if bad := regexp.MustCompile(`(?i)<[^>]*\s(src|href|action|style|on[a-z]+)\s*=|<(img|link|iframe|object|embed|base)`).FindString(markup); bad != "" {
		t.Errorf("the page has %q", bad)
	}
	if n := strings.Count(f.text, "<script"); n != 2 {
		t.Errorf("%d scripts", n)
	}
	if again := drawPage(t, v, nil, 1000, 5000, TimeOptions{Title: strings.Join(hostile, " ")}); again.text != f.text {
		t.Error("the same view gives another page")
	}
}

// TestTimePageErrors: bad questions and options, and a writer that fails. Extremes of time are drawn.
func TestTimePageErrors(t *testing.T) {
	v := small(t)
	for _, tc := range []struct {
		from, to int64
		opts     TimeOptions
		want     error
	}{
		{v.Start() - 1, v.End(), TimeOptions{}, history.ErrOutside},
		{v.End(), v.Start(), TimeOptions{}, history.ErrQuery},
		{v.Start(), v.End(), TimeOptions{Rows: -1}, history.ErrQuery},
		{v.Start(), v.End(), TimeOptions{Numbers: 9}, history.ErrQuery},
	} {
		if err := TimePage(io.Discard, v, nil, tc.from, tc.to, tc.opts); !errors.Is(err, tc.want) {
			t.Errorf("%+v: %v", tc, err)
		}
	}
	if err := TimePage(failing{}, v, nil, v.Start(), v.End(), TimeOptions{}); !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
	if f := drawPage(t, v, []history.Attribute{}, v.Start(), v.End(), TimeOptions{}); len(f.data.Rows) != 0 {
		t.Error("rows of no attributes")
	}
	for i := range 7 {
		first, behind := columnStart(math.MaxUint64, i, 7), columnStart(math.MaxUint64, i+1, 7)
		if each := behind - first; each < math.MaxUint64/7 || each > math.MaxUint64/7+1 {
			t.Errorf("column %d of all time has %d instants", i, each)
		}
	}
}
