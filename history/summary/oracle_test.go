package summary_test

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/summary"
)

// spell is an interval of an attribute as the oracle has it.
type spell struct {
	start, end int64
	value      history.Value
}

// spells returns the intervals of a range, clipped to it.
func spells(t testing.TB, v *history.View, a history.Attribute, from, to int64) (all []spell) {
	t.Helper()
	for in, err := range v.Range(a, from, to, history.RangeOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, spell{max(in.Start, from), min(in.End, to), in.Value})
	}
	return all
}

// pixelsOf returns the first instants of the pixels, and the instant behind the last, as the documentation has them.
func pixelsOf(from, to int64, pixels int) (bounds []*big.Int) {
	instants := new(big.Int).Sub(big.NewInt(to), big.NewInt(from))
	instants.Add(instants, big.NewInt(1))
	n := big.NewInt(int64(pixels))
	if instants.Cmp(n) < 0 {
		n = instants
	}
	for i := int64(0); i <= n.Int64(); i++ {
		at := new(big.Int).Mul(big.NewInt(i), instants)
		bounds = append(bounds, at.Add(at.Div(at, n), big.NewInt(from)))
	}
	return bounds
}

// wanted is what the oracle knows about an attribute in one pixel.
type wanted struct {
	times     map[history.Value]*big.Int // by state
	intervals uint64
}

// want returns what each pixel has, of intervals that cover the range.
func want(bounds []*big.Int, all []spell) []wanted {
	pixels := make([]wanted, len(bounds)-1)
	first := 0
	for _, s := range all {
		start, behind := big.NewInt(s.start), new(big.Int).Add(big.NewInt(s.end), big.NewInt(1))
		for bounds[first+1].Cmp(start) <= 0 {
			first++
		}
		for i := first; i < len(pixels) && bounds[i].Cmp(behind) < 0; i++ {
			lo, hi := bounds[i], bounds[i+1]
			if start.Cmp(lo) > 0 {
				lo = start
			}
			if behind.Cmp(hi) < 0 {
				hi = behind
			}
			p := &pixels[i]
			if p.times == nil {
				p.times = map[history.Value]*big.Int{}
			}
			if p.times[s.value] == nil {
				p.times[s.value] = new(big.Int)
			}
			p.times[s.value].Add(p.times[s.value], new(big.Int).Sub(hi, lo))
			p.intervals++
		}
	}
	return pixels
}

// timeOf returns a time of an answer, of which 0 stands for 2^64.
func timeOf(x uint64) *big.Int {
	if x == 0 {
		return new(big.Int).Lsh(big.NewInt(1), 64)
	}
	return new(big.Int).SetUint64(x)
}

// checkShares returns what is wrong with the shares of an attribute.
func checkShares(s *summary.Shares, shares []summary.Share, bounds []*big.Int, pixels []wanted) error {
	if s.Len() != len(pixels) {
		return fmt.Errorf("%d pixels, want %d", s.Len(), len(pixels))
	}
	next, pure, before := 0, false, history.Value{}
	for i := 0; i < len(shares); {
		a := &shares[i]
		first := int(a.First)
		if first != next || first >= len(pixels) {
			return fmt.Errorf("share %d is of pixels from %d on, want %d, of %d", i, first, next, len(pixels))
		}
		group := shares[i : i+1]
		for i+len(group) < len(shares) && int(shares[i+len(group)].First) == first {
			group = shares[i : i+len(group)+1]
		}
		last := first
		if len(group) == 1 {
			if last = len(pixels) - 1; i+1 < len(shares) {
				last = int(shares[i+1].First) - 1
			}
			value := s.State(a.State)
			if pure && value.Equal(before) {
				return fmt.Errorf("pixels %d to %d are of %v, as the pixel before", first, last, value)
			}
			for p := first; p <= last; p++ {
				if len(pixels[p].times) != 1 || pixels[p].times[value] == nil {
					return fmt.Errorf("pixel %d is of %v alone, want %v", p, value, pixels[p].times)
				}
			}
			if width := new(big.Int).Sub(bounds[last+1], bounds[first]); timeOf(a.Time).Cmp(width) != 0 {
				return fmt.Errorf("pixels %d to %d have %d instants, want %d", first, last, a.Time, width)
			}
			before = value
		} else if err := checkMixed(s, group, pixels[first]); err != nil {
			return fmt.Errorf("pixel %d: %w", first, err)
		}
		pure = len(group) == 1
		next = last + 1
		i += len(group)
	}
	if next != len(pixels) {
		return fmt.Errorf("the last share ends with pixel %d of %d", next-1, len(pixels))
	}
	return nil
}

