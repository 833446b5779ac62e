package render

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/granarydb/granary/profile"
)

// node returns a node whose Total is the sum of its Self and its children.
func node(name string, self int64, children ...*profile.FlameNode) *profile.FlameNode {
	n := &profile.FlameNode{Name: name, Self: self, Total: self, Children: children}
	for _, child := range children {
		n.Total += child.Total
	}
	return n
}

// A difference is one tree of the nodes of both sides. A width is the sum of both, the colour,
// the label and the tooltip are of the change.
func TestFlameGraphOfTwo(t *testing.T) {
	base := node("root", 0, node("main.main", 10, node("a.F", 200), node("a.Gone", 100)), node("same.F", 300))
	root := node("root", 0, node("main.main", 10, node("a.F", 300), node("a.New", 80)), node("same.F", 300))
	d := drawFlame(t, root, FlameOptions{SampleType: "cpu", Unit: "milliseconds", Base: base})
	checkGeometry(t, d, 1200)
	for _, want := range []struct {
		name  string
		value int64
		label string
		line  string
		share float64
	}{
		{"root", 1300, "+13% root", "610 ms before, 690 ms after: +80 ms (+13%)", 80. / 690},
		{"main.main", 700, "+26% main.main", "310 ms before, 390 ms after: +80 ms (+26%)", 80. / 390},
		{"same.F", 600, "same.F", "300 ms before, 300 ms after: the same", 0},
		{"a.F", 500, "+50% a.F", "200 ms before, 300 ms after: +100 ms (+50%)", 100. / 300},
		{"a.Gone", 100, "gone a.Gone", "100 ms before, 0 ns after: -100 ms (gone)", -1},
		{"a.New", 80, "new New", "0 ns before, 80 ms after: +80 ms (new)", 1},
	} {
		found := false
		for _, f := range d.frames {
			if f.name() != want.name {
				continue
			}
			found = true
			if f.value != want.value || f.text != want.label || f.title != want.name+"\n"+want.line || f.fill != changeColor(want.share) {
				t.Errorf("%+v, want %+v in %s", f, want, changeColor(want.share))
			}
		}
		if !found {
			t.Errorf("there is no frame %s", want.name)
		}
	}
	if !strings.Contains(d.words, "610 ms before, 690 ms after") || !strings.Contains(d.words, "gone\n") {
		t.Error(d.words)
	}
	if root.Children[0].Total != 390 || len(root.Children[0].Children) != 2 || len(base.Children) != 2 {
		t.Error("a tree was changed")
	}
	for _, tc := range []struct {
		base, root *profile.FlameNode
		frames     int
	}{{base, nil, 5}, {node("root", 0), root, 5}, {node("root", 0), nil, 0}} {
		if d := drawFlame(t, tc.root, FlameOptions{Base: tc.base}); len(d.frames) != tc.frames {
			t.Errorf("%d frames, want %d", len(d.frames), tc.frames)
		}
	}
}

// The depth of a difference is unbounded, as that of a tree.
func TestFlameGraphOfTwoDeep(t *testing.T) {
	deep := func() *profile.FlameNode {
		n := node("leaf", 7)
		for range 100_000 {
			n = node("f", 0, n)
		}
		return n
	}
	if d := drawFlame(t, deep(), FlameOptions{Base: deep()}); len(d.frames) != flameLevels {
		t.Errorf("%d frames", len(d.frames))
	}
}

// A sign is whole or left out.
func TestSignedLabel(t *testing.T) {
	for width, want := range map[float64]string{20: "", 42: "", 45: "+200%", 70: "+200%", 76: "+200% Fuu", 200: "+200% main.Fuu"} {
		if got := signedLabel("+200%", "main.Fuu", width); got != want {
			t.Errorf("%v: %q, want %q", width, got, want)
		}
	}
}

// Without Width the picture is as wide as its window.
func TestFlameGraphWidth(t *testing.T) {
	for width, want := range map[int]string{0: "100%", 700: "700"} {
		d := drawFlame(t, node("root", 1), FlameOptions{Width: width})
		if d.attrs["width"] != want || d.attrs["viewBox"] == "" {
			t.Errorf("%d: %v", width, d.attrs)
		}
	}
}

// More and less stay apart for people that do not see red, green or blue, and dark text is
// legible on both. The matrices are those of Machado, Oliveira and Fernandes for linear RGB.
func TestChangeColors(t *testing.T) {
	kinds := map[string][9]float64{
		"all":          {1, 0, 0, 0, 1, 0, 0, 0, 1},
		"protanopia":   {0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998},
		"deuteranopia": {0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.011820, 0.042940, 0.968881},
		"tritanopia":   {1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.303900},
	}
	for _, share := range []float64{0.1, 0.33, 0.5, 1} {
		more, less := changeColor(share), changeColor(-share)
		for name, m := range kinds {
			least := 0.06 + 0.04*share // of the distance in OKLab; 0.02 is just visible
			if d := distance(seen(t, more, m), seen(t, less, m)); d < least {
				t.Errorf("%s: %s and %s of %g are %.3f apart, want %.3f", name, more, less, share, d, least)
			}
		}
		for _, fill := range []string{more, less} {
			if ratio := (luminance(t, fill) + 0.05) / (luminance(t, "#1b1d22") + 0.05); ratio < 4.5 {
				t.Errorf("contrast on %s is %.2f", fill, ratio)
			}
		}
	}
}

// seen returns a colour as seen through a matrix, in OKLab.
func seen(t *testing.T, color string, m [9]float64) [3]float64 {
	t.Helper()
	rgb, err := strconv.ParseUint(strings.TrimPrefix(color, "#"), 16, 24)
	if err != nil {
		t.Fatal(err)
	}
	linear := func(shift int) float64 {
		c := float64(rgb>>shift&0xff) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	in := [3]float64{linear(16), linear(8), linear(0)}
	var out [3]float64
	for i := range out {
		out[i] = min(1, max(0, m[3*i]*in[0]+m[3*i+1]*in[1]+m[3*i+2]*in[2]))
	}
	l := math.Cbrt(0.4122214708*out[0] + 0.5363325363*out[1] + 0.0514459929*out[2])
	a := math.Cbrt(0.2119034982*out[0] + 0.6806995451*out[1] + 0.1073969566*out[2])
	b := math.Cbrt(0.0883024619*out[0] + 0.2817188376*out[1] + 0.6299787005*out[2])
	return [3]float64{
		0.2104542553*l + 0.7936177850*a - 0.0040720468*b,
		1.9779984951*l - 2.4285922050*a + 0.4505937099*b,
		0.0259040371*l + 0.7827717662*a - 0.8086757660*b,
	}
}

func distance(a, b [3]float64) float64 {
	return math.Sqrt((a[0]-b[0])*(a[0]-b[0]) + (a[1]-b[1])*(a[1]-b[1]) + (a[2]-b[2])*(a[2]-b[2]))
}
