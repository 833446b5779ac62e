package pprof

// ids finds an entry of a table by its id. Writers number entries from 1 up, in
// order: then an id is its own index, and nothing is kept.
type ids struct {
	n    uint32
	byID map[uint64]uint32 // nil as long as each id was its own index
}

// add gives the next index to id. It says false for an id that is 0 or taken.
func (t *ids) add(id uint64) bool {
	t.n++
	if t.byID == nil {
		if id == uint64(t.n) {
			return true
		}
		t.byID = make(map[uint64]uint32, t.n)
		for i := uint32(1); i < t.n; i++ {
			t.byID[uint64(i)] = i
		}
	}
	if _, taken := t.byID[id]; taken || id == 0 {
		return false
	}
	t.byID[id] = t.n
	return true
}

// find returns the index of id, or 0.
func (t *ids) find(id uint64) uint32 {
	if t.byID != nil {
		return t.byID[id]
	}
	if id > uint64(t.n) {
		return 0
	}
	return uint32(id)
}
