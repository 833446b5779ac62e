package server

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/fanout"
	"github.com/granarydb/granary/server/internal/page"
)

// services asks for the values of a label, which must be there.
func (a *asker) services(parameters ...string) *page.ServicesAnswer {
	a.t.Helper()
	out := &page.ServicesAnswer{}
	if status, text, _ := a.page("services", out, parameters...); status != http.StatusOK {
		a.t.Fatalf("%q: status %d: %s", parameters, status, text)
	}
	return out
}

// servedRow is a sample of a profile that was inserted, for sums by brute force.
type servedRow struct {
	at     int64
	typ    profile.Type
	source string            // labels of the profile
	labels map[string]string // of the profile, or else of the sample
	stack  string
	value  int64
}

// served is a server, and the rows that it has.
type served struct {
	*asker
	rows  []servedRow
	nodes []*asker // each profile is also on one of them
}

var inuseType = profile.Type{Sample: "inuse_space", SampleUnit: "bytes", Period: "space", PeriodUnit: "bytes"}

// newServed inserts profiles of two types at random times of ten hours and of the day and the week before, in random order:
// the older ones are late. Some have no service, some a zone in the samples.
func newServed(t testing.TB, seed uint64, nodes ...*asker) *served {
	s, rng := &served{asker: newAsker(t, Options{}), nodes: nodes}, rand.New(rand.NewPCG(seed, 45))
	for range 220 {
		at := madeAt.Add(time.Duration(rng.Int64N(int64(10 * time.Hour))))
		switch rng.IntN(6) {
		case 0:
			at = at.Add(-24 * time.Hour)
		case 1:
			at = at.Add(-7 * 24 * time.Hour)
		}
		typ, labels := cpuType, map[string]string{"service_name": fmt.Sprint("svc-", rng.IntN(6)), "pod": fmt.Sprint(rng.IntN(3))}
		if rng.IntN(3) == 0 {
			typ, at = inuseType, at.Truncate(time.Minute) // several pods at a time
		}
		if labels["service_name"] == "svc-0" {
			delete(labels, "service_name")
		}
		if rng.IntN(2) == 0 {
			labels["zone"] = fmt.Sprint("z", rng.IntN(2))
		}
		s.add(rng, at, typ, labels)
	}
	return s
}

// add inserts a profile of some samples.
func (s *served) add(rng *rand.Rand, at time.Time, typ profile.Type, labels map[string]string) {
	s.t.Helper()
	var samples []made
	for i := range 1 + rng.IntN(4) {
		one := made{stack: fmt.Sprintf("leaf%d main", i), value: 1 + rng.Int64N(1000)}
		row := servedRow{at: at.UnixNano(), typ: typ, source: fmt.Sprint(labels), labels: map[string]string{}, stack: one.stack, value: one.value}
		if rng.IntN(2) == 0 {
			one.labels = []string{"zone", "sampled"}
			row.labels["zone"] = "sampled"
		}
		maps.Copy(row.labels, labels)
		samples, s.rows = append(samples, one), append(s.rows, row)
	}
	s.insert(at, typ, labels, samples...)
	if n := len(s.nodes); n > 0 {
		s.nodes[len(s.rows)%n].insert(at, typ, labels, samples...)
	}
}

// total is the sum by brute force of the rows that are chosen in a range, of gauges the sum of the means of sources.
func (s *served) total(typ profile.Type, from, to int64, is func(*servedRow) bool) (total float64, has bool) {
	sums, times := map[string]float64{}, map[string]map[int64]bool{}
	for i := range s.rows {
		row := &s.rows[i]
		if row.typ != typ || row.at < from || row.at >= to {
			continue
		}
		if times[row.source] == nil {
			times[row.source] = map[int64]bool{}
		}
		times[row.source][row.at] = true
		if is(row) {
			sums[row.source] += float64(row.value)
			has = true
		}
	}
	for source, sum := range sums {
		if typ.IsGauge() {
			sum /= float64(len(times[source]))
		}
		total += sum
	}
	return total, has
}