func checkMixed(s *summary.Shares, group []summary.Share, want wanted) error {
	seen := map[history.Value]bool{}
	for i := range group {
		value := s.State(group[i].State)
		if seen[value] {
			return fmt.Errorf("%v comes twice", value)
		}
		seen[value] = true
		if w := want.times[value]; w == nil || timeOf(group[i].Time).Cmp(w) != 0 {
			return fmt.Errorf("%v has %d instants, want %v", value, group[i].Time, want.times)
		}
	}
	if len(seen) != len(want.times) {
		return fmt.Errorf("%d states, want %v", len(seen), want.times)
	}
	return nil
}

// checkMeasures returns what is wrong with the measures of an attribute.
func checkMeasures(m *summary.Measures, all []summary.Measure, pixels []wanted) error {
	if m.Len() != len(pixels) {
		return fmt.Errorf("%d pixels, want %d", m.Len(), len(pixels))
	}
	next := 0
	for i := range all {
		a := &all[i]
		if int(a.First) != next || a.Last < a.First || int(a.Last) >= len(pixels) {
			return fmt.Errorf("measure %d is of pixels %d to %d, want from %d on", i, a.First, a.Last, next)
		}
		merged := wanted{times: map[history.Value]*big.Int{}, intervals: 1}
		for p := a.First; p <= a.Last; p++ {
			if a.First < a.Last && pixels[p].intervals != 1 {
				return fmt.Errorf("pixels %d to %d are together: pixel %d has %d intervals", a.First, a.Last, p, pixels[p].intervals)
			}
			for value, time := range pixels[p].times {
				if merged.times[value] == nil {
					merged.times[value] = new(big.Int)
				}
				merged.times[value].Add(merged.times[value], time)
			}
		}
		if a.First == a.Last {
			merged.intervals = pixels[a.First].intervals
		}
		if err := checkMeasure(a, merged); err != nil {
			return fmt.Errorf("pixels %d to %d: %w", a.First, a.Last, err)
		}
		next = int(a.Last) + 1
	}
	if next != len(pixels) {
		return fmt.Errorf("the last measure ends with pixel %d of %d", next-1, len(pixels))
	}
	return nil
}

func checkMeasure(a *summary.Measure, want wanted) error {
	if a.Intervals != want.intervals {
		return fmt.Errorf("%d intervals, want %d", a.Intervals, want.intervals)
	}
	kind, time := history.KindNull, new(big.Int)
	for value, t := range want.times {
		if !value.IsNull() {
			kind = value.Kind()
			time.Add(time, t)
		}
	}
	if a.Kind != kind {
		return fmt.Errorf("kind %v, want %v", a.Kind, kind)
	}
	if got := timeOf(a.Time); kind == history.KindNull && a.Time != 0 || kind != history.KindNull && got.Cmp(time) != 0 {
		return fmt.Errorf("%d instants with a value, want %d", a.Time, time)
	}
	_, ok := a.Mean()
	switch kind {
	case history.KindBool, history.KindInt:
		return checkInts(a, want, time)
	case history.KindFloat:
		return checkFloats(a, want, time)
	}
	if hi, lo := a.Sum(); ok || hi != 0 || lo != 0 || !a.Min().IsNull() || !a.Max().IsNull() {
		return fmt.Errorf("%v has numbers: %v to %v", kind, a.Min(), a.Max())
	}
	return nil
}

func checkInts(a *summary.Measure, want wanted, time *big.Int) error {
	sum, low, high := new(big.Int), int64(math.MaxInt64), int64(math.MinInt64)
	number := func(v history.Value) int64 {
		if v.Kind() == history.KindBool {
			if v.Bool() {
				return 1
			}
			return 0
		}
		return v.Int()
	}
	for value, t := range want.times {
		if !value.IsNull() {
			low, high = min(low, number(value)), max(high, number(value))
			sum.Add(sum, new(big.Int).Mul(big.NewInt(number(value)), t))
		}
	}
	hi, lo := a.Sum()
	got := new(big.Int).Lsh(big.NewInt(hi), 64)
	got.Add(got, new(big.Int).SetUint64(lo))
	if got.Cmp(sum) != 0 {
		return fmt.Errorf("sum %d, want %d", got, sum)
	}
	if number(a.Min()) != low || number(a.Max()) != high || a.Min().Kind() != a.Kind || a.Max().Kind() != a.Kind {
		return fmt.Errorf("from %v to %v, want %d to %d", a.Min(), a.Max(), low, high)
	}
	exact, _ := new(big.Rat).SetFrac(sum, time).Float64()
	if mean, ok := a.Mean(); !ok || math.Abs(mean-exact) > math.Abs(exact)/(1<<50) {
		return fmt.Errorf("mean %v, want %v", mean, exact)
	}
	return nil
}

