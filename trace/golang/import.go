package golang

import (
	"context"
	"io"
	"math"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/trace"
)

// importBatch is the number of events in a transaction of Import. A commit seals the states, which take
// several times the memory before.
const importBatch = 100_000

// Import writes a whole trace into a target, with an attribute for each goroutine (FollowOptions.ByID),
// and closes its history. Times are dates, or in the trace's clock if the trace has no clock snapshot. It
// omits CPU samples, because a history has states. The errors are as for Follower.Window, or come from
// the target. After an error the target has the committed states, and may be in a transaction.
//
// A trace that breaks off after a whole generation is imported up to its fault, which the outcome has.
func Import(ctx context.Context, in io.Reader, to trace.Target) (outcome trace.Outcome, err error) {
	r, err := NewReader(in, math.MaxInt64)
	if err != nil {
		return outcome, err
	}
	outcome.End, err = importTo(ctx, r, to)
	outcome.Lost = r.Broken()
	return outcome, err
}

// importTo returns the last instant of the history.
func importTo(ctx context.Context, r *Reader, to trace.Target) (int64, error) {
	f := NewFollower(FollowOptions{ByID: true})
	r.ReadAhead(math.MinInt64)
	if err := r.peek(); err != nil {
		return 0, err
	}
	f.setOffset(r)
	f.advance(r.Begin())
	w, err := to.Begin(f.at.unix)
	if err != nil {
		return 0, err
	}
	f.renewEach = importBatch
	f.renew = func() (*history.Writer, error) {
		if err := to.Commit(); err != nil {
			return nil, err
		}
		w, err = to.Begin(f.at.unix + 1)
		return w, err
	}
	if err := f.Window(ctx, r, w, nil); err != nil {
		return 0, err
	}
	if err := w.Close(f.at.unix); err != nil {
		return 0, err
	}
	return f.at.unix, to.Commit()
}