// near reports that a value is a sum, rounded once for a gauge.
func near(got int64, want float64) bool { return math.Abs(float64(got)-want) <= 0.5+1e-6 }

// TestServices compares all rows with sums by brute force.
func TestServices(t *testing.T) {
	for seed := range uint64(3) {
		s := newServed(t, seed)
		rng := rand.New(rand.NewPCG(seed, 1))
		for _, typ := range []profile.Type{cpuType, inuseType} {
			for _, label := range []string{"", "service_name", "pod", "zone", "nothing"} {
				from := madeAt.UnixNano() + rng.Int64N(int64(5*time.Hour))
				to := from + 1 + rng.Int64N(int64(4*time.Hour))
				points := 2 + rng.IntN(40)
				got := s.services("t", typ.String(), "label", label, "from", instant(from), "to", instant(to), "points", fmt.Sprint(points), "rows", "1000")
				if got.Points > points || got.From != instant(from) || got.To != instant(to) || got.Mean != typ.IsGauge() {
					t.Errorf("%d points of at most %d, from %s to %s, mean %v", got.Points, points, got.From, got.To, got.Mean)
				}
				s.compareServices(got, typ, cmp.Or(label, "service_name"), from, to)
			}
		}
	}
}

// compareServices compares an answer with all values of a label.
func (s *served) compareServices(got *page.ServicesAnswer, typ profile.Type, label string, from, to int64) {
	s.t.Helper()
	starts := []int64{from}
	for _, side := range got.Sides {
		at := map[string]time.Duration{"1h": time.Hour, "1d": 24 * time.Hour, "1w": 7 * 24 * time.Hour}[side.Ago]
		starts = append(starts, from-int64(at))
		if side.From != instant(from-int64(at)) || side.To != instant(to-int64(at)) {
			s.t.Errorf("side %+v", side)
		}
	}
	want := map[string]bool{}
	for i := range s.rows {
		row := &s.rows[i]
		if row.typ == typ && slices.ContainsFunc(starts, func(start int64) bool { return row.at >= start && row.at < start+to-from }) {
			want[row.labels[label]] = true
		}
	}
	if len(got.Rows) != len(want) || got.All != len(want) || got.Matching != len(want) {
		s.t.Errorf("by %s: %d rows, all %d, want %d", label, len(got.Rows), got.All, len(want))
	}
	sum := int64(0)
	for i := range got.Rows {
		sum += got.Rows[i].Total
		s.compareService(got, &got.Rows[i], typ, label, starts, to-from)
	}
	if sum != got.Total {
		s.t.Errorf("a total of %d, want %d", got.Total, sum)
	}
}

func (s *served) compareService(a *page.ServicesAnswer, got *page.Service, typ profile.Type, label string, starts []int64, length int64) {
	s.t.Helper()
	is := func(row *servedRow) bool { return row.labels[label] == got.Value }
	for i, start := range starts {
		total := got.Total
		if i > 0 {
			total = got.Before[i-1]
		}
		if want, _ := s.total(typ, start, start+length, is); !near(total, want) {
			s.t.Errorf("%s %q, side %d: %d, want %f", label, got.Value, i, total, want)
		}
	}
	from, to, newest, sources := starts[0], starts[0]+length, "", map[string]bool{}
	last := int64(0)
	for i := range s.rows {
		if row := &s.rows[i]; row.typ == typ && is(row) && row.at >= from && row.at < to {
			last, sources[row.source] = max(last, row.at), true
			newest = instant(last)
		}
	}
	if got.Newest != newest || got.Series != len(sources) {
		s.t.Errorf("%s %q: newest %s, %d series, want %s and %d", label, got.Value, got.Newest, got.Series, newest, len(sources))
	}
	first, err := time.Parse(time.RFC3339Nano, a.Start)
	start := first.UnixNano()
	if err != nil || len(got.Line) != a.Points || start%a.Step != 0 || start <= from-a.Step || start > from+a.Step/2 || start+int64(a.Points)*a.Step < to-a.Step/2 {
		s.t.Fatalf("%s %q: a line of %d points from %s", label, got.Value, len(got.Line), a.Start)
	}
	for i, point := range got.Line {
		lo, hi := start+int64(i)*a.Step, start+int64(i+1)*a.Step
		if i == 0 {
			lo = from
		}
		if i == len(got.Line)-1 {
			hi = to
		}
		want, has := s.total(typ, lo, hi, is)
		if has != (point != nil) {
			s.t.Fatalf("%s %q, point %d: %v, want one: %v", label, got.Value, i, point, has)
		}
		if !has {
			continue
		}
		if !a.Mean && math.Abs(*point*float64(hi-lo)/1e9-want) > 1e-6*want || a.Mean && math.Abs(*point-want) > 0.5+1e-6 {
			s.t.Errorf("%s %q, point %d: %v, want %v over %d ns", label, got.Value, i, *point, want, hi-lo)
		}
	}
}

