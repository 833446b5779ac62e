package disk

import "fmt"

// Rotate begins a segment, and returns its number. Entries appended before the call are in segments with
// lesser numbers, and durable. If the newest segment has no entries, Rotate returns its number and begins
// no other. It writes and syncs the queue, and uses the spare segment.
//
// The errors are ErrClosed, and ErrDisk; then the log tries again to write, as after every error.
func (l *Log) Rotate() (number uint64, err error) {
	l.stepping.Lock()
	defer l.stepping.Unlock()
	now := l.opts.Now()
	l.mu.Lock()
	w := work{sync: true, entries: l.queue.batch()}
	ended, failing := l.ended, l.failing
	l.mu.Unlock()
	switch {
	case ended:
		return 0, fmt.Errorf("rotate: %w", ErrClosed)
	case l.writer.current == nil && left(now, l.failed, retryAfter) > 0:
		return 0, failing
	}
	if err := l.rotate(w); err != nil {
		l.fail(now, err)
		return 0, failed(err)
	}
	l.rouse() // for the next spare segment
	return l.writer.current.number, nil
}

// rotate writes entries to the current segment, and begins the next one.
func (l *Log) rotate(w work) error {
	if err := l.write(w); err != nil {
		return err
	}
	if l.writer.current.offset == headerSector {
		return nil
	}
	if err := l.writer.rotate(0); err != nil {
		return err
	}
	return l.sync()
}
