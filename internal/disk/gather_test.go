package disk_test

import (
	"sync"
	"testing"
	"time"

	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/disk"
)

// lateFS is one whose syncs take a while.
type lateFS struct {
	disk.FS
	sync time.Duration
}

type lateFile struct {
	disk.File
	sync time.Duration
}

func (l lateFS) Create(name string) (disk.File, error) {
	f, err := l.FS.Create(name)
	return lateFile{f, l.sync}, err
}

func (f lateFile) Sync() error {
	time.Sleep(f.sync)
	return f.File.Sync()
}

// TestSyncEach_Gathers has writers that append again as soon as their entry is durable. They are synced together:
// a log that does not wait for them syncs two halves in turns.
func TestSyncEach_Gathers(t *testing.T) {
	const writers, rounds = 8, 20
	fs := &countedFS{FS: lateFS{crashfs.New(crashfs.Options{}), 10 * time.Millisecond}}
	_, l := open(t, fs, 0, disk.Options{Sync: disk.SyncEach})
	defer closeLog(t, l)
	before := fs.syncs.Load()
	appendInTurn(t, l, writers, rounds)
	if syncs := fs.syncs.Load() - before; syncs*5 > writers*rounds {
		t.Errorf("%d syncs for %d entries of %d writers, want at most a fifth", syncs, writers*rounds, writers)
	}
}

// appendInTurn has `writers` writers that each append `rounds` entries and wait for each.
func appendInTurn(t *testing.T, l *disk.Log, writers, rounds int) {
	t.Helper()
	var all sync.WaitGroup
	errs := make([]error, writers)
	for w := range writers {
		all.Go(func() {
			for range rounds {
				if err := appendEntry(t.Context(), l, entry(1, 100)); err != nil {
					errs[w] = err
					return
				}
			}
		})
	}
	all.Wait()
	for w, err := range errs {
		if err != nil {
			t.Fatalf("writer %d: %v", w, err)
		}
	}
}