// TestServices_Order sorts, searches and pages: the pages are all rows, each once.
func TestServices_Order(t *testing.T) {
	s := newServed(t, 9)
	window := []string{"t", "cpu", "from", instant(madeAt.Add(4 * time.Hour).UnixNano()), "to", instant(madeAt.Add(8 * time.Hour).UnixNano())}
	ask := func(more ...string) []page.Service { return s.services(append(slices.Clone(window), more...)...).Rows }
	values := func(rows []page.Service) (all []string) {
		for _, r := range rows {
			all = append(all, r.Value)
		}
		return all
	}
	all := s.services(window...)
	if len(all.Rows) != 6 || len(all.Sides) != 3 {
		t.Fatalf("%d rows, sides %v", len(all.Rows), all.Sides)
	}
	size := func(v int64) int64 { return max(v, -v) }
	for order, before := range map[string]func(a, b *page.Service) int{
		"total":         func(a, b *page.Service) int { return cmp.Compare(b.Total, a.Total) },
		"name":          func(a, b *page.Service) int { return cmp.Compare(a.Value, b.Value) },
		"newest":        func(a, b *page.Service) int { return cmp.Compare(b.Newest, a.Newest) },
		"change":        func(a, b *page.Service) int { return cmp.Compare(size(b.Total-b.Before[0]), size(a.Total-a.Before[0])) },
		"change&ago=1d": func(a, b *page.Service) int { return cmp.Compare(size(b.Total-b.Before[1]), size(a.Total-a.Before[1])) },
		"change&ago=1w": func(a, b *page.Service) int { return cmp.Compare(size(b.Total-b.Before[2]), size(a.Total-a.Before[2])) },
	} {
		sort, ago, _ := strings.Cut(order, "&ago=")
		got := ask("sort", sort, "ago", ago)
		want := slices.Clone(all.Rows)
		slices.SortStableFunc(want, func(a, b page.Service) int { return cmp.Or(before(&a, &b), cmp.Compare(a.Value, b.Value)) })
		if !slices.Equal(values(got), values(want)) {
			t.Errorf("%s: %q, want %q", order, values(got), values(want))
		}
		var paged []page.Service
		for offset := 0; offset < 8; offset += 2 {
			paged = append(paged, ask("sort", sort, "ago", ago, "reverse", "1", "rows", "2", "offset", fmt.Sprint(offset))...)
		}
		slices.Reverse(want)
		if !slices.Equal(values(paged), values(want)) {
			t.Errorf("%s, in pages from the end: %q, want %q", order, values(paged), values(want))
		}
	}
	for match, want := range map[string]string{"SVC-3": "svc-3", "svc-[12]$": "svc-1 svc-2", "[": "", "^$": "", "none such": ""} {
		got := s.services(append(slices.Clone(window), "match", match, "sort", "name")...)
		if text := strings.Join(values(got.Rows), " "); text != want || got.All != 6 || got.Total != all.Total || got.Matching != len(got.Rows) {
			t.Errorf("%q: %q, want %q; %d of %d", match, text, want, got.Matching, got.All)
		}
	}
}

