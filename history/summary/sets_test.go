package summary_test

import (
	"flag"
	"math/rand/v2"
	"testing"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/summary"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/events"
	"github.com/granarydb/granary/internal/ihs"
	"github.com/granarydb/granary/internal/recorded"
)

var questions = flag.Int("summary.questions", 150, "questions about each set in TestSets")

// feed adds the intervals of a set to a history, batch a commit, and calls each with every view. The last is closed.
func feed(t testing.TB, h *history.History, s *ihs.Set, batch int, each func(v *history.View)) {
	t.Helper()
	begin := func() *history.Draft {
		w, err := h.Begin()
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	commit := func(w *history.Draft) {
		v, err := w.Commit()
		if err != nil {
			t.Fatal(err)
		}
		each(v)
	}
	w := begin()
	for _, a := range s.Attributes {
		parent := history.Top
		if a.Parent >= 0 {
			parent = history.Attribute(a.Parent)
		}
		if _, err := w.Child(parent, a.Name); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for i := range s.Keys {
		if n >= batch && s.Ends[i] != s.Ends[i-1] {
			commit(w)
			w, n = begin(), 0
		}
		n++
		if err := w.Add(history.Attribute(s.Keys[i]), s.Starts[i], s.Ends[i], events.ValueOf(s.At(i))); err != nil {
			t.Fatal(i, err)
		}
	}
	if err := w.Close(s.Header.End); err != nil {
		t.Fatal(err)
	}
	commit(w)
}

// setView returns the closed history of a set.
func setView(t testing.TB, name string) (h *history.History, v *history.View) {
	t.Helper()
	s := recorded.Open(t, name)
	h, err := history.New(history.Options{Start: s.Header.Start})
	if err != nil {
		t.Fatal(err)
	}
	feed(t, h, s, 10_000, func(is *history.View) { v = is })
	return h, v
}

func of(t testing.TB, v *history.View) *summary.Pyramid {
	t.Helper()
	p, err := summary.Of(v)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// anyQuestion returns a question about a view: mostly of few attributes.
func anyQuestion(r *rand.Rand, v *history.View, most int) (q question) {
	q.attributes = make([]history.Attribute, r.IntN(most+1))
	for i := range q.attributes {
		q.attributes[i] = history.Attribute(r.IntN(v.Len()))
	}
	span := uint64(v.End()) - uint64(v.Start())
	length := span
	if r.IntN(4) > 0 {
		length = r.Uint64() >> r.IntN(64) & ((1 << r.IntN(64)) - 1)
	}
	length = min(length, span)
	q.from = v.Start()
	if left := span - length; left > 0 {
		q.from += int64(r.Uint64N(left))
	}
	q.to = q.from + int64(length)
	q.pixels = 1 + r.IntN(1<<r.IntN(11))
	return q
}

// TestSets asks about recorded sets: whole ones, and while they grow.
func TestSets(t *testing.T) {
	effort.Long(t)
	for _, name := range recorded.Names {
		t.Run(name, func(t *testing.T) {
			h, v := setView(t, name)
			p := of(t, v)
			t.Logf("%d bytes of nodes, %.2f %% of %d", p.Size(), 100*float64(p.Size())/float64(h.Size()), h.Size())
			if 20*p.Size() > h.Size() {
				t.Errorf("nodes take %d bytes, the history %d", p.Size(), h.Size())
			}
			r := rand.New(rand.NewPCG(1, 2))
			c := asker{pyramids: []*summary.Pyramid{p}}
			for i := range *questions {
				if i%50 == 1 {
					c.pyramids = []*summary.Pyramid{p, summary.Bare(v)}
				}
				q := anyQuestion(r, v, 3)
				if i%100 == 7 {
					q.attributes = append(q.attributes, busiest(t, v, r))
				}
				c.ask(t, q)
				c.pyramids = c.pyramids[:1]
			}
		})
	}
}

// busiest returns one of the attributes with the most ends in one of the first tiles.
func busiest(_ testing.TB, v *history.View, r *rand.Rand) history.Attribute {
	best, most := history.Attribute(0), -1
	for range 50 {
		a := history.Attribute(r.IntN(v.Len()))
		n := 0
		for range v.Range(a, v.Start(), v.End(), history.RangeOptions{}) {
			n++
		}
		if n > most {
			best, most = a, n
		}
	}
	return best
}
