package server

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/server/internal/page"
	"github.com/granarydb/granary/server/internal/source"
)

// sums returns the values of the chosen samples by their leaf.
func (m *madeStates) sums(chosen func(madeSample) bool) map[string]int64 {
	out := map[string]int64{}
	for _, s := range m.samples {
		if chosen(s) {
			out[s.leaf] += s.value
		}
	}
	return out
}

// leaves returns the values of a tree by the name of the leaf.
func (c *flameColumns) leaves() map[string]int64 {
	out := map[string]int64{}
	for i, v := range c.Self[0] {
		if v != 0 {
			out[c.Names[c.Function[i]]] += v
		}
	}
	return out
}

func total(of map[string]int64) (sum int64) {
	for _, v := range of {
		sum += v
	}
	return sum
}

// TestPage_States compares sums by state, and trees and tables of one state, with those of the samples one by one.
func TestPage_States(t *testing.T) {
	for seed := range uint64(5) {
		m := newMadeStates(t, 20+seed, Options{})
		for _, from := range []int64{0, m.start + 500} {
			to := m.end + 1000
			question := []string{"t", "cpu", "h", "threads", "p", "Threads/{tid}", "to", instant(to)}
			if from != 0 {
				question = append(question, "from", instant(from))
			}
			in := func(s madeSample) bool { return s.at >= from && s.at < to }
			m.compareGroups(question, in)
		}
	}
}

func (m *madeStates) compareGroups(question []string, in func(madeSample) bool) {
	m.t.Helper()
	var got page.StatesAnswer
	m.get("states", &got, question...)
	all, without, seen := m.sums(in), int64(0), int64(0)
	groups := map[string]bool{}
	for _, s := range m.samples {
		if in(s) {
			status, state := m.group(s)
			groups[status+" "+state] = true
		}
	}
	if len(got.Groups) != len(groups) || got.Total[0] != total(all) || got.Attributes != 13 {
		m.t.Fatalf("%d groups, total %d, %d attributes; want %d, %d", len(got.Groups), got.Total[0], got.Attributes, len(groups), total(all))
	}
	for _, g := range got.Groups {
		state, choice := "", []string{"status", g.Status}
		if g.State != "" {
			state, choice = g.State, []string{"state", g.State}
		}
		want := m.sums(func(s madeSample) bool {
			status, text := m.group(s)
			return in(s) && status == g.Status && text == state
		})
		if seen += g.Total; g.Status != "known" {
			without += g.Total
		}
		if g.Total != total(want) || g.Stacks != len(want) || !groups[g.Status+" "+state] {
			m.t.Errorf("%s %s: %d of %d stacks, want %v", g.Status, state, g.Total, g.Stacks, want)
		}
		tree, top := m.flame(append(choice, question...)...), m.top(append(choice, question...)...)
		flat := map[string]int64{}
		for _, f := range top.Functions {
			flat[f.Name] = f.Flat[0]
		}
		if !maps.Equal(tree.Tree.leaves(), want) || !maps.Equal(flat, want) || tree.Total[0] != g.Total || tree.States == nil || tree.States.All[0] != got.Total[0] {
			m.t.Errorf("%v: %v and %v, want %v", choice, tree.Tree.leaves(), flat, want)
		}
	}
	tree := m.flame(append([]string{"state", "no such state"}, question...)...)
	if seen != got.Total[0] || tree.Total[0] != 0 || tree.States.Without[0] != without || tree.States.All[0] != seen {
		m.t.Errorf("%d in groups, %d without a state, want %d; of no such state %d", seen, without, got.Total[0], tree.Total[0])
	}
	both := m.flame(append([]string{"state", "running", "bto", instant(m.start + 1500)}, question...)...)
	before := m.sums(func(s madeSample) bool {
		_, state := m.group(s)
		return s.at < m.start+1500 && state == "running" && (in(s) || s.at < m.start+1500 && in(madeSample{at: m.start + 1400}) && s.at >= m.fromOf(question))
	})
	if both.Total[0] != total(before) {
		m.t.Errorf("the side before has %d, want %v", both.Total[0], before)
	}
}

// fromOf returns the parameter from of a question.
func (m *madeStates) fromOf(question []string) int64 {
	if i := slices.Index(question, "from"); i >= 0 {
		return m.parsed(question[i+1])
	}
	return 0
}

