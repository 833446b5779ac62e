package granule

// Uses counts the uses of an object that published roots share: the number of places in the current root that
// lead to it, and the first root that had it. A snapshot of an older root does not hold the object's bytes.
//
// Only the publisher of roots may call Enter and Leave, under the commit lock. Since may also be called
// for an object that a published root leads to, because it no longer changes.
type Uses struct {
	since  uint64
	places int
}

// Enter counts a place in the given version's root, and reports whether it is the only place in that
// root.
func (u *Uses) Enter(version uint64) (first bool) {
	if u.since == 0 {
		u.since = version
	}
	u.places++
	return u.places == 1
}

// Leave removes a place from the current root, and reports whether it was the last. An object without a place
// never comes back.
func (u *Uses) Leave() (last bool) {
	u.places--
	return u.places == 0
}

// Since returns the version of the first root that had the object, or 0.
func (u *Uses) Since() uint64 { return u.since }
