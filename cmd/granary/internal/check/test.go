package check

import (
	"math"
	"math/rand/v2"
)

// The test of significance.
//
// A quantity has a number of each run: m of the base and n of the new side. Under the hypothesis that the sides differ by chance alone,
// the runs could have been labelled base and new in any other way. The test goes over the ways to choose n of the m+n runs as the
// new ones, and takes from each the greatest t of Welch over all quantities. The p-value of a quantity is the share of the ways in which this
// maximum is at least the quantity's own t (Westfall and Young's maxT). It holds the error rate over all quantities together, so thousands
// of functions need no further correction, and it needs no assumption about how values are distributed: costs are skewed, and zero in
// some runs. Runs are relabelled as a whole, so functions that rise together, as a caller and its callee do, cost no power, which
// Bonferroni's correction would take. Mann and Whitney's test with that correction finds nothing in six runs of a hundred functions:
// its least p-value is 1 in 924, that of complete separation, times a hundred. Here it is 1 in 924 whatever the number of functions.
//
// The page bounds the share of false findings among those it shows instead (decision 0055): a person looks at them, and a gate fails.
//
// Beyond mostWays ways, or fewer if there are many numbers, a sample of them is taken, which includes the real one, so that the
// rate still holds.
const (
	mostWays  = 20_000
	leastWays = 1000 // p-values are then steps of 0.1 %
	mostSteps = 1e9  // numbers that are added up: seconds
)

// evenness is the deviation of a difference, as a share of the total, that is added to that of the values: what a function with the
// default of Options.MinShare may grow. Values that are exact, such as bytes of allocations, would otherwise have a t without bound
// for a difference without meaning: five runs that allocated one object of the runtime more than five others. Values that are
// sampled also get that of one sample in each run, as few samples are often the same number by chance.
const evenness = 1e-4

// ways returns the number of ways to choose n of m+n runs, at most `most`.
func ways(m, n int, most float64) float64 {
	all := 1.0
	for i := 1; i <= n && all < most; i++ {
		all = all * float64(m+i) / float64(i)
	}
	return math.Round(min(all, most))
}

// canTest reports whether a test of m and n runs can have a p-value of at most alpha.
func canTest(m, n int, alpha float64) bool {
	return m > 1 && n > 1 && 1/ways(m, n, math.Inf(1)) <= alpha
}

// relabel calls f with each way to choose n of m+n runs, or with `most` of them, the real one first: chosen has true for the new ones.
func relabel(m, n, most int, f func(chosen []bool)) {
	chosen := make([]bool, m+n)
	for i := range chosen {
		chosen[i] = i >= m
	}
	f(chosen)
	if ways(m, n, float64(most+1)) > float64(most) {
		random := rand.New(rand.NewPCG(1, 2)) // a fixed seed (C3)
		for range most - 1 {
			random.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
			f(chosen)
		}
		return
	}
	for next(chosen) {
		f(chosen)
	}
}

// next turns a choice into the next one in the order of words, in which a chosen run is the greater letter, and reports whether
// there is one. The first choice has the chosen runs at its end.
func next(chosen []bool) bool {
	after := 0 // chosen ones behind the last pair that can be swapped
	for i := len(chosen) - 1; i > 0; i-- {
		if chosen[i] && !chosen[i-1] {
			chosen[i-1], chosen[i] = true, false
			for j := len(chosen) - 1; j > i; j-- {
				chosen[j] = after > 0
				after--
			}
			return true
		}
		if chosen[i] {
			after++
		}
	}
	return false
}

// test sets the p-values of quantities with m and n runs: that of a rise, and that of a fall.
func test(quantities []*quantity, m, n int) {
	type extremes struct{ rises, falls int }
	counted := make([]extremes, len(quantities))
	var found []float64
	var of []int // the chosen runs
	all := 0
	most := max(leastWays, min(mostWays, int(mostSteps)/max(1, len(quantities)*(m+n))))
	relabel(m, n, most, func(chosen []bool) {
		highest, lowest := math.Inf(-1), math.Inf(1)
		of = of[:0]
		for i, is := range chosen {
			if is {
				of = append(of, i)
			}
		}
		for _, r := range quantities {
			t := r.welch(of, m)
			highest, lowest = max(highest, t), min(lowest, t)
			if all == 0 {
				found = append(found, t)
			}
		}
		all++
		for i, t := range found {
			if highest >= t-1e-9*math.Abs(t) {
				counted[i].rises++
			}
			if lowest <= t+1e-9*math.Abs(t) {
				counted[i].falls++
			}
		}
	})
	for i, r := range quantities {
		r.rises, r.falls = float64(counted[i].rises)/float64(all), float64(counted[i].falls)/float64(all)
	}
}

// welch returns Welch's t of a choice of runs beside m others.
func (r *quantity) welch(chosen []int, m int) float64 {
	sum, squares := 0.0, 0.0
	for _, i := range chosen {
		v := r.values[i]
		sum += v
		squares += v * v
	}
	deviation := func(sum, squares float64, n int) float64 { // squared, of the mean
		mean := sum / float64(n)
		return max(0, squares/float64(n)-mean*mean) / float64(n-1)
	}
	d := sum/float64(len(chosen)) - (r.sum-sum)/float64(m)
	if d == 0 {
		return 0
	}
	return d / math.Sqrt(deviation(sum, squares, len(chosen))+deviation(r.sum-sum, r.squares-squares, m)+r.even*r.even)
}

// testSamples sets the p-values of a quantity by its numbers of samples, which scatter as Poisson's distribution says. It is for too few
// runs to compare with each other, takes what they scatter beyond that for a change, and says nothing of values without a period.
// quantities is the number of quantities that are tested, for Bonferroni's correction.
func (r *quantity) testSamples(quantities int) {
	d := r.sums[1]/r.divisors[1] - r.sums[0]/r.divisors[0]
	variance := 0.0
	for s, sum := range r.sums {
		variance += sum * r.period / (r.divisors[s] * r.divisors[s])
	}
	if variance <= 0 {
		r.rises, r.falls = 1, 1
		return
	}
	z := d / math.Sqrt(variance)
	tail := func(z float64) float64 { return min(1, float64(quantities)*math.Erfc(z/math.Sqrt2)/2) }
	r.rises, r.falls = tail(z), tail(-z)
}
