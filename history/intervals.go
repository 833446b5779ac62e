package history

// Intervals is a list of intervals with their attributes. It belongs to the caller. Any number of
// goroutines may read it. An interval takes 32 bytes.
type Intervals struct {
	view *View
	rows []row
}

type row struct {
	start, end int64
	word       uint64
	attribute  Attribute
	kind       Kind
	open       bool
}

// Len returns the number of intervals.
func (r *Intervals) Len() int { return len(r.rows) }

// At returns interval i and its attribute.
func (r *Intervals) At(i int) (Attribute, Interval) {
	w := &r.rows[i]
	return w.attribute, Interval{w.start, w.end, valueOfWord(r.view.texts, w.kind, w.word), w.open}
}
