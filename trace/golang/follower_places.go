package golang

import (
	"slices"
	"strconv"

	"github.com/granarydb/granary/history"
)

// goroutine has the attributes of a goroutine: its place. nil stands for a goroutine beyond FollowOptions.Most.
type goroutine struct {
	number             int
	state              history.Attribute
	goid, function     history.Attribute // goid unless FollowOptions.ByID
	waker              history.Attribute // made by the first wake
	hasFunc, isCreated bool              // the goroutine has a function; the attributes exist
	hasWaker           bool              // the attribute exists
	begin              int64
	detail             *goroutineDetail // nil without details
}

// place gives a goroutine the first free place, or nil.
func (f *Follower) place(w *history.Writer, id int64) (p *goroutine, err error) {
	switch {
	case f.opts.ByID:
		p = &goroutine{}
	case len(f.free) > 0:
		p, f.free = f.free[len(f.free)-1], f.free[:len(f.free)-1]
	case f.places < f.opts.Most:
		p = &goroutine{number: f.places}
		f.places++
	default:
		f.left++
		return nil, nil
	}
	p.hasFunc, p.begin = false, f.at.unix
	if !p.isCreated {
		name := strconv.Itoa(p.number)
		if f.opts.ByID {
			name = strconv.FormatInt(id, 10)
		}
		if p.state, err = w.Attribute(Goroutines, name); err != nil {
			return nil, err
		}
		if !f.opts.ByID {
			if p.goid, err = w.Child(p.state, "goid"); err != nil {
				return nil, err
			}
		}
		if p.function, err = w.Child(p.state, "function"); err != nil {
			return nil, err
		}
		p.isCreated = true
	}
	if f.opts.ByID {
		return p, nil
	}
	return p, w.Change(f.at.unix, p.goid, history.Int(id))
}

// release ends a place's states, and gives it to a later goroutine.
func (f *Follower) release(w *history.Writer, p *goroutine) error {
	if f.details != nil {
		if err := f.ended(w, p); err != nil {
			return err
		}
	}
	all := []history.Attribute{p.state, p.function, p.goid}
	if f.opts.ByID {
		all = all[:2]
	}
	if p.hasWaker {
		all = append(all, p.waker)
	}
	for _, a := range all {
		if err := w.Change(f.at.unix, a, history.Value{}); err != nil {
			return err
		}
	}
	if !f.opts.ByID {
		i, _ := slices.BinarySearchFunc(f.free, p, func(a, b *goroutine) int { return b.number - a.number })
		f.free = slices.Insert(f.free, i, p)
	}
	return nil
}