// TestServices_Changed finds the function whose share of own values changed most in the way of the total by brute force.
func TestServices_Changed(t *testing.T) {
	s := newServed(t, 10)
	for _, typ := range []profile.Type{cpuType, inuseType} {
		from := madeAt.Add(4 * time.Hour).UnixNano()
		to := from + int64(3*time.Hour)
		found := 0
		for i, ago := range []string{"1h", "1d", "1w"} {
			back := int64([]time.Duration{time.Hour, 24 * time.Hour, 7 * 24 * time.Hour}[i])
			got := s.services("t", typ.String(), "from", instant(from), "to", instant(to), "ago", ago, "changed", "1")
			for _, row := range got.Rows {
				of := func(stack string) func(*servedRow) bool {
					return func(r *servedRow) bool {
						return r.labels["service_name"] == row.Value && (stack == "" || r.stack == stack)
					}
				}
				share := func(stack string, from, to int64) (float64, bool) {
					all, has := s.total(typ, from, to, of(""))
					own, _ := s.total(typ, from, to, of(stack))
					return own / all, has
				}
				way := 1.0
				if c := row.Changed; c != nil && c.Of[1] < c.Of[0] {
					way = -1
				}
				if now, _ := s.total(typ, from, to, of("")); row.Changed != nil {
					if before, _ := s.total(typ, from-back, to-back, of("")); way*(now-before) < -0.02*max(now, before) {
						t.Errorf("%s, %q: %+v, with totals of %v after %v", ago, row.Value, row.Changed, now, before)
					}
				}
				most := 0.0
				for leaf := range 4 {
					stack := fmt.Sprintf("leaf%d main", leaf)
					now, hasNow := share(stack, from, to)
					before, had := share(stack, from-back, to-back)
					if hasNow && had {
						most = max(most, way*(now-before))
					}
				}
				if (row.Changed == nil) != (most == 0) {
					t.Fatalf("%s, %q: %+v, want a change of %v", ago, row.Value, row.Changed, most)
				}
				if c := row.Changed; c != nil {
					found++
					if is := way * (float64(c.Flat[1])/float64(c.Of[1]) - float64(c.Flat[0])/float64(c.Of[0])); math.Abs(is-most) > 0.02 || !strings.HasPrefix(c.Name, "leaf") {
						t.Errorf("%s, %q: %+v, a change of %v, want %v", ago, row.Value, c, is, most)
					}
				}
			}
		}
		if found == 0 {
			t.Error("no function changed")
		}
	}
}

// TestServices_Sides leaves out sides that the store has no profiles of, or not all.
func TestServices_Sides(t *testing.T) {
	a := newAsker(t, Options{})
	a.insert(madeAt.Add(-25*time.Hour), cpuType, map[string]string{"service_name": "other"}, made{stack: "f", value: 1})
	for i := range 13 { // two hours
		a.insert(madeAt.Add(-time.Duration(i)*10*time.Minute), cpuType, map[string]string{"service_name": "shop"}, made{stack: "f", value: 60e9})
	}
	for window, want := range map[string]string{
		"latest-1h":                "1h 1d", // of the day before there is one profile
		"latest-30m":               "1h",
		instant(madeAt.UnixNano()): "1h",
		"":                         "",
	} {
		got, ago := a.services("t", "cpu", "from", window), []string{}
		for _, side := range got.Sides {
			ago = append(ago, side.Ago)
		}
		if strings.Join(ago, " ") != want {
			t.Errorf("from %q: sides %q, want %q", window, ago, want)
		}
	}
	got := a.services("t", "cpu", "from", "latest-1h", "points", "8")
	if row := got.Rows[0]; row.Value != "shop" || row.Total != 7*60e9 || !slices.Equal(row.Before, []int64{7 * 60e9, 0}) || len(row.Line) != 6 || *row.Line[0] != 1e8 || math.Abs(*row.Line[5]-2e8) > 1 {
		t.Errorf("%+v", row) // the last profile is at the end: its step would be a nanosecond
	}
	if row := got.Rows[1]; row.Value != "other" || row.Total != 0 || row.Series != 0 || row.Newest != "" || row.Before[1] != 1 {
		t.Errorf("a service that is gone: %+v", row)
	}
}

