package server

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/server/internal/page"
)

// newWakes returns a server with a history in which goroutine 2 wakes goroutine 1, and a timer goroutine 3.
func newWakes(t testing.TB) *asker {
	t.Helper()
	m := newAsker(t, Options{})
	h, err := m.db.Store().CreateHistory("threads", columnstore.HistoryOptions{Start: madeAt.UnixNano()})
	if err != nil {
		t.Fatal(err)
	}
	tx := m.db.Store().Begin()
	w, err := tx.History(h)
	if err != nil {
		t.Fatal(err)
	}
	set := func(at int64, v any, path ...string) {
		a, err := w.Attribute(path...)
		value, is := v.(history.Value)
		if text, isText := v.(string); isText {
			value = history.String(text)
		} else if n, isInt := v.(int); isInt {
			value = history.Int(int64(n))
		} else if !is {
			value = history.Value{}
		}
		if err == nil {
			err = w.Change(madeAt.UnixNano()+at, a, value)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for g, function := range []string{"", "main.Worker", "net.poll", "main.tick"} {
		if g > 0 {
			set(0, function, "Goroutines", fmt.Sprint(g), "function")
			set(0, "running", "Goroutines", fmt.Sprint(g))
		}
	}
	set(0, 17, "Goroutines", "3", "goid") // 3 is a place
	set(10, "waiting (sync)", "Goroutines", "1")
	set(10, "waiting (sleep)", "Goroutines", "3")
	set(15, "request", "Goroutines", "2", "regions", "1")
	set(60, nil, "Goroutines", "2", "regions", "1")
	set(30, "runnable", "Goroutines", "3")
	set(30, nil, "Goroutines", "3", "woken by")
	set(40, "running", "Goroutines", "3")
	set(50, "runnable", "Goroutines", "1")
	set(50, 2, "Goroutines", "1", "woken by")
	set(70, "running", "Goroutines", "1")
	set(80, "waiting (sync)", "Goroutines", "1")
	set(90, "runnable", "Goroutines", "1")
	set(99, "running", "Goroutines", "1")
	if _, err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	return m
}

// rowsOf asks for 100 pixels of one nanosecond, and returns the rows as text.
func rowsOf(m *asker, parameters ...string) (rows []string, of page.PixelsAnswer) {
	m.t.Helper()
	(&madeStates{asker: m}).get("histories/threads/pixels", &of, append([]string{"p", "Goroutines/{goid}", "pixels", "100"}, parameters...)...)
	for _, r := range of.Rows {
		text := fmt.Sprintf("%d %s %s", r.Level, strings.TrimPrefix(r.Attribute, "Goroutines/"), r.Name)
		if r.Wait > 0 {
			text += fmt.Sprintf(" waits %d", r.Wait)
		}
		rows = append(rows, strings.TrimRight(text, " "))
	}
	return rows, of
}

// TestPage_Rows asks for rows with names, found by a text, by their waits, and with what is below them.
func TestPage_Rows(t *testing.T) {
	m := newWakes(t)
	for _, test := range []struct {
		parameters []string
		all        int
		want       []string
	}{
		{nil, 3, []string{"0 1 main.Worker", "0 3 goroutine 17 main.tick", "0 2 net.poll"}},
		{[]string{"sort", "waits"}, 3, []string{"0 1 main.Worker waits 40", "0 3 goroutine 17 main.tick waits 20", "0 2 net.poll"}},
		{[]string{"find", "MAIN."}, 2, []string{"0 1 main.Worker", "0 3 goroutine 17 main.tick"}},
		{[]string{"find", "goroutines/2"}, 1, []string{"0 2 net.poll"}},
		{[]string{"find", "goroutine 17"}, 1, []string{"0 3 goroutine 17 main.tick"}},
		{[]string{"find", "none"}, 0, nil},
		{[]string{"under", "1"}, 3, []string{"0 1 main.Worker", "0 3 goroutine 17 main.tick", "0 2 net.poll", "2 2/regions/1"}},
		{[]string{"under", "1", "rows", "3"}, 3, []string{"0 1 main.Worker", "0 3 goroutine 17 main.tick", "0 2 net.poll"}},
		{[]string{"under", "1", "offset", "2", "rows", "2"}, 3, []string{"0 2 net.poll", "2 2/regions/1"}},
	} {
		if got, of := rowsOf(m, test.parameters...); !slices.Equal(got, test.want) || of.All != test.all || of.Wakes != nil {
			t.Errorf("%q: %q of %d, want %q of %d", test.parameters, got, of.All, test.want, test.all)
		}
	}
	_, of := rowsOf(m, "wakes", "1")
	want := []page.Wake{{Row: 0, Pixel: 50, By: "Goroutines/2", ByRow: 2}, {Row: 0, Pixel: 90, By: "Goroutines/2", ByRow: 2}, {Row: 1, Pixel: 30, ByRow: -1}}
	if !slices.Equal(of.Wakes, want) || of.WakesLeft {
		t.Errorf("wakes %+v, want %+v", of.Wakes, want)
	}
	if _, of = rowsOf(m, "wakes", "1", "find", "worker"); len(of.Wakes) != 2 || of.Wakes[0] != (page.Wake{Row: 0, Pixel: 50, By: "Goroutines/2", ByRow: -1}) {
		t.Errorf("wakes of one row %+v", of.Wakes)
	}
}

// TestPage_RowSamples compares the pixels with samples with the samples that were written.
func TestPage_RowSamples(t *testing.T) {
	m := newMadeStates(t, 7, Options{})
	var of page.PixelsAnswer
	m.get("histories/threads/pixels", &of, "p", "Threads/{tid}", "pixels", "4000", "samples", "1", "t", "cpu")
	begin, end := m.start, m.end
	found := 0
	for _, row := range of.Rows {
		want := map[int32]bool{}
		for _, s := range m.samples {
			if s.where != "none" && "Threads/"+s.thread == row.Attribute && s.at >= begin && s.at < end {
				want[int32(float64(s.at-begin)/float64(end-begin)*float64(of.Pixels))] = true
			}
		}
		for _, pixel := range row.Samples {
			if !want[pixel] {
				t.Errorf("%s: a sample in pixel %d: %v", row.Attribute, pixel, want)
			}
			found++
		}
		if len(row.Samples) != len(want) {
			t.Errorf("%s: samples in %v, want %v", row.Attribute, row.Samples, want)
		}
	}
	if found < 20 {
		t.Errorf("%d samples", found)
	}
}

// TestPage_RowLimits asks for rows that there are not.
func TestPage_RowLimits(t *testing.T) {
	m := newWakes(t)
	for question, want := range map[string]string{
		"find=" + strings.Repeat("x", 201): "a text of 201 bytes in parameter find, at most 200",
		"sort=name":                        "parameter sort: want changes or waits",
		"under=2":                          "want 1 or 0",
		"wakes=x":                          "want 1 or 0",
	} {
		path, parameters := splitQuestion("histories/threads/pixels?p=Goroutines/*&" + question)
		if status, text, _ := m.page(path, nil, parameters...); status < 400 || status > 422 || !strings.Contains(text, want) {
			t.Errorf("%.60s: %d %s, want %q", question, status, text, want)
		}
	}
	p := newMadeStates(t, 8, Options{})
	if status, text, _ := p.page("histories/threads/pixels", nil, "p", "Threads/*", "samples", "1", "t", "cpu"); status != 400 || !strings.Contains(text, "with one label") {
		t.Errorf("%d %s", status, text)
	}
}
