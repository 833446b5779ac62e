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

// importing is an import in progress.
type importing struct {
	*Follower
	opts    ImportOptions
	to      trace.Target
	samples []Sampled // of the transaction
	omitted int       // samples
}

func importTo(ctx context.Context, r *Reader, to trace.Target, opts ImportOptions) (outcome trace.Outcome, err error) {
	if !opts.StatesAlone {
		r.ReadDetails()
	}
	im := importing{opts: opts, to: to, Follower: NewFollower(FollowOptions{ByID: true, Details: !opts.StatesAlone, Begun: opts.Begun})}
	if outcome.End, err = im.run(ctx, r); err != nil {
		return outcome, err
	}
	outcome.Lost = r.Broken()
	outcome.LeaveOut("CPU samples", im.omitted)
	if im.details != nil {
		for what, n := range im.details.leftOut {
			outcome.LeaveOut(what, n)
		}
	}
	return outcome, nil
}

// run returns the last instant of the history.
func (im *importing) run(ctx context.Context, r *Reader) (int64, error) {
	r.ReadAhead(math.MinInt64)
	if err := r.peek(); err != nil {
		return 0, err
	}
	im.setOffset(r)
	im.advance(r.Begin())
	w, err := im.to.Begin(im.at.unix)
	if err != nil {
		return 0, err
	}
	im.renewEach = importBatch
	im.renew = func() (*history.Writer, error) {
		if err := im.commit(); err != nil {
			return nil, err
		}
		w, err = im.to.Begin(im.at.unix + 1)
		return w, err
	}
	if err := im.Window(ctx, r, w, im.take); err != nil {
		return 0, err
	}
	if err := w.Close(im.at.unix); err != nil {
		return 0, err
	}
	return im.at.unix, im.commit()
}

// take keeps a sample for the transaction.
func (im *importing) take(s Sampled) {
	if im.opts.Samples == nil {
		im.omitted++
		return
	}
	im.samples = append(im.samples, s)
}

// commit commits the transaction, with its samples.
func (im *importing) commit() error {
	if im.opts.Samples != nil {
		if err := im.opts.Samples(im.samples); err != nil {
			return err
		}
		clear(im.samples) // which keep the stacks of generations alive
		im.samples = im.samples[:0]
	}
	return im.to.Commit()
}
