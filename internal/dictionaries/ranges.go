package dictionaries

import "math"

// Ranges maps times to generation numbers: Count consecutive time ranges of Width share dictionaries. A table
// without time buckets has Width 0 and one number for all times.
type Ranges struct{ Width, Count int64 }

// Of returns a bucket's generation number.
func (r Ranges) Of(bucket int64) int64 {
	if r.Width == 0 {
		return 0
	}
	return floorDiv(floorDiv(bucket, r.Width), r.Count)
}

// Start returns the start of the first time range that shares a bucket's dictionaries.
func (r Ranges) Start(bucket int64) int64 {
	if r.Width == 0 {
		return bucket
	}
	return min(bucket, r.Of(bucket)*r.Count*r.Width) // it can begin before the range of int64
}

// Times returns the first and the last time of generation number, both inclusive.
func (r Ranges) Times(number int64) (from, to int64) {
	from, to = math.MinInt64, math.MaxInt64
	if r.Width == 0 {
		return from, to
	}
	if number >= math.MinInt64/r.Width/r.Count {
		from = number * r.Count * r.Width
	}
	if next := number + 1; next <= math.MaxInt64/r.Width/r.Count {
		to = next*r.Count*r.Width - 1
	}
	return from, to
}

// floorDiv divides and rounds toward minus infinity.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
