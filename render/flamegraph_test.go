package render

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/granarydb/granary/profile"
)

// drawnFrame is one frame read back from a picture.
type drawnFrame struct {
	level       int
	value       int64
	cut         bool
	title, text string
	fill        string
	x, width    int64 // in 1/flameScale pixel
}

func (f drawnFrame) name() string { return strings.Split(f.title, "\n")[0] }

// drawing is a picture read back: its frames in file order and all its text
// outside the frames, a line each.
type drawing struct {
	attrs  map[string]string // of the root element
	frames []drawnFrame
	words  string
	svg    string
}

// drawFlame writes the picture and reads it back through a full XML decode.
func drawFlame(t *testing.T, root *profile.FlameNode, opts FlameOptions) drawing {
	t.Helper()
	var buf bytes.Buffer
	if err := FlameGraph(&buf, root, opts); err != nil {
		t.Fatal(err)
	}
	return readDrawing(t, buf.Bytes())
}

func readDrawing(t *testing.T, svg []byte) drawing {
	t.Helper()
	d := drawing{svg: string(svg), attrs: map[string]string{}}
	decoder := xml.NewDecoder(bytes.NewReader(svg))
	var path []string
	level := -1
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
		inFrame := slices.Contains(path, "frame")
		switch token := token.(type) {
		case xml.StartElement:
			attrs := map[string]string{}
			for _, a := range token.Attr {
				if _, twice := attrs[a.Name.Local]; twice {
					t.Fatalf("attribute %s twice", a.Name.Local)
				}
				attrs[a.Name.Local] = a.Value
			}
			kind := token.Name.Local
			switch {
			case len(path) == 0:
				d.attrs = attrs
			case attrs["class"] == "row":
				level++
			case attrs["data-value"] != "":
				kind = "frame"
				value, err := strconv.ParseInt(attrs["data-value"], 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				d.frames = append(d.frames, drawnFrame{level: level, value: value, cut: attrs["data-cut"] == "1"})
			case inFrame && kind == "rect":
				f := &d.frames[len(d.frames)-1]
				f.x, f.width, f.fill = units(t, attrs["x"]), units(t, attrs["width"]), attrs["fill"]
			}
			path = append(path, kind)
		case xml.EndElement:
			path = path[:len(path)-1]
		case xml.CharData:
			if len(path) == 0 {
				break
			}
			element := path[len(path)-1]
			switch {
			case inFrame && element == "title":
				d.frames[len(d.frames)-1].title += string(token)
			case inFrame && element == "text":
				d.frames[len(d.frames)-1].text += string(token)
			case element == "text" || element == "title" || element == "desc":
				d.words += string(token) + "\n"
			}
		}
	}
	return d
}

// units reads a length exactly, in 1/flameScale pixel, and rejects more decimals.
func units(t *testing.T, px string) int64 {
	t.Helper()
	r, ok := new(big.Rat).SetString(px)
	if !ok {
		t.Fatalf("bad length %q", px)
	}
	r.Mul(r, big.NewRat(flameScale, 1))
	if !r.IsInt() {
		t.Fatalf("length %s px is finer than 1/%d px", px, flameScale)
	}
	return r.Num().Int64()
}

// checkGeometry holds the promises of every picture: a frame is as wide as its
// value, within the printed precision, and stands inside exactly one frame of
// the level above, beside its siblings.
func checkGeometry(t *testing.T, d drawing, width int) {
	t.Helper()
	total := d.frames[0].value
	plot := int64(width-2*margin) * flameScale
	byLevel := map[int][]drawnFrame{}
	for _, f := range d.frames {
		want := new(big.Rat).SetFrac(new(big.Int).Mul(big.NewInt(f.value), big.NewInt(plot)), big.NewInt(total))
		off := new(big.Rat).Sub(want, new(big.Rat).SetInt64(f.width))
		if !f.cut && off.Abs(off).Cmp(big.NewRat(1, 1)) > 0 {
			t.Errorf("%q is %d units wide, want %s", f.name(), f.width, want.FloatString(2))
		}
		if before := byLevel[f.level]; len(before) > 0 {
			if last := before[len(before)-1]; last.x+last.width > f.x {
				t.Errorf("%q overlaps %q", f.name(), last.name())
			}
		}
		parents := 0
		for _, p := range byLevel[f.level-1] {
			if p.x <= f.x && f.x+f.width <= p.x+p.width {
				parents++
			}
		}
		if f.level > 0 && parents != 1 {
			t.Errorf("%q at level %d is inside %d frames, want 1", f.name(), f.level, parents)
		}
		byLevel[f.level] = append(byLevel[f.level], f)
	}
}

