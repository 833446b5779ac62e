package change

import "math"

// P returns the probability that two sides of equal means differ by at least as much as a and b, whose elements are the
// values of the parts of each side: Welch's t-test with two tails. It is 0 if there is no spread at all and the means differ.
func P(a, b []float64) float64 {
	if len(a) < 2 || len(b) < 2 {
		return math.NaN()
	}
	meanA, errorA := meanError(a)
	meanB, errorB := meanError(b)
	d, sum := math.Abs(meanA-meanB), errorA+errorB
	switch {
	case d <= 1e-12*max(math.Abs(meanA), math.Abs(meanB)): // they differ by rounding, if at all
		return 1
	case sum == 0:
		return 0
	}
	freedom := sum * sum / (errorA*errorA/float64(len(a)-1) + errorB*errorB/float64(len(b)-1))
	t2 := d * d / sum
	return beta(freedom/2, 0.5, freedom/(freedom+t2))
}

// meanError returns the mean of values, and the square of its standard error.
func meanError(values []float64) (mean, square float64) {
	n := float64(len(values))
	for _, v := range values {
		mean += v / n
	}
	for _, v := range values {
		square += (v - mean) * (v - mean)
	}
	return mean, square / (n - 1) / n
}

// beta returns the regularized incomplete beta function, by its continued fraction. The fraction converges fast for x below
// the mean of the distribution; the symmetry of the function brings the others there.
func beta(a, b, x float64) float64 {
	switch {
	case x <= 0:
		return 0
	case x >= 1:
		return 1
	case x > (a+1)/(a+b+2):
		return 1 - beta(b, a, 1-x)
	}
	lgA, _ := math.Lgamma(a)
	lgB, _ := math.Lgamma(b)
	lgAB, _ := math.Lgamma(a + b)
	front := math.Exp(lgAB - lgA - lgB + a*math.Log(x) + b*math.Log1p(-x))
	return min(1, front/(a*fraction(a, b, x)))
}

// fraction evaluates 1 + d1/(1 + d2/(1 + ...)) from its far end. 200 terms are exact to 1e-12 for the degrees of freedom of
// at most some hundred parts.
func fraction(a, b, x float64) float64 {
	const terms = 200
	f := 1.0
	for k := terms; k >= 1; k-- {
		m := float64(k / 2)
		d := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		if k%2 == 1 {
			d = -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		}
		f = 1 + d/f
	}
	return f
}
