package server

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/server/internal/page"
)

// TestPage_Histories lists the history and its attributes.
func TestPage_Histories(t *testing.T) {
	m := newMadeStates(t, 1, Options{})
	var all page.HistoriesAnswer
	m.get("histories", &all)
	first := int64(math.MaxInt64)
	for _, changes := range m.changes {
		for _, c := range changes {
			if !c.value.IsNull() {
				first = min(first, c.at)
			}
		}
	}
	want := page.HistoryInfo{Name: "threads", Attributes: len(m.paths) + 1, First: instant(first), End: instant(m.end), Floor: instant(m.start), Bytes: m.handle.Bytes()}
	if len(all.Histories) != 1 || all.Histories[0] != want || all.Commit == 0 {
		t.Errorf("%+v, want %+v", all, want)
	}
	var top page.TreeAnswer
	m.get("histories/threads/tree", &top)
	if !slices.Equal(top.Children, []page.TreeChild{{Name: "Threads", Attribute: "Threads", Parent: true, Kind: "null"}, {Name: "Count", Attribute: "Count", Kind: "int"}}) || top.All != 2 {
		t.Errorf("%+v", top)
	}
	var names []string
	for offset := 0; ; offset += 5 {
		var page page.TreeAnswer
		m.get("histories/threads/tree", &page, "path", "Threads", "rows", "5", "offset", fmt.Sprint(offset))
		if page.All != 13 || page.Offset != offset || page.Path != "Threads" {
			t.Errorf("%+v", page)
		}
		if len(page.Children) == 0 {
			break
		}
		for _, c := range page.Children {
			names = append(names, c.Attribute+" "+c.Kind)
		}
	}
	if len(names) != 13 || names[0] != "Threads/0 string" || names[12] != "Threads/idle null" {
		t.Errorf("%q", names)
	}
}

// TestPage_At compares states of instants with the written states.
func TestPage_At(t *testing.T) {
	m := newMadeStates(t, 2, Options{})
	rng := rand.New(rand.NewPCG(2, 2))
	for range 30 {
		when := m.start + rng.Int64N(m.end-m.start)
		var all page.AtAnswer
		m.get("histories/threads/at", &all, "p", "Threads/{tid}", "at", instant(when))
		if all.At != instant(when) || all.All != 13 || len(all.Attributes) != 13 {
			t.Fatalf("%+v", all)
		}
		for i, s := range all.Attributes {
			v := m.state(s.Attribute, when)
			if s.Attribute != m.paths[:12:12][min(i, 11)] && s.Attribute != "Threads/idle" || s.StateText != page.NewStateText(v) {
				t.Fatalf("%+v at %d, want %v", s, when, v)
			}
			start, end := m.parsed(s.Start), m.parsed(s.End)
			if start > when || end <= when || start > m.start && m.state(s.Attribute, start-1).Equal(v) || end < m.end && m.state(s.Attribute, end).Equal(v) {
				// Equal values that follow each other can be two intervals.
				if !m.changed(s.Attribute, start) || end < m.end && !m.changed(s.Attribute, end) {
					t.Fatalf("%+v at %d: it is not a whole interval", s, when)
				}
			}
		}
	}
	var last, page page.AtAnswer
	m.get("histories/threads/at", &last, "p", "Count")
	if len(last.Attributes) != 1 || last.Attributes[0].State != "5" || last.At != instant(m.end-1) || !last.Attributes[0].Open {
		t.Errorf("%+v", last)
	}
	m.get("histories/threads/at", &page, "p", "Threads/{tid}", "rows", "2", "offset", "11")
	if len(page.Attributes) != 2 || page.Attributes[0].Attribute != "Threads/11" || page.Attributes[1].Attribute != "Threads/idle" {
		t.Errorf("%+v", page)
	}
}

// changed reports whether an attribute was written at an instant.
func (m *madeStates) changed(path string, at int64) bool {
	return slices.ContainsFunc(m.changes[path], func(c madeChange) bool { return c.at == at })
}

// TestPage_Range pages through the intervals of an attribute, which cover each instant once.
func TestPage_Range(t *testing.T) {
	m := newMadeStates(t, 3, Options{})
	for _, path := range []string{"Threads/3", "Count", "Threads/idle"} {
		from, seen := m.start, 0
		for from < m.end {
			var page page.RangeAnswer
			m.get("histories/threads/range", &page, "attribute", path, "rows", "3", "from", instant(from), "to", instant(m.end))
			if len(page.Intervals) == 0 || len(page.Intervals) > 3 || page.Attribute != path {
				t.Fatalf("%+v", page)
			}
			for _, in := range page.Intervals {
				if m.parsed(in.Start) > from {
					t.Fatalf("%s: nothing from %d to %s", path, from, in.Start)
				}
				for ; from < m.parsed(in.End); from++ {
					if want := textOf(m.state(path, from)); in.StateText != want {
						t.Fatalf("%s at %d: %v, want %v", path, from, in.StateText, want)
					}
				}
				seen++
			}
			if page.More != (from < m.end) {
				t.Errorf("%s to %d: more is %v", path, from, page.More)
			}
		}
		if from != m.end || seen < 1 {
			t.Errorf("%s ends at %d, want %d", path, from, m.end)
		}
	}
}

