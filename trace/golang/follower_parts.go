package golang

import (
	"context"
	"slices"
	"strconv"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/trace"
)

// partEvents is the number of events in a transaction of Write. A commit seals the states, which take several times
// the memory before.
const partEvents = 100_000

// Write is Window in several transactions of a target: each has the states of a part of the window and, if take is not
// nil, its CPU samples, which take gets before the commit. take must not keep the slice, which can be empty, and not
// change stacks. After an error the target has the parts before it, and may be in a transaction. The Follower is of no
// more use then: another one can Resume from the history, and be given the same window again.
func (f *Follower) Write(ctx context.Context, r *Reader, to trace.Target, take func([]Sampled) error) error {
	_, err := f.writeParts(ctx, r, to, take)
	if err != nil {
		return err
	}
	return to.Commit()
}

// writeParts leaves the last transaction to its caller, and returns its writer.
func (f *Follower) writeParts(ctx context.Context, r *Reader, to trace.Target, take func([]Sampled) error) (*history.Writer, error) {
	w, err := to.Begin(f.at.unix)
	if err != nil {
		return nil, err
	}
	var some []Sampled
	flush := func() error {
		if take == nil {
			return nil
		}
		err := take(some)
		clear(some) // they keep the stacks of generations alive
		some = some[:0]
		return err
	}
	f.renewEach = partEvents
	f.renew = func() (*history.Writer, error) {
		if err := flush(); err != nil {
			return nil, err
		}
		if err := to.Commit(); err != nil {
			return nil, err
		}
		w, err = to.Begin(f.at.unix + 1)
		return w, err
	}
	defer func() { f.renew = nil }()
	var keep func(Sampled)
	if take != nil {
		keep = func(s Sampled) { some = append(some, s) }
	}
	if err := f.Window(ctx, r, w, keep); err != nil {
		return nil, err
	}
	return w, flush()
}

// clockName is the attribute of FollowOptions.Resumable.
const clockName = "Clock"

// Resume goes on behind the states of a history that another Follower wrote with FollowOptions.Resumable, as if it were that
// one, and reports whether it can: the history has states, and is such a one. It costs a look at each place.
func (f *Follower) Resume(v *history.View) (bool, error) {
	if !v.Instants() {
		return false, nil
	}
	at := func(path ...string) (history.Attribute, history.Value, bool) {
		a, err := v.Lookup(path...)
		if err != nil {
			return 0, history.Value{}, false
		}
		in, err := v.At(a, v.End())
		return a, in.Value, err == nil
	}
	_, offset, hasClock := at(clockName)
	if !hasClock || offset.Kind() != history.KindInt {
		return false, nil
	}
	f.offset, f.clock = offset.Int(), offset.Int()
	f.mark = clocks{v.End() - f.offset, v.End()}
	f.was = f.mark
	f.reset()
	f.isFresh = false
	var hasGC, hasStop bool
	f.gc, _, hasGC = at(GC)
	f.stop, _, hasStop = at(GC, "stopped")
	if !hasGC || !hasStop {
		return false, nil
	}
	for number := 0; ; number++ {
		name := strconv.Itoa(number)
		state, _, is := at(Goroutines, name)
		if !is {
			break
		}
		p := &goroutine{number: number, state: state, begin: v.End(), isCreated: true}
		var goid, function history.Value
		p.goid, goid, _ = at(Goroutines, name, "goid")
		p.waker, _, p.hasWaker = at(Goroutines, name, wokenBy)
		p.function, function, is = at(Goroutines, name, "function")
		if !is {
			return false, nil
		}
		f.places++
		if goid.IsNull() {
			f.free = append(f.free, p)
			continue
		}
		p.hasFunc = !function.IsNull()
		f.goroutines[goid.Int()] = p
	}
	slices.Reverse(f.free)
	return true, f.resumeProcs(v)
}

func (f *Follower) resumeProcs(v *history.View) error {
	top, err := v.Lookup(Procs)
	if err != nil {
		return nil //nolint:nilerror // there is none
	}
	for a := range v.Children(top) {
		name, err := v.Name(a)
		if err != nil {
			return err
		}
		if id, err := strconv.ParseInt(name, 10, 64); err == nil {
			f.procs[id] = &proc{state: a}
		}
	}
	return nil
}
