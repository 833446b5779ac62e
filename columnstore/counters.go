package columnstore

import (
	"sync/atomic"
)

// counters counts the maintenance since Open.
type counters struct {
	splits, compactions, discarded, rewrittenRows, evictedStates, diskDropped atomic.Int64
}

func (c *counters) count(published bool, children, rows int) {
	switch {
	case !published:
		c.discarded.Add(1)
		return
	case children > 1:
		c.splits.Add(1)
	default:
		c.compactions.Add(1)
	}
	c.rewrittenRows.Add(int64(rows))
}
