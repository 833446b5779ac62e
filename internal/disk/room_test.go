package disk_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/disk"
)

// durable returns the number of entries that survive a crash now, which loses all it can.
func durable(t *testing.T, fs *crashfs.FS) int {
	t.Helper()
	entries, _, _ := readLog(fs.Crash(), 0)
	return len(entries)
}

// TestLog_Periods has the times of SyncPeriodically: an entry is written after 10 ms, and durable
// after a second.
func TestLog_Periods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := crashfs.New(crashfs.Options{})
		_, l := open(t, fs, 0, disk.Options{SegmentBytes: 64 << 10})
		written := func() int {
			entries, _, _ := readLog(fs, 0)
			return len(entries)
		}
		time.Sleep(time.Hour) // idle
		for i := range 5 {
			add(t, l, entry(uint64(i+1), 100))
			time.Sleep(9 * time.Millisecond)
			synctest.Wait()
			if n := written(); n != i {
				t.Errorf("after 9 ms %d entries are written, want %d", n, i)
			}
			time.Sleep(2 * time.Millisecond)
			synctest.Wait()
			if n := written(); n != i+1 {
				t.Errorf("after 11 ms %d entries are written, want %d", n, i+1)
			}
			if n := durable(t, fs); n != i {
				t.Errorf("after 11 ms %d entries are durable, want %d", n, i)
			}
			time.Sleep(time.Second)
			synctest.Wait()
			if n := durable(t, fs); n != i+1 {
				t.Errorf("after a second %d entries are durable, want %d", n, i+1)
			}
		}
		closeLog(t, l)
	})
}

// TestLog_Volume syncs when the queue is half full, whatever the time.
func TestLog_Volume(t *testing.T) {
	for _, policy := range []disk.SyncPolicy{disk.SyncPeriodically, disk.SyncNever} {
		synctest.Test(t, func(t *testing.T) {
			fs := crashfs.New(crashfs.Options{})
			_, l := open(t, fs, 0, disk.Options{Sync: policy, QueueBytes: 1 << 20, SegmentBytes: 2 << 20})
			start := time.Now()
			for i := range 9 {
				add(t, l, entry(uint64(i+1), 64<<10-40))
				synctest.Wait()
			}
			if n := durable(t, fs); n < 8 || time.Since(start) > 0 {
				t.Errorf("policy %d: %d entries are durable after %v", policy, n, time.Since(start))
			}
			closeLog(t, l)
		})
	}
}

// TestLog_SyncNever leaves entries to the system.
func TestLog_SyncNever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := crashfs.New(crashfs.Options{})
		_, l := open(t, fs, 0, disk.Options{Sync: disk.SyncNever, SegmentBytes: 64 << 10})
		add(t, l, entry(1, 100))
		time.Sleep(time.Hour)
		if n := durable(t, fs); n != 0 {
			t.Errorf("%d entries are durable", n)
		}
		if err := l.Sync(t.Context(), 1); err != nil || durable(t, fs) != 1 {
			t.Errorf("%d entries are durable after Sync, %v", durable(t, fs), err)
		}
		add(t, l, entry(2, 100))
		if err := l.Sync(t.Context(), 1); err != nil || durable(t, fs) != 1 {
			t.Errorf("%d entries are durable after Sync of the first, %v", durable(t, fs), err)
		}
		closeLog(t, l)
		if n := durable(t, fs); n != 2 {
			t.Errorf("%d entries are durable after Close", n)
		}
	})
}

// TestLog_DiskStandsStill has a disk that fails for three seconds (D7): room is refused, callers
// that wait for a sync are told, and what is queued is durable when the disk works again.
func TestLog_DiskStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := crashfs.New(crashfs.Options{})
		_, l := open(t, fs, 0, disk.Options{Sync: disk.SyncEach, SegmentBytes: 64 << 10})
		add(t, l, entry(1, 100))
		fs.Fail(&crashfs.Fault{Err: syscall.EIO, Ops: []crashfs.Op{crashfs.Sync}, Forever: true})
		r, err := l.Reserve(t.Context(), 100, false)
		if err != nil {
			t.Fatal(err)
		}
		r.Append(entry(2, 100))
		if err := r.Wait(t.Context()); !errors.Is(err, disk.ErrNotDurable) || !errors.Is(err, syscall.EIO) {
			t.Errorf("Wait: %v", err)
		}
		for range 3 {
			_, err := l.Reserve(t.Context(), 100, false)
			if !errors.Is(err, disk.ErrDisk) || !errors.Is(err, syscall.EIO) || !errors.Is(l.Err(), disk.ErrDisk) {
				t.Errorf("Reserve: %v; %v", err, l.Err())
			}
			if err := l.Sync(t.Context(), 2); !errors.Is(err, disk.ErrNotDurable) {
				t.Errorf("Sync: %v", err)
			}
			time.Sleep(time.Second)
		}
		synctest.Wait()
		if names, _ := fs.List(); len(names) > 4 {
			t.Errorf("the attempts leave %v", names)
		}
		fs.Heal()
		time.Sleep(time.Second)
		synctest.Wait()
		if err := l.Sync(t.Context(), 2); err != nil || durable(t, fs) != 2 || l.Err() != nil {
			t.Errorf("%d entries are durable, %v, %v", durable(t, fs), err, l.Err())
		}
		add(t, l, entry(3, 100))
		closeLog(t, l)
		if n := durable(t, fs); n != 3 {
			t.Errorf("%d entries are durable", n)
		}
	})
}

