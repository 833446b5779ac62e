package columnstore

import (
	"context"
	"errors"
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/disk"
)

// TestStats_Directory compares the figures of a directory with its files, before and after rows go
// from the log into files, and while the disk is full.
func TestStats_Directory(t *testing.T) {
	fs := crashfs.New(crashfs.Options{})
	store, table := open(t, Options{Manual: true, FS: fs, LogBytes: 1, Sync: disk.SyncEach}, samples(0))
	rng := rand.New(rand.NewPCG(1, 1))
	add := func() {
		b, _ := batch(rng, 10, 1)
		insert(t, table, b)
	}
	add()
	if s := store.Stats(); s.LogBytes == 0 || s.Files != 0 || s.FileBytes != 0 || s.FlushError != nil {
		t.Errorf("before files are written: %d bytes of log, %d files of %d bytes, %v", s.LogBytes, s.Files, s.FileBytes, s.FlushError)
	}
	if err := store.flusher.flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	files, bytes := 0, int64(0)
	names, _ := fs.List()
	for _, name := range names {
		if kind, _, ours := disk.ParseName(name); ours && kind != "log" {
			files, bytes = files+1, bytes+int64(len(fs.Get(name)))
		}
	}
	if s := store.Stats(); s.Files != files || s.FileBytes != bytes || files < 4 || s.FlushError != nil {
		t.Errorf("%d files of %d bytes, want %d of %d; %v", s.Files, s.FileBytes, files, bytes, s.FlushError)
	}
	add()
	fs.Fail(&crashfs.Fault{Err: syscall.ENOSPC, Forever: true, Ops: []crashfs.Op{crashfs.Create}})
	if err := store.flusher.flush(context.Background()); !errors.Is(err, disk.ErrDisk) {
		t.Fatalf("files on a full disk: %v", err)
	}
	if s := store.Stats(); !errors.Is(s.FlushError, syscall.ENOSPC) {
		t.Errorf("the error of writing files is %v", s.FlushError)
	}
	fs.Heal()
	if err := store.flusher.flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	if s := store.Stats(); s.FlushError != nil {
		t.Errorf("files were written, and the error is %v", s.FlushError)
	}
}
