package granule

// Published is the bookkeeping of an object that published roots share: the number of places
// in the current root that lead to it, and the first root that had it. A snapshot of an older
// root does not hold the object's bytes.
//
// Only the publisher of roots may call Enter and Leave, under the commit lock. Since may also
// be called for an object that a published root leads to: it no longer changes.
type Published struct {
	since  uint64
	places int
}

// Enter counts a place in the root of the given version, and reports whether it is the only
// one of that root.
func (p *Published) Enter(version uint64) (first bool) {
	if p.since == 0 {
		p.since = version
	}
	p.places++
	return p.places == 1
}

// Leave removes a place from the current root, and reports whether it was the last. An object
// without a place does not come back.
func (p *Published) Leave() (last bool) {
	p.places--
	return p.places == 0
}

// Since returns the version of the first root that had the object; 0 if none had.
func (p *Published) Since() uint64 { return p.since }