// TestPage_StateLengths says when profiles are longer than states.
func TestPage_StateLengths(t *testing.T) {
	m := newMadeStates(t, 30, Options{})
	var got page.StatesAnswer
	m.get("states", &got, "t", "cpu", "h", "threads", "p", "Threads/{tid}")
	var time, intervals int64
	for _, path := range m.paths[:12] {
		intervals += int64(len(m.changes[path]))
		if m.changes[path][0].at > m.start {
			intervals++
		}
		for at := m.start; at < m.end; at++ {
			if !m.state(path, at).IsNull() {
				time++
			}
		}
	}
	if got.Lengths.Profile != 40 || got.Lengths.State > time/(intervals/2) || got.Lengths.State < time/intervals || got.Lengths.Coarse != (40 > got.Lengths.State) {
		t.Errorf("%+v, want about %d", got.Lengths, time/intervals)
	}
	var count page.StatesAnswer
	m.get("states", &count, "t", "cpu", "h", "threads", "p", "Threads/idle")
	if count.Lengths.Coarse || count.Lengths.State != 0 || count.Attributes != 1 {
		t.Errorf("%+v", count)
	}
}

// TestPage_Meanwhile compares what ran while an attribute was in a state with the samples one by one.
func TestPage_Meanwhile(t *testing.T) {
	found := 0
	for seed := range uint64(5) {
		m := newMadeStates(t, 40+seed, Options{})
		rng := rand.New(rand.NewPCG(seed, 9))
		for range 12 {
			thread, v := fmt.Sprint(rng.IntN(12)), statesWritten[rng.IntN(len(statesWritten))]
			path, from, to := "Threads/"+thread, m.start-50+rng.Int64N(500), m.end-rng.Int64N(500)
			var got meanwhileAnswer
			m.get("meanwhile", &got, "t", "cpu", "h", "threads", "p", "Threads/{tid}", "attribute", path, "state", page.StateName(v), "from", instant(from), "to", instant(to))
			in := func(at int64) bool {
				return at >= max(from, m.start) && at < min(to, m.end) && m.state(path, at).Equal(v)
			}
			want := m.sums(func(s madeSample) bool { return in(s.at) && (s.where == "none" || s.thread != thread) })
			time := uint64(0)
			for at := from; at < to; at++ {
				if in(at) {
					time++
				}
			}
			if !maps.Equal(got.Tree.leaves(), want) || got.Total[0] != total(want) || got.Spans.Time != time || got.Spans.AllTime != time || got.Spans.All != got.Spans.Chosen {
				t.Fatalf("%s %v: %v, %+v; want %v, %d", path, v, got.Tree.leaves(), got.Spans, want, time)
			}
			found += len(want)
		}
	}
	if found < 50 {
		t.Errorf("only %d stacks were found", found)
	}
}

// TestPage_ManySpans asks for an attribute with more spans than are read: the longest are.
func TestPage_ManySpans(t *testing.T) {
	m := newMadeStates(t, 50, Options{})
	tx := m.db.Store().Begin()
	w, err := tx.History(m.handle)
	if err != nil {
		t.Fatal(err)
	}
	a, err := w.Attribute("Threads", "3")
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	from := m.end
	var all []stateSpan
	for i := range 2700 { // not a multiple of page.MostSpans
		length := 1 + rng.Int64N(40)
		all = append(all, stateSpan{m.end, m.end + length - 1})
		err := w.Change(m.end, a, history.String("x"))
		if err == nil {
			err = w.Change(m.end+length, a, history.String("y"))
		}
		if err != nil {
			t.Fatal(err)
		}
		m.end += length + 1
		if i%10 == 0 {
			m.insertSample(madeSample{all[len(all)-1].from, "1", "sample", fmt.Sprintf("leaf%d", i%7), 1})
		}
	}
	if _, err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	slices.SortStableFunc(all, func(x, y stateSpan) int { return cmp.Compare(y.length(), x.length()) })
	time := uint64(0)
	for _, x := range all[:page.MostSpans] {
		time += x.length()
	}
	want := m.sums(func(s madeSample) bool {
		isItself := s.thread == "3" && s.where != "none"
		return !isItself && slices.ContainsFunc(all[:page.MostSpans], func(x stateSpan) bool { return x.from <= s.at && s.at <= x.to })
	})
	var got meanwhileAnswer
	m.get("meanwhile", &got, "t", "cpu", "h", "threads", "p", "Threads/{tid}", "attribute", "Threads/3", "state", "x", "from", instant(from))
	if got.Spans.All != 2700 || got.Spans.Chosen != page.MostSpans || got.Spans.Time != time || !maps.Equal(got.Tree.leaves(), want) || len(want) < 5 {
		t.Errorf("%+v and %v, want %d and %v", got.Spans, got.Tree.leaves(), time, want)
	}
}

