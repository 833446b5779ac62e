package columnstore

import (
	"sync"
	"time"
)

// clock is a store's clock. It notices when the clock of the system is set ahead, because such a clock can be wrong, and what
// retention drops is lost. It is safe for concurrent use.
type clock struct {
	now func() time.Time

	mu    sync.Mutex
	right time.Time // the last reading before the clock was set ahead
	ahead time.Time // the first reading since; zero if it was not set ahead
}

// A clock that was set ahead by more than mostStep is believed after settleTime. A smaller step drops as little too early.
const (
	mostStep   = 10 * time.Minute
	settleTime = 24 * time.Hour
)

// settled returns the time. In the settleTime after the clock was set ahead it is the one that the clock would show otherwise. The
// monotonic part of readings tells. A clock without one is believed.
func (c *clock) settled() time.Time {
	now := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.right.IsZero() {
		c.right = now
	}
	passed := now.Sub(c.right)
	switch step := now.Round(0).Sub(c.right.Round(0)) - passed; {
	case step <= mostStep:
	case c.ahead.IsZero():
		c.ahead = now
		return c.right.Round(0).Add(passed)
	case now.Sub(c.ahead) < settleTime:
		return c.right.Round(0).Add(passed)
	}
	c.right, c.ahead = now, time.Time{}
	return now
}
