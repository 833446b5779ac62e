package union_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/partial"
	"github.com/granarydb/granary/history/union"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/events"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// path has attributes that are parents of other members' ones. All members have the first.
func path(n int) []string {
	switch n {
	case 0:
		return []string{"all"}
	case 5:
		return []string{"all", "4", "five"}
	case 6:
		return []string{"all", "1", "six"}
	}
	return events.Name(n)
}

// fixture is a whole history, and the same as members.
type fixture struct {
	rng      *rand.Rand
	full     *history.View
	got      *union.History
	to       []history.Attribute // of full, by attribute of got
	instant  func() int64
	complete [3]bool // by member
}

// member returns a member of some attributes.
func member(t testing.TB, l events.List, path func(int) []string, owns func(int) bool, opts partial.Options) union.Member {
	t.Helper()
	if opts.Every == 0 {
		return union.Complete(events.Whole(t, l, path, owns, opts.Start, opts.End))
	}
	p, err := partial.Build(t.Context(), l, events.Provider(path, owns), opts)
	must(t, err)
	return p
}

// fix makes a history of random events by up to three providers, complete or partial.
func fix(t testing.TB, rng *rand.Rand) *fixture {
	start := rng.Int64N(100) - 50
	l := events.Draw(rng, start)
	end := l[len(l)-1].At + rng.Int64N(3)
	f := &fixture{rng: rng, full: events.Whole(t, l, path, nil, start, end)}
	n, salt := 1+rng.IntN(3), rng.IntN(5)
	var members []union.Member
	marks := []int64{start, end}
	for i := range n {
		opts := partial.Options{Start: start, End: end, Every: []int{0, 1, 2, 7, 30, len(l) + 1}[rng.IntN(6)]}
		m := member(t, l, path, func(a int) bool { return (a+salt)%n == i }, opts)
		members, f.complete[i] = append(members, m), opts.Every == 0
		if p, ok := m.(*partial.History[events.Event]); ok {
			marks = append(marks, p.Checkpoints()...)
		}
	}
	if n == 3 && rng.IntN(3) == 0 { // as a member of members
		inner, err := union.Join(t.Context(), 1, members[1:]...)
		must(t, err)
		members, f.complete[1] = []union.Member{members[0], inner}, false
	}
	var err error
	f.got, err = union.Join(t.Context(), 2, members...)
	must(t, err)
	f.to = match(t, f.got.Names(), f.full.Names)
	f.instant = func() int64 {
		if rng.IntN(2) == 0 {
			return start + rng.Int64N(end-start+1)
		}
		return min(max(marks[rng.IntN(len(marks))]+rng.Int64N(3)-1, start), end)
	}
	return f
}

// match returns the attributes of the same paths. There must be one for each.
func match(t testing.TB, from, to history.Names) (of []history.Attribute) {
	t.Helper()
	if from.Len() != to.Len() {
		t.Fatalf("%d attributes, want %d", from.Len(), to.Len())
	}
	for a := range history.Attribute(from.Len()) {
		p, err := from.Path(a)
		must(t, err)
		same, err := to.Lookup(p...)
		must(t, err)
		of = append(of, same)
	}
	return of
}

// TestQueries compares random questions with the whole history (J1 to J3).
func TestQueries(t *testing.T) {
	for seed := range uint64(effort.Part(2000, 10)) {
		f := fix(t, rand.New(rand.NewPCG(seed, 1)))
		for range 20 {
			f.ask(t, seed)
			f.sample(t, seed)
		}
		f.names(t, seed)
		if t.Failed() {
			return
		}
	}
}

func (f *fixture) ask(t *testing.T, seed uint64) {
	ctx, a, at := t.Context(), history.Attribute(f.rng.IntN(f.full.Len())), f.instant()
	want, _ := f.full.At(f.to[a], at)
	got, err := f.got.At(ctx, a, at)
	if err != nil || !events.Same(got, want) {
		t.Fatalf("seed %d: attribute %d at %d is %v, want %v: %v", seed, a, at, got, want, err)
	}
	f.interpolate(t, seed, a, at, want)
	all, err := f.got.Slice(ctx, at, make([]history.Interval, f.rng.IntN(30)))
	if err != nil || len(all) != len(f.to) {
		t.Fatalf("seed %d: slice at %d has %d: %v", seed, at, len(all), err)
	}
	for a, got := range all {
		if want, _ := f.full.At(f.to[a], at); !events.Same(got, want) {
			t.Fatalf("seed %d: attribute %d in the slice at %d is %v, want %v", seed, a, at, got, want)
		}
	}
	from, to := at, f.instant()
	from, to = min(from, to), max(from, to)
	var ranged, wanted []history.Interval
	for in, err := range f.got.Range(ctx, a, from, to) {
		must(t, err)
		ranged = append(ranged, in)
	}
	for in := range f.full.Range(f.to[a], from, to, history.RangeOptions{}) {
		wanted = append(wanted, in)
	}
	if !slices.EqualFunc(ranged, wanted, events.Same) {
		t.Fatalf("seed %d: attribute %d from %d to %d: %v, want %v", seed, a, from, to, ranged, wanted)
	}
	f.rangeAll(t, seed, from, to)
}

