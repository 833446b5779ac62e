package server

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/granarydb/granary/server/internal/page"
)

// TestPage_Stats compares sums by state and attribute with counts of instants, and the rest of a row with the intervals.
func TestPage_Stats(t *testing.T) {
	for seed := range uint64(3) {
		m := newMadeStates(t, 80+seed, Options{})
		for _, part := range [][2]int64{{m.start, m.end}, {m.start + 333, m.end - 777}, {m.start - 1000, m.start + 500}} {
			from, to := max(part[0], m.start), part[1]
			want := map[string]uint64{}
			for _, path := range m.paths[:12] {
				for at := from; at < to; at++ {
					if v := m.state(path, at); !v.IsNull() {
						want[page.StateName(v)+" of "+path]++
					}
				}
			}
			var got page.StatsAnswer
			m.get("histories/threads/stats", &got, "p", "Threads/*", "by", "state,attribute", "from", instant(part[0]), "to", instant(to))
			sums, total := map[string]uint64{}, uint64(0)
			for _, r := range got.Rows {
				sums[strings.Join(r.Key, " of ")] = r.Total
				total += r.Total
				m.compareRow(r, from, to)
			}
			if !maps.Equal(sums, want) || got.Total != total || got.All != len(want) || got.Attributes != 13 || got.From != instant(from) || got.To != instant(to) {
				t.Fatalf("%+v, want %v", got, want)
			}
		}
	}
}

// compareRow holds a row to the intervals of its attribute, which it reads by another question.
func (m *madeStates) compareRow(r page.StatsRow, from, to int64) {
	m.t.Helper()
	var intervals page.RangeAnswer
	m.get("histories/threads/range", &intervals, "attribute", r.Key[1], "from", instant(from), "to", instant(to))
	var all []uint64
	sum := uint64(0)
	longest := ""
	for _, in := range intervals.Intervals {
		if in.State != r.Key[0] {
			continue
		}
		start, end := max(from, m.parsed(in.Start)), min(to, m.parsed(in.End))
		if len(all) == 0 || uint64(end-start) > slices.Max(all) {
			longest = instant(start) + " " + instant(end)
		}
		all = append(all, uint64(end-start))
		sum += uint64(end - start)
	}
	slices.Sort(all)
	n := len(all)
	if r.Count != n || r.Total != sum || r.Min != all[0] || r.Max != all[n-1] || r.Mean != sum/uint64(n) || r.P50 != all[(n+1)/2-1] || r.P99 != all[(99*n+99)/100-1] {
		m.t.Fatalf("%+v, want those of %v", r, all)
	}
	if l := r.Longest; l.Start+" "+l.End != longest || l.Attribute != r.Key[1] || l.State != r.Key[0] || r.Share <= 0 || r.Share > 1 {
		m.t.Fatalf("%+v, want the longest %s", r, longest)
	}
}

// TestPage_StatsRows pages through rows, and refuses keys that are none.
func TestPage_StatsRows(t *testing.T) {
	m := newMadeStates(t, 90, Options{})
	var all, some page.StatsAnswer
	m.get("histories/threads/stats", &all, "p", "Threads/{tid}", "by", "attribute,../../Count")
	m.get("histories/threads/stats", &some, "p", "Threads/{tid}", "by", "attribute,../../Count", "rows", "3", "offset", "2")
	if len(all.Rows) < 20 || !slices.EqualFunc(some.Rows, all.Rows[2:5], func(a, b page.StatsRow) bool { return slices.Equal(a.Key, b.Key) && a.Total == b.Total }) {
		t.Errorf("%+v of %+v", some.Rows, all.Rows)
	}
	for _, r := range all.Rows {
		if !slices.Contains([]string{"null", "0", "1", "2", "5"}, r.Key[1]) {
			t.Errorf("%+v", r)
		}
	}
	for by, text := range map[string]string{"a*": "parameter by", "a,b,c,d": "4 keys, at most 3", "{": "brace"} {
		if status, got, _ := m.page("histories/threads/stats", nil, "p", "Threads/*", "by", by); status != 400 || !strings.Contains(got, text) {
			t.Errorf("by %s: %d, %s", by, status, got)
		}
	}
}