// pixelOracle counts the instants of each state in each pixel, one by one.
func (m *madeStates) pixelOracle(path string, from, to int64, pixels int) []map[string]uint64 {
	out := make([]map[string]uint64, pixels)
	n := to - from
	for i := range out {
		out[i] = map[string]uint64{}
		for t := from + int64(i)*n/int64(pixels); t < from+int64(i+1)*n/int64(pixels); t++ {
			out[i][page.StateName(m.state(path, t))]++
		}
	}
	return out
}

// TestPage_Pixels compares shares and dominating states of pixels with counts of instants.
func TestPage_Pixels(t *testing.T) {
	for seed := range uint64(4) {
		m := newMadeStates(t, 10+seed, Options{})
		rng := rand.New(rand.NewPCG(seed, 5))
		for range 6 {
			from := m.start - 300 + rng.Int64N(m.end-m.start)
			to := from + 50 + rng.Int64N(m.end-from+300)
			pixels := 1 + rng.IntN(90)
			question := []string{"p", "Threads/{tid}", "from", instant(from), "to", instant(to), "pixels", fmt.Sprint(pixels)}
			var shares, most page.PixelsAnswer
			m.get("histories/threads/pixels", &shares, append(question, "shares", "1")...)
			m.get("histories/threads/pixels", &most, question...)
			m.comparePixels(&shares, from, to, pixels)
			m.compareMost(&most, &shares)
		}
	}
}

// comparePixels compares an answer with shares.
func (m *madeStates) comparePixels(got *page.PixelsAnswer, from, to int64, pixels int) {
	m.t.Helper()
	lo, hi := max(from, m.start), min(to, m.end)
	if hi <= lo {
		if len(got.Rows) != 0 || got.From != "" {
			m.t.Errorf("%+v, want nothing", got)
		}
		return
	}
	want := max(1, int(math.Round(float64(hi-lo)/float64(to-from)*float64(pixels))))
	if got.From != instant(lo) || got.To != instant(hi) || got.Pixels != min(want, int(hi-lo)) || got.Floor != instant(m.start) {
		m.t.Fatalf("%s to %s, %d pixels, want %d to %d, %d", got.From, got.To, got.Pixels, lo, hi, want)
	}
	intervals := map[string]int{}
	for _, path := range m.paths {
		n, hasValue := 1, false
		for t := lo; t < hi; t++ {
			if t > lo && m.changed(path, t) && !m.state(path, t).Equal(m.state(path, t-1)) {
				n++
			}
			hasValue = hasValue || !m.state(path, t).IsNull()
		}
		if hasValue && strings.HasPrefix(path, "Threads/") {
			intervals[path] = n
		}
	}
	if got.All != len(intervals) || got.All+got.Nulls != 13 || len(got.Rows) != got.All {
		m.t.Fatalf("%d rows of %d attributes and %d without a value, want %d", len(got.Rows), got.All, got.Nulls, len(intervals))
	}
	if !slices.IsSortedFunc(got.Rows, func(a, b page.PixelRow) int { return cmp.Compare(b.Intervals, a.Intervals) }) {
		m.t.Errorf("rows are in another order")
	}
	for _, row := range got.Rows {
		if row.Intervals < uint64(intervals[row.Attribute]) {
			m.t.Errorf("%s has %d intervals, want at least %d", row.Attribute, row.Intervals, intervals[row.Attribute])
		}
		m.compareShares(got, row, m.pixelOracle(row.Attribute, lo, hi, got.Pixels))
	}
}

// compareShares compares the shares of a row with the times of states by pixel.
func (m *madeStates) compareShares(got *page.PixelsAnswer, row page.PixelRow, want []map[string]uint64) {
	m.t.Helper()
	for i := 0; i < len(row.First); {
		first, n := int(row.First[i]), 1
		for i+n < len(row.First) && row.First[i+n] == row.First[i] {
			n++
		}
		last := got.Pixels
		if i+n < len(row.First) {
			last = int(row.First[i+n])
		}
		sum := map[string]uint64{}
		for _, pixel := range want[first:last] {
			for state, time := range pixel {
				sum[state] += time
			}
		}
		for k := i; k < i+n; k++ {
			if state := got.States[row.State[k]].State; sum[state] != row.Time[k] {
				m.t.Fatalf("%s, pixels %d to %d: %d of %s, want %d", row.Attribute, first, last, row.Time[k], state, sum[state])
			}
		}
		if len(sum) != n {
			m.t.Fatalf("%s, pixels %d to %d: %d states, want %v", row.Attribute, first, last, n, sum)
		}
		i += n
	}
}