// TestPage_Attribute chooses the samples of one attribute, with a state and without.
func TestPage_Attribute(t *testing.T) {
	found := 0
	for seed := range uint64(3) {
		m := newMadeStates(t, 90+seed, Options{})
		for thread := range 12 {
			name := fmt.Sprint(thread)
			isOf := func(s madeSample) bool { return s.where != "none" && s.thread == name }
			question := []string{"t", "cpu", "h", "threads", "p", "Threads/{tid}", "attribute", "Threads/" + name}
			all := m.sums(isOf)
			found += len(all)
			if got := m.flame(question...); !maps.Equal(got.Tree.leaves(), all) || got.States != nil {
				t.Fatalf("thread %s: %v, want %v", name, got.Tree.leaves(), all)
			}
			var groups page.StatesAnswer
			m.get("states", &groups, question...)
			if groups.Total[0] != total(all) {
				t.Errorf("thread %s: %d by state, want %d", name, groups.Total[0], total(all))
			}
			running := m.sums(func(s madeSample) bool {
				_, state := m.group(s)
				return isOf(s) && state == "running"
			})
			if got := m.flame(append(question, "state", "running")...); !maps.Equal(got.Tree.leaves(), running) || got.States.All[0] != total(all) {
				t.Errorf("thread %s, running: %v, want %v", name, got.Tree.leaves(), running)
			}
		}
	}
	if found < 30 {
		t.Errorf("only %d stacks were found", found)
	}
}

// historyPaths are questions about histories, each of which has an answer.
var historyPaths = []string{
	"histories", "histories/threads/tree", "histories/threads/pixels?p=Threads/{tid}", "histories/threads/at?p=Count", "histories/threads/range?attribute=Count", "histories/threads/stats?p=Threads/*",
	"states?t=cpu&h=threads&p=Threads/{tid}", "flame?t=cpu&h=threads&p=Threads/{tid}&state=running", "top?t=cpu&h=threads&p=Threads/{tid}&status=no label",
	"meanwhile?t=cpu&h=threads&p=Threads/{tid}&attribute=Threads/3&state=running",
}

// splitQuestion splits a path into what asker.page takes.
func splitQuestion(text string) (path string, parameters []string) {
	path, query, _ := strings.Cut(text, "?")
	for pair := range strings.SplitSeq(query, "&") {
		if name, value, ok := strings.Cut(pair, "="); ok {
			parameters = append(parameters, name, value)
		}
	}
	return path, parameters
}

