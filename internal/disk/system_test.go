package disk_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/granarydb/granary/internal/disk"
)

// TestSystem_Log keeps a log in a directory of the system.
func TestSystem_Log(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	system := disk.System(dir)
	lock, err := system.Lock(false)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	var want []disk.Entry
	for range 3 {
		got, l := open(t, system, 0, disk.Options{SegmentBytes: 64 << 10})
		if len(got) != len(want) {
			t.Fatalf("%d entries, want %d", len(got), len(want))
		}
		for i, e := range got {
			if !equal(e, want[i]) {
				t.Fatalf("entry %d is %v", i, e)
			}
		}
		for i := range 100 {
			e := entry(uint64(len(want)+1), 30*i)
			add(t, l, e)
			want = append(want, e)
		}
		if err := l.Sync(t.Context(), everything); err != nil {
			t.Fatal(err)
		}
		if err := l.RemoveBelow(l.Segments()[0].Number); err != nil {
			t.Fatal(err)
		}
		closeLog(t, l)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) < 5 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", f.Name(), info.Mode())
		}
	}
}

// TestSystem_Lock lets one owner have the directory, or readers.
func TestSystem_Lock(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	if _, err := disk.System(dir).Lock(true); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a reader locks what is not there: %v", err)
	}
	lock := func(shared bool, want error) io.Closer {
		t.Helper()
		l, err := disk.System(dir).Lock(shared)
		if !errors.Is(err, want) {
			t.Fatalf("shared %v: %v, want %v", shared, err, want)
		}
		return l
	}
	owner := lock(false, nil)
	lock(false, disk.ErrLocked)
	lock(true, disk.ErrLocked)
	owner.Close()
	reader, other := lock(true, nil), lock(true, nil)
	lock(false, disk.ErrLocked)
	reader.Close()
	other.Close()
	lock(false, nil).Close()
	if err := os.Remove(filepath.Join(dir, disk.LockName)); err != nil { // as in a copy of the files
		t.Fatal(err)
	}
	reader = lock(true, nil)
	lock(false, disk.ErrLocked)
	reader.Close()
}

// TestSystem_Files uses each method.
func TestSystem_Files(t *testing.T) {
	system := disk.System(t.TempDir())
	f, err := system.Create("b")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := system.Create("b"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a file is made twice: %v", err)
	}
	for _, size := range []int64{10000, 5000, 0, 7000} {
		if err := f.Reserve(size); err != nil {
			t.Error(err)
		}
		if got, err := f.Size(); err != nil || got != size {
			t.Errorf("%d bytes, want %d: %v", got, size, err)
		}
	}
	if err := f.Reserve(1 << 62); err == nil || runtime.GOOS == "linux" && !strings.Contains(err.Error(), "reserve 4611686018427387904 bytes for ") {
		t.Errorf("4 EiB: %v", err)
	}
	if _, err := f.WriteAt([]byte("text"), 6998); err != nil {
		t.Error(err)
	}
	if err := f.Sync(); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if err := os.Mkdir(filepath.Join(t.TempDir(), "a"), 0o700); err != nil {
		t.Fatal(err)
	}
	if names, err := system.List(); err != nil || len(names) != 1 || names[0] != "b" {
		t.Errorf("files %v, %v", names, err)
	}
	for _, size := range []int64{7002, 8000} { // it makes none longer
		if err := system.Trim("b", size); err != nil {
			t.Error(err)
		}
	}
	if err := system.Trim("none", 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("trim of no file: %v", err)
	}
	read, err := system.Open("b")
	if err != nil {
		t.Fatal(err)
	}
	if size, err := read.Size(); size != 7002 || err != nil {
		t.Errorf("%d bytes after a trim to 7002: %v", size, err)
	}
	b := make([]byte, 8)
	if n, err := read.ReadAt(b, 6996); !errors.Is(err, io.EOF) || !bytes.Equal(b[:n], []byte("\x00\x00text")) {
		t.Errorf("%q, %v", b[:n], err)
	}
	read.Close()
	if err := system.Remove("b"); err != nil {
		t.Error(err)
	}
	if err := system.SyncDir(); err != nil {
		t.Error(err)
	}
	if _, err := system.Open("b"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if free, err := system.Free(); err != nil || free < 1<<20 {
		t.Errorf("%d bytes are free, %v", free, err)
	}
}
