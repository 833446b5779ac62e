package disk_test

import (
	"context"
	"flag"
	"syscall"
	"testing"
	"time"

	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/faultclock"
)

var clockEvery = flag.Int("clock.every", 149, "make each n-th reading of the clock wrong")

// clockWorkload appends 150 entries to a log that takes its steps meanwhile. The disk fails for some of them. It returns how many
// entries were appended, and how many are durable for certain.
func clockWorkload(l *disk.Log, fs *crashfs.FS, clock *faultclock.Clock) (appended, durable int) {
	for i := range 150 {
		clock.Move(time.Duration(i) * 200 * time.Millisecond)
		switch i % 50 {
		case 20:
			fs.Fail(&crashfs.Fault{Err: syscall.EIO, Ops: []crashfs.Op{crashfs.Sync, crashfs.Create}, Forever: true})
		case 23:
			fs.Heal()
		case 40:
			if _, err := l.Rotate(); err == nil {
				durable = appended
			}
		}
		for range 10 {
			if !l.Step() {
				break
			}
		}
		r, err := l.Reserve(context.Background(), int64(20*(i%40)), false)
		if err != nil {
			continue
		}
		appended++
		r.Append(entry(uint64(appended), 20*(i%40)))
		if err := r.Wait(context.Background()); err == nil && i%30 == 14 && l.Sync(context.Background(), uint64(appended)) == nil {
			durable = appended
		}
	}
	return appended, durable
}

// TestLog_EveryReadingIsWrong makes each reading of a log's clock wrong (D1, D7). What is durable stays so. Once the clock is right, the
// log writes and syncs what it has within its time, and takes entries again after the disk failed.
func TestLog_EveryReadingIsWrong(t *testing.T) {
	effort.Alone(t)
	begin := time.Date(2026, 11, 3, 9, 30, 30, 0, time.UTC)
	runs := 0
	for n, all := 1, 1; n <= all; n += *clockEvery {
		for _, fault := range faultclock.Faults {
			for _, policy := range []disk.SyncPolicy{disk.SyncPeriodically, disk.SyncEach} {
				clock := faultclock.New(begin, fault, n)
				wall := func() time.Time { return clock.Now().Round(0) } // a log measures durations alone, which a monotonic part keeps right
				fs := crashfs.New(crashfs.Options{})
				_, l := open(t, fs, 0, disk.Options{Sync: policy, Manual: true, SegmentBytes: 6 << 10, QueueBytes: 2 << 10, Now: wall})
				appended, durable := clockWorkload(l, fs, clock)
				if got, _, _ := readLog(fs.Crash(), 0); len(got) < durable || len(got) > appended {
					t.Fatalf("%s at reading %d: %d entries, want %d to %d", fault.Name, n, len(got), durable, appended)
				}
				all = max(all, clock.Readings())
				clock.Heal()
				fs.Heal()
				const soon = 2 * time.Second // a second for the next attempt, and one until entries are synced
				for at := time.Duration(0); at <= soon; at += 10 * time.Millisecond {
					clock.Move(31*time.Second + at)
					for l.Step() {
					}
				}
				if got, _, _ := readLog(fs.Crash(), 0); len(got) != appended {
					t.Fatalf("%s at reading %d, policy %d: %d entries are durable %s after the clock is right, of %d", fault.Name, n, policy, len(got), soon, appended)
				}
				add(t, l, entry(uint64(appended+1), 100))
				closeLog(t, l)
				if got, _, _ := readLog(fs.Crash(), 0); len(got) != appended+1 {
					t.Fatalf("%s at reading %d: %d entries at last, want %d", fault.Name, n, len(got), appended+1)
				}
				runs++
			}
		}
	}
	t.Logf("%d runs", runs)
}
