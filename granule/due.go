package granule

// IsDue reports whether a granule has enough fresh parts for a rewrite to pay, or exceeds its limits. `most`
// fresh parts are enough, or `few` if they have as many rows as the base. A base that is too large without
// fresh parts cannot be split, because its keys are all equal; then only the fresh parts make the granule due.
func (g *Granule) IsDue(limit Limit, few, most int) bool {
	base, baseSize := g.Rows()-g.FreshRows(), g.Size()-g.FreshSize()
	switch {
	case g.FreshParts() >= most:
		return true
	case g.FreshParts() >= few && g.FreshRows() >= base:
		return true
	case g.Rows() > limit.Rows && base <= limit.Rows:
		return true
	}
	return g.Size() > limit.Bytes && baseSize <= limit.Bytes
}
