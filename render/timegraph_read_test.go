package render

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/events"
	"github.com/granarydb/granary/internal/ihs"
)

// svgFile is a time graph, read back.
type svgFile struct {
	Title  string   `xml:"title"`
	Texts  []string `xml:"text"`
	Groups []svgRow `xml:"g"`
}

type svgRow struct {
	Class string    `xml:"class,attr"`
	Texts []svgText `xml:"text"`
	Paths []svgPath `xml:"path"`
}

type svgText struct {
	Class string `xml:"class,attr"`
	Title string `xml:"title"`
	Above string `xml:"tspan"`
	Text  string `xml:",chardata"`
}

type svgPath struct {
	Class string `xml:"class,attr"`
	D     string `xml:"d,attr"`
	Title string `xml:"title"`
}

func drawTime(t testing.TB, v *history.View, attributes []history.Attribute, from, to int64, opts TimeOptions) (svgFile, []byte) {
	t.Helper()
	var b bytes.Buffer
	if err := TimeGraph(&b, v, attributes, from, to, opts); err != nil {
		t.Fatal(err)
	}
	var f svgFile
	if err := xml.Unmarshal(b.Bytes(), &f); err != nil {
		t.Fatalf("not well-formed: %v", err)
	}
	return f, b.Bytes()
}

// rows returns the rows, without axis and legend.
func (f svgFile) rows() (rows []svgRow) {
	for _, g := range f.Groups {
		if g.Class == "row" {
			rows = append(rows, g)
		}
	}
	return rows
}

// legend returns the legend's words.
func (f svgFile) legend() (words []string) {
	for _, g := range f.Groups {
		if g.Class == "key" {
			words = append(words, strings.TrimSpace(g.Texts[0].Text))
		}
	}
	return words
}

// label returns a row's name.
func (r svgRow) label() string {
	return r.Texts[0].Above + strings.TrimSpace(r.Texts[0].Text)
}

// paint returns the class and the tooltip of each pixel of a row.
func (r svgRow) paint(t testing.TB, width int) (classes, titles []string) {
	t.Helper()
	classes, titles = make([]string, width), make([]string, width)
	for _, p := range r.Paths {
		if p.Class == "notch" {
			continue
		}
		for piece := range strings.SplitSeq(strings.Trim(p.D, "Mz"), "zM") {
			var x, y, w, h, back int
			if _, err := fmt.Sscanf(piece, "%d %dh%dv%dh-%d", &x, &y, &w, &h, &back); err != nil || w < 1 || h < 1 || back != w || x < 0 || x+w > width {
				t.Fatalf("path %q: %v", piece, err)
			}
			for i := x; i < x+w; i++ {
				if classes[i] != "" {
					t.Fatalf("two states at pixel %d", i)
				}
				classes[i], titles[i] = p.Class, p.Title
			}
		}
	}
	return classes, titles
}

func attributesOf(v *history.View) []history.Attribute {
	out := make([]history.Attribute, v.Len())
	for i := range out {
		out[i] = history.Attribute(i)
	}
	return out
}

// build makes a history that starts at 1,000 and is closed.
func build(t testing.TB, end int64, write func(w *history.Writer) error) *history.View {
	t.Helper()
	h, err := history.New(history.Options{Start: 1000})
	if err != nil {
		t.Fatal(err)
	}
	tx, err := h.Begin()
	if err == nil {
		err = errors.Join(write(tx.Writer), tx.Close(end))
	}
	if err != nil {
		t.Fatal(err)
	}
	v, err := tx.Commit()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// The plot has the room right of the labels: its width is that of a row's track.
func plotWidth(t testing.TB, file []byte) int {
	t.Helper()
	_, rest, found := bytes.Cut(file, []byte(`<rect class="track" width="`))
	var width int
	if _, err := fmt.Sscanf(string(rest[:min(len(rest), 10)]), "%d", &width); !found || err != nil {
		t.Fatal("there is no row")
	}
	return width
}

// viewOf makes a history of a set.
func viewOf(t *testing.T, s *ihs.Set) *history.View {
	t.Helper()
	h, err := history.New(history.Options{Start: s.Header.Start})
	if err != nil {
		t.Fatal(err)
	}
	tx, err := h.Begin()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range s.Attributes {
		parent := history.Top
		if a.Parent != ihs.NoParent {
			parent = history.Attribute(a.Parent)
		}
		if _, err := tx.Child(parent, a.Name); err != nil {
			t.Fatal(err)
		}
	}
	for i := range s.Len() {
		if err := tx.Add(history.Attribute(s.Keys[i]), s.Starts[i], s.Ends[i], events.ValueOf(s.At(i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Close(s.Header.End); err != nil {
		t.Fatal(err)
	}
	v, err := tx.Commit()
	if err != nil {
		t.Fatal(err)
	}
	return v
}
