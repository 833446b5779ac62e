package summary_test

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/summary"
	"github.com/granarydb/granary/internal/effort"
)

var seeds = flag.Int("summary.seeds", effort.Part(200, 10), "histories of TestRandom")

// made is a random history.
type made struct {
	testing.TB
	r       *rand.Rand
	h       *history.History
	start   int64
	now     int64
	most    int64 // times go up to here
	gap     int   // bits of times between writes
	n       int   // attributes
	drops   bool
	commits int
	added   map[history.Attribute]int64 // where the next interval begins, of attributes that Add feeds
	changed map[history.Attribute]bool
}

func newMade(t testing.TB, seed uint64) *made {
	r := rand.New(rand.NewPCG(seed, 1))
	m := &made{TB: t, r: r, n: 1 + r.IntN(80), gap: 1 + r.IntN(12), drops: r.IntN(3) == 0, added: map[history.Attribute]int64{}, changed: map[history.Attribute]bool{}}
	m.start = []int64{0, -1000, math.MinInt64, 1 << 60, -1 << 40}[r.IntN(5)]
	m.most = math.MaxInt64 - 1
	m.now = m.start
	if r.IntN(6) == 0 {
		m.gap = 50
	}
	var err error
	if m.h, err = history.New(history.Options{Start: m.start}); err != nil {
		t.Fatal(err)
	}
	return m
}

// value returns a value of an attribute, whose kind depends on its number.
func (m *made) value(a history.Attribute) history.Value {
	r := m.r
	if r.IntN(9) == 0 || a == 3 && m.commits < 4 {
		return history.Value{}
	}
	if a == 3 { // its first values are null
		return history.Int(m.now >> 2)
	}
	switch a % 9 {
	case 0, 1:
		return history.Int(int64(r.IntN(4)))
	case 2: // a counter
		return history.Int(m.now>>3 - 5)
	case 3:
		return history.Float([]float64{0, math.Copysign(0, -1), 1.5, -1e300, 3e-310, 7}[r.IntN(6)])
	case 4:
		return history.Float([]float64{math.NaN(), math.Inf(1), math.Inf(-1), 1, r.Float64(), r.NormFloat64() * 1e6}[min(5, r.IntN(300))])
	case 5:
		return history.Bool(r.IntN(2) == 0)
	case 6:
		return history.String("state " + strconv.Itoa(r.IntN(1+r.IntN(300))))
	case 7:
		return history.Bytes([]byte{byte(r.IntN(3))})
	}
	return history.Int(int64(r.Uint64()) >> r.IntN(64))
}

// attribute returns an attribute: some are far busier than others.
func (m *made) attribute() history.Attribute {
	if m.r.IntN(3) > 0 {
		return history.Attribute(m.r.IntN(1 + m.n/20))
	}
	return history.Attribute(m.r.IntN(m.n))
}

// write writes a number of states, until the end of time.
func (m *made) write(w *history.Draft, states int) {
	for range states {
		step := m.r.Int64N(1 << m.r.IntN(m.gap+1))
		if m.most-m.now <= step && m.most-m.now >= 0 {
			return
		}
		m.now += step
		a := m.attribute()
		if _, is := m.added[a]; is || a%7 == 3 && !m.changed[a] {
			m.add(w, a)
			continue
		}
		m.changed[a] = true
		if err := w.Change(m.now, a, m.value(a)); err != nil && !errors.Is(err, history.ErrTime) {
			m.Fatal(err)
		}
	}
}

// add adds an interval up to now.
func (m *made) add(w *history.Draft, a history.Attribute) {
	from, is := m.added[a]
	if !is {
		from = m.start
	}
	switch err := w.Add(a, from, m.now, m.value(a)); {
	case err == nil:
		m.added[a] = m.now + 1
	case !errors.Is(err, history.ErrTime):
		m.Fatal(err)
	}
}

// commit commits a number of states. done is true for the last, which closes the history.
func (m *made) commit(states int, done bool) *history.View {
	w, err := m.h.Begin()
	if err != nil {
		m.Fatal(err)
	}
	for i := range m.n {
		if _, err := w.Attribute(fmt.Sprint("a", i%3), strconv.Itoa(i)); err != nil {
			m.Fatal(err)
		}
	}
	m.write(w, states)
	if m.drops && m.r.IntN(3) == 0 && m.now > m.start {
		back := m.r.Uint64() % (uint64(m.now) - uint64(m.start))
		w.DropBefore(m.start + int64(back))
	}
	if done {
		m.now += m.r.Int64N(3)
		if m.r.IntN(3) == 0 {
			m.now = math.MaxInt64
		}
		if err := w.Close(m.now); err != nil {
			m.Fatal(err)
		}
	}
	v, err := w.Commit()
	if err != nil {
		m.Fatal(err)
	}
	m.commits++
	m.now++ // time up to here is final
	return v
}

