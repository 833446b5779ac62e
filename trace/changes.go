package trace

import (
	"context"

	"github.com/granarydb/granary/history"
)

// changesBatch is the number of changes in a transaction. A commit seals the states, because an unsealed one takes
// several times the memory.
const changesBatch = 100_000

// Changes writes the changes of a recording, in the order of time, into a target, in transactions of 100,000
// changes. It belongs to one goroutine. After an error the target has the committed changes, and may be in a
// transaction, which its owner ends.
type Changes struct {
	to      Target
	w       *history.Writer
	last    int64 // time of the last change
	pending int   // changes in the transaction
}

// NewChanges begins a history at start. It returns the errors of the target.
func NewChanges(to Target, start int64) (*Changes, error) {
	w, err := to.Begin(start)
	if err != nil {
		return nil, err
	}
	return &Changes{to: to, w: w, last: start}, nil
}

// At goes on to t, which is not before the last one, and returns the writer of the history. The changes
// that its caller makes with it are of t. The writer is valid until the next call. The errors are those of the target,
// and ctx's, which is looked at once in a transaction.
func (c *Changes) At(ctx context.Context, t int64) (*history.Writer, error) {
	if c.pending++; c.pending > changesBatch && t > c.last { // committed instants are final
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := c.to.Commit(); err != nil {
			return nil, err
		}
		var err error
		if c.w, err = c.to.Begin(c.last); err != nil {
			return nil, err
		}
		c.pending = 1
	}
	c.last = max(c.last, t)
	return c.w, nil
}

// Last returns the time of the last change.
func (c *Changes) Last() int64 { return c.last }

// Close closes the history at end, which is not before the last change, and commits. It returns the errors of the
// target and of history.Writer.Close.
func (c *Changes) Close(end int64) error {
	if err := c.w.Close(end); err != nil {
		return err
	}
	return c.to.Commit()
}
