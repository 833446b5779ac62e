package golang

import (
	"context"
	"errors"
	"io"
	"math"
	"strconv"

	"github.com/granarydb/granary/history"
)

// The names of the top attributes in the history of a process.
const (
	Goroutines = "Goroutines"
	Procs      = "Procs"
	GC         = "GC"
)

// DefaultMost is the default of FollowOptions.Most.
const DefaultMost = 10_000

// FollowOptions are the settings of a Follower. The zero value is for an empty history.
type FollowOptions struct {
	// ByID gives each goroutine an attribute by its number, permanently. It is for one trace, and not for
	// a running process (G5).
	ByID bool
	// Most bounds the goroutines with an attribute at once, unless ByID is set. 0 means DefaultMost.
	Most int
	// Details writes what the trace says besides states (see the package comment). It needs ByID, and a Reader with
	// ReadDetails.
	Details bool
	// Wakes writes which goroutine woke each goroutine last: the number of its attribute at the instant of the wake, which is
	// that of its place without ByID. It is null if no goroutine did, or one without a place. Details includes it. A history
	// takes up to a tenth more.
	Wakes bool
	// Resumable adds the attribute Clock, which is how much later dates are than the trace's clock, so that another
	// Follower can Resume.
	Resumable bool
	// Begun is the date at which a trace without a clock snapshot begins, in Unix nanoseconds. 0 leaves its times in
	// the trace's clock.
	Begun int64
	// From is the first instant that can be written, in Unix nanoseconds: the instant after the end of a
	// history with states. The states at its end are null from then on.
	From int64
}

// Sampled is a CPU sample with its place in the history.
type Sampled struct {
	At        int64 // Unix nanoseconds
	Goroutine int64 // or NoGoroutine
	Place     int   // Goroutines/Place has the goroutine's state; -1 if it has none, and with ByID
	Stack     []StackFrame
}

// Follower writes the windows of a process into a history. It belongs to one goroutine. It keeps about
// 200 bytes for each existing goroutine.
type Follower struct {
	opts FollowOptions
	mark clocks // end of the last window
	was  clocks // end of the window before it
	at   clocks // now

	offset int64 // from the trace's clock to Unix time
	clock  int64 // the offset that the history has, if FollowOptions.Resumable
	open   int64 // the first instant that is not committed, in Unix nanoseconds

	isFresh    bool // nothing is known, so the next window begins anew
	goroutines map[int64]*goroutine
	free       []*goroutine // places that no goroutine has, lowest number last
	places     int
	left       int
	missed     int64
	procs      map[int64]*proc
	gc, stop   history.Attribute
	details    *details // nil without FollowOptions.Details
	reasons    map[string]history.Value

	renew     func() (*history.Writer, error) // begins another transaction, if not nil
	renewEach int                             // number of events after which it does
}

// clocks is an instant by both clocks.
type clocks struct{ trace, unix int64 }

// proc has the attributes of a proc.
type proc struct {
	state, goroutine history.Attribute // goroutine with Details alone
}

// NewFollower returns a Follower without windows.
func NewFollower(opts FollowOptions) *Follower {
	if opts.Most <= 0 {
		opts.Most = DefaultMost
	}
	opts.Wakes = opts.Wakes || opts.Details
	f := &Follower{opts: opts, mark: clocks{unix: opts.From - 1}}
	f.was = f.mark
	f.reset()
	return f
}

// Lost reports that the transaction of the last window was aborted. The next window begins anew, after
// the window before it, and can have everything since.
func (f *Follower) Lost() {
	f.mark = f.was
	f.reset()
}

// reset forgets all goroutines.
func (f *Follower) reset() {
	f.at, f.isFresh = f.mark, true
	f.goroutines, f.procs = map[int64]*goroutine{}, map[int64]*proc{}
	if f.opts.Details {
		f.details = newDetails()
	}
	f.free, f.places, f.reasons = nil, 0, map[string]history.Value{}
}

// Cut reports that the transaction of the last window was committed although Window returned an error.
// The next window begins anew, after the last written state.
func (f *Follower) Cut() {
	f.mark, f.was = f.at, f.at
	f.reset()
}

// End returns the end of the last window, in Unix nanoseconds.
func (f *Follower) End() int64 { return f.mark.unix }

// Now returns the date of the last event that was written, in Unix nanoseconds.
func (f *Follower) Now() int64 { return f.at.unix }

