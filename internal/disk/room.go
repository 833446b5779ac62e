package disk

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Room is room in a log's queue for one entry, which is appended in three calls: [Log.Reserve] may wait;
// [Room.Append] does not, and can be called under a lock that orders entries; [Room.Wait] waits as the
// policy requires. A Room belongs to one goroutine.
type Room struct {
	log   *Log
	size  int64     // bytes in the queue
	at    time.Time // when it was given
	place uint64    // in the order of all entries, from 1; 0 before Append
	entry Entry     // until it is durable
	next  *Room
}

// Reserve returns room for an entry with a body of `body` bytes. It waits until the queue has room:
// first come, first served. A goroutine that holds room must not wait for more, because two of them
// could wait for each other. Urgent entries skip the line, because they free space on the disk. If
// the disk has no space for a spare segment, they are taken as long as a segment has room.
//
// With Options.Manual the caller takes the steps that make room. It does not wait for other goroutines that
// hold room, because a simulated one would never go on: their rooms then exceed the bound of the queue.
//
// The errors are ErrDisk while the disk fails, ErrClosed, ErrLimit, and the cause of ctx.
func (l *Log) Reserve(ctx context.Context, body int64, urgent bool) (*Room, error) {
	if body < 0 || body >= maxBody {
		return nil, fmt.Errorf("%w: entry of %d bytes, want less than %d", ErrLimit, body, maxBody)
	}
	r := &Room{log: l, size: entrySize(body)}
	err := l.await(ctx, func(now time.Time) (bool, error) { return l.admit(r, urgent, now) })
	if err == nil {
		return r, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leaveLine(r)
	return nil, err
}

// admit gives room if there is some. Otherwise the room joins the line, which makes a sync due. The caller
// holds mu.
func (l *Log) admit(r *Room, urgent bool, now time.Time) (bool, error) {
	q := &l.queue
	switch {
	case l.closed:
		return false, ErrClosed
	case l.failing != nil:
		return false, l.failing
	case l.full != nil && !urgent:
		return false, l.full
	}
	fits := q.bytes == 0 || q.bytes+r.size <= l.opts.QueueBytes
	late := l.opts.Sync == SyncPeriodically && q.first != nil && now.Sub(q.first.at) >= 2*l.opts.SyncEvery
	first := urgent || len(l.line) == 0 || l.line[0] == r
	if l.opts.Manual && q.first == nil { // the queue has only rooms without entries, which no step makes durable
		fits, first = true, true
	}
	if !fits || late || !first {
		if !slices.Contains(l.line, r) {
			l.line = append(l.line, r)
		}
		return false, nil
	}
	l.leaveLine(r)
	q.bytes += r.size
	r.at = now
	return true, nil
}

// leaveLine removes a room from the line. The caller holds mu.
func (l *Log) leaveLine(r *Room) {
	if i := slices.Index(l.line, r); i >= 0 {
		l.line = slices.Delete(l.line, i, i+1)
		l.changedLocked()
	}
}

// Append queues an entry. It is called once. It takes a lock that is held for moments, allocates nothing,
// and calls neither the system nor the clock.
//
// The log reads the body until the entry is durable; it must not change. Its size may differ a little from
// the room's.
func (r *Room) Append(e Entry) {
	l := r.log
	l.mu.Lock()
	defer l.mu.Unlock()
	size := entrySize(int64(len(e.Body)))
	l.queue.bytes += size - r.size
	r.entry, r.size = e, size
	l.queue.add(r)
}

// Release gives back room that has no entry. Otherwise it does nothing.
func (r *Room) Release() {
	l := r.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.place == 0 {
		l.queue.bytes -= r.size
		r.size = 0
		l.changedLocked()
	}
}

// Wait is called once after Append, when the locks are released. With SyncEach it returns when
// the entry is durable, otherwise at once. The error is ErrNotDurable if the disk fails, ErrClosed
// if the log was closed before Append, or the cause of ctx; the entry remains in the queue.
func (r *Room) Wait(ctx context.Context) error {
	l := r.log
	if l.opts.Sync == SyncEach {
		return l.await(ctx, func(time.Time) (bool, error) { return l.isDurable(r.place) })
	}
	l.mu.Lock()
	q := &l.queue
	lost := l.ended && q.durable < r.place
	due := l.asleep || q.unwrittenBytes >= writeBytes
	l.asleep = false
	l.mu.Unlock()
	if lost {
		return ErrClosed
	}
	if due {
		l.rouse()
	}
	return nil
}

// Sync returns when all entries appended before the call are durable. It returns at once if an entry with a
// commit id of at least commit is durable, because entries are in commit order. It returns the errors of
// Room.Wait.
func (l *Log) Sync(ctx context.Context, commit uint64) error {
	l.mu.Lock()
	place := l.queue.added
	if l.queue.commit >= commit {
		place = 0
	}
	l.mu.Unlock()
	return l.await(ctx, func(time.Time) (bool, error) { return l.isDurable(place) })
}

// isDurable reports whether the entries up to a place are durable. If not, it requests a sync. The caller
// holds mu.
func (l *Log) isDurable(place uint64) (bool, error) {
	switch {
	case l.queue.durable >= place:
		return true, nil
	case l.failing != nil:
		return false, fmt.Errorf("%w: %w", ErrNotDurable, l.failing)
	case l.ended:
		return false, ErrClosed
	}
	l.wanted = max(l.wanted, place)
	return false, nil
}

// await calls ready under mu until it reports true or an error. In between it waits for changes,
// or makes them if there is no goroutine.
func (l *Log) await(ctx context.Context, ready func(now time.Time) (bool, error)) error {
	var start time.Time
	for tries := 0; ; tries++ {
		now := l.opts.Now()
		l.mu.Lock()
		ok, err := ready(now)
		if ok || err != nil {
			l.mu.Unlock()
			if tries > 0 {
				l.meters.waits.add(start, now)
			}
			return err
		}
		if tries == 0 {
			start = now
		}
		if l.changed == nil {
			l.changed = make(chan struct{})
		}
		changed, quiet := l.changed, l.isGathering()
		l.mu.Unlock()
		switch {
		case !l.opts.Manual:
			if !quiet {
				l.rouse()
			}
			select {
			case <-changed:
			case <-ctx.Done():
				l.meters.waits.add(start, l.opts.Now())
				return context.Cause(ctx)
			}
		default:
			l.step()
		}
	}
}

// rouse makes the goroutine look for work. The caller holds no lock.
func (l *Log) rouse() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// changedLocked wakes every await. The caller holds mu.
func (l *Log) changedLocked() {
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}
