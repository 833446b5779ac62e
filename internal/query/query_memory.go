package query

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
)

// queryMemory accounts for the memory of a query over all its goroutines, and reports its cancellation.
type queryMemory struct {
	ctx  context.Context
	used atomic.Int64
	most int64
}

// newQueryMemory returns an account of at most `most` bytes, or without a limit if most is 0 or less.
func newQueryMemory(ctx context.Context, most int64) *queryMemory {
	if most <= 0 {
		most = math.MaxInt64
	}
	return &queryMemory{ctx: ctx, most: most}
}

// check returns a cancelled query's error.
func (m *queryMemory) check() error { return m.ctx.Err() }

// take accounts for bytes. The caller calls it before it allocates them.
func (m *queryMemory) take(bytes int64) error {
	if used := m.used.Add(bytes); used > m.most {
		return fmt.Errorf("%w: stopped at %d bytes of %d", ErrQueryMemory, used, m.most)
	}
	return nil
}

// left returns the number of bytes that may still be taken.
func (m *queryMemory) left() int64 { return m.most - m.used.Load() }

var (
	// ErrQueryMemory is returned when an answer needs more memory than
	// AggregateOptions.MaxBytes, or the order of a scan more than ScanOptions.MaxBytes.
	ErrQueryMemory = errors.New("query needs more memory than it may take")
	// ErrOverflow is returned when an integer sum (AggregateOptions.Aggregates) is beyond its type.
	ErrOverflow = errors.New("sum overflows")
)
