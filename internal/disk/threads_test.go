package disk_test

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/disk"
)

// TestThreads appends from several goroutines under a lock that gives commit ids, while calls fail,
// segments are removed, and the machine crashes (D1): the log is in the order of the commits, with
// all that were durable.
func TestThreads(t *testing.T) {
	for _, policy := range []disk.SyncPolicy{disk.SyncPeriodically, disk.SyncEach, disk.SyncNever} {
		for _, fails := range []bool{false, true} {
			t.Run(fmt.Sprint(policy, fails), func(t *testing.T) {
				t.Parallel()
				fs := crashfs.New(crashfs.Options{Seed: 1, Keep: 0.5})
				_, l := open(t, fs, 0, disk.Options{Sync: policy, SyncEvery: 20 * time.Millisecond, SegmentBytes: 32 << 10, QueueBytes: 16 << 10})
				r := &running{t: t, log: l}
				var writers sync.WaitGroup
				for i := range 6 {
					writers.Go(func() { r.write(300, i) })
				}
				fault := &crashfs.Fault{Err: syscall.EIO, Ops: []crashfs.Op{crashfs.Sync}}
				if fails {
					r.await(300)
					fs.Fail(fault)
				}
				r.await(600)
				durable := r.durable.Load()
				crashed := fs.Crash()
				writers.Wait()
				r.write(20, 6) // ends with a sync, because all before can be synced when the fault comes
				closeLog(t, l)
				r.check(crashed, int(durable), 1<<30)
				r.check(fs, int(r.commits), int(r.commits))
				if fault.Fired == 0 && fails {
					t.Error("no sync failed")
				}
			})
		}
	}
}

// running is a log that goroutines append to.
type running struct {
	t       *testing.T
	log     *disk.Log
	commit  sync.Mutex
	commits uint64
	durable atomic.Uint64 // the greatest commit id that is known to be
}

func (r *running) write(n, size int) {
	for i := 0; i < n; {
		room, err := r.log.Reserve(r.t.Context(), int64(size*i), false)
		if errors.Is(err, disk.ErrDisk) {
			time.Sleep(50 * time.Millisecond)
			continue
		}
		if err != nil {
			r.t.Error(err)
			return
		}
		r.commit.Lock()
		r.commits++
		id := r.commits
		room.Append(entry(id, size*i))
		r.commit.Unlock()
		err = room.Wait(r.t.Context())
		if i%20 == 19 && err == nil {
			err = r.log.Sync(r.t.Context(), id)
			if err == nil {
				r.isDurable(id)
			}
			_, _, _ = r.log.Segments(), r.log.Queued(), r.log.Err()
			if err := r.log.RemoveBelow(1); err != nil {
				r.t.Error(err)
			}
		}
		if err != nil && !errors.Is(err, disk.ErrNotDurable) {
			r.t.Error(err)
		}
		i++
	}
}

// await waits until n entries are durable.
func (r *running) await(n uint64) {
	for r.durable.Load() < n && !r.t.Failed() {
		time.Sleep(100 * time.Microsecond)
	}
}

func (r *running) isDurable(id uint64) {
	for old := r.durable.Load(); id > old && !r.durable.CompareAndSwap(old, id); old = r.durable.Load() {
	}
}

func (r *running) check(fs *crashfs.FS, least, most int) {
	got, _, err := readLog(fs, 0)
	if !errors.Is(err, io.EOF) || len(got) < least || len(got) > most {
		r.t.Errorf("%d entries, want %d to %d: %v", len(got), least, most, err)
	}
	for i, e := range got {
		if want := entry(uint64(i+1), len(e.Body)); !equal(e, want) {
			r.t.Errorf("entry %d is %v", i, e)
			return
		}
	}
}

// Goroutines that share a Manual log take its steps. None of their entries is refused on a good disk, though
// the queue holds a few of them, and each that waits is durable.
func TestThreads_Manual(t *testing.T) {
	for _, policy := range []disk.SyncPolicy{disk.SyncPeriodically, disk.SyncEach, disk.SyncNever} {
		t.Run(fmt.Sprint(policy), func(t *testing.T) {
			fs := crashfs.New(crashfs.Options{})
			_, l := open(t, fs, 0, disk.Options{Manual: true, Sync: policy, SegmentBytes: 32 << 10, QueueBytes: 4 << 10})
			var commit sync.Mutex
			commits := uint64(0)
			var writers sync.WaitGroup
			for range 6 {
				writers.Go(func() {
					for i := range 300 {
						room, err := l.Reserve(t.Context(), int64(10*i), false)
						if err != nil {
							t.Errorf("entry %d: %v", i, err)
							return
						}
						commit.Lock()
						commits++
						room.Append(entry(commits, 10*i))
						commit.Unlock()
						if err := room.Wait(t.Context()); err != nil {
							t.Errorf("entry %d is not durable: %v", i, err)
						}
					}
				})
			}
			writers.Wait()
			closeLog(t, l)
			if entries, _, _ := readLog(fs, 0); len(entries) != 1800 {
				t.Errorf("%d entries, want 1800", len(entries))
			}
		})
	}
}