// Missed returns the total nanoseconds between windows that did not overlap.
func (f *Follower) Missed() int64 { return f.missed }

// LeftOut returns how many goroutines got no attribute, because FollowOptions.Most others had one.
func (f *Follower) LeftOut() int { return f.left }

// Window reads a trace to its end, writes its states into a transaction, and calls sample, unless nil,
// with each CPU sample. The window ends at the last event, which becomes an instant of the history, so
// that all samples are within it. A sample's stack must not be changed. Of a trace that ends at a fault it
// writes what is before (Reader.Broken).
//
// After an error the transaction must be aborted, and Lost be called. The errors are as for Reader.Next
// and history.Writer.Change, and ctx's error.
func (f *Follower) Window(ctx context.Context, r *Reader, w *history.Writer, sample func(Sampled)) error {
	f.was = f.mark
	known := f.mark.trace
	if f.isFresh {
		known = math.MinInt64
	}
	r.ReadAhead(known)
	written := 0
	for n := 0; ; n++ {
		ev, err := r.Next()
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if n == 0 {
			if err := f.beginWindow(r, w); err != nil {
				return err
			}
		}
		if err != nil {
			break
		}
		if n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if f.details != nil {
			if err := f.details.after(w, f.at, ev.Time); err != nil {
				return err
			}
		}
		// Committed states are final.
		if written++; f.renew != nil && written > f.renewEach && ev.Time > f.at.trace {
			written = 0
			if w, err = f.renew(); err != nil {
				return err
			}
			f.open = f.at.unix + 1
		}
		isKnown := ev.Time <= f.mark.trace || f.mark.trace == 0 && ev.Time+f.offset <= f.mark.unix // the latter after a restart
		if isKnown && (!f.isFresh || ev.Kind == Sample) {
			continue
		}
		f.advance(ev.Time)
		if ev.Kind == Sample {
			f.sample(ev, sample)
		} else if err := f.write(w, ev); err != nil {
			return err
		}
	}
	f.advance(r.End())
	f.isFresh = false
	if err := f.extend(w); err != nil {
		return err
	}
	f.mark = f.at
	return nil
}

// beginWindow finds where a window begins. If there is a gap before it, nothing is known any more.
func (f *Follower) beginWindow(r *Reader, w *history.Writer) (err error) {
	f.setOffset(r)
	if !f.isFresh && r.Begin() > f.mark.trace {
		f.missed += r.Begin() - f.mark.trace
		f.reset()
	}
	f.at.unix = max(f.at.unix, f.mark.unix+1)
	if f.open = f.at.unix; !f.isFresh {
		return f.writeClock(w)
	}
	if f.gc, err = w.Attribute(GC); err != nil {
		return err
	}
	if f.stop, err = w.Child(f.gc, "stopped"); err != nil {
		return err
	}
	if err := f.forget(w); err != nil {
		return err
	}
	if f.mark.trace == 0 {
		f.advance(r.Begin())
	}
	if err := f.writeClock(w); err != nil {
		return err
	}
	return w.Change(f.at.unix, f.gc, history.String("off"))
}

// writeClock writes the offset of dates from the trace's clock, if FollowOptions.Resumable wants it.
func (f *Follower) writeClock(w *history.Writer) error {
	if !f.opts.Resumable || f.clock == f.offset {
		return nil
	}
	a, err := w.Attribute(clockName)
	if err != nil {
		return err
	}
	f.clock = f.offset
	return w.Change(f.at.unix, a, history.Int(f.offset))
}

// forget ends an earlier window's states.
func (f *Follower) forget(w *history.Writer) error {
	for _, name := range []string{Goroutines, Procs, GC} {
		top, err := w.Attribute(name)
		if err != nil {
			return err
		}
		for a := range w.Descendants(top) {
			if err := w.Change(f.at.unix, a, history.Value{}); err != nil {
				return err
			}
		}
	}
	return nil
}

// setOffset takes a window's clock snapshot if the system's clock was set since the windows before. Else the
// times between windows stay exact, because two snapshots differ by the time that each took.
func (f *Follower) setOffset(r *Reader) {
	const step = 10_000_000
	clock, isDated := r.Clock()
	if !isDated && f.opts.Begun != 0 {
		clock = Clock{Trace: r.Begin(), Unix: f.opts.Begun}
	}
	if offset := clock.Unix - clock.Trace; max(offset-f.offset, f.offset-offset) > step {
		f.offset = offset
	}
}

