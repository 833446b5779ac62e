package pprof

// idIndex finds entries of a table by id. It stores nothing while each id is its own index, because most
// writers number entries in order from 1 up.
type idIndex struct {
	n    uint32
	byID map[uint64]uint32 // nil while each id is its own index
}

// add assigns the next index to an id. It returns false for an id that is 0 or taken.
func (t *idIndex) add(id uint64) bool {
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

// find returns an id's index, or 0 if it is unknown.
func (t *idIndex) find(id uint64) uint32 {
	if t.byID != nil {
		return t.byID[id]
	}
	if id > uint64(t.n) {
		return 0
	}
	return uint32(id)
}