// rangeAll asks for the intervals of all attributes in a range.
func (f *fixture) rangeAll(t *testing.T, seed uint64, from, to int64) {
	attributes, got := make([]history.Attribute, len(f.to)), make([][]history.Interval, len(f.to))
	for a := range attributes {
		attributes[a] = history.Attribute(a)
	}
	must(t, f.got.RangeAll(t.Context(), attributes, from, to, func(a history.Attribute, in history.Interval) error {
		got[a] = append(got[a], in)
		return nil
	}))
	for a, got := range got {
		var want []history.Interval
		for in, err := range f.full.Range(f.to[a], from, to, history.RangeOptions{}) {
			must(t, err)
			want = append(want, in)
		}
		if !slices.EqualFunc(got, want, events.Same) {
			t.Fatalf("seed %d: attribute %d of all from %d to %d: %v, want %v", seed, a, from, to, got, want)
		}
	}
}

// interpolate asks for a number: one of a complete member is exact. The values of random events go up and down, so of
// others it is not known.
func (f *fixture) interpolate(t *testing.T, seed uint64, a history.Attribute, at int64, want history.Interval) {
	x, err := f.got.Interpolate(t.Context(), a, at)
	m, _, _ := f.got.Place(a)
	v := float64(want.Value.Int()) + want.Value.Float()
	isNumber := want.Value.Kind() == history.KindNull || want.Value.Kind() == history.KindInt || want.Value.Kind() == history.KindFloat
	switch {
	case err != nil && !errors.Is(err, history.ErrKind) || f.complete[m] && isNumber != (err == nil):
		t.Fatalf("seed %d: attribute %d at %d is %v, want %v: %v", seed, a, at, x, want, err)
	case err == nil && f.complete[m]:
		mean, err := f.got.Mean(t.Context(), a, at, at)
		if err != nil || math.Abs(mean.Value-v) > mean.Error || mean.Error > 1e-15 {
			t.Fatalf("seed %d: the mean of attribute %d at %d is %v, want %v: %v", seed, a, at, mean, v, err)
		}
	}
	switch {
	case f.complete[m] && err == nil && (x.Value != v || x.Error != 0):
		t.Fatalf("seed %d: attribute %d at %d is %v, want %v", seed, a, at, x, v)
	}
}

// sample asks for attributes of several members at once, some of them twice.
func (f *fixture) sample(t *testing.T, seed uint64) {
	var attributes, wanted []history.Attribute
	for range f.rng.IntN(8) {
		a := history.Attribute(f.rng.IntN(len(f.to)))
		attributes, wanted = append(attributes, a), append(wanted, f.to[a])
	}
	if attributes == nil { // all, in the order of got
		wanted = f.to
	}
	from, to := f.instant(), f.instant()
	from, to = min(from, to), max(from, to)
	times := []int64{from, f.instant(), to, from}
	pixels := 1 + f.rng.IntN(20)
	isPixels := f.rng.IntN(2) == 0
	if isPixels {
		times = history.PixelTimes(from, to, pixels)
	}
	want, err := f.full.Sample(wanted, times)
	must(t, err)
	var of []history.Attribute
	var all []history.Interval
	if isPixels {
		of, all, err = f.got.Pixels(t.Context(), attributes, from, to, pixels)
	} else {
		of, all, err = f.got.Sample(t.Context(), attributes, times)
	}
	if err != nil || len(all) != want.Len() || len(of) != want.Len() {
		t.Fatalf("seed %d: %d samples, want %d: %v", seed, len(all), want.Len(), err)
	}
	for i := range all {
		if a, in := want.At(i); f.to[of[i]] != a || !events.Same(all[i], in) {
			t.Fatalf("seed %d: sample %d is %v of %d, want %v of %d", seed, i, all[i], f.to[of[i]], in, a)
		}
	}
}