// compareMost compares dominating states with the greatest shares.
func (m *madeStates) compareMost(got, shares *page.PixelsAnswer) {
	m.t.Helper()
	for r, row := range got.Rows {
		want := m.pixelOracle(row.Attribute, m.parsed(shares.From), m.parsed(shares.To), shares.Pixels)
		for i, first := range row.First {
			last := int32(got.Pixels)
			if i+1 < len(row.First) {
				last = row.First[i+1]
			}
			for _, pixel := range want[first:last] {
				total, most := uint64(0), uint64(0)
				for _, time := range pixel {
					total, most = total+time, max(most, time)
				}
				state := got.States[row.State[i]].State
				if pixel[state] != most || math.Abs(float64(row.Share[i])-100*float64(most)/float64(total)) > 1 {
					m.t.Fatalf("%s in pixel %d: %s with %d %%, want one of %v", row.Attribute, first, state, row.Share[i], pixel)
				}
			}
		}
		if row.Attribute != shares.Rows[r].Attribute {
			m.t.Errorf("row %d is of %s and of %s", r, row.Attribute, shares.Rows[r].Attribute)
		}
	}
}

// TestPage_PixelPages pages through rows, and asks again while the history grows.
func TestPage_PixelPages(t *testing.T) {
	m := newMadeStates(t, 4, Options{})
	ask := func(parameters ...string) (out page.PixelsAnswer) {
		m.get("histories/threads/pixels", &out, append(parameters, "p", "Threads/{tid}", "pixels", "50", "shares", "1")...)
		return out
	}
	all := ask()
	var rows []page.PixelRow
	for offset := 0; offset < 15; offset += 4 {
		page := ask("rows", "4", "offset", fmt.Sprint(offset))
		for i, row := range page.Rows {
			for k, n := range row.State {
				row.State[k] = slices.Index(all.States, page.States[n])
			}
			page.Rows[i] = row
		}
		rows = append(rows, page.Rows...)
	}
	if fmt.Sprint(rows) != fmt.Sprint(all.Rows) || len(rows) != 12 {
		t.Errorf("%v, want %v", rows, all.Rows)
	}
	for range 3 {
		tx := m.db.Store().Begin()
		w, err := tx.History(m.handle)
		if err != nil {
			t.Fatal(err)
		}
		a, err := w.Attribute("Threads", "3")
		if err != nil {
			t.Fatal(err)
		}
		for range 40 {
			v := statesWritten[1+m.end%2]
			if err := w.Change(m.end, a, v); err != nil {
				t.Fatal(err)
			}
			m.changes["Threads/3"] = append(m.changes["Threads/3"], madeChange{m.end, v})
			m.end++
		}
		if _, err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		grown := ask("from", instant(m.end-400), "to", instant(m.end))
		m.comparePixels(&grown, m.end-400, m.end, 50)
		old := ask("commit", fmt.Sprint(all.Commit))
		all.Head = old.Head
		if fmt.Sprint(old) != fmt.Sprint(all) {
			t.Errorf("the commit %d has another answer than before", old.Commit)
		}
	}
}

// TestPage_Sampled asks for more intervals than the memory of a question has place for: states are those in the middle of
// pixels.
func TestPage_Sampled(t *testing.T) {
	m := newMadeStates(t, 5, Options{Limits: Limits{QueryBytes: 3 << 10}})
	var got page.PixelsAnswer
	m.get("histories/threads/pixels", &got, "p", "Count", "pixels", "30")
	if len(got.Rows) != 1 || !got.Rows[0].Sampled {
		t.Fatalf("%+v", got)
	}
	times := history.PixelTimes(m.parsed(got.From), m.parsed(got.To)-1, got.Pixels)
	row := got.Rows[0]
	for i, at := range times {
		run := 0
		for run+1 < len(row.First) && int(row.First[run+1]) <= i {
			run++
		}
		if want := page.StateName(m.state("Count", at)); got.States[row.State[run]].State != want {
			t.Errorf("pixel %d: %s, want %s", i, got.States[row.State[run]].State, want)
		}
	}
}

// TestStateName gives each value a name of its own.
func TestStateName(t *testing.T) {
	seen := map[string]history.Value{}
	for _, v := range []history.Value{
		{},
		history.Bool(true), history.Bool(false), history.Int(1), history.Int(-1), history.Float(1), history.Float(-1), history.Float(1.5), history.Float(1e300),
		history.Float(math.NaN()), history.Float(math.Inf(1)), history.String(""), history.String("null"), history.String("true"), history.String("1"), history.String("1.0"),
		history.String("NaN"), history.String("+Inf"), history.String(`""`), history.String(`"null"`), history.String("x"), history.String(`"x"`), history.Bytes([]byte("x")),
		history.String(`b"x"`), history.Bytes(nil), history.String("b"), history.String("1e300"), history.String("1e999"),
	} {
		name := page.StateName(v)
		if other, known := seen[name]; known {
			t.Errorf("%#v and %#v are both %s", v, other, name)
		}
		seen[name] = v
	}
	for _, plain := range []string{"running", "waiting (chan receive)", "a \"b\"", "<img onerror>"} {
		if got := page.StateName(history.String(plain)); got != plain {
			t.Errorf("%q is %q", plain, got)
		}
	}
}

// textOf returns a value as answers have it.
func textOf(v history.Value) page.StateText { return page.NewStateText(v) }