// TestRandom asks about random histories while they grow, and about old views: pyramids that were extended, made
// anew, and without nodes.
func TestRandom(t *testing.T) {
	effort.Slow(t)
	most, highest := 0, 0
	chosen := []uint64{60} // a node of 2^64 instants
	for seed := range uint64(*seeds) {
		chosen = append(chosen, seed)
	}
	for _, seed := range chosen {
		restore := summary.SetShare([]int{0, 1, 5, 40}[seed%4])
		ungather := summary.SetGather([]int{32, 0, 2}[seed%3], 1<<(seed%20))
		unpart := summary.SetPart([]int{512, 64, 512, 7, 512, 512, 3}[seed%7])
		m := newMade(t, seed)
		p := summary.Bare(m.h.Empty())
		var held []asker
		states := 1 << m.r.IntN(13)
		for i := range 8 {
			v := m.commit(m.r.IntN(states)+1, i == 7)
			next, err := p.Extend(v)
			if err != nil {
				t.Fatal(err)
			}
			if m.r.IntN(4) == 0 { // a second one of the same
				if _, err := p.Extend(v); err != nil {
					t.Fatal(err)
				}
				if next, err = p.Extend(v); err != nil {
					t.Fatal(err)
				}
			}
			p = next
			opened := reopen(t, p)
			if i%3 == int(seed%3) {
				p, opened = opened, p // goes on from an image
			}
			held = append(held, asker{pyramids: []*summary.Pyramid{p, of(t, v), summary.Bare(v), opened}})
			nodes, levels := summary.Nodes(p)
			if anew, _ := summary.Nodes(held[i].pyramids[1]); !m.drops && nodes != anew {
				t.Fatalf("seed %d: %d nodes, %d of one that is made anew", seed, nodes, anew)
			}
			most, highest = max(most, nodes), max(highest, levels)
			for k := range held {
				for range 2 {
					q := anyQuestion(m.r, held[k].pyramids[0].View(), 5)
					if m.r.IntN(2) == 0 { // of one lane, or two
						for a := range min(m.n, 8) {
							q.attributes = append(q.attributes, history.Attribute(1+a))
						}
					}
					held[k].ask(named{t, seed}, q)
				}
			}
		}
		all := question{from: p.View().Start(), to: p.View().End(), pixels: 1 + m.r.IntN(20)}
		held[len(held)-1].ask(named{t, seed}, all)
		restore()
		ungather()
		unpart()
	}
	if most < 50 || highest < 2 {
		t.Errorf("at most %d nodes in %d levels: the test is blind", most, highest)
	}
}

// TestParts compares the answers of one goroutine and of four, which have the parts of a question as they come.
func TestParts(t *testing.T) {
	effort.Slow(t)
	defer summary.SetPart(3)()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for seed := range uint64(20) {
		m := newMade(t, seed)
		p := of(t, m.commit(2000, seed%2 == 0))
		v := p.View()
		for range 5 {
			q := anyQuestion(m.r, v, 0)
			runtime.GOMAXPROCS(1)
			shares, err := p.Shares(nil, q.from, q.to, q.pixels)
			if err != nil {
				t.Fatal(err)
			}
			measures, err := p.Measures(nil, q.from, q.to, q.pixels)
			if err != nil {
				t.Fatal(err)
			}
			runtime.GOMAXPROCS(4)
			for range 100 { // goroutines begin in another order each time
				again, err := p.Shares(nil, q.from, q.to, q.pixels)
				if err != nil {
					t.Fatal(err)
				}
				sameShares(t, again, shares)
			}
			measured, err := p.Measures(nil, q.from, q.to, q.pixels)
			if err != nil {
				t.Fatal(err)
			}
			for i := range v.Len() {
				if !slices.Equal(measured.Attribute(i), measures.Attribute(i)) {
					t.Fatalf("seed %d: measures of attribute %d differ", seed, i)
				}
			}
		}
	}
}

// sameShares fails unless two answers are the same, numbers of states included.
func sameShares(t *testing.T, got, want *summary.Shares) {
	t.Helper()
	if got.States() != want.States() {
		t.Fatalf("%d states, want %d", got.States(), want.States())
	}
	for i := range int32(want.States()) {
		if !got.State(i).Equal(want.State(i)) {
			t.Fatalf("state %d is %v, want %v", i, got.State(i), want.State(i))
		}
	}
	for i := range want.Attributes() {
		if !slices.Equal(got.Attribute(i), want.Attribute(i)) {
			t.Fatalf("shares of attribute %d differ", i)
		}
	}
}

