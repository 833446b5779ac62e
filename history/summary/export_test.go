package summary

import "github.com/granarydb/granary/history"

// MostPixels is the greatest number of pixels of a question.
const MostPixels = mostPixels

// SetShare allows one byte of nodes for each n bytes of tiles, until the returned function is called.
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

// SetGather has attributes of a lane gathered if it has more than `tiles` tiles in a range, `intervals` intervals at once,
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

// Decoded returns the tiles that a question of one pixel decodes for an attribute, and their intervals in the range.
func Decoded(p *Pyramid, a history.Attribute, from, to int64) (tiles, intervals int, err error) {
	c := &counter{span: uint64(to - from)}
	err = p.ask([]history.Attribute{a}, from, to, []sink{c})
	return c.tiles, c.intervals, err
}

// counter is a sink that counts.
type counter struct {
	span             uint64
	tiles, intervals int
}

func (c *counter) pixels() int             { return 1 }
func (c *counter) part(int)                {}
func (c *counter) end()                    {}
func (c *counter) begin(history.Kind)      {}
func (c *counter) limit() uint64           { return c.span }
func (c *counter) node(*node, uint64) bool { return true }

func (c *counter) ends(ends, _ []uint64, nulls []bool) (more bool) {
	if len(ends) > 1 || nulls == nil || !nulls[0] || ends[0] != c.span { // else it can be what follows all tiles
		c.tiles, c.intervals = c.tiles+1, c.intervals+len(ends)
	}
	return ends[len(ends)-1] < c.span
}
