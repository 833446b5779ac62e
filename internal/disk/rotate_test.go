package disk_test

import (
	"errors"
	"io"
	"sync"
	"testing"

	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/disk"
)

// Entries that were appended before Rotate are below its segment, and later ones in it or above. The
// goroutine of the log runs, and others append while segments are begun.
func TestLog_Rotate(t *testing.T) {
	fs := crashfs.New(crashfs.Options{})
	_, l := open(t, fs, 0, disk.Options{Sync: disk.SyncNever, SegmentBytes: 8 << 10})
	const rounds, writers, each = 10, 2, 60
	var begun []uint64 // segments, one a round
	for round := range uint64(rounds) {
		var appending sync.WaitGroup
		for range writers {
			appending.Go(func() {
				for range each {
					if err := appendEntry(t.Context(), l, entry(round+1, 100)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		for range 3 {
			if _, err := l.Rotate(); err != nil {
				t.Fatal(err)
			}
		}
		appending.Wait()
		number, err := l.Rotate()
		if err != nil {
			t.Fatal(err)
		}
		begun = append(begun, number)
	}
	closeLog(t, l)
	if _, err := l.Rotate(); !errors.Is(err, disk.ErrClosed) {
		t.Errorf("Rotate after Close: %v, want %v", err, disk.ErrClosed)
	}
	for i, number := range begun {
		entries, _, err := readLog(fs, number)
		if !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		if want := (rounds - 1 - i) * writers * each; len(entries) != want {
			t.Errorf("from segment %d on there are %d entries, want %d", number, len(entries), want)
		}
		for _, e := range entries {
			if e.Commit <= uint64(i+1) {
				t.Errorf("an entry of round %d is in segment %d or later", e.Commit, number)
			}
		}
	}
}