// named is a test that names the seed.
type named struct {
	testing.TB
	seed uint64
}

func (n named) Fatalf(format string, args ...any) {
	n.Helper()
	n.TB.Fatalf("seed %d: %s", n.seed, fmt.Sprintf(format, args...))
}

// TestGrowing reads pyramids from several goroutines while the history is written and pyramids are extended. Run it
// with -race.
func TestGrowing(t *testing.T) {
	defer summary.SetShare(1)()
	m := newMade(t, 5)
	m.drops = true
	p := summary.Bare(m.h.Empty())
	var readers sync.WaitGroup
	defer readers.Wait()
	for i := range 12 {
		v := m.commit(2000, false)
		next, err := p.Extend(v)
		if err != nil {
			t.Fatal(err)
		}
		p = next
		readers.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 3))
			c := asker{pyramids: []*summary.Pyramid{next, summary.Bare(v)}}
			for range 20 {
				c.ask(t, anyQuestion(r, v, 5))
			}
		})
	}
}

// TestErrors asks what has no answer.
func TestErrors(t *testing.T) {
	m := newMade(t, 3)
	empty := of(t, m.h.Empty())
	if _, err := empty.Shares(nil, 0, 0, 1); !errors.Is(err, history.ErrOutside) {
		t.Errorf("a view without instants: %v", err)
	}
	v := m.commit(100, false)
	p := of(t, v)
	from, to, some := v.Start(), v.End(), []history.Attribute{0}
	for _, q := range []struct {
		question
		want error
	}{
		{question{some, from, to, 0}, history.ErrQuery},
		{question{some, from, to, -1}, history.ErrQuery},
		{question{some, from, to, summary.MostPixels + 1}, history.ErrQuery},
		{question{some, to, from, 1}, history.ErrQuery},
		{question{some, from, to + 1, 1}, history.ErrOutside},
		{question{some, from - 1, to, 1}, history.ErrOutside},
		{question{[]history.Attribute{0, history.Attribute(v.Len())}, from, to, 1}, history.ErrAttribute},
		{question{[]history.Attribute{history.Top}, from, to, 1}, history.ErrAttribute},
	} {
		if from == math.MinInt64 && q.from == math.MaxInt64 {
			continue
		}
		if _, err := p.Shares(q.attributes, q.from, q.to, q.pixels); !errors.Is(err, q.want) {
			t.Errorf("shares of %+v: %v, want %v", q.question, err, q.want)
		}
		if _, err := p.Measures(q.attributes, q.from, q.to, q.pixels); !errors.Is(err, q.want) {
			t.Errorf("measures of %+v: %v, want %v", q.question, err, q.want)
		}
	}
	if s, err := p.Shares([]history.Attribute{}, from, to, 5); err != nil || s.Attributes() != 0 {
		t.Errorf("none: %v", err)
	}
}

// TestAllOfTime asks about a history of each instant of int64.
func TestAllOfTime(t *testing.T) {
	h, err := history.New(history.Options{Start: math.MinInt64})
	if err != nil {
		t.Fatal(err)
	}
	w, err := h.Begin()
	if err != nil {
		t.Fatal(err)
	}
	for i, value := range []history.Value{{}, history.Int(math.MinInt64), history.Int(math.MaxInt64), history.Float(-2.5), history.Bool(true), history.String("x")} {
		a, err := w.Attribute(strconv.Itoa(i))
		if err == nil {
			err = w.Change(math.MinInt64, a, value)
		}
		if err == nil && i%2 == 0 {
			err = w.Change(math.MaxInt64, a, value)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(math.MaxInt64); err != nil {
		t.Fatal(err)
	}
	v, err := w.Commit()
	if err != nil {
		t.Fatal(err)
	}
	c := asker{pyramids: []*summary.Pyramid{of(t, v), summary.Bare(v)}}
	for _, pixels := range []int{1, 2, 3, 7, 1000} {
		for _, r := range [][2]int64{{math.MinInt64, math.MaxInt64}, {math.MinInt64, math.MinInt64}, {math.MaxInt64, math.MaxInt64}, {-1, math.MaxInt64}, {math.MinInt64, 0}} {
			c.ask(t, question{nil, r[0], r[1], pixels})
		}
	}
	all := slices.Collect(v.Descendants(history.Top))
	if s, err := c.pyramids[0].Shares(all[:1], math.MinInt64, math.MaxInt64, 1); err != nil || len(s.Attribute(0)) != 1 || s.Attribute(0)[0].Time != 0 {
		t.Errorf("2^64 instants: %v, %v", s, err)
	}
}
