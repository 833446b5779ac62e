package partial

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/granarydb/granary/history"
)

// Options configure a Build or a Growing.
type Options struct {
	// Start is the first instant, above math.MinInt64.
	Start int64
	// End is the last instant, unless the last event is later.
	End int64
	// Every is the number of events between two checkpoints, at least 1.
	Every int
	// History takes the kept intervals, such as a history in a file (package file). It must be new,
	// start at Start, and have no other writer. After a permanent error it is unusable. nil means a
	// history in memory.
	History *history.History
}

// history returns the history for the kept intervals.
func (o *Options) history() (*history.History, error) {
	h := o.History
	if h == nil {
		return history.New(history.Options{Start: o.Start})
	}
	if start := h.Empty().Start(); start != o.Start {
		return nil, fmt.Errorf("%w: what is kept begins at %d, not %d", history.ErrQuery, start, o.Start)
	}
	return h, nil
}

// Build reads all events and returns the history. It takes memory for the kept intervals, and for each
// attribute's state. It returns the errors of Grow, Growing.Read and Growing.Finish.
func Build[E any](ctx context.Context, events Events[E], provider Provider[E], opts Options) (*History[E], error) {
	g, err := Grow(ctx, events, provider, opts)
	if err != nil {
		return nil, err
	}
	if _, err := g.Read(ctx); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g.Finish()
}

// builder makes the kept history. Between two checkpoints only attributes are written to it: intervals wait
// for the checkpoint, because it makes the time before it final.
type builder struct {
	history *history.History
	draft   *history.Draft // nil: not begun
	opts    Options
	all     []ongoing
	changed []history.Attribute // since the last checkpoint
	crossed []held              // hold at the last checkpoint, and ended after it
	marks   marks
	kept    int           // intervals in the history
	view    *history.View // view of the last commit
}

// begin begins a transaction, if there is none.
func (b *builder) begin() (err error) {
	if b.draft == nil {
		b.draft, err = b.history.Begin()
	}
	return err
}

// commit ends begin's transaction.
func (b *builder) commit() (err error) {
	if b.draft != nil {
		b.view, err = b.draft.Commit()
		b.draft = nil
	}
	return err
}

// abort drops all writes since the last commit.
func (b *builder) abort() {
	if b.draft != nil {
		b.draft.Abort()
		b.draft = nil
	}
}

func (b *builder) child(base history.Attribute, path []string) (history.Attribute, error) {
	return b.draft.Child(base, path...)
}

func (b *builder) descendants(a history.Attribute) []history.Attribute {
	return slices.Collect(b.draft.Descendants(a))
}

func (b *builder) ongoing(a history.Attribute) (*ongoing, error) {
	if err := b.draft.Known(a); err != nil {
		return nil, err
	}
	for len(b.all) < b.draft.Len() {
		b.all = append(b.all, ongoing{start: b.opts.Start, next: b.opts.Start})
	}
	return &b.all[a], nil
}

func (b *builder) ended(a history.Attribute, o *ongoing, end int64) error {
	if !o.dirty {
		o.dirty = true
		b.changed = append(b.changed, a)
	}
	if n := len(b.marks.times); n > 0 && o.start <= b.marks.times[n-1] {
		b.crossed = append(b.crossed, held{a, o.until(end)})
		o.next = end + 1
	}
	return nil
}

// settle adds the intervals and the gaps behind the last checkpoint. Their ends are final as soon as a
// later interval is committed, so they cannot wait until the gap's successor ends.
func (b *builder) settle() error {
	for _, c := range b.crossed {
		if err := b.draft.Add(c.attribute, c.Start, c.End, c.Value); err != nil {
			return err
		}
	}
	for _, a := range b.changed {
		o := &b.all[a]
		if o.next < o.start {
			if err := b.draft.Add(a, o.next, o.start-1, history.Value{}); err != nil {
				return err
			}
			o.next = o.start
		}
		o.dirty = false
	}
	b.kept += len(b.crossed)
	clear(b.crossed) // lets texts go
	b.crossed, b.changed = b.crossed[:0], b.changed[:0]
	return nil
}

// checkpoint makes a checkpoint at an instant whose events are all known. position is the first later
// event's.
func (b *builder) checkpoint(at int64, position []byte) error {
	if err := b.settle(); err != nil {
		return err
	}
	if err := b.commit(); err != nil {
		return err
	}
	b.marks.times = append(b.marks.times, at)
	b.marks.positions = append(b.marks.positions, position)
	return b.begin()
}

// close makes the last checkpoint, and ends all intervals there.
func (b *builder) close(at int64) error {
	if err := b.settle(); err != nil {
		return err
	}
	kept := b.kept
	for i := range b.all {
		in := b.all[i].until(at)
		if in.Value.IsNull() && in.Start == b.opts.Start {
			continue // it never changed
		}
		kept++
		if err := b.draft.Add(history.Attribute(i), in.Start, in.End, in.Value); err != nil {
			return err
		}
	}
	if err := b.draft.Close(at); err != nil {
		return err
	}
	if err := b.commit(); err != nil {
		return err
	}
	b.kept = kept
	if !b.marks.has(at) {
		b.marks.times = append(b.marks.times, at)
	}
	b.marks.positions = b.marks.positions[:len(b.marks.times)]
	return nil
}

// states returns the intervals of the view's attributes that hold at the last checkpoint. They end there
// for now.
func (b *builder) states(end int64) []history.Interval {
	states := make([]history.Interval, b.view.Len())
	for a := range states {
		states[a] = history.Interval{Start: b.opts.Start, End: end, Open: true}
		if a < len(b.all) && b.all[a].start <= end {
			states[a].Start, states[a].Value = b.all[a].start, b.all[a].value
		}
	}
	for _, c := range b.crossed {
		if int(c.attribute) < len(states) {
			states[c.attribute].Start, states[c.attribute].Value = c.Start, c.Value
		}
	}
	return states
}
