package results

import "slices"

// Median returns the median of at least one value, the upper of two middle values.
func Median(of []float64) float64 {
	of = slices.Sorted(slices.Values(of))
	return of[len(of)/2]
}

// Percentile returns the lowest sorted value that exceeds a share of the values, from 0 to 1. There must be
// at least one.
func Percentile(sorted []float64, share float64) float64 {
	return sorted[min(len(sorted)-1, int(share*float64(len(sorted))))]
}

// Spread is the range of repeated measurements.
type Spread struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// SpreadOf returns the spread of values, which must not be empty.
func SpreadOf(values []float64) Spread {
	return Spread{Median: Median(values), Low: slices.Min(values), High: slices.Max(values)}
}

// Latencies summarises an operation's wall times, in microseconds.
type Latencies struct {
	Count int     `json:"count"`
	P50   float64 `json:"p50_us"`
	P99   float64 `json:"p99_us"`
	Max   float64 `json:"max_us"`
}

// LatenciesOf summarises wall times in microseconds, in any order. No time gives the zero value.
func LatenciesOf(us []float64) (l Latencies) {
	if len(us) == 0 {
		return l
	}
	us = slices.Sorted(slices.Values(us))
	return Latencies{Count: len(us), P50: Percentile(us, 0.5), P99: Percentile(us, 0.99), Max: us[len(us)-1]}
}
