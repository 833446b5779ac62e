package render

import (
	"errors"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/granarydb/granary/history"
)

// three returns a history of three attributes that change in the middle.
func three(t testing.TB) *history.View {
	return build(t, 1000+999, func(w *history.Writer) error {
		for _, name := range []string{"a", "b", "c"} {
			a, err := w.Attribute(name)
			if err != nil {
				return err
			}
			if err := errors.Join(w.Change(1000, a, history.String("waiting")), w.Change(1500, a, history.String("running"))); err != nil {
				return err
			}
		}
		return nil
	})
}

// arrowsOf returns arrows as an option.
func arrowsOf(all map[history.Attribute][]TimeArrow) func(history.Attribute) iter.Seq2[TimeArrow, error] {
	return func(a history.Attribute) iter.Seq2[TimeArrow, error] {
		if all[a] == nil {
			return nil
		}
		return func(yield func(TimeArrow, error) bool) {
			for _, arrow := range all[a] {
				if !yield(arrow, nil) {
					return
				}
			}
		}
	}
}

// lines returns the arrows of a picture: where each is along x, and the rows that it joins, by rows of equal height.
func (f svgFile) lines(t *testing.T) (out []string) {
	t.Helper()
	for _, g := range f.Groups {
		if g.Class != "arrows" {
			continue
		}
		for _, m := range regexp.MustCompile(`M(\d+)\.5 (-?\d+)V(\d+)`).FindAllStringSubmatch(g.Paths[0].D, -1) {
			from, err1 := strconv.Atoi(m[2])
			to, err2 := strconv.Atoi(m[3])
			if err := errors.Join(err1, err2); err != nil {
				t.Fatal(err)
			}
			text := fmt.Sprintf("%s: %d to %d", m[1], from/timeRow, to/timeRow)
			if to-from == timeRow/2 {
				text = fmt.Sprintf("%s: to %d", m[1], to/timeRow)
			}
			out = append(out, text)
		}
	}
	return out
}

// TestTimeGraph_Arrows draws an arrow where it is, between the rows that there are, and no two that touch.
func TestTimeGraph_Arrows(t *testing.T) {
	v := three(t)
	opts := TimeOptions{Width: 400, Arrows: arrowsOf(map[history.Attribute][]TimeArrow{
		0: {{At: 1500, From: 2}, {At: 1501, From: 2}, {At: 1501, From: history.Top}, {At: 1999, From: 1}, {At: 2500, From: 1}},
		1: {{At: 1000, From: 0}},
		2: {{At: 1250, From: 99}},
	})}
	f, file := drawTime(t, v, attributesOf(v), 1000, 1999, opts)
	width := plotWidth(t, file)
	want := []string{
		fmt.Sprintf("%d: 2 to 0", width/2), fmt.Sprintf("%d: to 0", width*501/1000), fmt.Sprintf("%d: 1 to 0", width*999/1000),
		"0: 0 to 1", fmt.Sprintf("%d: to 2", width/4),
	}
	if got := f.lines(t); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if note := "5 arrows from what ended a wait. A short one comes from none of the rows. Left out, because they would touch one or are too many: 1."; !strings.Contains(string(file), note) {
		t.Errorf("no note %q", note)
	}
	// The row of attribute 2 is not there, so its arrow to 0 is short.
	f, _ = drawTime(t, v, attributesOf(v)[:2], 1400, 1600, opts)
	if got := f.lines(t); len(got) != 1 || !strings.HasSuffix(got[0], ": to 0") {
		t.Errorf("%q", got)
	}
	many := make([]TimeArrow, 0, 3*timeArrows)
	for i := range cap(many) {
		many = append(many, TimeArrow{At: 1000 + int64(i%1000), From: history.Attribute(i / 1000 % 2)})
	}
	opts = TimeOptions{Width: maxWidth, Arrows: arrowsOf(map[history.Attribute][]TimeArrow{0: many, 1: many, 2: many})}
	if f, _ = drawTime(t, v, attributesOf(v), 1000, 1999, opts); len(f.lines(t)) != timeArrows {
		t.Errorf("%d arrows, want %d", len(f.lines(t)), timeArrows)
	}
	failed := errors.New("failed")
	opts.Arrows = func(history.Attribute) iter.Seq2[TimeArrow, error] {
		return func(yield func(TimeArrow, error) bool) { yield(TimeArrow{}, failed) }
	}
	if err := TimeGraph(nil, v, nil, 1000, 1999, opts); !errors.Is(err, failed) {
		t.Errorf("%v, want %v", err, failed)
	}
	opts.Fold, opts.Rows = true, 1
	if f, _ = drawTime(t, v, attributesOf(v), 1000, 1999, opts); len(f.lines(t)) != 0 {
		t.Error("folded rows have arrows")
	}
}

// TestTimeGraph_Marks marks each pixel with an instant of the attribute once.
func TestTimeGraph_Marks(t *testing.T) {
	v := three(t)
	marks := map[history.Attribute][]int64{0: {900, 1000, 1500, 1500, 1999, 2100}, 2: {1250}}
	f, file := drawTime(t, v, attributesOf(v), 1000, 1999, TimeOptions{Width: 400, Marks: func(a history.Attribute) []int64 { return marks[a] }})
	width := plotWidth(t, file)
	var got []string
	for i, row := range f.rows() {
		for _, p := range row.Paths {
			if p.Class != "marks" {
				continue
			}
			for _, m := range regexp.MustCompile(`M(\d+) `).FindAllStringSubmatch(p.D, -1) {
				got = append(got, fmt.Sprint(i, " ", m[1]))
			}
		}
	}
	want := []string{"0 0", fmt.Sprint("0 ", width/2), fmt.Sprint("0 ", width*999/1000), fmt.Sprint("2 ", width/4)}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if !strings.Contains(string(file), "5 samples: a mark") {
		t.Error("the samples are not counted")
	}
}
