package stats

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/history"
)

// view is a history as a source.
type view struct{ *history.View }

func (v view) RangeAll(ctx context.Context, attributes []history.Attribute, from, to int64, f func(history.Attribute, history.Interval) error) error {
	for _, a := range attributes {
		for in, err := range v.Range(a, from, to, history.RangeOptions{}) {
			if err == nil {
				err = f(a, in)
			}
			if err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// gaps is a source that leaves out what is null, as a partial history may.
type gaps struct{ view }

func (g gaps) RangeAll(ctx context.Context, attributes []history.Attribute, from, to int64, f func(history.Attribute, history.Interval) error) error {
	return g.view.RangeAll(ctx, attributes, from, to, func(a history.Attribute, in history.Interval) error {
		if in.Value.IsNull() {
			return nil
		}
		return f(a, in)
	})
}

// last is the last instant of a made history.
const last = 200

// made returns a history of threads with a function below, of which the third has none, and equal values in a row.
func made(t testing.TB, seed uint64) *history.View {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	h, err := history.New(history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tx, err := h.Begin()
	if err != nil {
		t.Fatal(err)
	}
	change := func(at int64, text string, path ...string) {
		a, err := tx.Attribute(path...)
		if err != nil {
			t.Fatal(err)
		}
		v := history.Value{}
		if text != "" {
			v = history.String(text)
		}
		if err := tx.Change(at, a, history.Value{}); err != nil { // so that equal values stay apart
			t.Fatal(err)
		}
		if err := tx.Change(at, a, v); err != nil {
			t.Fatal(err)
		}
	}
	for at := range int64(last) {
		thread := fmt.Sprint(random.IntN(4))
		switch random.IntN(4) {
		case 0, 1:
			change(at, []string{"", "running", "waiting", "waiting (sync)"}[random.IntN(4)], "T", thread)
		case 2:
			if thread != "2" {
				change(at, []string{"", "f", "g"}[random.IntN(3)], "T", thread, "function")
			}
		}
	}
	if err := tx.Close(last); err != nil {
		t.Fatal(err)
	}
	v, err := tx.Commit()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// oracle goes through all instants. A part of an interval is what has one start, of its state and of each key.
func oracle(t testing.TB, v *history.View, q Question) []string {
	t.Helper()
	parts, order := map[string]*Span{}, []string{}
	groupOf := map[string]string{}
	for _, a := range q.Attributes {
		for at := q.From; at <= q.To; at++ {
			in, err := v.At(a, at)
			if err != nil {
				t.Fatal(err)
			}
			if in.Value.IsNull() {
				continue
			}
			part, group := fmt.Sprint(a, in.Start), ""
			for _, key := range q.By {
				switch key.text {
				case "state":
					group += " " + in.Value.String()
				case "attribute":
					group += fmt.Sprint(" ", a)
				default:
					other, err := v.LookupFrom(a, key.text)
					if err != nil {
						group += " null"
						continue
					}
					with, err := v.At(other, at)
					if err != nil {
						t.Fatal(err)
					}
					part += fmt.Sprint(" ", with.Start)
					group += " " + with.Value.String()
				}
			}
			if parts[part] == nil {
				parts[part] = &Span{a, at, at, in.Value}
				order = append(order, part)
				groupOf[part] = group
			}
			parts[part].End = at
		}
	}
	durations, longest := map[string][]uint64{}, map[string]Span{}
	for _, part := range order {
		group, span := groupOf[part], *parts[part]
		durations[group] = append(durations[group], span.Length())
		if span.Length() > longest[group].Length() || len(durations[group]) == 1 {
			longest[group] = span
		}
	}
	var lines []string
	for group, all := range durations {
		slices.Sort(all)
		var total uint64
		for _, d := range all {
			total += d
		}
		at := func(share float64) uint64 {
			for i, d := range all {
				if float64(i+1) >= share*float64(len(all))-1e-9 {
					return d
				}
			}
			return 0
		}
		lines = append(lines, fmt.Sprint(group, ": ", total, len(all), all[0], total/uint64(len(all)), at(.5), at(.99), all[len(all)-1], " longest ", longest[group]))
	}
	slices.Sort(lines)
	return lines
}

func lines(groups []Group, by []Criterion) (lines []string) {
	for _, g := range groups {
		text := ""
		for i, v := range g.Keys {
			if by[i].IsAttribute() {
				text += fmt.Sprint(" ", history.Attribute(v.Int()))
			} else {
				text += " " + v.String()
			}
		}
		lines = append(lines, fmt.Sprint(text, ": ", g.Total, g.Count, g.Min, g.Mean, g.P50, g.P99, g.Max, " longest ", g.Longest))
	}
	slices.Sort(lines)
	return lines
}

func keys(t testing.TB, text string) []Criterion {
	t.Helper()
	if text == "" {
		return nil
	}
	by, err := ParseCriteria(text)
	if err != nil {
		t.Fatal(err)
	}
	return by
}

// TestOf holds sums to those of all instants one by one, in ranges and for any keys.
func TestOf(t *testing.T) {
	compared := 0
	for seed := range uint64(20) {
		v := made(t, seed)
		top, err := v.Lookup("T")
		if err != nil {
			t.Fatal(err)
		}
		q := Question{Attributes: slices.Collect(v.Children(top))}
		for _, by := range []string{"", "state", "attribute", "function", "state,function", "function,attribute,state", "none"} {
			q.By = keys(t, by)
			for _, r := range [][2]int64{{0, last}, {37, 120}, {50, 50}} {
				q.From, q.To = r[0], r[1]
				want := oracle(t, v, q)
				for _, from := range []Ranger{view{v}, gaps{view{v}}} {
					groups, err := Of(t.Context(), v.Names, from, q)
					if err != nil {
						t.Fatal(err)
					}
					got := lines(groups, q.By)
					if _, hasGaps := from.(gaps); hasGaps && strings.Contains(by, "function") {
						got, want = totals(got), totals(want) // nulls in a row are one
					}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Fatalf("seed %d by %q from %d to %d: -want +got\n%s", seed, by, q.From, q.To, diff)
					}
					compared += len(got)
				}
				if !slices.IsSortedFunc(mustOf(t, v, q), func(a, b Group) int { return int(b.Total) - int(a.Total) }) {
					t.Errorf("by %q: the greatest total is not first", by)
				}
			}
		}
	}
	if compared < 2000 {
		t.Errorf("%d groups were compared", compared)
	}
}

// totals cuts lines behind the totals.
func totals(lines []string) (out []string) {
	for _, line := range lines {
		group, rest, _ := strings.Cut(line, ": ")
		total, _, _ := strings.Cut(rest, " ")
		out = append(out, group+total)
	}
	return out
}

func mustOf(t *testing.T, v *history.View, q Question) []Group {
	t.Helper()
	groups, err := Of(t.Context(), v.Names, view{v}, q)
	if err != nil {
		t.Fatal(err)
	}
	return groups
}

// TestOf_Limits refuses what takes too much memory or time, and questions without an answer.
func TestOf_Limits(t *testing.T) {
	v := made(t, 1)
	q := Question{Attributes: v.All(), To: last, By: keys(t, "attribute,state,function"), MaxBytes: 2000}
	if _, err := Of(t.Context(), v.Names, view{v}, q); !errors.Is(err, ErrLimit) {
		t.Errorf("2000 bytes: %v", err)
	}
	if by := keys(t, `a\,b,state`); len(by) != 2 || by[0].String() != `a\,b` {
		t.Errorf("%v", by)
	}
	for _, text := range []string{"a{", "state,a*", `\`, `a,b\`, "a,b,c,d"} {
		if _, err := ParseCriteria(text); !errors.Is(err, ErrQuestion) {
			t.Errorf("%q: %v", text, err)
		}
	}
	h, err := history.New(history.Options{Start: math.MinInt64 + 1})
	if err != nil {
		t.Fatal(err)
	}
	tx, err := h.Begin()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		a, err := tx.Attribute(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := tx.Change(math.MinInt64+1, a, history.Int(1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Close(math.MaxInt64 - 1); err != nil {
		t.Fatal(err)
	}
	if v, err = tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := mustFail(t, v, Question{Attributes: v.All(), From: v.Start(), To: v.End()}); !errors.Is(err, ErrLimit) {
		t.Errorf("2^65 ns: %v", err)
	}
}

func mustFail(t *testing.T, v *history.View, q Question) error {
	t.Helper()
	groups, err := Of(t.Context(), v.Names, view{v}, q)
	if err == nil {
		t.Errorf("%+v has the answer %v", q, groups)
	}
	return err
}

// TestLongest holds the longest intervals to all of them.
func TestLongest(t *testing.T) {
	for seed := range uint64(20) {
		v := made(t, seed)
		q := Question{Attributes: v.All(), From: 20, To: 180}
		is := func(v history.Value) bool { return strings.HasPrefix(v.Text(), "waiting") }
		all, n, err := Longest(t.Context(), view{v}, q, is, 1000)
		if err != nil || n != len(all) || n < 10 {
			t.Fatalf("%d of %d, %v", len(all), n, err)
		}
		want := 0
		err = view{v}.RangeAll(t.Context(), q.Attributes, q.From, q.To, func(a history.Attribute, in history.Interval) error {
			if is(in.Value) {
				want++
				if !slices.Contains(all, Span{a, max(in.Start, 20), min(in.End, 180), in.Value}) {
					t.Errorf("%v is missing", in)
				}
			}
			return nil
		})
		if err != nil || want != n {
			t.Fatalf("%d, want %d: %v", n, want, err)
		}
		for i := range all[1:] {
			if all[i].Length() < all[i+1].Length() {
				t.Errorf("%v is before %v", all[i], all[i+1])
			}
		}
		some, again, err := Longest(t.Context(), view{v}, q, is, 3)
		if err != nil || again != n || !slices.Equal(some, all[:3]) {
			t.Errorf("%v of %d, want %v: %v", some, again, all[:3], err)
		}
	}
}