// TestPage_HostileHistories asks questions that have no answer.
func TestPage_HostileHistories(t *testing.T) {
	m := newMadeStates(t, 60, Options{})
	m.insertSample(madeSample{m.start, "1", "sample", "leaf", 1})
	for _, text := range historyPaths {
		path, parameters := splitQuestion(text)
		m.get(path, nil, parameters...)
	}
	for _, test := range []struct {
		question string
		status   int
		text     string
	}{
		{"histories/none/tree", 404, "there is no such history"},
		{"histories/none/pixels?p=x", 404, "there is no such history"},
		{"states?h=none&p=x", 404, "there is no such history"},
		{"states?h=threads", 400, "parameter p: want a path"},
		{"states?t=cpu&h=threads&p=Threads/*", 400, "samples need the label that * stands for"},
		{"histories/threads/at?p=Threads/1*", 400, "* stands for a whole name"},
		{"states?h=threads&p={", 400, "brace without a label"},
		{`states?h=threads&p=x\`, 400, "parameter p"},
		{"states?h=threads&p=x&sum=1", 400, "not known"},
		{"histories/threads/tree?path=none", 400, "there is no attribute"},
		{"histories/threads/tree?rows=100001", 422, "at most 100000"},
		{"histories/threads/tree?offset=-1", 400, "parameter offset"},
		{"histories/threads/range?attribute=", 400, "there is no attribute"},
		{"histories/threads/range?attribute=Count&rows=100001", 422, "at most 100000"},
		{"histories/threads/range?attribute=Count&from=2026-01-31T09:00:00Z&to=2026-01-31T09:00:00Z", 400, "no time between"},
		{"histories/threads/at?p=Count&at=2020-01-01T00:00:00Z", 400, "states from 2026-01-31T09:00:00Z to"},
		{"histories/threads/pixels?p=Count&pixels=0", 422, "1 of each at least"},
		{"histories/threads/pixels?p=Count&pixels=4097", 422, "at most 4096"},
		{"histories/threads/pixels?p=Count&rows=1001", 422, "at most 1000"},
		{"histories/threads/pixels?p=Count&rows=1000&pixels=4096", 422, "at most 1048576"},
		{"histories/threads/pixels?p=" + strings.Repeat("x", page.MaxPattern+1), 422, "a path of 1001 bytes"},
		{"histories/threads/pixels?p=" + strings.Repeat("x/", 400) + "{y}", 200, `"rows":[]`},
		{"histories/threads/pixels?p=Count&shares=2", 400, "want 1 or 0"},
		{"flame?t=cpu&h=threads&p=Threads/{tid}", 400, "state, status and attribute"},
		{"flame?t=cpu&h=threads&p=Threads/{tid}&attribute=Threads/99", 400, "there is no attribute"},
		{"states?t=cpu&h=threads&p=Threads/{tid}&attribute=Count", 400, "leads to by one label"},
		{"flame?t=cpu&state=running", 404, "there is no such history"},
		{"flame?t=cpu&h=threads&state=x", 400, "parameter p"},
		{"top?t=cpu&h=threads&p=Threads/{tid}&state=x&status=no label", 400, "not both state and status"},
		{"top?t=cpu&h=threads&p=Threads/{tid}&status=known", 400, "parameter status"},
		{"meanwhile?t=cpu&h=threads&p=Threads/{tid}&attribute=Count&state=1", 400, "leads to by one label"},
		{"meanwhile?t=cpu&h=threads&p=Count&attribute=Count&state=1", 400, "leads to by one label"},
		{"meanwhile?t=cpu&h=threads&p={a}/{b}{c}&attribute=Threads/3&state=1", 400, "leads to by one label"},
		{"meanwhile?t=cpu&h=threads&p=Threads/{tid}&attribute=Threads/99&state=1", 400, "there is no attribute"},
		{"meanwhile?t=none&h=threads&p=Threads/{tid}&attribute=Threads/3&state=1", 404, "none"},
	} {
		path, parameters := splitQuestion(test.question)
		if status, text, _ := m.page(path, nil, parameters...); status != test.status || !strings.Contains(text, test.text) {
			t.Errorf("%.80s: status %d: %.200s", test.question, status, text)
		}
	}
	for _, name := range []string{"..%2F..", "%00", "<img onerror>", strings.Repeat("x", 5000)} {
		if status, _, _ := m.page("histories/"+strings.ReplaceAll(strings.ReplaceAll(name, "<", "%3C"), " ", "%20")+"/tree", nil); status != 404 && status != 414 {
			t.Errorf("a history of the name %.20q: status %d", name, status)
		}
	}
}

// TestPage_Wildcard asks for the attributes of a pattern as the command takes it.
func TestPage_Wildcard(t *testing.T) {
	m := newMadeStates(t, 61, Options{})
	for _, path := range []string{"pixels", "lines", "at"} {
		var texts []string
		for _, p := range []string{"Threads/{tid}", "Threads/*", "Threads/*/../{any}", "../Threads/{tid}"} {
			status, text, _ := m.page("histories/threads/"+path, nil, "p", p)
			if status != 200 || !strings.Contains(text, "running") {
				t.Fatalf("%s of %s: %d, %.300s", path, p, status, text)
			}
			if texts = append(texts, untimed.ReplaceAllString(text, "")); texts[len(texts)-1] != texts[0] {
				t.Errorf("%s of %s: %.500s, want %.500s", path, p, text, texts[0])
			}
		}
	}
}

// untimed is what differs between equal answers.
var untimed = regexp.MustCompile(`"touched":\{[^}]*\}|"took":[^,}]*`)

// TestPage_HistoryLimits asks beyond limits on memory, time and answers.
func TestPage_HistoryLimits(t *testing.T) {
	for name, test := range map[string]struct {
		limits Limits
		text   string
		paths  []string
	}{
		"memory of attributes": {Limits{QueryBytes: 300}, "at most 300 bytes", []string{historyPaths[2]}},
		"memory of groups":     {Limits{QueryBytes: 1 << 10}, "at most 1024 bytes", historyPaths[6:]},
		"memory of sums":       {Limits{QueryBytes: 2 << 10}, "more than 2048 bytes", []string{historyPaths[5]}},
		"memory of cells":      {Limits{QueryBytes: 8 << 10}, "states of pixels", []string{historyPaths[2] + "&shares=1"}},
		"an answer":            {Limits{ResultBytes: 20}, "an answer of more than 20 bytes", historyPaths},
		"time":                 {Limits{QueryTime: 1}, "limit: ", historyPaths},
	} {
		m := newMadeStates(t, 70, Options{Limits: test.limits})
		for _, text := range test.paths {
			path, parameters := splitQuestion(text)
			if status, text, _ := m.page(path, nil, parameters...); (status != 422 && status != 429) || !strings.Contains(text, test.text) {
				t.Errorf("%s, %s: status %d: %.300s", name, path, status, text)
			}
		}
	}
}

// TestPage_HistoryLater asks a commit before a history for it, and a store without one.
func TestPage_HistoryLater(t *testing.T) {
	a := newAsker(t, Options{})
	a.insertMade()
	var none page.HistoriesAnswer
	if status, text, _ := a.page("histories", &none); status != 200 || len(none.Histories) != 0 {
		t.Fatalf("status %d: %s", status, text)
	}
	if _, err := a.db.Store().CreateHistory("later", columnstore.HistoryOptions{}); err != nil {
		t.Fatal(err)
	}
	commit := fmt.Sprint(none.Commit)
	var tree page.TreeAnswer
	if status, text, _ := a.page("histories/later/tree", &tree, "commit", commit); status != 200 || tree.All != 0 {
		t.Errorf("status %d: %s", status, text)
	}
	var empty page.PixelsAnswer
	if status, text, _ := a.page("histories/later/pixels", &empty, "p", "x"); status != 200 || len(empty.Rows) != 0 || empty.From != "" {
		t.Errorf("status %d: %s", status, text)
	}
	var first page.StatesAnswer
	if status, text, _ := a.page("states", &first, "h", "later", "p", "{thread}"); status != 200 || first.Groups[0].Status != "no label" || first.Total[0] == 0 {
		t.Errorf("status %d: %s", status, text)
	}
}

// TestPage_HistoryAccess asks without a token, and a front.
func TestPage_HistoryAccess(t *testing.T) {
	closed := newMadeStates(t, 80, Options{Tokens: Tokens{Read: []string{"r"}}})
	_, url := split(t, 2, 3)
	front := &asker{t: t, url: url}
	for _, text := range historyPaths {
		path, parameters := splitQuestion(text)
		if status, _, _ := closed.page(path, nil, parameters...); status != 401 {
			t.Errorf("%s without a token: status %d", path, status)
		}
		if status, text, _ := closed.page(path, nil, append(parameters, "header Authorization", "Bearer r")...); status != 200 {
			t.Errorf("%s with a token: status %d: %s", path, status, text)
		}
		if status, text, _ := front.page(path, nil, parameters...); status != 501 || !strings.Contains(text, "a front") {
			t.Errorf("%s of a front: status %d: %s", path, status, text)
		}
	}
}

// TestPage_HistoryTags repeats questions whose answers the client has.
func TestPage_HistoryTags(t *testing.T) {
	m := newMadeStates(t, 81, Options{})
	tags := map[string]string{}
	for _, text := range historyPaths {
		path, parameters := splitQuestion(text)
		_, _, h := m.page(path, nil, parameters...)
		tag := h.Get("ETag")
		if status, same, _ := m.page(path, nil, append(parameters, "header If-None-Match", tag)...); status != 304 || same != "" || tags[tag] != "" {
			t.Errorf("%s again: status %d, a tag as %q", path, status, tags[tag])
		}
		tags[tag] = path
	}
}

// TestPage_Forgets keeps summaries of histories as long as snapshots.
func TestPage_Forgets(t *testing.T) {
	now := madeAt
	m := newMadeStates(t, 82, Options{Now: func() time.Time { return now }})
	path, parameters := splitQuestion(historyPaths[2])
	m.get(path, nil, parameters...)
	now = now.Add(source.HeldTime - 1)
	m.get("histories", nil)
	if _, n := m.store().Holds(); n != 1 {
		t.Errorf("%d summaries are kept", n)
	}
	now = now.Add(1)
	m.get("histories", nil)
	if _, n := m.store().Holds(); n != 0 {
		t.Errorf("%d summaries are kept after %v", n, source.HeldTime)
	}
}

// stateSpan is a range of instants, both ends included.
type stateSpan struct{ from, to int64 }

func (s stateSpan) length() uint64 { return uint64(s.to-s.from) + 1 }

// meanwhileAnswer is page.MeanwhileAnswer as a client reads it.
type meanwhileAnswer struct {
	page.MeanwhileAnswer
	Tree *flameColumns `json:"tree"`
}
