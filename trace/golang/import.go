package golang

import (
	"context"
	"io"
	"math"

	"github.com/granarydb/granary/trace"
)

// ImportOptions are the settings of ImportWith. The zero value is that of Import.
type ImportOptions struct {
	// Begun is FollowOptions.Begun.
	Begun int64
	// Samples, if not nil, takes the CPU samples up to each commit before it, so that they can be in its
	// transaction. It must not keep the slice, which can be empty, and not change stacks. Import ends with its error.
	Samples func([]Sampled) error
	// StatesAlone omits what FollowOptions.Details writes.
	StatesAlone bool
}

// Import writes a whole trace into a target, with an attribute for each goroutine (FollowOptions.ByID) and all
// that a trace says (FollowOptions.Details), and closes its history. Times are dates, or in the trace's clock if the
// trace has no clock snapshot. It omits CPU samples, because a history has states; the outcome counts them. The
// errors are as for Follower.Window, or come from the target. After an error the target has the committed states, and
// may be in a transaction.
//
// A trace that breaks off after a whole generation is imported up to its fault, which the outcome has.
func Import(ctx context.Context, in io.Reader, to trace.Target) (outcome trace.Outcome, err error) {
	return ImportWith(ctx, in, to, ImportOptions{})
}

// ImportWith is Import with options.
func ImportWith(ctx context.Context, in io.Reader, to trace.Target, opts ImportOptions) (outcome trace.Outcome, err error) {
	r, err := NewReader(in, math.MaxInt64)
	if err != nil {
		return outcome, err
	}
	return importTo(ctx, r, to, opts)
}

func importTo(ctx context.Context, r *Reader, to trace.Target, opts ImportOptions) (outcome trace.Outcome, err error) {
	if !opts.StatesAlone {
		r.ReadDetails()
	}
	f := NewFollower(FollowOptions{ByID: true, Details: !opts.StatesAlone, Begun: opts.Begun})
	r.ReadAhead(math.MinInt64)
	if err := r.Peek(); err != nil {
		return outcome, err
	}
	f.setOffset(r)
	f.advance(r.Begin())
	take := opts.Samples
	if take == nil {
		take = func(some []Sampled) error {
			outcome.LeaveOut("CPU samples", len(some))
			return nil
		}
	}
	w, err := f.writeParts(ctx, r, to, take)
	if err != nil {
		return outcome, err
	}
	outcome.End, outcome.Lost = f.at.unix, r.Broken()
	if f.details != nil {
		for what, n := range f.details.leftOut {
			outcome.LeaveOut(what, n)
		}
	}
	if err := w.Close(f.at.unix); err != nil {
		return outcome, err
	}
	return outcome, to.Commit()
}
