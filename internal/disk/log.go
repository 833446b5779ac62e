package disk

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// Log appends entries to segments in the order of Room.Append. All methods are safe for concurrent use.
//
// Lock order: stepping, then mu. Nothing blocks on a channel under either. Under mu the log calls neither
// the system nor a function of the user, because Append takes mu.
type Log struct {
	opts   Options
	meters meters

	fs       FS
	stepping sync.Mutex // held by the current step; guards the next three
	writer   writer
	written  uint64    // place of the last entry in the current segment
	failed   time.Time // when the last attempt failed, for the next one

	rests int // syncs left that do not wait for others (gather); the goroutine's
	vain  int // rests after the last wait; 0 if it was not in vain

	mu      sync.Mutex
	queue   queue
	line    []*Room       // rooms that wait in Reserve, in order
	wanted  uint64        // greatest place for which a sync is awaited
	asleep  bool          // the goroutine waits for something to write
	back    uint64        // queue.added once each goroutine that the last sync released has appended again
	gathers bool          // the goroutine waits until added is back
	failing error         // no segment can be written
	full    error         // no spare segment, so only urgent entries are taken
	closed  bool          // Close was called: no room is given
	ended   bool          // Close has ended: nothing is written
	changed chan struct{} // closed at the next change of the fields above; nil if nothing waits

	wake    chan struct{} // has one message when the goroutine must look for work
	stop    chan struct{} // closed by Close
	running sync.WaitGroup
	ending  sync.Once
	err     error // Close's error
}

// OpenLog goes on with a log that was read to its end. It begins a segment with the entries that were read
// and may not be durable, so that all are durable when it returns. Then it removes files that are not part
// of the log. It keeps segments below the reader's first.
//
// The error is ErrDisk, or comes from reading. After an error the log is unchanged, and can be read again.
func OpenLog(r *Reader, o Options) (*Log, error) {
	if !errors.Is(r.err, io.EOF) {
		return nil, fmt.Errorf("open log: it was not read to its end: %w", cmp.Or(r.err, io.ErrUnexpectedEOF))
	}
	l := &Log{opts: o.withDefaults(), fs: r.fs, wake: make(chan struct{}, 1), stop: make(chan struct{})}
	l.meters.now = l.opts.Now
	if err := l.writer.follow(r, measuredFS{r.fs, &l.meters}, l.opts.SegmentBytes); err != nil {
		return nil, failed(err)
	}
	if !o.Manual {
		l.running.Go(l.run)
	}
	return l, nil
}

// run does steps until Close.
func (l *Log) run() {
	for {
		var due <-chan time.Time // never
		begun := l.opts.Now()
		wait := l.step()
		if wait == 0 && l.opts.Sync == SyncEach {
			l.gather(l.opts.Now().Sub(begun))
		}
		if wait >= 0 {
			due = time.After(wait)
		}
		select {
		case <-due:
		case <-l.wake:
		case <-l.stop:
			return
		}
	}
}

// Step is for Options.Manual. It does the work that is due: it writes entries, syncs them, or makes a spare
// segment. It reports whether there was any.
func (l *Log) Step() bool { return l.step() == 0 }

// Segments returns the segments whose header is durable, oldest first; only these may be recorded
// elsewhere as needed. While the disk fails there may be none. The caller must not change the
// slice. It waits for nothing.
func (l *Log) Segments() []Segment { return *l.writer.segments.Load() }

// RemoveBelow removes segments with lesser numbers, except the newest durable one. Before the call, it must
// be durable elsewhere that the log is read from that number on. After an error some are removed, and it
// can be called again.
func (l *Log) RemoveBelow(number uint64) error {
	l.stepping.Lock()
	defer l.stepping.Unlock()
	return failed(l.writer.removeBelow(number))
}

// Close makes all entries durable and closes the files. A waiting Reserve returns ErrClosed.
// The error is ErrNotDurable if entries were lost. A second call returns the same.
//
// No room may be held when Close is called: an entry that is appended later is lost, and its
// Room.Wait returns ErrClosed.
func (l *Log) Close() error {
	l.ending.Do(func() {
		l.mu.Lock()
		l.closed = true
		l.changedLocked()
		l.mu.Unlock()
		close(l.stop)
		l.running.Wait()
		l.err = l.end()
	})
	return l.err
}
