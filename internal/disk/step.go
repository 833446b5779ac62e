package disk

import (
	"fmt"
	"io"
	"time"
)

// work is a step's work.
type work struct {
	spare   bool  // make a spare segment
	sync    bool  // make entries durable
	entries batch // write these first
}

// step does the work that is due, and returns the time until there is more: 0 after work, and negative if
// none is expected.
func (l *Log) step() time.Duration {
	l.stepping.Lock()
	defer l.stepping.Unlock()
	now := l.opts.Now()
	w, wait := l.due(now)
	switch {
	case w.spare:
		l.makeSpare(now)
	case w.sync || w.entries.first != nil:
		if err := l.write(w); err != nil {
			l.fail(now, err)
		}
	default:
		return wait
	}
	return 0
}

// due returns the work that is due, or the time until there is some.
func (l *Log) due(now time.Time) (w work, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	wait = -1
	// isDue reports whether nothing is left of a wait. Otherwise it shortens the step's wait to it.
	isDue := func(shown time.Time, after time.Duration) bool {
		d := left(now, shown, after)
		if d > 0 && (wait < 0 || d < wait) {
			wait = d
		}
		return d == 0
	}
	q, renew := &l.queue, l.writer.current == nil // the current segment was given up
	if renew && !isDue(l.failed, retryAfter) {
		return w, wait
	}
	w.spare = !renew && l.writer.spare == nil && isDue(l.failed, retryAfter)
	w.sync = renew || l.wanted > q.durable
	if q.first != nil && !w.sync {
		w.sync = len(l.line) > 0 || q.unsyncedBytes >= l.opts.QueueBytes/2 ||
			l.opts.Sync == SyncPeriodically && isDue(q.first.at, l.opts.SyncEvery)
	}
	if q.unwritten != nil && (w.sync || q.unwrittenBytes >= writeBytes || isDue(q.unwritten.at, writeAfter)) {
		w.entries = q.batch()
	}
	l.asleep = q.unwritten == nil
	return w, wait
}

// left returns what is left of a wait of `after` since a time that the clock has shown. It is nothing if more than all is left: the
// clock was ahead then, and the wait would last for as long as that was.
func left(now, shown time.Time, after time.Duration) time.Duration {
	d := shown.Add(after).Sub(now)
	if d > after {
		return 0
	}
	return max(0, d)
}

// write writes entries to the current segment or, if that was given up, all that are not durable to a new
// one.
func (l *Log) write(w work) error {
	if err := isHere(l.fs); err != nil {
		return err
	}
	if l.writer.current == nil {
		lacking := func() (Entry, error) {
			r := w.entries.next()
			if r == nil {
				return Entry{}, io.EOF
			}
			l.written = r.place
			return r.entry, nil
		}
		if err := l.writer.begin(w.entries.bytes, lacking); err != nil {
			return err
		}
		return l.sync()
	}
	for r := w.entries.next(); r != nil; r = w.entries.next() {
		if err := l.put(r); err != nil {
			return err
		}
	}
	if w.sync {
		return l.sync()
	}
	if err := l.writer.current.out.Flush(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue.wrote(l.written)
	return nil
}

// put writes an entry, to the next segment if it does not fit.
func (l *Log) put(r *Room) error {
	if !l.writer.current.fits(r.size) {
		if err := l.sync(); err != nil {
			return err
		}
		if err := l.writer.rotate(r.size); err != nil {
			return err
		}
	}
	l.written = r.place
	return l.writer.current.put(&r.entry)
}

// sync makes the written entries durable.
func (l *Log) sync() error {
	if err := l.writer.sync(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.queue.durable
	l.queue.synced(l.written)
	l.back = l.queue.added + l.queue.durable - before
	l.failing = nil
	l.changedLocked()
	return nil
}

// fail gives up the current segment, so that all entries that are not durable wait for another one.
func (l *Log) fail(now time.Time, err error) {
	l.writer.giveUp()
	l.failed = now
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue.rewind()
	l.failing = failed(err)
	l.changedLocked()
}

// makeSpare makes the next segment. It comes before other work, so that there is one, with its space, when
// the disk turns out to be full.
func (l *Log) makeSpare(now time.Time) {
	s, err := l.writer.create()
	l.writer.spare = s
	if err != nil {
		l.failed = now
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.full = failed(err)
	l.changedLocked()
}

// end makes all entries durable, if the disk does not fail, and closes the files.
func (l *Log) end() error {
	l.stepping.Lock()
	defer l.stepping.Unlock()
	l.mu.Lock()
	w := work{sync: true, entries: l.queue.batch()}
	queued := l.queue.first != nil
	l.mu.Unlock()
	if queued {
		if err := l.write(w); err != nil {
			l.fail(l.opts.Now(), err)
		}
	}
	l.writer.close()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	l.changedLocked()
	if l.queue.first != nil {
		return fmt.Errorf("%w: %w", ErrNotDurable, l.failing)
	}
	return nil
}
