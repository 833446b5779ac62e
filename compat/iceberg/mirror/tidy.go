package mirror

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// job is work that no sync waits for: one of join, remove and earlier.
type job struct {
	join    string // a file of the log, whose segments are joined
	remove  string // a file, whose segments are removed, and
	object  string // this object
	earlier bool   // what earlier epochs left is removed
	number  uint64 // in the order of all jobs, from 1
}

const (
	// mergeAt is the number of segments of a file that are joined, because a directory is made again with a request for each. The
	// file is written as a whole then, up to its size in a log: 64 MiB.
	mergeAt = 256
	// atOnce is the number of requests at a time.
	atOnce = 16
	// lookEvery is the time between two looks for another owner: a request each.
	lookEvery = time.Minute
	// retryAfter is the time until a job that failed is tried again.
	retryAfter = time.Second
)

func (m *FS) add(j job) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.addLocked(j)
}

func (m *FS) addLocked(j job) {
	m.added++
	j.number = m.added
	m.jobs = append(m.jobs, j)
	select {
	case m.wake <- struct{}{}:
	default: // it has a message already
	}
}

// queueLocked queues a file of the log if it has many segments.
func (m *FS) queueLocked(name string, f *logFile) {
	if len(f.segments) >= m.opts.mergeAt && !f.isQueued {
		f.isQueued = true
		m.addLocked(job{join: name})
	}
}

// run does jobs until Finish, and looks for other owners.
func (m *FS) run() {
	looks := time.NewTicker(m.opts.lookEvery)
	defer looks.Stop()
	var again <-chan time.Time // never
	for {
		select {
		case <-m.tidying.Done():
			return
		case <-looks.C:
			m.look(m.tidying)
			continue
		case <-m.wake:
		case <-again:
		}
		again = nil
		if err := m.Tidy(m.tidying); err != nil && m.tidying.Err() == nil {
			m.opts.Log.Warn("the object store has more than is needed", "error", err)
			again = time.After(retryAfter)
		}
	}
}

// Tidy does the jobs that are due, in their order. After an error the next call goes on. One goroutine calls it at a time: the FS's
// own, unless Options.Manual is set.
func (m *FS) Tidy(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(m.ending, cancel)()
	for {
		m.mu.Lock()
		if len(m.jobs) == 0 || m.fenced != nil {
			m.mu.Unlock()
			return nil
		}
		j := m.jobs[0]
		m.mu.Unlock()
		if err := m.do(ctx, j); err != nil {
			return err
		}
		m.mu.Lock()
		m.jobs = m.jobs[1:]
		m.mu.Unlock()
	}
}

func (m *FS) do(ctx context.Context, j job) error {
	switch {
	case j.join != "":
		return m.join(ctx, j.join)
	case j.remove != "":
		m.mu.Lock()
		if f := m.logs[j.remove]; f != nil {
			m.dead = append(m.dead, f.segments...)
			delete(m.logs, j.remove)
		}
		m.mu.Unlock()
		if err := m.prove(ctx, j); err != nil {
			return err
		}
		if err := m.objects.Remove(ctx, j.object); err != nil {
			return err
		}
	default:
		if err := m.removeEarlier(ctx); err != nil {
			return err
		}
	}
	return m.bury(ctx)
}

// prove returns once a segment is there that began after a job was added. Without it another FS could have been opened before what
// the file was removed for was durable: its directory has the file, and shares the object.
func (m *FS) prove(ctx context.Context, j job) error {
	m.mu.Lock()
	isProven := j.number <= m.proven
	m.mu.Unlock()
	if isProven {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return m.append(&segment{}) // it is not given up with ctx, because the next one would find its number taken
}

// join writes the durable bytes of a file of the log as a whole, and removes its segments.
func (m *FS) join(ctx context.Context, name string) error {
	m.mu.Lock()
	f := m.logs[name]
	if f == nil {
		m.mu.Unlock()
		return nil // it was removed
	}
	end, n := f.end, len(f.segments)
	m.mu.Unlock()
	in, err := m.Open(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // the job that removes it is behind this one
	case err != nil:
		return err
	}
	defer in.Close()
	if err := m.put(ctx, fileName(m.epoch, name), in, end); err != nil {
		return err
	}
	m.mu.Lock()
	m.dead = append(m.dead, f.segments[:n]...)
	f.segments, f.isQueued = slices.Clone(f.segments[n:]), false
	m.queueLocked(name, f)
	m.mu.Unlock()
	return m.bury(ctx)
}

// bury removes the segments that nothing needs, but for the newest of the journal (package comment).
func (m *FS) bury(ctx context.Context) error {
	m.mu.Lock()
	dead, newest := slices.Clone(m.dead), m.newest
	m.mu.Unlock()
	var names []string
	for _, sequence := range dead {
		if sequence < newest {
			names = append(names, journalName(sequence))
		}
	}
	err := m.each(names, func(name string) error { return m.objects.Remove(ctx, name) })
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dead = slices.DeleteFunc(m.dead, func(sequence uint64) bool { return sequence < newest && slices.Contains(dead, sequence) })
	return nil
}

// mostFences is the number of claims that are kept. An owner whose epoch a claim has ended must find it.
const mostFences = 1000

// removeEarlier removes what epochs before this one left, but for their claims and the objects that are shared: first the names of whole
// ones, so that none stays without its files.
func (m *FS) removeEarlier(ctx context.Context) error {
	claims, err := m.objects.List(ctx, claimsFolder)
	if err != nil {
		return err
	}
	kept := map[uint64]bool{}
	for _, name := range claims[max(0, len(claims)-mostFences):] {
		number, _, _ := cutNumber(name, claimsFolder)
		kept[number] = true
	}
	for _, folder := range []string{wholeFolder, filesFolder, besideFolder, journalFolder, claimsFolder} {
		names, err := m.objects.List(ctx, folder)
		if err != nil {
			return err
		}
		names = slices.DeleteFunc(names, func(name string) bool {
			number, _, ok := cutNumber(name, folder)
			return !ok || number >= m.epoch || m.shared[name] || kept[number] && (folder == journalFolder || folder == claimsFolder)
		})
		if err := m.each(names, func(name string) error { return m.objects.Remove(ctx, name) }); err != nil {
			return err
		}
	}
	return nil
}

// RemoveAll removes the copy of a directory whose owner has ended: first what makes it whole.
func RemoveAll(ctx context.Context, o Objects) error {
	for _, folder := range []string{wholeFolder, filesFolder, besideFolder, journalFolder, claimsFolder} {
		names, err := o.List(ctx, folder)
		if err != nil {
			return err
		}
		if err := each(atOnce, names, func(name string) error { return o.Remove(ctx, name) }); err != nil {
			return err
		}
	}
	return nil
}

// atOnce returns the number of requests at a time: one with Options.Manual, for a simulator.
func (m *FS) atOnce() int {
	if m.opts.Manual {
		return 1
	}
	return atOnce
}

func (m *FS) each(names []string, f func(name string) error) error { return each(m.atOnce(), names, f) }

// each calls f for each name, `most` at a time, and returns the first error. It calls f for no further name after an error.
func each(most int, names []string, f func(name string) error) error {
	calls, failed := errgroup.WithContext(context.Background())
	calls.SetLimit(most)
	for _, name := range names {
		calls.Go(func() error {
			if failed.Err() != nil {
				return nil // the first error is that of another name
			}
			return f(name)
		})
	}
	return calls.Wait()
}