func checkFloats(a *summary.Measure, want wanted, time *big.Int) error {
	var nan, plus, minus bool
	low, high := math.NaN(), math.NaN()
	exact := func() *big.Float { return new(big.Float).SetPrec(4500) }
	sum, size := exact(), exact()
	for value, t := range want.times {
		if value.IsNull() {
			continue
		}
		f := value.Float()
		if !(f >= low) && !math.IsNaN(f) {
			low = f
		}
		if !(f <= high) && !math.IsNaN(f) {
			high = f
		}
		nan, plus, minus = nan || math.IsNaN(f), plus || math.IsInf(f, 1), minus || math.IsInf(f, -1)
		if !math.IsNaN(f) && !math.IsInf(f, 0) {
			term := exact().Mul(exact().SetFloat64(f), exact().SetInt(t))
			sum.Add(sum, term)
			size.Add(size, term.Abs(term))
		}
	}
	same := func(v history.Value, f float64) bool {
		got := v.Float()
		return v.Kind() == history.KindFloat && (got == f && !(f == 0 && math.Signbit(got)) || math.IsNaN(got) && math.IsNaN(f))
	}
	if !same(a.Min(), low) || !same(a.Max(), high) {
		return fmt.Errorf("from %v to %v, want %v to %v", a.Min(), a.Max(), low, high)
	}
	mean, ok := a.Mean()
	if !ok {
		return fmt.Errorf("no mean")
	}
	switch {
	case nan || plus && minus:
		ok = math.IsNaN(mean)
	case plus || minus:
		ok = math.IsInf(mean, 1) && plus || math.IsInf(mean, -1) && minus
	case size.Cmp(exact().SetFloat64(math.MaxFloat64/4)) > 0:
		return nil // the sum can be beyond the floats
	default:
		n := exact().SetInt(time)
		off := exact().Sub(exact().SetFloat64(mean), exact().Quo(sum, n))
		most := exact().Quo(size, n)
		most.SetMantExp(most, -50)
		most.Add(most, exact().SetFloat64(math.SmallestNonzeroFloat64))
		ok = off.Abs(off).Cmp(most) <= 0
	}
	if !ok {
		return fmt.Errorf("mean %v, want that of %v", mean, want.times)
	}
	return nil
}

// question is a question about some attributes.
type question struct {
	attributes []history.Attribute
	from, to   int64
	pixels     int
}

// asker asks pyramids of one view, and compares.
type asker struct {
	pyramids []*summary.Pyramid
	shares   *summary.Shares
	measures *summary.Measures
}

func (c *asker) ask(t testing.TB, q question) {
	t.Helper()
	bounds := pixelsOf(q.from, q.to, q.pixels)
	some := q.attributes
	if some == nil {
		for a := range c.pyramids[0].View().Len() {
			some = append(some, history.Attribute(a))
		}
	}
	pixels := make([][]wanted, len(some))
	for i, a := range some {
		pixels[i] = want(bounds, spells(t, c.pyramids[0].View(), a, q.from, q.to))
	}
	for k, p := range c.pyramids {
		var err error
		if c.shares, err = p.SharesInto(c.shares, q.attributes, q.from, q.to, q.pixels); err != nil {
			t.Fatalf("%+v: %v", q, err)
		}
		if c.measures, err = p.MeasuresInto(c.measures, q.attributes, q.from, q.to, q.pixels); err != nil {
			t.Fatalf("%+v: %v", q, err)
		}
		if n := len(some); c.shares.Attributes() != n || c.measures.Attributes() != n {
			t.Fatalf("%+v: %d and %d attributes, want %d", q, c.shares.Attributes(), c.measures.Attributes(), n)
		}
		for i, a := range some {
			if err := checkShares(c.shares, c.shares.Attribute(i), bounds, pixels[i]); err != nil {
				t.Fatalf("pyramid %d, shares of attribute %d, %d pixels of [%d, %d]: %v", k, a, q.pixels, q.from, q.to, err)
			}
			if err := checkMeasures(c.measures, c.measures.Attribute(i), pixels[i]); err != nil {
				t.Fatalf("pyramid %d, measures of attribute %d, %d pixels of [%d, %d]: %v", k, a, q.pixels, q.from, q.to, err)
			}
		}
	}
}
