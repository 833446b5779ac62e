package check

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// program is a program whose runs are drawn by chance: the weights of its functions, each called by main.
type program map[string]float64

// newProgram returns a program of n functions, of which few have most of the cost. The first, f0, has a half.
func newProgram(n int) program {
	p, left := program{}, 1.0
	for i := range n - 1 {
		share := 0.5
		if i > 0 {
			share = 0.1
		}
		p[fmt.Sprintf("f%d", i)] = left * share
		left -= left * share
	}
	p["rest"] = left
	return p
}

// with returns a copy in which a function has a factor of its cost.
func (p program) with(name string, factor float64) program {
	q := maps.Clone(p)
	q[name] *= factor
	return q
}

// run draws samples of 10 ms from as many operations as take this many without a regression. noise is the deviation of the
// speed of the machine from run to run.
func (p program) run(random *rand.Rand, samples int, noise float64) Run {
	const period = 10e6
	r := Run{Operations: float64(samples), Period: period, Functions: map[string]Cost{}}
	speed := 1 + noise*random.NormFloat64()
	for _, name := range slices.Sorted(maps.Keys(p)) { // the draws are the same each time
		n := poisson(random, p[name]*speed*float64(samples))
		if n > 0 {
			r.Functions[name] = Cost{n * period, n * period}
		}
		r.Total += n * period
	}
	r.Functions["main"] = Cost{0, r.Total}
	return r
}

// poisson draws a number of samples.
func poisson(random *rand.Rand, mean float64) (n float64) {
	for left := mean; ; n++ {
		if left -= random.ExpFloat64(); left < 0 {
			return n
		}
	}
}

// runs draws the runs of a side.
func (p program) runs(random *rand.Rand, n, samples int, noise float64) Side {
	var s Side
	for range n {
		s.Runs = append(s.Runs, p.run(random, samples, noise))
	}
	return s
}

// cpu returns the type of CPU time of two sides.
func cpu(base, changed Side) []Measured {
	return []Measured{{Sample: "cpu", Unit: "nanoseconds", Sides: [2]Side{base, changed}}}
}