// TestLog_DiskIsFull has a disk without space for a spare segment: entries are refused unless they
// make space.
func TestLog_DiskIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := crashfs.New(crashfs.Options{Space: 20 << 10})
		_, l := open(t, fs, 0, disk.Options{SegmentBytes: 16 << 10})
		synctest.Wait()
		if _, err := l.Reserve(t.Context(), 100, false); !errors.Is(err, disk.ErrDisk) || !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("Reserve: %v", err)
		}
		r, err := l.Reserve(t.Context(), 100, true)
		if err != nil {
			t.Fatal(err)
		}
		r.Append(entry(1, 100))
		if err := l.Sync(t.Context(), everything); err != nil || durable(t, fs) != 1 {
			t.Errorf("the urgent entry: %v", err)
		}
		fs.SetSpace(0)
		time.Sleep(time.Second)
		synctest.Wait()
		add(t, l, entry(2, 100))
		closeLog(t, l)
	})
}

// TestReserve_Waits waits for room, first come, first served.
func TestReserve_Waits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := crashfs.New(crashfs.Options{})
		_, l := open(t, fs, 0, disk.Options{Sync: disk.SyncNever, QueueBytes: 2000, SegmentBytes: 64 << 10})
		first, err := l.Reserve(t.Context(), 1500, false)
		if err != nil || l.Queued() != 1544 {
			t.Fatal(err, l.Queued())
		}
		soon, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errors.New("too slow"))
		defer cancel()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		var order []int
		var mu sync.Mutex
		var waiting sync.WaitGroup
		for i, bytes := range []int64{4000, 1500, 1900} { // the first is larger than the queue, and no two fit together
			waiting.Go(func() {
				r, err := l.Reserve(ctx, bytes, false)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				r.Release()
				r.Release()
			})
			synctest.Wait()
		}
		urgent, err := l.Reserve(t.Context(), 100, true) // is before them
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Reserve(soon, 10, false); err == nil || err.Error() != "too slow" {
			t.Errorf("Reserve: %v", err)
		}
		if len(order) > 0 {
			t.Errorf("%v got room that is not there", order)
		}
		urgent.Release()
		first.Append(entry(1, 600)) // is too little for a sync by itself
		if err := first.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		waiting.Wait()
		if fmt.Sprint(order) != "[0 1 2]" || l.Queued() != 0 {
			t.Errorf("order %v, %d bytes are queued", order, l.Queued())
		}
		last, err := l.Reserve(ctx, 10, false)
		if err != nil {
			t.Fatal(err)
		}
		last.Release()
		closeLog(t, l)
	})
}

// TestReserve_LargeEntry takes an entry that is larger than the queue and a segment.
func TestReserve_LargeEntry(t *testing.T) {
	fs := crashfs.New(crashfs.Options{})
	_, l := open(t, fs, 0, disk.Options{Sync: disk.SyncEach, QueueBytes: 1000, SegmentBytes: 8 << 10})
	for i, size := range []int{10, 1 << 20, 10, 20000, 5000, 1} {
		add(t, l, entry(uint64(i+1), size))
	}
	closeLog(t, l)
	if n := durable(t, fs); n != 6 {
		t.Errorf("%d entries", n)
	}
	if _, err := l.Reserve(t.Context(), 1<<30, false); !errors.Is(err, disk.ErrLimit) {
		t.Error(err)
	}
	if _, err := l.Reserve(t.Context(), -1, false); !errors.Is(err, disk.ErrLimit) {
		t.Error(err)
	}
}

// TestLog_Close ends calls that wait for room, and refuses all others.
func TestLog_Close(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := crashfs.New(crashfs.Options{})
		_, l := open(t, fs, 0, disk.Options{QueueBytes: 1000, SegmentBytes: 64 << 10})
		held, err := l.Reserve(t.Context(), 900, false)
		if err != nil {
			t.Fatal(err)
		}
		var waiting sync.WaitGroup
		waiting.Go(func() {
			if _, err := l.Reserve(t.Context(), 900, false); !errors.Is(err, disk.ErrClosed) {
				t.Errorf("Reserve: %v", err)
			}
		})
		synctest.Wait()
		closeLog(t, l)
		closeLog(t, l)
		waiting.Wait()
		held.Append(entry(1, 900))
		if err := held.Wait(t.Context()); !errors.Is(err, disk.ErrClosed) {
			t.Errorf("Wait: %v", err)
		}
		if err := l.Sync(t.Context(), 1); !errors.Is(err, disk.ErrClosed) {
			t.Errorf("Sync: %v", err)
		}
		if _, err := l.Reserve(t.Context(), 1, false); !errors.Is(err, disk.ErrClosed) {
			t.Errorf("Reserve: %v", err)
		}
	})
}

