package profile

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	pprof "github.com/google/pprof/profile"
	"pgregory.net/rapid"

	"github.com/granarydb/granary/internal/beside"
	"github.com/granarydb/granary/internal/effort"
)

// valued returns the sum of a profile whose stacks f0, f1, ... have the given values.
func valued(t fataler, values ...int64) *Stacks {
	t.Helper()
	var stacks []stack
	for i, v := range values {
		stacks = append(stacks, stack{frames: fmt.Sprint("f", i), values: []int64{v}})
	}
	return mergeOf(t, makeProfile(start, "n:count", stacks...))
}

func TestScale(t *testing.T) {
	for _, tc := range []struct {
		values []int64
		factor float64
		want   map[string]int64 // nil: ErrScale
	}{
		{[]int64{10, -4, 1}, 1, map[string]int64{"f0": 10, "f1": -4, "f2": 1}},
		{[]int64{10, -4, 1}, 2.5, map[string]int64{"f0": 25, "f1": -10, "f2": 3}},
		{[]int64{10, -4, 1}, -1, map[string]int64{"f0": -10, "f1": 4, "f2": -1}},
		{[]int64{10, -4, 1}, 0, map[string]int64{}},
		{[]int64{1, 1, 1, 1, 1, 1}, 0.4, map[string]int64{"f1": 1, "f3": 1}}, // 0.4, 0.8, 1.2, 1.6, 2, 2.4
		{[]int64{math.MaxInt64, math.MinInt64, 7}, 1, map[string]int64{"f0": math.MaxInt64, "f1": math.MinInt64, "f2": 7}},
		{[]int64{math.MaxInt64, 1<<53 + 1}, 0.5, map[string]int64{"f0": 1 << 62, "f1": 1 << 52}},
		{[]int64{math.MaxInt64}, 1e-300, map[string]int64{}},
		{[]int64{3, 1 << 62}, 2, nil},
		{[]int64{math.MinInt64}, -1, nil},
		{[]int64{1}, math.MaxFloat64, nil},
		{[]int64{1}, math.NaN(), nil},
		{[]int64{1}, math.Inf(1), nil},
		{nil, 5, map[string]int64{}},
		{nil, math.Inf(-1), nil},
	} {
		s := valued(t, tc.values...)
		before := stackSums(s)
		got, err := s.Scale(tc.factor)
		if tc.want == nil {
			if !errors.Is(err, ErrScale) || got != nil {
				t.Errorf("%v by %v: %v, %v", tc.values, tc.factor, got, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%v by %v: %v", tc.values, tc.factor, err)
			continue
		}
		if diff := cmp.Diff(tc.want, stackSums(got)); diff != "" || got.Type != s.Type || got.Len() != len(tc.want) {
			t.Errorf("%v by %v: -want +got\n%s", tc.values, tc.factor, diff)
		}
		if diff := cmp.Diff(before, stackSums(s)); diff != "" {
			t.Errorf("%v by %v changes the original: %s", tc.values, tc.factor, diff)
		}
	}
}

// Each stack is less than 1 from its exact value, the total less than 1/2, and only what
// exceeds int64 is refused.
func TestScaleIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.OneOf(rapid.Int64Range(-20, 20), rapid.Int64(), rapid.SampledFrom([]int64{math.MaxInt64, math.MinInt64})), 0, 8).Draw(t, "values")
		s := valued(t, values...)
		values = s.values // in the order of the stacks
		factor := rapid.OneOf(rapid.SampledFrom([]float64{0, 1, -1, 0.5, 1.0 / 3, 0.1, 3, -2.5}), rapid.Float64Range(-4, 4), rapid.Float64()).Draw(t, "factor")
		ratio := new(big.Rat).SetFloat64(factor)
		got, err := s.Scale(factor)
		if ratio == nil {
			if !errors.Is(err, ErrScale) {
				t.Fatalf("by %v: %v", factor, err)
			}
			return
		}
		exact := func(v int64) *big.Rat { return new(big.Rat).Mul(new(big.Rat).SetInt64(v), ratio) }
		if err != nil {
			// A value that rounds to at most 2^63-2 in size cannot be refused.
			for _, v := range values {
				if size := exact(v); size.Abs(size).Cmp(new(big.Rat).SetInt64(math.MaxInt64-1)) > 0 {
					return
				}
			}
			t.Fatalf("%d by %v: %v", values, factor, err)
		}
		scaled := map[uint32]int64{}
		for i, code := range got.codes {
			scaled[code] = got.values[i]
		}
		rest := new(big.Rat)
		for i, code := range s.codes {
			off := exact(values[i])
			off.Sub(off, new(big.Rat).SetInt64(scaled[code]))
			rest.Add(rest, off)
			if off.Abs(off).Cmp(big.NewRat(1, 1)) >= 0 {
				t.Fatalf("%d by %v is %d", values[i], factor, scaled[code])
			}
		}
		if rest.Abs(rest).Cmp(big.NewRat(1, 2)) > 0 {
			t.Fatalf("%d by %v: the total is off by %v", values, factor, rest)
		}
	})
}

