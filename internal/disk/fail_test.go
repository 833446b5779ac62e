package disk_test

import (
	"context"
	"errors"
	"io"
	"syscall"
	"testing"
	"time"

	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/effort"
)

// workload opens a log, appends over several segments, closes it, and does so again. It returns the
// number of entries that are durable for certain, and the number that were appended.
func workload(fs disk.FS, policy disk.SyncPolicy) (durable, appended int) {
	now := time.Unix(0, 0)
	for range 2 {
		_, r, err := readLog(fs, 0)
		if !errors.Is(err, io.EOF) {
			return durable, appended
		}
		l, err := disk.OpenLog(r, disk.Options{Sync: policy, Manual: true, SegmentBytes: 6 << 10, QueueBytes: 2 << 10, Now: func() time.Time { return now }})
		if err != nil {
			return durable, appended
		}
		for i := range 12 {
			now = now.Add(400 * time.Millisecond)
			l.Step()
			r, err := l.Reserve(context.Background(), int64(100*i), false)
			if err != nil {
				continue
			}
			appended++
			r.Append(entry(uint64(appended), 100*i))
			if err := r.Wait(context.Background()); err == nil && policy == disk.SyncEach {
				durable = appended
			}
		}
		if l.Close() != nil {
			return durable, appended
		}
		durable = appended
	}
	return durable, appended
}

// TestLog_EveryCallFails lets each call of a workload fail, once and for ever, and crashes after it
// (D1, D7): the log has a prefix, with all that was durable, and can be opened.
func TestLog_EveryCallFails(t *testing.T) {
	apart := 1
	if effort.Brief() { // one goroutine writes; every second call fails with another error
		apart = 7
	}
	total := 0
	for _, policy := range []disk.SyncPolicy{disk.SyncPeriodically, disk.SyncEach, disk.SyncNever} {
		for n, fired := 0, true; fired; n += apart {
			for i := range 6 {
				fs := crashfs.New(crashfs.Options{Seed: uint64(n), Keep: float64(i/2) / 2})
				fault := &crashfs.Fault{Err: []error{syscall.EIO, syscall.ENOSPC}[n%2], After: n, Forever: i%2 > 0}
				fs.Fail(fault)
				durable, appended := workload(fs, policy)
				fired = fault.Fired > 0
				fs = fs.Crash()
				got, l := open(t, fs, 0, disk.Options{Manual: true, SegmentBytes: 6 << 10})
				closeLog(t, l)
				if len(got) < durable || len(got) > appended {
					t.Fatalf("policy %d, call %d fails: %d entries, want %d to %d", policy, n, len(got), durable, appended)
				}
				for at, e := range got {
					if !equal(e, entry(uint64(at+1), len(e.Body))) {
						t.Fatalf("policy %d, call %d fails: entry %d is %v", policy, n, at, e)
					}
				}
				total++
			}
			if !fired && n < 100 || n > 1000 {
				t.Fatalf("%d calls", n)
			}
		}
	}
	t.Logf("%d runs", total)
}