// TestServices_Limits refuses what costs too much, or is wrong.
func TestServices_Limits(t *testing.T) {
	s := newServed(t, 11)
	for _, test := range []struct {
		parameters []string
		status     int
	}{
		{[]string{"points", "1"}, 422},
		{[]string{"points", "241"}, 422},
		{[]string{"points", "x"}, 400},
		{[]string{"rows", "1000001"}, 422},
		{[]string{"rows", "101", "changed", "1"}, 422},
		{[]string{"offset", "2147483648"}, 422},
		{[]string{"label", strings.Repeat("x", 1025)}, 422},
		{[]string{"label", "__type__"}, 400},
		{[]string{"match", strings.Repeat("x", 1001)}, 422},
		{[]string{"match", strings.Repeat("[a-z]{900}", 6)}, 422},
		{[]string{"sort", "flat"}, 400},
		{[]string{"ago", "2h"}, 400},
		{[]string{"reverse", "yes"}, 400},
		{[]string{"changed", "2"}, 400},
		{[]string{"focus", "main"}, 400},
		{[]string{"from", "latest", "to", "latest-1h"}, 400},
		{[]string{"t", "none"}, 404},
		{[]string{"to", "0"}, 200},
		{[]string{"from", "0", "to", "9214646399999999999", "points", "2"}, 200},
		{[]string{"from", "9214646399999999999"}, 200},
	} {
		if status, text, _ := s.page("services", nil, append([]string{"t", "cpu"}, test.parameters...)...); status != test.status {
			t.Errorf("%.60q: status %d, want %d: %.300s", test.parameters, status, test.status, text)
		}
	}
}

// TestServices_Front asks a front of three nodes, whose answers equal those of one server with all profiles: sources and gauges are on
// several nodes.
func TestServices_Front(t *testing.T) {
	effort.Alone(t)
	for seed := range uint64(2) {
		nodes, urls := make([]*asker, 3), make([]string, 3)
		for i := range nodes {
			nodes[i] = newAsker(t, Options{})
			urls[i] = nodes[i].url
		}
		one := newServed(t, seed, nodes...)
		_, at := newFront(t, Nodes{URLs: urls}, Options{})
		front, sides, changed := &asker{t: t, url: at}, 0, 0
		for _, typ := range []string{"cpu", cpuType.String(), "inuse_space"} {
			for _, more := range [][]string{
				nil,
				{"label", "zone", "points", "7"},
				{"label", "pod", "from", "latest-3h"},
				{"from", "latest-3h", "to", "latest-17m", "sort", "change", "ago", "1d", "rows", "3", "offset", "1"},
				{"from", "latest-5h", "sum", "1", "match", "svc-[1-3]"},
				{"from", "latest-5h", "changed", "1", "sort", "name"},
				{"q", `{pod="1",zone!="z0"}`, "from", instant(madeAt.UnixNano() + 12345), "to", instant(madeAt.UnixNano() + int64(3*time.Hour) + 7)},
				{"q", `{pod="none"}`},
				{"to", instant(madeAt.UnixNano() - int64(300*24*time.Hour))},
				{"label", "nothing"},
			} {
				more = append([]string{"t", typ}, more...)
				want, got := one.services(more...), front.services(more...)
				want.Head, got.Head = page.Head{}, page.Head{}
				w, err := json.Marshal(want)
				if err != nil {
					t.Fatal(err)
				}
				g, err := json.Marshal(got)
				if err != nil || string(g) != string(w) {
					t.Errorf("%q:\n%s\nwant\n%s", more, g, w)
				}
				sides += len(got.Sides)
				for _, row := range got.Rows {
					if row.Changed != nil {
						changed++
					}
				}
			}
		}
		if sides == 0 || changed == 0 {
			t.Errorf("%d sides, %d functions that changed", sides, changed)
		}
		if status, text, _ := front.page("services", nil, "from", "latest-1h"); status != http.StatusNotImplemented || !strings.Contains(text, "no default type") {
			t.Errorf("without a type: status %d: %s", status, text)
		}
	}
}

