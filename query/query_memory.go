package query

import (
	"context"
	"fmt"
	"sync/atomic"
)

// queryMemory accounts for the memory of a query over all of its goroutines, and reports its
// cancellation.
type queryMemory struct {
	ctx  context.Context
	used atomic.Int64
	most int64
}

// check returns the error of a cancelled query.
func (m *queryMemory) check() error { return m.ctx.Err() }

// take accounts for bytes before they are allocated.
func (m *queryMemory) take(bytes int64) error {
	if used := m.used.Add(bytes); used > m.most {
		return fmt.Errorf("%w: stopped at %d bytes of %d", ErrQueryMemory, used, m.most)
	}
	return nil
}

// left returns the number of bytes that may still be taken.
func (m *queryMemory) left() int64 { return m.most - m.used.Load() }
