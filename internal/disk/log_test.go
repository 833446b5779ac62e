package disk_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/disk"
)

// everything is a commit id that none is greater than.
const everything = math.MaxUint64

// entry returns an entry of a commit with a body of its own.
func entry(commit uint64, size int) disk.Entry {
	body := make([]byte, size)
	for i := range body {
		body[i] = byte(commit) + byte(i)
	}
	return disk.Entry{Kind: 1, Commit: commit, Begin: commit - 1, Body: body}
}

// equal compares entries. It takes a hundredth of the time of go-cmp.
func equal(a, b disk.Entry) bool {
	return a.Kind == b.Kind && a.Commit == b.Commit && a.Begin == b.Begin && bytes.Equal(a.Body, b.Body)
}

// readLog returns all entries of a log, the reader, and the error that ended it.
func readLog(fs disk.FS, from uint64) (entries []disk.Entry, r *disk.Reader, err error) {
	r, err = disk.ReadLog(fs, store, from)
	if err != nil {
		return nil, nil, err
	}
	for {
		e, err := r.Next()
		if err != nil {
			return entries, r, err
		}
		e.Body = append([]byte{}, e.Body...)
		entries = append(entries, e)
	}
}

// open opens a log that is whole, and returns its entries.
func open(t testing.TB, fs disk.FS, from uint64, o disk.Options) ([]disk.Entry, *disk.Log) {
	t.Helper()
	entries, r, err := readLog(fs, from)
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	l, err := disk.OpenLog(r, o)
	if err != nil {
		t.Fatal(err)
	}
	return entries, l
}

// add appends an entry, and waits as the policy has it.
func add(t testing.TB, l *disk.Log, e disk.Entry) {
	t.Helper()
	if err := appendEntry(t.Context(), l, e); err != nil {
		t.Fatal(err)
	}
}

func appendEntry(ctx context.Context, l *disk.Log, e disk.Entry) error {
	r, err := l.Reserve(ctx, int64(len(e.Body)), false)
	if err != nil {
		return err
	}
	r.Append(e)
	return r.Wait(ctx)
}

func closeLog(t testing.TB, l *disk.Log) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestLog_Killed opens the log of processes that were killed, with the disk as they left it. All entries come back each time, and
// the segments of the dead keep no room that was reserved, whether or not a trim can fail.
func TestLog_Killed(t *testing.T) {
	for _, fails := range []bool{false, true} {
		fs := crashfs.New(crashfs.Options{Keep: 1})
		var want []disk.Entry
		const segment = 64 << 10
		for start := range 30 {
			if fails {
				fs.Fail(&crashfs.Fault{Err: syscall.EIO, Ops: []crashfs.Op{crashfs.Trim}, Forever: true})
			}
			got, l := open(t, fs, 0, disk.Options{Sync: disk.SyncEach, Manual: true, SegmentBytes: segment})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatal(diff)
			}
			for range 3 {
				e := entry(uint64(len(want)+1), 100)
				add(t, l, e)
				want = append(want, e)
			}
			sizes, err := disk.Sizes(fs)
			if err != nil {
				t.Fatal(err)
			}
			bytes := int64(0)
			for _, size := range sizes {
				bytes += size
			}
			if most := int64(2*segment + start*(4<<10+1000)); !fails && bytes > most {
				t.Fatalf("%d bytes after %d kills, at most %d", bytes, start, most)
			}
			fs = fs.Crash() // what was written stays
		}
	}
}

// TestLog_Reopen appends over several segments, with a goroutine and without one, and opens the log
// again and again.
func TestLog_Reopen(t *testing.T) {
	for _, policy := range []disk.SyncPolicy{disk.SyncPeriodically, disk.SyncEach, disk.SyncNever} {
		for _, manual := range []bool{false, true} {
			t.Run(fmt.Sprint(policy, manual), func(t *testing.T) {
				fs := crashfs.New(crashfs.Options{})
				var want []disk.Entry
				for range 5 {
					got, l := open(t, fs, 0, disk.Options{Sync: policy, Manual: manual, SegmentBytes: 8 << 10, QueueBytes: 4 << 10})
					if diff := cmp.Diff(want, got); diff != "" {
						t.Fatal(diff)
					}
					for i := range 20 {
						e := entry(uint64(len(want)+1), i*29)
						add(t, l, e)
						want = append(want, e)
					}
					closeLog(t, l)
					if l.Queued() != 0 {
						t.Errorf("%d bytes are queued after Close", l.Queued())
					}
				}
			})
		}
	}
}