// randomTree returns a tree of about size nodes whose Totals add up.
func randomTree(rng *rand.Rand, size int, unit int64) *profile.FlameNode {
	root := &profile.FlameNode{Name: "root"}
	nodes := []*profile.FlameNode{root}
	for i := range size {
		parent := nodes[rng.IntN(len(nodes))]
		child := &profile.FlameNode{
			Name: fmt.Sprintf("example.org/p%d/q.(*T%d).f%d", i%7, i%3, i),
			File: fmt.Sprintf("/src/p%d.go", i%7),
			Self: rng.Int64N(unit),
		}
		parent.Children = append(parent.Children, child)
		nodes = append(nodes, child)
	}
	for _, node := range slices.Backward(nodes) { // children follow their parents
		node.Total = node.Self
		for _, child := range node.Children {
			node.Total += child.Total
		}
	}
	return root
}

func TestFlameGraphGeometry(t *testing.T) {
	for _, tc := range []struct {
		name  string
		size  int
		unit  int64
		width int
	}{
		{"small values", 300, 10, 1200},
		{"nanoseconds", 3000, 1e9, 1200},
		{"near the end of int64", 900, math.MaxInt64 / 1000, 1999},
	} {
		t.Run(tc.name, func(t *testing.T) {
			root := randomTree(rand.New(rand.NewPCG(1, 2)), tc.size, tc.unit)
			d := drawFlame(t, root, FlameOptions{Unit: "nanoseconds", Width: tc.width})
			if d.frames[0].value != root.Total || d.frames[0].x != 0 || d.frames[0].width != int64(tc.width-2*margin)*flameScale {
				t.Errorf("root frame is %+v", d.frames[0])
			}
			checkGeometry(t, d, tc.width)
			if t.Failed() || len(d.frames) < 100 {
				t.Errorf("%d frames", len(d.frames))
			}
		})
	}
}

// A frame that is not drawn keeps its place: those after it do not move up.
func TestFlameGraphCountsFramesLeftOut(t *testing.T) {
	root := &profile.FlameNode{Name: "root", Total: 1_000_000, Children: []*profile.FlameNode{
		{Name: "wide", Total: 999_950},
		{Name: "narrow", Total: 50, Children: []*profile.FlameNode{{Name: "below", Total: 50}}},
	}}
	d := drawFlame(t, root, FlameOptions{})
	if len(d.frames) != 2 || !strings.Contains(d.words, "2 frames narrower than 0.1 px") {
		t.Errorf("%d frames, words:\n%s", len(d.frames), d.words)
	}
	d = drawFlame(t, root, FlameOptions{MinWidth: 0.01})
	if len(d.frames) != 4 || strings.Contains(d.words, "narrower") {
		t.Errorf("%d frames, words:\n%s", len(d.frames), d.words)
	}
	checkGeometry(t, d, 1200)
}

func TestFlameGraphEscapesNames(t *testing.T) {
	for _, tc := range []struct{ name, raw, want string }{
		{"markup", `a<b>&"c'`, `a<b>&"c'`},
		{"end of CDATA", `]]><script>`, `]]><script>`},
		{"control characters", "a\x00b\nc\x7fd\u0085", "a\ufffdb\ufffdc\ufffdd\ufffd"},
		{"invalid UTF-8", "a\xffb\xc3", "a\ufffdb\ufffd"},
		{"not a character", "a\ufffeb\uffff", "a\ufffdb\ufffd"},
		{"reversed direction", "a\u202eb", "a\ufffdb"},
		{"wide", "\u51fd\u6570", "\u51fd\u6570"},
		{"empty", "", "(unknown)"},
		{"endless", strings.Repeat("x", 5000), strings.Repeat("x", maxNameRunes-1) + "\u2026"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			root := &profile.FlameNode{Name: "root", Total: 1, Children: []*profile.FlameNode{{Name: tc.raw, File: tc.raw, Self: 1, Total: 1}}}
			d := drawFlame(t, root, FlameOptions{Title: tc.raw, SampleType: tc.raw, Unit: tc.raw})
			if got := d.frames[1].name(); got != tc.want {
				t.Errorf("name %q, want %q", got, tc.want)
			}
		})
	}
}

