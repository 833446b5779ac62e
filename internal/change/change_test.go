package change

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestP compares with what is known in closed form: for two parts a side of equal spread there are two degrees of freedom.
func TestP(t *testing.T) {
	for _, d := range []float64{0.01, 0.5, 1, 2, 10, 1000} {
		x := d / math.Sqrt(0.5)
		want := 1 - x/math.Sqrt(2+x*x)
		if got := P([]float64{0, 1}, []float64{d, d + 1}); math.Abs(got-want) > 1e-9 {
			t.Errorf("means that are %v apart: %v, want %v", d, got, want)
		}
	}
	five := []float64{1, 2, 3, 4, 5}
	if got := P(five, []float64{2, 3, 4, 5, 6}); math.Abs(got-0.3465935) > 1e-6 { // t = 1 with 8 degrees of freedom
		t.Errorf("t of 1: %v", got)
	}
	for name, c := range map[string]struct {
		a, b []float64
		want float64
	}{
		"equal": {five, five, 1}, "no spread": {[]float64{2, 2}, []float64{3, 3, 3}, 0}, "neither": {[]float64{2, 2}, []float64{2, 2, 2}, 1},
		"one part": {five, []float64{1}, math.NaN()}, "none": {nil, five, math.NaN()}, "zero": {[]float64{0, 0}, []float64{0, 0}, 1},
	} {
		if got := P(c.a, c.b); got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestP_Noise: of sides with equal means, as many are below a level as the level says, whatever their spreads.
func TestP_Noise(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const rounds = 20_000
	for _, spread := range []float64{1, 3} {
		below := 0
		for range rounds {
			a, b := make([]float64, 16), make([]float64, 12)
			for i := range a {
				a[i] = 5 + rng.NormFloat64()
			}
			for i := range b {
				b[i] = 5 + spread*rng.NormFloat64()
			}
			p, back := P(a, b), P(b, a)
			if p < 0 || p > 1 || math.Abs(p-back) > 1e-12 {
				t.Fatalf("%v one way, %v the other", p, back)
			}
			if p < Noise {
				below++
			}
		}
		if share := float64(below) / rounds; share < 0.7*Noise || share > 1.3*Noise {
			t.Errorf("a spread of %v: %v below %v", spread, share, Noise)
		}
	}
}

// TestSentence_Many: of a thousand equal functions ten are below Noise by chance, and a sentence tells of none of them. It tells
// of a real change among them.
func TestSentence_Many(t *testing.T) {
	d := Difference{Subject: "x", Type: "cpu", Profiles: [2]bool{true, true}, Total: [2]int64{10_000, 10_100}, P: 0.3}
	for i := range 1000 {
		p := (float64(i) + 0.5) / 1000
		d.Functions = append(d.Functions, Changed{"f", [2]int64{0, 10}, [2]int64{0, 10}, p, p})
	}
	if got, want := d.Sentence(), "x costs about as much CPU as before (+1 %, within noise), and no function changed beyond doubt; 990 functions changed within noise."; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	d.Functions[0] = Changed{"real", [2]int64{100, 200}, [2]int64{100, 200}, 1e-6, 1e-6}
	if got, want := d.Sentence(), "x costs about as much CPU as before (+1 %, within noise), though real (+1 % of all) changed; 990 functions changed within noise."; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestSentence(t *testing.T) {
	sure := func(name string, before, after int64) Changed {
		return Changed{name, [2]int64{before, after}, [2]int64{before, after}, 0.0001, 0.0001}
	}
	vague := func(name string, before, after int64) Changed {
		return Changed{name, [2]int64{before, after}, [2]int64{before, after}, 0.4, 0.4}
	}
	blind := func(name string, before, after int64) Changed {
		return Changed{name, [2]int64{before, after}, [2]int64{before, after}, math.NaN(), math.NaN()}
	}
	both := [2]bool{true, true}
	for want, d := range map[string]Difference{
		"checkout costs 4.1 % more CPU, mostly in a.F (+3.2 % of all); 3 functions are new, 1 is gone; 2 functions changed within noise.": {
			Subject: "checkout", Type: "cpu", Profiles: both, Total: [2]int64{1000, 1041}, P: 0.001,
			Functions: []Changed{sure("x.com/a.F", 100, 132), sure("n1", 0, 4), sure("n2", 0, 4), sure("n3", 0, 4), sure("g", 3, 0), vague("v", 100, 99), vague("w", 0, 1)},
		},
		"checkout costs 50 % less CPU, mostly in main.(*T[a/b.c]).F (−40 % of all).": {
			Subject: "checkout", Type: "cpu", Profiles: both, Total: [2]int64{1000, 500}, P: 0.001, Functions: []Changed{sure("main.(*T[a/b.c]).F", 500, 100), sure("g", 200, 100)},
		},
		"The selection costs 10 % more CPU, most of all in a (+2 % of all) and b (+1 % of all); 1 function changed within noise.": {
			Type: "cpu", Profiles: both, Total: [2]int64{1000, 1100}, P: 0.001, Functions: []Changed{sure("b", 10, 20), sure("a", 10, 30), vague("c", 0, 70)},
		},
		"x costs 50 % more CPU, mostly below a.Compile (+49.5 % of all); 2 functions are new; 1 function changed within noise.": { // the own values are those of an allocator
			Subject: "x", Type: "cpu", Profiles: both, Total: [2]int64{1000, 1500}, P: 0.001, Functions: []Changed{
				{"main.main", [2]int64{0, 0}, [2]int64{1000, 1500}, 1, 0.0001},
				{"main.check", [2]int64{0, 2}, [2]int64{200, 700}, 1, 0.0001},
				{"a.Compile", [2]int64{0, 0}, [2]int64{0, 495}, 1, 0.0001},
				{"a.parse", [2]int64{0, 5}, [2]int64{0, 280}, 0.0001, 0.0001},
				sure("runtime.alloc", 20, 60), sure("runtime.sweep", 10, 30), vague("v", 1, 2),
			},
		},
		"x costs 10 % more CPU, spread over functions that each changed within noise.": {
			Subject: "x", Type: "cpu", Profiles: both, Total: [2]int64{1000, 1100}, P: 0.001, Functions: []Changed{vague("c", 0, 50), vague("d", 10, 60)},
		},
		"x costs about as much CPU as before (+0.5 %, within noise), and no function changed beyond noise.": {
			Subject: "x", Type: "cpu", Profiles: both, Total: [2]int64{1000, 1005}, P: 0.6, Functions: []Changed{vague("c", 0, 5)},
		},
		"x costs about as much CPU as before (−0.5 %, within noise), though f (+10 % of all), g (−9 % of all) and 1 other changed; 1 function changed within noise.": {
			Subject: "x", Type: "cpu", Profiles: both, Total: [2]int64{1000, 995}, P: 0.6, Functions: []Changed{sure("g", 100, 10), sure("f", 100, 200), sure("h", 10, 11), vague("v", 1, 2)},
		},
		"x version 2 costs 50 % more CPU than version 1, mostly in f (+50 % of all).": {
			Subject: "x version 2", Before: "version 1", Type: "cpu", Profiles: both, Total: [2]int64{1000, 1500}, P: 0, Functions: []Changed{sure("f", 100, 600)},
		},
		"x version 2 costs about as much CPU as version 1 (−1 %, within noise), and no function changed beyond noise.": {
			Subject: "x version 2", Before: "version 1", Type: "cpu", Profiles: both, Total: [2]int64{1000, 990}, P: 0.5, Functions: []Changed{vague("f", 100, 90)},
		},
		"version 1 has no CPU; 1 function is new.": {
			Subject: "x version 2", Before: "version 1", Type: "cpu", Profiles: both, Total: [2]int64{0, 5}, P: 0.001, Functions: []Changed{sure("f", 0, 5)},
		},
		"x version 2 has no CPU; 1 function is gone.": {
			Subject: "x version 2", Before: "version 1", Type: "cpu", Profiles: both, Total: [2]int64{5, 0}, P: 0.001, Functions: []Changed{sure("f", 5, 0)},
		},
		"x costs 10 % more CPU, mostly in f (+10 % of all); 1 function changed within noise.": { // equal ones did not change
			Subject: "x", Type: "cpu", Profiles: both, Total: [2]int64{1000, 1100}, P: 0.001, Functions: []Changed{sure("f", 100, 200), vague("v", 9, 8), sure("s", 7, 7), vague("t", 5, 5)},
		},
		"x costs 50 % more CPU, mostly in f (+50 % of all).": {
			Subject: "x", Type: "cpu", Profiles: both, Total: [2]int64{1000, 1500}, P: 0, Functions: []Changed{sure("f", 100, 600), vague("s", 7, 7)},
		},
		"x costs as much CPU as before.": {Subject: "x", Type: "cpu", Profiles: both, Total: [2]int64{1000, 1000}, P: 1},
		"x costs 5 % more CPU, mostly in f (+5 % of all); too few profiles tell what is noise.": {
			Subject: "x", Type: "cpu", Profiles: both, Total: [2]int64{1000, 1050}, P: math.NaN(), Functions: []Changed{blind("f", 100, 150)},
		},
		"x has 100 % more memory in use, mostly in f (+100 % of all).": { // a gauge
			Subject: "x", Type: "inuse_space", Profiles: both, Total: [2]int64{1 << 20, 2 << 20}, P: 0, Functions: []Changed{sure("f", 1<<20, 2<<20)},
		},
		"x has no CPU before; 2 functions are new.":                                            {Subject: "x", Type: "cpu", Profiles: both, Total: [2]int64{0, 5}, P: 0.001, Functions: []Changed{sure("f", 0, 3), sure("g", 0, 2)}},
		"x has no CPU any more; 1 function is gone.":                                           {Subject: "x", Type: "cpu", Profiles: both, Total: [2]int64{5, 0}, P: 0.001, Functions: []Changed{sure("f", 5, 0)}},
		"The selection has no delays on either side.":                                          {Type: "delays", Profiles: both, P: math.NaN()},
		"Neither side has profiles.":                                                           {Type: "cpu"},
		"The side after has no profiles: all is gone, and nothing can be compared.":            {Profiles: [2]bool{true, false}, Total: [2]int64{4, 0}},
		"The side before has no profiles: all is new, and nothing can be compared.":            {Profiles: [2]bool{false, true}, Total: [2]int64{0, 4}},
		"Scaled to the same total, f (+10 % of all) changed; 1 function changed within noise.": {Type: "cpu", Scaled: true, Profiles: both, Total: [2]int64{1000, 1000}, P: 1, Functions: []Changed{sure("f", 100, 200), vague("g", 200, 100)}},
		"Scaled to the same total, no function changed beyond noise.": {
			Type: "cpu", Scaled: true, Profiles: both, Total: [2]int64{1000, 1000}, P: 1, Functions: []Changed{vague("g", 200, 100)},
		},
		"x costs 0.01 % at most more CPU, mostly in f (+0.01 % at most of all).": {Subject: "x", Type: "cpu", Profiles: both, Total: [2]int64{1e9, 1e9 + 1}, P: 0, Functions: []Changed{sure("f", 1, 2)}},
	} {
		if got := d.Sentence(); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}