// names compares what patterns find.
func (f *fixture) names(t *testing.T, seed uint64) {
	got, full := f.got.Names(), f.full.Names
	translated := func(all []history.Attribute) []history.Attribute {
		for i, a := range all {
			all[i] = f.to[a]
		}
		slices.Sort(all)
		return all
	}
	for _, steps := range [][]history.Step{{history.Any}, {history.Literal("all"), history.Any}, {history.Any, history.Any, history.Any}, {history.Any, history.Any, history.Up}} {
		g, err := got.Match(steps...)
		must(t, err)
		w, err := full.Match(steps...)
		must(t, err)
		if g = translated(g); !slices.Equal(g, w) {
			t.Fatalf("seed %d: %v matches %v, want %v", seed, steps, g, w)
		}
	}
	re := regexp.MustCompile(`[0-4]|five`)
	g, err := got.DescendantsMatching(history.Top, re, true)
	must(t, err)
	w, err := full.DescendantsMatching(history.Top, re, true)
	must(t, err)
	slices.Sort(w)
	if g = translated(g); !slices.Equal(g, w) {
		t.Fatalf("seed %d: names match %v, want %v", seed, g, w)
	}
}

// TestOwner has two members with states of one attribute, which is an error whatever they are, and one member
// with states of it, whose attribute it is then.
func TestOwner(t *testing.T) {
	l := events.List{
		{At: 1, N: 0, Value: history.Int(1)},
		{At: 2, N: 1, Value: history.Int(2)},
		{At: 5, N: 2, Value: history.Int(3)},
		{At: 6, N: 2}, // within one gap
		{At: 9, N: 1, Value: history.Int(4)},
	}
	nested := func(n int) []string { return []string{"cpu", "0", "thread"}[:n+1] }
	for _, every := range []int{0, 1, 2, 100} {
		opts := partial.Options{End: 20, Every: every}
		a := member(t, l, nested, nil, opts)
		for n := range 3 {
			b := member(t, l, nested, func(i int) bool { return i == n }, partial.Options{End: 20})
			for _, members := range [][]union.Member{{a, b}, {b, a}} {
				_, err := union.Join(t.Context(), 0, members...)
				if !errors.Is(err, union.ErrOwner) || !strings.Contains(err.Error(), strconv.Quote(nested(n)[n])+"]") {
					t.Errorf("every %d: both have %v: %v", every, nested(n), err)
				}
			}
			rest := member(t, l, nested, func(i int) bool { return i != n }, opts)
			for i, members := range [][]union.Member{{b, rest}, {rest, b}} {
				h, err := union.Join(t.Context(), 0, members...)
				must(t, err)
				at, err := h.Names().Lookup(nested(n)...)
				must(t, err)
				if m, _, err := h.Place(at); m != i || err != nil {
					t.Errorf("every %d: %v is of member %d, want %d: %v", every, nested(n), m, i, err)
				}
			}
		}
	}
}

// TestJoin_Errors has what is no history, and questions that no member can answer.
func TestJoin_Errors(t *testing.T) {
	l := events.List{{At: 1, N: 1, Value: history.Int(1)}, {At: 3, N: 1, Value: history.Int(2)}}
	a := member(t, l, path, nil, partial.Options{End: 20})
	if _, err := union.Join(t.Context(), 0); !errors.Is(err, history.ErrQuery) {
		t.Errorf("no members: %v", err)
	}
	for _, opts := range []partial.Options{{End: 21}, {Start: -1, End: 20, Every: 1}} {
		b := member(t, l, path, func(int) bool { return false }, opts)
		if _, err := union.Join(t.Context(), 0, a, b); !errors.Is(err, history.ErrQuery) {
			t.Errorf("another span: %v", err)
		}
	}
	partly := member(t, l, path, nil, partial.Options{End: 20, Every: 100})
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := union.Join(canceled, 0, a, partly); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	h, err := union.Join(t.Context(), 0, a)
	must(t, err)
	unknown := history.Attribute(h.Names().Len())
	ask := map[string]func(ctx context.Context, a history.Attribute, at int64) error{
		"At": func(ctx context.Context, a history.Attribute, at int64) error { _, err := h.At(ctx, a, at); return err },
		"Interpolate": func(ctx context.Context, a history.Attribute, at int64) error {
			_, err := h.Interpolate(ctx, a, at)
			return err
		},
		"Mean": func(ctx context.Context, a history.Attribute, at int64) error {
			_, err := h.Mean(ctx, a, 2, at)
			return err
		},
		"Slice": func(ctx context.Context, _ history.Attribute, at int64) error {
			_, err := h.Slice(ctx, at, nil)
			return err
		},
		"Range": func(ctx context.Context, a history.Attribute, at int64) error {
			for _, err := range h.Range(ctx, a, at, at) {
				return err
			}
			return nil
		},
		"RangeAll": func(ctx context.Context, a history.Attribute, at int64) error {
			return h.RangeAll(ctx, []history.Attribute{a}, at, at, func(history.Attribute, history.Interval) error { return nil })
		},
		"Sample": func(ctx context.Context, a history.Attribute, at int64) error {
			_, _, err := h.Sample(ctx, []history.Attribute{a}, []int64{at})
			return err
		},
		"Pixels": func(ctx context.Context, a history.Attribute, at int64) error {
			_, _, err := h.Pixels(ctx, []history.Attribute{a}, 5, at, 2)
			return err
		},
	}
	for name, q := range ask {
		if err := q(t.Context(), 0, 20); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := q(t.Context(), 0, 21); !errors.Is(err, history.ErrOutside) {
			t.Errorf("%s behind the end: %v", name, err)
		}
		if err := q(t.Context(), unknown, 20); name != "Slice" && !errors.Is(err, history.ErrAttribute) {
			t.Errorf("%s of no attribute: %v", name, err)
		}
		if err := q(canceled, 0, 20); !errors.Is(err, context.Canceled) {
			t.Errorf("%s canceled: %v", name, err)
		}
	}
	if _, _, err := h.Sample(t.Context(), []history.Attribute{}, []int64{21}); !errors.Is(err, history.ErrOutside) {
		t.Errorf("no attributes behind the end: %v", err)
	}
	if _, _, err := h.Pixels(t.Context(), nil, 2, 1, 1); !errors.Is(err, history.ErrQuery) {
		t.Errorf("pixels before themselves: %v", err)
	}
	if _, _, err := h.Place(unknown); !errors.Is(err, history.ErrAttribute) {
		t.Errorf("place of no attribute: %v", err)
	}
	empty, err := history.New(history.Options{})
	must(t, err)
	d, err := empty.Begin()
	must(t, err)
	_, err = d.Attribute("no state")
	must(t, err)
	v, err := d.Commit()
	must(t, err)
	none := union.Complete(v)
	h, err = union.Join(t.Context(), 0, none, none)
	must(t, err)
	if _, err := h.Slice(t.Context(), 0, nil); !errors.Is(err, history.ErrOutside) {
		t.Errorf("no instant: %v", err)
	}
}

