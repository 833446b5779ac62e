package disk_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/disk"
)

// clockedFS is a disk whose calls take time of a clock.
type clockedFS struct {
	disk.FS
	mu          sync.Mutex
	at          time.Time
	write, sync time.Duration
}

type clockedFile struct {
	disk.File
	fs *clockedFS
}

func (s *clockedFS) now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at
}

func (s *clockedFS) pass(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = s.at.Add(d)
}

func (s *clockedFS) Create(name string) (disk.File, error) {
	f, err := s.FS.Create(name)
	return clockedFile{f, s}, err
}

func (f clockedFile) WriteAt(b []byte, offset int64) (int, error) {
	f.fs.pass(f.fs.write)
	return f.File.WriteAt(b, offset)
}

func (f clockedFile) Sync() error {
	f.fs.pass(f.fs.sync)
	return f.File.Sync()
}

// TestLog_Stats measures the calls of a disk of known slowness, and the calls that wait for it.
func TestLog_Stats(t *testing.T) {
	slow := &clockedFS{FS: crashfs.New(crashfs.Options{}), at: time.Unix(1, 0)}
	_, l := open(t, slow, 0, disk.Options{Sync: disk.SyncEach, Manual: true, SegmentBytes: 64 << 10, Now: slow.now})
	for l.Step() { // the spare segment
	}
	before := l.Stats()
	if before.Entries != 0 || before.Waits.Count != 0 || before.Syncs.Count == 0 || before.Syncs.Max != 0 {
		t.Errorf("a new log: %+v", before)
	}
	slow.write, slow.sync = 3*time.Millisecond, 40*time.Millisecond
	const entries, body = 5, 1000
	for i := range entries {
		add(t, l, entry(uint64(i+1), body))
	}
	stats := l.Stats()
	for name, tt := range map[string]struct {
		before, now disk.Latencies
		each        time.Duration
	}{
		"writes": {before.Writes, stats.Writes, slow.write},
		"syncs":  {before.Syncs, stats.Syncs, slow.sync},
		"waits":  {before.Waits, stats.Waits, slow.write + slow.sync},
	} {
		sum := int64(0)
		for i, n := range tt.now.Buckets {
			sum += n
			if n -= tt.before.Buckets[i]; n > 0 && (tt.each > disk.BucketEnd(i) || tt.each <= disk.BucketEnd(i-1)) {
				t.Errorf("%s: %d of %s in the bucket up to %s", name, n, tt.each, disk.BucketEnd(i))
			}
		}
		if n := tt.now.Count - tt.before.Count; n != entries || sum != tt.now.Count || tt.now.Max != tt.each || tt.now.Sum != entries*tt.each {
			t.Errorf("%s: %+v, want %d of %s more than %+v", name, tt.now, entries, tt.each, tt.before)
		}
	}
	if bytes := stats.Bytes - before.Bytes; stats.Entries != entries || bytes < entries*body || bytes > entries*(body+100) {
		t.Errorf("%d entries, %d bytes", stats.Entries, bytes)
	}
	slow.sync = time.Minute // longer than all buckets
	add(t, l, entry(entries+1, body))
	if last := l.Stats().Syncs; last.Buckets[len(last.Buckets)-1] != 1 || last.Max != time.Minute {
		t.Errorf("after a sync of a minute: %+v", last)
	}
	slow.sync = -time.Hour // somebody sets the clock
	add(t, l, entry(entries+2, body))
	if last := l.Stats().Syncs; last.Sum != entries*40*time.Millisecond+time.Minute {
		t.Errorf("after a sync in negative time: %s", last.Sum)
	}
	closeLog(t, l)
	if none := (*disk.Log)(nil).Stats(); none != (disk.LogStats{}) {
		t.Errorf("no log: %+v", none)
	}
}

// TestLog_StatsGaveUp counts callers that stop waiting, under the race detector beside calls of Stats.
func TestLog_StatsGaveUp(t *testing.T) {
	slow := &clockedFS{FS: crashfs.New(crashfs.Options{}), at: time.Unix(1, 0)}
	_, l := open(t, slow, 0, disk.Options{Sync: disk.SyncNever, QueueBytes: 1000, Now: slow.now})
	defer closeLog(t, l)
	r, err := l.Reserve(t.Context(), 2000, false)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	var asking sync.WaitGroup
	asking.Go(func() {
		for ctx.Err() == nil {
			_ = l.Stats()
		}
	})
	if _, err := l.Reserve(ctx, 1, false); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("room in a full queue: %v", err)
	}
	asking.Wait()
	r.Release()
	if n := l.Stats().Waits.Count; n != 1 {
		t.Errorf("%d waits, want 1", n)
	}
}