func TestFlameGraphWithoutSamples(t *testing.T) {
	for name, root := range map[string]*profile.FlameNode{
		"nil":      nil,
		"zero":     {Name: "root"},
		"negative": {Name: "root", Total: -5, Children: []*profile.FlameNode{{Name: "f", Total: 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			d := drawFlame(t, root, FlameOptions{SampleType: "cpu", Unit: "nanoseconds"})
			if len(d.frames) != 0 || !strings.Contains(d.words, "No samples\n") {
				t.Errorf("%d frames, words:\n%s", len(d.frames), d.words)
			}
		})
	}
}

func TestFlameGraphEmpty(t *testing.T) {
	d := drawFlame(t, nil, FlameOptions{Empty: "Nothing <here>"})
	if len(d.frames) != 0 || !strings.Contains(d.words, "Nothing <here>\n") || strings.Contains(d.words, "No samples\n") {
		t.Errorf("%d frames, words:\n%s", len(d.frames), d.words)
	}
}

func TestFlameGraphOfDifference(t *testing.T) {
	root := &profile.FlameNode{Name: "root", Total: 10, Children: []*profile.FlameNode{
		{Name: "less", Total: -6, Children: []*profile.FlameNode{{Name: "below less", Total: 3}}},
		{Name: "same", Total: 0},
		nil,
		{Name: "more", Total: 8, Children: []*profile.FlameNode{{Name: "below more", Total: 80}}},
		{Name: "crosses", Total: 6, Children: []*profile.FlameNode{{Name: "below crosses", Total: 5}}},
		{Name: "no room", Total: 2},
		{Name: "huge", Total: math.MinInt64},
	}}
	d := drawFlame(t, root, FlameOptions{})
	checkGeometry(t, d, 1200)
	var got []string
	for _, f := range d.frames {
		got = append(got, fmt.Sprint(f.name(), " ", f.cut))
	}
	want := []string{"root false", "more false", "crosses true", "below more true", "below crosses true"}
	if !slices.Equal(got, want) {
		t.Errorf("frames and whether they are cut: %q, want %q", got, want)
	}
	for _, words := range []string{"4 frames without a positive value", "1 frame without room", "3 frames wider than the rest"} {
		if !strings.Contains(d.words, words) {
			t.Errorf("no %q in:\n%s", words, d.words)
		}
	}
}

func TestFlameGraphOfDeepStack(t *testing.T) {
	root := &profile.FlameNode{Name: "root", Total: 7}
	for node, i := root, 1; i <= 100_000; i++ {
		child := &profile.FlameNode{Name: "main.recurse", Total: 7}
		node.Children = []*profile.FlameNode{child}
		node = child
	}
	d := drawFlame(t, root, FlameOptions{})
	checkGeometry(t, d, 1200)
	if last := d.frames[len(d.frames)-1]; last.level != flameLevels-1 {
		t.Errorf("last level %d, want %d", last.level, flameLevels-1)
	}
	if height, _ := strconv.Atoi(d.attrs["height"]); height > 9400 {
		t.Errorf("height %d", height)
	}
	if want := fmt.Sprintf("%s frames deeper than %d levels", thousands(100_001-flameLevels), flameLevels); !strings.Contains(d.words, want) {
		t.Errorf("no %q in:\n%s", want, d.words)
	}
}

func TestFlameGraphIsDeterministic(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	root := randomTree(rng, 500, 5) // small values: many ties
	opts := FlameOptions{Unit: "count"}
	want := drawFlame(t, root, opts).svg
	walk(root, func(node *profile.FlameNode) {
		rng.Shuffle(len(node.Children), func(i, j int) {
			node.Children[i], node.Children[j] = node.Children[j], node.Children[i]
		})
	})
	shuffled := slices.Clone(root.Children)
	if got := drawFlame(t, root, opts).svg; got != want {
		t.Error("the order of the children shows in the file")
	}
	if !slices.Equal(root.Children, shuffled) {
		t.Error("the tree was changed")
	}
}

func TestFlameGraphStandsAlone(t *testing.T) {
	d := drawFlame(t, randomTree(rand.New(rand.NewPCG(5, 6)), 50, 9), FlameOptions{Title: "A & B"})
	if d.attrs["role"] != "img" || d.attrs["aria-labelledby"] == "" || !strings.HasPrefix(d.words, "A & B\n") {
		t.Errorf("no accessible title: %v", d.attrs)
	}
	for _, outside := range []string{"href", "@import", "url(", "fetch(", "src=", "import("} {
		if strings.Contains(d.svg, outside) {
			t.Errorf("the file holds %q", outside)
		}
	}
	// The only addresses are the two namespaces, which are names.
	rest := strings.NewReplacer("http://www.w3.org/2000/svg", "", "http://www.w3.org/1999/xhtml", "").Replace(d.svg)
	if strings.Contains(rest, "://") {
		t.Error("the file holds an address")
	}
	for _, asset := range []string{flameStyle, flameScript} {
		if strings.Contains(asset, "]]>") {
			t.Error("an asset ends its CDATA section")
		}
	}
}

func TestFlameGraphTooltip(t *testing.T) {
	root := &profile.FlameNode{Name: "root", Total: 2_000_000_000, Children: []*profile.FlameNode{
		{Name: "net/http.(*conn).serve", File: "net/http/server.go", Self: 500_000_000, Total: 1_230_000_000},
		{Name: "main.main", Total: 770_000_000},
	}}
	d := drawFlame(t, root, FlameOptions{SampleType: "cpu", Unit: "nanoseconds"})
	want := "net/http.(*conn).serve\nnet/http/server.go\n1.23 s (61.50%), self 500 ms (25.00%)"
	if got := d.frames[1].title; got != want {
		t.Errorf("tooltip %q, want %q", got, want)
	}
	if got, want := d.frames[2].title, "main.main\n770 ms (38.50%), self 0 ns"; got != want {
		t.Errorf("tooltip %q, want %q", got, want)
	}
	if want := "net/http 25.00%"; !strings.Contains(d.words, want) {
		t.Errorf("no %q in:\n%s", want, d.words)
	}
	d = drawFlame(t, &profile.FlameNode{Name: "root", Self: 1234, Total: 1234}, FlameOptions{SampleType: "samples", Unit: "count"})
	if want := "root\n1,234 samples (100.00%), self 1,234 samples (100.00%)"; d.frames[0].title != want {
		t.Errorf("tooltip %q, want %q", d.frames[0].title, want)
	}
}

// Text on a frame has a contrast of 4.5:1 or more (WCAG 2 AA) for every hue
// and shade, and so has text on the paper and on the colours of the style sheet.
func TestFlameGraphContrast(t *testing.T) {
	const ink = "#1b1d22"
	pairs := [][2]string{
		{ink, "#fbfbfa"},
		{"#565c66", "#fbfbfa"},
		{"#4a4f58", "#e7e8ea"},
		{ink, "#d9a0ff"},
		{"#eceef1", "#17191e"},
		{"#a9b0bb", "#17191e"},
		{"#c5cad3", "#343840"},
		{"#eceef1", "#24272e"},
		{"#8b919c", "#24272e"},
	}
	for _, pair := range pairs {
		for _, color := range pair {
			if !strings.Contains(flameStyle, color) {
				t.Errorf("the style sheet has no %s", color)
			}
		}
	}
	fills := map[string]bool{}
	for i := range 2000 {
		fills[frameColor(&profile.FlameNode{Name: fmt.Sprintf("p%d.f%d", i, i/3)})] = true
		fills[frameColor(&profile.FlameNode{Name: fmt.Sprintf("runtime.f%d", i)})] = true
	}
	if len(fills) != 36*3+3 {
		t.Errorf("%d fills, want 36 hues and grey in 3 shades each", len(fills))
	}
	for fill := range fills {
		pairs = append(pairs, [2]string{ink, fill})
	}
	for _, pair := range pairs {
		a, b := luminance(t, pair[0]), luminance(t, pair[1])
		if ratio := (max(a, b) + 0.05) / (min(a, b) + 0.05); ratio < 4.5 {
			t.Errorf("contrast of %s on %s is %.2f", pair[0], pair[1], ratio)
		}
	}
}

// luminance is the relative luminance of WCAG 2.
func luminance(t *testing.T, color string) float64 {
	t.Helper()
	rgb, err := strconv.ParseUint(strings.TrimPrefix(color, "#"), 16, 24)
	if err != nil {
		t.Fatal(err)
	}
	linear := func(channel uint64) float64 {
		c := float64(channel&0xff) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(rgb>>16) + 0.7152*linear(rgb>>8) + 0.0722*linear(rgb)
}

func TestFlameGraphOptionsAreChecked(t *testing.T) {
	for _, opts := range []FlameOptions{
		{Width: 599}, {Width: -1}, {Width: 20_001}, {MinWidth: -1}, {MinWidth: math.NaN()}, {MinWidth: math.Inf(1)},
	} {
		var buf bytes.Buffer
		if err := FlameGraph(&buf, nil, opts); err == nil || buf.Len() > 0 {
			t.Errorf("%+v: error %v, %d bytes written", opts, err, buf.Len())
		}
	}
}

func TestFlameGraphReportsWriteError(t *testing.T) {
	want := errors.New("disk full")
	r, w := io.Pipe()
	r.CloseWithError(want)
	if err := FlameGraph(w, nil, FlameOptions{}); !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
}
