package summary

// MostPixels is the greatest number of pixels of a question.
const MostPixels = mostPixels

// SetShare has nodes for each so many bytes of a history for one of nodes, until the returned function is called.
func SetShare(n int) (restore func()) {
	before := share
	share = n
	return func() { share = before }
}

// Nodes returns the number of nodes, and that of levels at most.
func Nodes(p *Pyramid) (nodes, levels int) {
	for _, l := range p.lanes {
		if l == nil {
			continue
		}
		for _, c := range l.columns {
			if c != nil {
				nodes += c.len()
				levels = max(levels, len(c.levels))
			}
		}
	}
	return nodes, levels
}

// SetGather has attributes of a lane gathered if it has more than a number of tiles in a range, so many intervals at once,
// until the returned function is called.
func SetGather(tiles, intervals int) (restore func()) {
	a, b := keptOpen, mostGathered
	keptOpen, mostGathered = tiles, intervals
	return func() { keptOpen, mostGathered = a, b }
}

// SetPart has parts of a number of attributes, until the returned function is called.
func SetPart(n int) (restore func()) {
	before := partLen
	partLen = n
	return func() { partLen = before }
}
