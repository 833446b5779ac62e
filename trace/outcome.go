package trace

import (
	"cmp"
	"slices"
)

// Outcome is what an import of a recording has to say beside the history. The zero value is that of an import that
// left nothing out.
type Outcome struct {
	// Lost is the fault at which a recording breaks off, as that of a killed program does, or nil. What is
	// before it was imported, up to End.
	Lost error
	// End is the last instant of the history.
	End int64
	// leftOut counts what was read and is not in the history, by kind.
	leftOut map[string]int
}

// LeftOut is a kind of contents that an import left out, such as "counters", with its number.
type LeftOut struct {
	What  string
	Count int
}

// LeaveOut counts n things of a kind that are not in the history. The number of kinds must be bounded by the format.
func (r *Outcome) LeaveOut(what string, n int) {
	if n == 0 {
		return
	}
	if r.leftOut == nil {
		r.leftOut = map[string]int{}
	}
	r.leftOut[what] += n
}

// LeftOut returns what was left out, the most frequent kind first.
func (r *Outcome) LeftOut() []LeftOut {
	out := make([]LeftOut, 0, len(r.leftOut))
	for what, n := range r.leftOut {
		out = append(out, LeftOut{what, n})
	}
	slices.SortFunc(out, func(a, b LeftOut) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.What, b.What))
	})
	return out
}
