package disk_test

import (
	"errors"
	"io"
	"slices"
	"syscall"
	"testing"

	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/disk"
)

// readAll reads up to the end or an error.
func readAll(r *disk.Reader) (commits []uint64, err error) {
	for {
		e, err := r.Next()
		if err != nil {
			return commits, err
		}
		commits = append(commits, e.Commit)
	}
}

// A log without one of its segments, or without the header of one, has the entries before it.
func TestSalvageLog_MissingSegment(t *testing.T) {
	whole, places := layLog(t, randomEntries(200<<10, 3000), 32<<10, 20)
	for i := range places {
		want := 0
		for _, before := range places[:i] {
			want += len(before)
		}
		name := disk.FileName(disk.LogKind, uint64(i+1))
		for _, gone := range []bool{true, false} {
			f := files{}
			for other, b := range whole {
				if b = slices.Clone(b); other == name && !gone {
					b[10] ^= 1
				}
				if other != name || !gone {
					f[other] = b
				}
			}
			r, err := disk.SalvageLog(f, store, 1)
			if err != nil {
				t.Fatal(err)
			}
			commits, err := readAll(r)
			last := i == len(places)-1 && !gone // its entries have recorded that it was durable
			if len(commits) != want || !last && !errors.Is(err, io.EOF) {
				t.Errorf("without %s: %d entries, want %d: %v", name, len(commits), want, err)
			}
		}
	}
}

// A log that is replaced is the old one or the new one, whatever call fails and whenever the machine
// ends. It goes on.
func TestReplaceLog(t *testing.T) {
	for n := 0; ; n++ {
		f := crashfs.New(crashfs.Options{Seed: uint64(n), Keep: 0.5})
		_, l := open(t, f, 0, disk.Options{SegmentBytes: 8 << 10, Sync: disk.SyncEach})
		old := []uint64{}
		for i := range 20 {
			add(t, l, entry(uint64(i+1), 1000))
			old = append(old, uint64(i+1))
		}
		closeLog(t, l)
		fault := &crashfs.Fault{Err: syscall.EIO, After: n, Forever: true}
		f.Fail(fault)
		at := uint64(0)
		err := disk.ReplaceLog(f, store, func() (disk.Entry, error) {
			if at++; at > 7 {
				return disk.Entry{}, io.EOF
			}
			return entry(100+at, 3000), nil
		})
		f.Heal()
		next := []uint64{101, 102, 103, 104, 105, 106, 107}
		for _, f := range []*crashfs.FS{f.Crash(), f} {
			got, l := open(t, f, 0, disk.Options{SegmentBytes: 8 << 10})
			commits := []uint64{}
			for _, e := range got {
				commits = append(commits, e.Commit)
			}
			if !slices.Equal(commits, next) && (err == nil || !slices.Equal(commits, old)) {
				t.Fatalf("call %d, %v: entries %v", n, err, commits)
			}
			add(t, l, entry(200, 10))
			closeLog(t, l)
			if got, _, err := readLog(f, l.Segments()[0].Number); !errors.Is(err, io.EOF) || len(got) != len(commits)+1 {
				t.Fatalf("call %d: %d entries after another, want %d: %v", n, len(got), len(commits)+1, err)
			}
		}
		if fault.Fired == 0 {
			if err != nil || n < 5 {
				t.Fatalf("%d calls, %v", n, err)
			}
			break
		}
	}
}
