package filter

// openRows is a range [lo, hi) of rows whose series does not decide the condition. They are evaluated
// together.
type openRows struct {
	lo, hi int
	series uint32 // the series of all rows, unless mixed
	mixed  bool
}

func (r *openRows) extend(lo, hi int, series uint32) {
	if r.hi == r.lo {
		*r = openRows{lo, hi, series, false}
		return
	}
	r.hi, r.mixed = hi, r.mixed || series != r.series
}

// manyRows is the number of rows in a series from which on they are evaluated apart from other series.
// Conditions on series columns are then not evaluated row by row.
const manyRows = 256