// TestLog_CloseFails reports entries that are lost.
func TestLog_CloseFails(t *testing.T) {
	fs := crashfs.New(crashfs.Options{})
	_, l := open(t, fs, 0, disk.Options{Manual: true, SegmentBytes: 64 << 10})
	add(t, l, entry(1, 10))
	fs.Fail(&crashfs.Fault{Err: syscall.EIO, Forever: true})
	if err := l.Close(); !errors.Is(err, disk.ErrNotDurable) || !errors.Is(err, syscall.EIO) || !errors.Is(l.Close(), err) {
		t.Errorf("Close: %v", err)
	}
}

// slowFS is an FS whose syncs wait.
type slowFS struct {
	disk.FS
	gate  chan struct{} // a sync takes a message
	syncs atomic.Int64
}

type slowFile struct {
	disk.File
	fs *slowFS
}

func (s *slowFS) Create(name string) (disk.File, error) {
	f, err := s.FS.Create(name)
	return slowFile{f, s}, err
}

func (f slowFile) Sync() error {
	f.fs.syncs.Add(1)
	<-f.fs.gate
	return f.File.Sync()
}

// TestAppend_WaitsForNobody appends while a sync is under way, without an allocation.
func TestAppend_WaitsForNobody(t *testing.T) {
	slow := &slowFS{FS: crashfs.New(crashfs.Options{}), gate: make(chan struct{}, 100)}
	for range 3 { // those of OpenLog, and of the spare segment
		slow.gate <- struct{}{}
	}
	_, l := open(t, slow, 0, disk.Options{Sync: disk.SyncEach})
	var writers sync.WaitGroup
	write := func(r *disk.Room, e disk.Entry) {
		r.Append(e)
		writers.Go(func() {
			if err := r.Wait(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	var rooms []*disk.Room
	for range 202 {
		r, err := l.Reserve(t.Context(), 100, false)
		if err != nil {
			t.Fatal(err)
		}
		rooms = append(rooms, r)
	}
	write(rooms[0], entry(1, 100))
	for slow.syncs.Load() < 4 {
		time.Sleep(time.Millisecond)
	}
	e, i := entry(2, 100), 1
	if n := testing.AllocsPerRun(200, func() {
		rooms[i].Append(e)
		i++
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
	close(slow.gate)
	writers.Wait()
	if err := l.Sync(t.Context(), everything); err != nil {
		t.Error(err)
	}
	if n := slow.syncs.Load(); n != 5 {
		t.Errorf("%d syncs, want one of the first entry and one of all others", n-3)
	}
	closeLog(t, l)
}

// unsafeFS is an FS on which no sync succeeds of a segment that has begun.
type unsafeFS struct {
	disk.FS
	fails bool
}

type unsafeFile struct {
	disk.File
	fs    *unsafeFS
	begun bool
}

func (u *unsafeFS) Create(name string) (disk.File, error) {
	f, err := u.FS.Create(name)
	return &unsafeFile{File: f, fs: u}, err
}

func (f *unsafeFile) WriteAt(b []byte, offset int64) (int, error) {
	f.begun = f.begun || offset == 0
	return f.File.WriteAt(b, offset)
}

func (f *unsafeFile) Sync() error {
	if f.begun && f.fs.fails {
		return syscall.EIO
	}
	return f.File.Sync()
}

// TestLog_AttemptsAreRemoved has segments that are given up again and again after they have begun.
// They do not pile up, and the last one whose header is durable stays (D8): it may be recorded as
// the first that is needed.
func TestLog_AttemptsAreRemoved(t *testing.T) {
	now := time.Unix(0, 0)
	fs := crashfs.New(crashfs.Options{})
	u := &unsafeFS{FS: fs}
	_, l := open(t, u, 0, disk.Options{Manual: true, SegmentBytes: 8 << 10, Now: func() time.Time { return now }})
	first := l.Segments()[0].Number
	u.fails = true
	add(t, l, entry(1, 100))
	for range 10 {
		l.Step()
		now = now.Add(time.Second)
		names, _ := fs.List()
		if len(names) > 3 {
			t.Fatalf("files %v", names)
		}
		if got, _, err := readLog(fs.Crash(), first); len(got) > 0 || !errors.Is(err, io.EOF) {
			t.Fatalf("files %v, %d entries after a crash: %v", names, len(got), err)
		}
		if got, _, err := readLog(fs, first); len(got) > 1 || !errors.Is(err, io.EOF) {
			t.Fatalf("files %v, %d entries: %v", names, len(got), err)
		}
	}
	u.fails = false
	closeLog(t, l)
	if names, _ := fs.List(); len(names) != 1 || durable(t, fs) != 1 {
		t.Errorf("files %v, %d entries", names, durable(t, fs))
	}
}
