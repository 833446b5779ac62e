package mirror

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"time"

	"github.com/granarydb/granary/internal/disk"
)

// Stats are an FS's work since it was opened.
type Stats struct {
	Segments int64 // written
	Bytes    int64 // of these
	Failures int64 // attempts that ended with an error
	// Latencies are the times from a sync of the directory to the answer of the object store, with all attempts.
	Latencies disk.Latencies
	// Unjoined is the number of segments in the object store that are not joined, or whose file is gone.
	Unjoined int
	// Waiting is how long the segment that is on its way has been so; 0 if none is.
	Waiting time.Duration
}

// Stats returns the figures.
func (m *FS) Stats() Stats {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.figures
	for _, f := range m.logs {
		s.Unjoined += len(f.segments)
	}
	s.Unjoined += len(m.dead)
	if !m.waiting.IsZero() {
		s.Waiting = time.Since(m.waiting)
	}
	return s
}

// Refusal returns why a commit would wait for long: ErrFenced, or the error of the object store if a segment has been on its way for
// five seconds. nil means that there is no such reason.
func (m *FS) Refusal() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.fenced != nil:
		return m.fenced
	case m.waiting.IsZero() || time.Since(m.waiting) < m.opts.patience:
		return nil
	}
	err := fmt.Errorf("the object store has not answered for %v", time.Since(m.waiting).Round(time.Second))
	if m.err != nil {
		err = fmt.Errorf("%w: %w", err, m.err)
	}
	return err
}

// Fenced returns ErrFenced once another FS was opened with the objects, and this one has found out: by its next segment, or within a minute.
func (m *FS) Fenced() error { return m.fence(nil) }

// look finds out whether another FS was opened with the objects, for an owner that has nothing to write.
func (m *FS) look(ctx context.Context) {
	if !m.appending.TryLock() {
		return // a segment finds out
	}
	defer m.appending.Unlock()
	r, err := m.objects.Get(ctx, journalName(m.next))
	if err != nil {
		return // there is none, or the next look finds out
	}
	_ = r.Close() // nothing was read
	_ = m.fence(fmt.Errorf("%w: it has segment %d", ErrFenced, m.next))
}

// append makes a segment durable (M1, M4). One is written at a time, so that the journal has no gap.
func (m *FS) append(s *segment) error {
	m.appending.Lock()
	defer m.appending.Unlock()
	m.pace()
	m.await(true)
	defer m.await(false)
	m.mu.Lock()
	before := m.added
	m.mu.Unlock()
	s.head.Sequence, s.head.Epoch, s.head.Writer = m.next, m.epoch, m.writer
	body, start := s.encode(), time.Now()
	if err := m.try(m.ending, "a segment of "+s.head.File, segmentTime, func(ctx context.Context) error { return m.create(ctx, m.next, body) }); err != nil {
		return err
	}
	m.next++
	m.wrote(s, len(body), time.Since(start), before)
	return nil
}

// pace waits until Options.Every after the last segment.
func (m *FS) pace() {
	if left := m.opts.Every - time.Since(m.begun); left > 0 {
		select {
		case <-time.After(left):
		case <-m.ending.Done():
		}
	}
	m.begun = time.Now()
}

// await notes that a segment is on its way, or no longer.
func (m *FS) await(is bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.waiting = (time.Time{}); is {
		m.waiting = time.Now()
	}
}

// wrote counts a segment, and queues its file if it has many. The jobs that were added before it are those of an owner.
func (m *FS) wrote(s *segment, bytes int, took time.Duration, before uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.proven = before
	m.newest = s.head.Sequence
	m.figures.Segments++
	m.figures.Bytes += int64(bytes)
	addLatency(&m.figures.Latencies, took)
	if s.head.File == "" {
		m.dead = append(m.dead, s.head.Sequence)
		return
	}
	f := m.logs[s.head.File]
	if f == nil {
		f = &logFile{}
		m.logs[s.head.File] = f
	}
	f.segments = append(f.segments, s.head.Sequence)
	for _, r := range s.head.Ranges {
		f.end = max(f.end, r.end())
	}
	m.queueLocked(s.head.File, f)
}

// addLatency counts a duration.
func addLatency(l *disk.Latencies, took time.Duration) {
	l.Count++
	l.Sum += took
	l.Max = max(l.Max, took)
	l.Buckets[disk.BucketOf(took)]++
}

// create makes an object of the journal. If there is one already, an earlier attempt made it, or another FS. The error is then
// ErrFenced.
func (m *FS) create(ctx context.Context, sequence uint64, body []byte) error {
	err := m.objects.Create(ctx, journalName(sequence), body)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	have, err := read(ctx, m.objects, journalName(sequence))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil && bytes.Equal(have, body) {
		return nil
	}
	return fmt.Errorf("%w: it has segment %d", ErrFenced, sequence)
}

// read returns the bytes of an object.
func read(ctx context.Context, o Objects, name string) ([]byte, error) {
	r, err := o.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// try calls put until it succeeds, ctx ends, which Finish sees to, or another attempt is in vain.
func (m *FS) try(ctx context.Context, what string, within time.Duration, put func(ctx context.Context) error) error {
	pause := m.opts.pause
	for {
		if err := m.fence(nil); err != nil {
			return err
		}
		attempt, cancel := context.WithTimeout(ctx, within)
		err := put(attempt)
		cancel()
		m.tried(what, err)
		_, isLocal := errors.AsType[errLocal](err)
		switch {
		case err == nil || isLocal:
			return err
		case errors.Is(err, ErrFenced):
			return m.fence(err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is not in the object store: %w", what, err)
		case <-time.After(pause/2 + rand.N(pause)):
		}
		pause = min(2*pause, greatestPause)
	}
}

// fence returns why nothing more is made durable, err if that is the first reason.
func (m *FS) fence(err error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fenced == nil && err != nil {
		m.fenced = err
		m.opts.Log.Error("this process makes nothing durable any more", "error", err)
	}
	return m.fenced
}

// tried notes the outcome of an attempt, and logs a change.
func (m *FS) tried(what string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		m.figures.Failures++
	}
	if (err == nil) != (m.err == nil) {
		if err != nil {
			m.opts.Log.Warn("the object store takes no writes; commits wait", "of", what, "error", err)
		} else {
			m.opts.Log.Info("the object store takes writes again")
		}
	}
	m.err = err
}