// advance moves to an event's time. Times of a history never go back (G4).
func (f *Follower) advance(at int64) {
	f.at.trace = max(f.at.trace, at)
	f.at.unix = max(f.at.unix, at+f.offset)
}

// extend makes the end of the window an instant of the history.
func (f *Follower) extend(w *history.Writer) error {
	in, err := w.Ongoing(f.gc)
	if err != nil {
		return err
	}
	return w.Change(f.at.unix, f.gc, in.Value)
}

func (f *Follower) sample(ev Event, take func(Sampled)) {
	if take == nil {
		return
	}
	s := Sampled{At: f.at.unix, Goroutine: ev.ID, Place: -1, Stack: ev.Stack}
	if p := f.goroutines[ev.ID]; p != nil && !f.opts.ByID {
		s.Place = p.number
	}
	take(s)
}

// write writes a change of a state.
func (f *Follower) write(w *history.Writer, ev Event) (err error) {
	switch ev.Kind {
	case Goroutine:
		return f.goroutine(w, ev)
	case Proc:
		if ev.IsFound && f.procs[ev.ID] != nil {
			return nil
		}
		p, err := f.proc(w, ev.ID)
		if err != nil {
			return err
		}
		return w.Change(f.at.unix, p.state, procValue(ev.State))
	case Collector:
		text := "off"
		if ev.State == Running {
			text = "marking"
		}
		return w.Change(f.at.unix, f.gc, history.String(text))
	case Stopped:
		v := history.Value{}
		if ev.State == Running {
			v = history.String(ev.Reason)
		}
		return w.Change(f.at.unix, f.stop, v)
	}
	if f.details == nil {
		return nil
	}
	return f.detail(w, ev)
}

// proc returns the attributes of a proc.
func (f *Follower) proc(w *history.Writer, id int64) (p *proc, err error) {
	if p = f.procs[id]; p != nil {
		return p, nil
	}
	p = &proc{}
	if p.state, err = w.Attribute(Procs, strconv.FormatInt(id, 10)); err != nil {
		return nil, err
	}
	if f.details != nil {
		if p.goroutine, err = w.Child(p.state, "goroutine"); err != nil {
			return nil, err
		}
	}
	f.procs[id] = p
	return p, nil
}

func procValue(s State) history.Value {
	switch s {
	case Running:
		return history.String("running")
	case Waiting:
		return history.String("idle")
	}
	return history.Value{}
}

// goroutine writes a state change of a goroutine.
func (f *Follower) goroutine(w *history.Writer, ev Event) error {
	p, known := f.goroutines[ev.ID]
	if known && ev.IsFound {
		return nil // the window before it says more, such as why it waits
	}
	if ev.State == None {
		delete(f.goroutines, ev.ID)
		if p == nil {
			return nil
		}
		return f.release(w, p)
	}
	if !known {
		var err error
		if p, err = f.place(w, ev.ID); err != nil {
			return err
		}
		f.goroutines[ev.ID] = p
	}
	if p == nil {
		return nil
	}
	if !p.hasFunc && len(ev.Stack) > 0 {
		p.hasFunc = true
		if err := w.Change(max(p.begin, f.open), p.function, history.String(ev.Stack[len(ev.Stack)-1].Func)); err != nil {
			return err
		}
	}
	if ev.IsWake && f.opts.Wakes {
		if err := f.woken(w, p, ev); err != nil {
			return err
		}
	}
	if f.details != nil {
		if err := f.ran(w, p, ev); err != nil {
			return err
		}
	}
	return w.Change(f.at.unix, p.state, f.value(ev))
}

// value returns a goroutine's state as a value.
func (f *Follower) value(ev Event) history.Value {
	switch ev.State {
	case Running:
		return history.String("running")
	case Runnable:
		return history.String("runnable")
	case Syscall:
		return history.String("syscall")
	}
	if ev.Reason == "" {
		return history.String("waiting")
	}
	v, known := f.reasons[ev.Reason]
	if !known {
		const most = 1000 // Go has about thirty reasons
		if len(f.reasons) == most {
			clear(f.reasons)
		}
		v = history.String("waiting (" + ev.Reason + ")")
		f.reasons[ev.Reason] = v
	}
	return v
}
