package catalog

// Saved is the state of a table without its buckets and granules, for a manifest.
type Saved struct {
	Notes            []string `json:",omitempty"`
	Newest, Last     int64
	Filled           int64
	Open, Floor      int64
	Dropped, Evicted int64
	SeriesOfNewest   int
	Lost             int64  `json:",omitempty"`
	LastUnit         uint64 `json:",omitempty"`
}

// Save returns the state that Resume needs besides the buckets.
func (t *TableState) Save() Saved {
	return Saved{
		Notes: t.Notes, Newest: t.Newest, Last: t.last, Filled: t.Filled, Open: t.Open, Floor: t.Floor,
		Dropped: t.Dropped, Evicted: t.Evicted, SeriesOfNewest: t.Series,
		Lost: t.Lost, LastUnit: t.LastUnit,
	}
}

// Resume gives an empty table a saved state, except the buckets. The error is schema.ErrLimit, for notes.
func (e *TableEdit) Resume(s Saved) error {
	for _, note := range s.Notes {
		if err := e.Note(note, 0); err != nil {
			return err
		}
	}
	t := e.State
	t.Newest, t.last, t.Filled, t.Open, t.Floor = s.Newest, s.Last, s.Filled, s.Open, s.Floor
	t.Dropped, t.Evicted, t.Series = s.Dropped, s.Evicted, s.SeriesOfNewest
	t.Lost, t.LastUnit = s.Lost, s.LastUnit
	return nil
}
