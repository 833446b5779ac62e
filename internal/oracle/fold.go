package oracle

import (
	"errors"
	"math"
	"math/big"
)

// ErrOverflow is the answer to an integer sum beyond its type.
var ErrOverflow = errors.New("overflow")

// Fold aggregates a column's values: count, sum, mean, min or max. A null does not count, and without
// values the answer is null. Sums are exact, and rounded once to the values' type or, for a mean, to
// float64. The sum of an infinity and its opposite is NaN.
func Fold(op string, values []any) (any, error) {
	var present []any
	for _, v := range values {
		if v != nil {
			present = append(present, v)
		}
	}
	if op == "count" {
		return int64(len(present)), nil
	}
	if len(present) == 0 {
		return nil, nil
	}
	if op == "min" || op == "max" {
		best := present[0]
		for _, v := range present {
			if order := CompareKeys(v, best); order < 0 && op == "min" || order > 0 && op == "max" {
				best = v
			}
		}
		return best, nil
	}
	sum, special := exactSum(present)
	mean := new(big.Rat).Quo(sum, big.NewRat(int64(len(present)), 1))
	switch of := present[0].(type) {
	case float64:
		rounded, _ := sum.Float64()
		if special != 0 {
			rounded = special
		}
		if op == "mean" {
			rounded /= float64(len(present))
		}
		return rounded, nil
	case int64:
		if op == "sum" && sum.Num().IsInt64() {
			return sum.Num().Int64(), nil
		}
	case uint64:
		if op == "sum" && sum.Num().IsUint64() {
			return sum.Num().Uint64(), nil
		}
	default:
		return of, errors.New("no number")
	}
	if op == "sum" {
		return nil, ErrOverflow
	}
	rounded, _ := mean.Float64()
	return rounded, nil
}

// exactSum returns the sum of numbers. special is the sum of the infinite and NaN values, 0 without any.
func exactSum(values []any) (sum *big.Rat, special float64) {
	sum = new(big.Rat)
	for _, v := range values {
		x := new(big.Rat)
		switch v := v.(type) {
		case int64:
			x.SetInt64(v)
		case uint64:
			x.SetUint64(v)
		case float64:
			if math.IsInf(v, 0) || math.IsNaN(v) {
				special += v
				continue
			}
			x.SetFloat64(v)
		}
		sum.Add(sum, x)
	}
	return sum, special
}