// TestNormalize_NoSamples says which side has none, because a question about a time without profiles is common.
func TestNormalize_NoSamples(t *testing.T) {
	full, empty := valued(t, 1), valued(t)
	for want, sides := range map[string][2]*Stacks{"the side before has no samples": {empty, full}, "the side after has no samples": {full, empty}} {
		if _, err := sides[1].Normalize(sides[0]); !errors.Is(err, ErrScale) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestNormalize(t *testing.T) {
	for _, tc := range []struct {
		base, values []int64
		want         map[string]int64
	}{
		{[]int64{3}, []int64{3, 3, 3}, map[string]int64{"f0": 1, "f1": 1, "f2": 1}},
		{[]int64{3}, []int64{1, 1}, map[string]int64{"f0": 2, "f1": 1}}, // 1.5 and 1.5
		{[]int64{5, -6}, []int64{4, -2}, map[string]int64{"f0": -2, "f1": 1}},
		{[]int64{math.MaxInt64, math.MaxInt64}, []int64{1, 1}, map[string]int64{"f0": math.MaxInt64, "f1": math.MaxInt64}}, // the totals exceed int64
		{[]int64{math.MaxInt64, math.MaxInt64}, []int64{1}, nil},
		{[]int64{1}, []int64{2, -2}, nil},
		{[]int64{2, -2}, []int64{1}, nil},
		{nil, []int64{1}, nil},
		{[]int64{1}, nil, nil},
	} {
		got, err := valued(t, tc.values...).Normalize(valued(t, tc.base...))
		if tc.want == nil {
			if !errors.Is(err, ErrScale) || got != nil {
				t.Errorf("%v to %v: %v, %v", tc.values, tc.base, got, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%v to %v: %v", tc.values, tc.base, err)
		} else if diff := cmp.Diff(tc.want, stackSums(got)); diff != "" {
			t.Errorf("%v to %v: -want +got\n%s", tc.values, tc.base, diff)
		}
	}
	if _, err := valued(t, 1).Normalize(new(Stacks)); !errors.Is(err, ErrMixed) {
		t.Errorf("of two types: %v", err)
	}
}

// onlyType returns a copy of a profile with one of its sample types. Profile.ScaleN of
// google/pprof drops samples whose other values are 0.
func onlyType(p *pprof.Profile, i int) *pprof.Profile {
	p = p.Copy()
	p.SampleType, p.DefaultSampleType = p.SampleType[i:i+1], ""
	for _, s := range p.Sample {
		s.Value = s.Value[i : i+1]
	}
	return p
}

// sumsOfFrames returns the sums by stack, told apart by their frames.
func sumsOfFrames(s *Stacks) map[string]int64 {
	sums := map[string]int64{}
	for frames, value := range s.All() {
		sums[fmt.Sprint(frames)] += value
	}
	return sums
}

// mergeOf returns the sum of a profile of one type.
func mergeOf(t fataler, p *pprof.Profile) *Stacks {
	t.Helper()
	db := openDB(t, Options{})
	defer db.store.Close()
	insert(t, db, p)
	snap, err := db.store.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	s, err := db.Merge(ctx, snap, typeListOf(p).Types[0], Query{SumGauges: true})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// compareDifference compares the difference of two profiles of one type with that of
// google/pprof.
func compareDifference(t fataler, base, p *pprof.Profile, normalize bool) {
	t.Helper()
	before, after := mergeOf(t, base), mergeOf(t, p)
	side, most := p.Copy(), map[string]int64{}
	if normalize {
		normalized, err := after.Normalize(before)
		if errors.Is(err, ErrScale) && (before.Total == 0 || after.Total == 0) {
			return // pprof drops all samples of p
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := side.Normalize(base); err != nil {
			t.Fatal(err)
		}
		for _, s := range p.Sample {
			s.Value[0] = min(1, max(s.Value[0], -s.Value[0]))
		}
		most = sumsOfFrames(mergeOf(t, p)) // pprof rounds each sample
		after = normalized
	}
	minus := base.Copy()
	minus.Scale(-1)
	both, err := pprof.Merge([]*pprof.Profile{side, minus})
	if err != nil {
		t.Fatal(err)
	}
	want, got, total := sumsOfFrames(mergeOf(t, both)), sumsOfFrames(after), after.Total-before.Total
	for key, sum := range sumsOfFrames(before) {
		got[key] -= sum
	}
	for _, sums := range []map[string]int64{want, got} {
		for key := range sums {
			if off := want[key] - got[key]; max(off, -off) > most[key] {
				t.Fatal(fmt.Sprintf("normalised %t: pprof has %d, granary %d of %s", normalize, want[key], got[key], key))
			}
		}
	}
	if normalize && total != 0 {
		t.Fatal(fmt.Sprintf("the difference of %d and %d, normalised, is %d", after.Total, before.Total, total))
	}
}

// Differences of made-up profiles are those of google/pprof, with and without scaling.
func TestDiffEqualsPprof(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) *pprof.Profile {
			var stacks []stack
			for range rapid.IntRange(0, 8).Draw(t, name) {
				s := stack{frames: rapid.SampledFrom(oracleStacks).Draw(t, "stack"), labels: map[string][]string{}}
				s.values = []int64{rapid.OneOf(rapid.Int64Range(-3, 10), rapid.Int64Range(0, 1<<45)).Draw(t, "value")}
				if thread := rapid.SampledFrom([]string{"", "t1", "t2"}).Draw(t, "thread"); thread != "" {
					s.labels["thread"] = []string{thread}
				}
				stacks = append(stacks, s)
			}
			typ := rapid.SampledFrom([]string{"n:count", "inuse_space:bytes"}).Draw(t, "type")
			return makeProfile(start, typ, stacks...)
		}
		base, p := draw("base"), draw("profile")
		if base.SampleType[0].Type == p.SampleType[0].Type {
			compareDifference(t, base, p, rapid.Bool().Draw(t, "normalize"))
		}
	})
}

// Differences of real profiles are those of google/pprof: of the first and the last profile of
// each kind.
func TestDiffOfRealProfiles(t *testing.T) {
	effort.Slow(t)
	for _, tc := range []struct {
		shared         bool
		pairs, samples int
	}{{false, 4, 2230}, {true, 6, 769}} {
		t.Run(fmt.Sprintf("shared=%t", tc.shared), func(t *testing.T) {
			kinds := map[string][]*pprof.Profile{}
			for _, name := range beside.Profiles(t, tc.shared) {
				data, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				p, err := pprof.ParseData(data)
				if err != nil {
					t.Fatal(name, err)
				}
				kind := fmt.Sprint(typeListOf(p).Types)
				kinds[kind] = append(kinds[kind], p)
			}
			pairs, samples := 0, 0
			for _, all := range kinds {
				base, p := all[0], all[len(all)-1]
				if base == p {
					continue
				}
				for i := range p.SampleType {
					for _, normalize := range []bool{false, true} {
						compareDifference(t, onlyType(base, i), onlyType(p, i), normalize)
					}
				}
				pairs, samples = pairs+1, samples+len(p.Sample)
			}
			if pairs != tc.pairs || samples != tc.samples {
				t.Errorf("%d pairs of profiles with %d samples, want %d with %d", pairs, samples, tc.pairs, tc.samples)
			}
		})
	}
}

func BenchmarkScale(b *testing.B) {
	s := &Stacks{Type: cpuCount}
	for i := range 100_000 {
		s.add(uint32(i), int64(i%1000+1))
	}
	for b.Loop() {
		if _, err := s.Scale(1.0 / 3); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100_000, "ns/stack")
}
