package golang

import "github.com/granarydb/granary/history"

// wokenBy is the attribute of FollowOptions.Wakes, below a goroutine's.
const wokenBy = "woken by"

// woken writes what woke the goroutine of a place.
func (f *Follower) woken(w *history.Writer, p *goroutine, ev Event) (err error) {
	if !p.hasWaker {
		if p.waker, err = w.Child(p.state, wokenBy); err != nil {
			return err
		}
		p.hasWaker = true
	}
	return w.Change(f.at.unix, p.waker, f.waker(ev))
}

// waker returns the number of the attribute of the goroutine in whose time an event happened, or null. An event from before the
// window, or from before the clock was set back, has a later date, at which another goroutine can be in the place.
func (f *Follower) waker(ev Event) history.Value {
	switch {
	case ev.By == NoGoroutine:
		return history.Value{}
	case f.opts.ByID:
		return history.Int(ev.By)
	}
	p := f.goroutines[ev.By]
	if p == nil || ev.Time+f.offset < f.at.unix {
		return history.Value{}
	}
	return history.Int(int64(p.number))
}