// TestServices_WrongNode: a front takes no wrong answer of a node.
func TestServices_WrongNode(t *testing.T) {
	good := `{"oldest":1,"values":["a"],"newest":[5],"sources":["x"],"ranges":[{"sums":{"value":[0],"source":[0],"length":[1],"at":[0],"number":[7]},"times":{"value":[],"source":[],"length":[],"at":[],"number":[]}}]}`
	answer := ""
	node := newAsker(t, Options{})
	node.insertMade()
	wrong := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == fanout.ByLabelPath && r.URL.Query().Has("label") {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set(fanout.KindsHeader, "[]")
			_, _ = io.WriteString(w, answer)
			return
		}
		node.ServeHTTP(w, r)
	}))
	t.Cleanup(wrong.Close)
	_, at := newFront(t, Nodes{URLs: []string{wrong.URL}}, Options{})
	front := &asker{t: t, url: at}
	for _, c := range []struct{ of, by, want string }{
		{"", "", ""},
		{good, "", "wrong answer"},
		{good, "{", "wrong answer"},
		{good, `{"ranges":[]}`, "wrong answer"},
		{`"newest":[5]`, `"newest":[]`, "wrong answer"},
		{`"source":[0]`, `"source":[1]`, "wrong answer"},
		{`"source":[0]`, `"source":[-1]`, "wrong answer"},
		{`"value":[0]`, `"value":[9]`, "wrong answer"},
		{`"value":[0]`, `"value":[]`, "wrong answer"},
		{`"length":[1]`, `"length":[2]`, "wrong answer"},
		{`"length":[1]`, `"length":[0]`, "wrong answer"},
		{`"length":[1]`, `"length":[-9223372036854775808]`, "wrong answer"},
		{`"at":[0]`, `"at":[0,1]`, "wrong answer"},
		{`"value":[],"source":[],"length":[],"at":[],"number":[]`, `"value":[0],"source":[0],"length":[1],"at":[0],"number":[0]`, "wrong answer"},
	} {
		answer = strings.Replace(good, c.of, c.by, 1)
		status, text, _ := front.page("services", nil, "t", "cpu", "label", "pod")
		if c.want == "" && status != http.StatusOK || c.want != "" && (status != http.StatusBadGateway || !strings.Contains(text, c.want)) {
			t.Errorf("%.60s as %.60s: status %d: %s", c.of, c.by, status, text)
		}
	}
	for _, query := range []string{"type=cpu&label=pod", "type=cpu&label=pod&step=0", "type=cpu&label=pod&step=1", "type=cpu&label=pod&step=1&from=1&to=2&sides=5--4", "type=cpu&label=pod&step=1&from=1&to=2&sides=x", "type=cpu&label=pod&step=1&from=1&to=2&sides=" + strings.Repeat("1--2,", 9)} {
		if status, text := fetched(t, node.url+fanout.ByLabelPath+"?"+query); status != http.StatusBadRequest {
			t.Errorf("%s: status %d: %s", query, status, text)
		}
	}
}

// TestServices_Everywhere asks a store, older profiles and a front, which answer the same.
func TestServices_Everywhere(t *testing.T) {
	var want []page.Service
	for name, url := range everywhere(t) {
		a := &asker{t: t, url: url}
		got := a.services("t", "cpu", "label", "pod", "sort", "name")
		if len(got.Rows) != 2 || got.Rows[1].Total != 11*(2+12+22+32+42+52) {
			t.Errorf("%s: %+v", name, got.Rows)
		}
		if want == nil {
			want = got.Rows
		}
		if fmt.Sprint(want[1].Total, want[1].Newest) != fmt.Sprint(got.Rows[1].Total, got.Rows[1].Newest) {
			t.Errorf("%s: %+v, want %+v", name, got.Rows, want)
		}
	}
}