// TestReaders has several goroutines ask at once (J4).
func TestReaders(t *testing.T) {
	f := fix(t, rand.New(rand.NewPCG(7, 7)))
	want, err := f.full.Sample(f.to, history.PixelTimes(f.full.Start(), f.full.End(), 50))
	must(t, err)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for at := f.full.Start(); at <= f.full.End(); at++ {
				all, err := f.got.Slice(t.Context(), at, nil)
				for a := range all {
					want, _ := f.full.At(f.to[a], at)
					if got, err := f.got.At(t.Context(), history.Attribute(a), at); err != nil || !events.Same(got, want) || !events.Same(all[a], want) {
						t.Errorf("attribute %d at %d is %v, want %v: %v", a, at, got, want, err)
						return
					}
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
			_, all, err := f.got.Pixels(t.Context(), nil, f.full.Start(), f.full.End(), 50)
			if err != nil || len(all) != want.Len() {
				t.Errorf("%d samples, want %d: %v", len(all), want.Len(), err)
			}
		})
	}
	wg.Wait()
}

// endingContext is a context that ends after a number of looks at it.
type endingContext struct {
	context.Context
	looks int
}

// Err is of context.Context.
func (c *endingContext) Err() error {
	if c.looks--; c.looks < 0 {
		return context.Canceled
	}
	return nil
}

// TestComplete_Sample samples more intervals than are sampled at once: the answer is that of the view, and a context ends it on
// the way.
func TestComplete_Sample(t *testing.T) {
	h, err := history.New(history.Options{})
	must(t, err)
	d, err := h.Begin()
	must(t, err)
	for i := range int64(9) {
		a, err := d.Attribute(string(rune('a' + i)))
		must(t, err)
		must(t, d.Change(i, a, history.Int(i)))
	}
	must(t, d.Close(1<<17))
	v, err := d.Commit()
	must(t, err)
	times := history.PixelTimes(0, 1<<17-1, 1<<17) // times 9 attributes: a few more than are sampled at once
	want, err := v.Sample(nil, times)
	must(t, err)
	of, all, err := union.Complete(v).Sample(t.Context(), nil, times)
	if err != nil || len(all) != want.Len() || len(of) != want.Len() {
		t.Fatalf("%d intervals, want %d: %v", len(all), want.Len(), err)
	}
	for i := range all {
		if a, in := want.At(i); of[i] != a || !events.Same(all[i], in) {
			t.Fatalf("interval %d is %d %v, want %d %v", i, of[i], all[i], a, in)
		}
	}
	for looks := range 3 {
		ctx := &endingContext{t.Context(), looks}
		if _, _, err := union.Complete(v).Sample(ctx, nil, times); !errors.Is(err, context.Canceled) || ctx.looks != -1 {
			t.Errorf("after %d looks: %v", looks, err)
		}
	}
	if _, _, err := union.Complete(v).Sample(t.Context(), []history.Attribute{}, []int64{-1}); !errors.Is(err, history.ErrOutside) {
		t.Errorf("no attributes before the start: %v", err)
	}
}
