package means

// Total is a sum of means of several sources. The zero value is 0. The result does not depend on the
// order of Add.
type Total struct {
	parts []addend // by number of times, mostly one
}

type addend struct{ times, sum int64 }

// Add adds the mean of a sum over `times` times, at least 1.
func (t *Total) Add(sum, times int64) {
	for i := range t.parts {
		if p := &t.parts[i]; p.times == times {
			p.sum += sum
			return
		}
	}
	t.parts = append(t.parts, addend{times, sum})
}

// Value returns the sum, rounded to the nearest integer.
func (t *Total) Value() int64 { return t.exact().rounded() }

func (t *Total) exact() (sum exact) {
	for _, p := range t.parts {
		sum = sum.plus(quotient(p.sum, p.times))
	}
	return sum
}

// exact is a sum of quotients. Its form does not depend on the order of additions.
type exact struct{ whole, fraction int64 }

const fractionBits = 30

// quotient returns sum/n.
func quotient(sum, n int64) exact { return exact{sum / n, sum % n << fractionBits / n} }

func (e exact) plus(o exact) exact { return exact{e.whole + o.whole, e.fraction + o.fraction} }

func (e exact) rounded() int64 {
	return e.whole + (e.fraction+1<<(fractionBits-1))>>fractionBits
}
