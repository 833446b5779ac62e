package crashfs_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/disk"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// create makes a file whose name is durable.
func create(t *testing.T, f *crashfs.FS, name string, size int64) disk.File {
	t.Helper()
	file, err := f.Create(name)
	must(t, err)
	must(t, file.Reserve(size))
	must(t, file.Sync())
	must(t, f.SyncDir())
	return file
}

// write writes n bytes of a value.
func write(t *testing.T, file disk.File, value byte, n int, offset int64) {
	t.Helper()
	if got, err := file.WriteAt(bytes.Repeat([]byte{value}, n), offset); err != nil || got != n {
		t.Fatal(got, err)
	}
}

// TestCrash_Sectors: synced bytes stay, and unsynced ones stay, go or tear, sector by sector.
func TestCrash_Sectors(t *testing.T) {
	for _, keep := range []float64{0, 0.5, 1} {
		f := crashfs.New(crashfs.Options{Seed: 1, Keep: keep})
		file := create(t, f, "a", 64<<10)
		write(t, file, 1, 64<<10, 0)
		must(t, file.Sync())
		write(t, file, 2, 32<<10, 512)
		counts := map[string]int{}
		for range 20 {
			b := f.Crash().Get("a")
			for at := 0; at < len(b); at += 512 {
				sector := b[at : at+512]
				ones := bytes.Count(sector, []byte{1})
				switch {
				case ones+bytes.Count(sector, []byte{2}) != 512:
					t.Fatalf("sector at %d: %v", at, sector)
				case (at < 512 || at >= 33<<10-512) && ones < 512:
					t.Fatalf("synced sector at %d: %v", at, sector)
				case ones == 512:
					counts["old"]++
				case ones == 0:
					counts["new"]++
				case !slices.IsSorted(sector) && !slices.IsSortedFunc(sector, func(a, b byte) int { return int(b) - int(a) }):
					t.Fatalf("sector at %d is torn twice: %v", at, sector)
				default:
					counts["torn"]++
				}
			}
		}
		want := keep == 0.5
		if (counts["torn"] > 50) != want || (counts["new"] > 500) != (keep > 0) || (counts["old"] > 20*64) != (keep < 1) {
			t.Errorf("keep %v: %v", keep, counts)
		}
	}
}

// TestCrash_Names: names that were made or removed since the last sync of the directory stay or go.
func TestCrash_Names(t *testing.T) {
	counts := map[string]int{}
	for seed := range uint64(100) {
		f := crashfs.New(crashfs.Options{Seed: seed, Keep: 0.5})
		create(t, f, "kept", 10)
		create(t, f, "removed", 10)
		must(t, f.Remove("removed"))
		file, err := f.Create("made")
		must(t, err)
		write(t, file, 1, 100, 0)
		must(t, file.Sync())
		names, err := f.Crash().List()
		must(t, err)
		counts[fmt.Sprint(names)]++
		if b := f.Crash().Get("made"); b != nil && len(b) != 100 {
			t.Fatalf("%d synced bytes", len(b))
		}
	}
	if len(counts) != 4 || counts["[kept]"] < 10 || counts["[kept made removed]"] < 10 {
		t.Error(counts)
	}
}

// TestCrash_Sizes: a size that was not synced is the old or the new one, and what was never written
// is zero.
func TestCrash_Sizes(t *testing.T) {
	sizes := map[int]int{}
	for seed := range uint64(100) {
		f := crashfs.New(crashfs.Options{Seed: seed, Keep: 0.5})
		file := create(t, f, "a", 2000)
		write(t, file, 1, 2000, 0)
		must(t, file.Sync())
		must(t, file.Reserve(1000))
		must(t, file.Reserve(3000))
		if b := f.Get("a"); !bytes.Equal(b[1000:], make([]byte, 2000)) {
			t.Fatal("bytes come back")
		}
		sizes[len(f.Crash().Get("a"))]++
		must(t, file.Sync())
		if b := f.Crash().Get("a"); len(b) != 3000 || !bytes.Equal(b[1000:], make([]byte, 2000)) {
			t.Fatalf("%d bytes after a sync", len(b))
		}
	}
	if len(sizes) != 2 || sizes[2000] == 0 || sizes[3000] == 0 {
		t.Error(sizes)
	}
}

// TestFail_Sync: a sync that fails leaves bytes that no later sync makes durable.
func TestFail_Sync(t *testing.T) {
	f := crashfs.New(crashfs.Options{Seed: 2, Keep: 1})
	file := create(t, f, "a", 10<<10)
	write(t, file, 1, 10<<10, 0)
	f.Fail(&crashfs.Fault{Err: syscall.EIO, Ops: []crashfs.Op{crashfs.Sync}})
	if err := file.Sync(); !errors.Is(err, syscall.EIO) {
		t.Fatal(err)
	}
	must(t, file.Sync())
	if n := bytes.Count(f.Get("a"), []byte{1}); n != 10<<10 {
		t.Errorf("%d bytes are read", n)
	}
	if n := bytes.Count(f.Crash().Get("a"), []byte{1}); n == 0 || n == 10<<10 {
		t.Errorf("%d bytes are durable, want a part", n)
	}
	write(t, file, 2, 10<<10, 0)
	must(t, file.Sync())
	if n := bytes.Count(f.Crash().Get("a"), []byte{2}); n != 10<<10 {
		t.Errorf("%d bytes are durable after another write", n)
	}
}

// TestTrim makes files shorter, and none longer. A crash can undo it.
func TestTrim(t *testing.T) {
	sizes := map[int]int{}
	for seed := range uint64(100) {
		f := crashfs.New(crashfs.Options{Seed: seed, Keep: 0.5})
		write(t, create(t, f, "a", 2000), 1, 2000, 0)
		must(t, f.Trim("a", 3000))
		must(t, f.Trim("a", 500))
		if b := f.Get("a"); len(b) != 500 {
			t.Fatalf("%d bytes after a trim to 500", len(b))
		}
		sizes[len(f.Crash().Get("a"))]++
	}
	if len(sizes) != 2 || sizes[2000] == 0 || sizes[500] == 0 {
		t.Error(sizes)
	}
	if err := crashfs.New(crashfs.Options{}).Trim("none", 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// TestFail lets the calls of each kind fail: once or for ever, after some.
func TestFail(t *testing.T) {
	f := crashfs.New(crashfs.Options{})
	file := create(t, f, "a", 100)
	ops := map[crashfs.Op]func() error{
		crashfs.Create:  func() error { _, err := f.Create("b"); return err },
		crashfs.Open:    func() error { _, err := f.Open("a"); return err },
		crashfs.Remove:  func() error { return f.Remove("a") },
		crashfs.List:    func() error { _, err := f.List(); return err },
		crashfs.SyncDir: f.SyncDir,
		crashfs.Lock:    func() error { _, err := f.Lock(true); return err },
		crashfs.Free:    func() error { _, err := f.Free(); return err },
		crashfs.WriteAt: func() error { _, err := file.WriteAt([]byte("text"), 0); return err },
		crashfs.ReadAt:  func() error { _, err := file.ReadAt(make([]byte, 4), 0); return err },
		crashfs.Sync:    file.Sync,
		crashfs.Reserve: func() error { return file.Reserve(50) },
		crashfs.Trim:    func() error { return f.Trim("a", 50) },
	}
	for op, call := range ops {
		x := &crashfs.Fault{Err: syscall.EIO, Ops: []crashfs.Op{op}, Forever: true}
		f.Fail(x)
		before := f.Calls()
		for range 2 {
			var at *fs.PathError
			if err := call(); !errors.Is(err, syscall.EIO) || !errors.As(err, &at) || at.Op != op.String() {
				t.Errorf("%v: %v", op, err)
			}
		}
		if x.Fired != 2 || f.Calls() != before+2 {
			t.Errorf("%v fails %d times in %d calls", op, x.Fired, f.Calls()-before)
		}
		f.Heal()
	}
	f.Fail(&crashfs.Fault{Err: syscall.ENOSPC, Ops: []crashfs.Op{crashfs.Sync, crashfs.List}, After: 2})
	var got []bool
	for range 3 {
		_, listErr := f.List()
		got = append(got, file.Sync() != nil, listErr != nil)
	}
	if !slices.Equal(got, []bool{false, false, false, true, false, false}) && !slices.Equal(got, []bool{false, false, true, false, false, false}) {
		t.Error(got)
	}
	if names, _ := f.List(); !slices.Equal(names, []string{"a"}) || len(f.Get("a")) != 100 {
		t.Errorf("calls that failed did something: %v", names)
	}
}

// TestFail_Write writes a part.
func TestFail_Write(t *testing.T) {
	f := crashfs.New(crashfs.Options{})
	file := create(t, f, "a", 1000)
	f.Fail(&crashfs.Fault{Err: syscall.EIO})
	n, err := file.WriteAt(bytes.Repeat([]byte{1}, 1000), 0)
	if !errors.Is(err, syscall.EIO) || n == 0 || n == 1000 || bytes.Count(f.Get("a"), []byte{1}) != n {
		t.Error(n, err)
	}
}

// TestSpace is a full disk.
func TestSpace(t *testing.T) {
	f := crashfs.New(crashfs.Options{Space: 1000})
	file := create(t, f, "a", 600)
	if free, err := f.Free(); err != nil || free != 400 {
		t.Error(free, err)
	}
	write(t, file, 1, 300, 500) // 200 of them new
	if err := file.Reserve(1001); !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
	if _, err := file.WriteAt(make([]byte, 201), 800); !errors.Is(err, syscall.ENOSPC) || len(f.Get("a")) != 800 {
		t.Error(err)
	}
	must(t, f.Remove("a"))
	if free, _ := f.Free(); free != 1000 {
		t.Error(free)
	}
	f.SetSpace(0)
	create(t, f, "b", 2000)
}

// TestLock has one owner or several readers, and none after a crash.
func TestLock(t *testing.T) {
	f := crashfs.New(crashfs.Options{})
	owner, err := f.Lock(false)
	must(t, err)
	for _, shared := range []bool{false, true} {
		if _, err := f.Lock(shared); !errors.Is(err, disk.ErrLocked) {
			t.Error(err)
		}
	}
	_, err = f.Crash().Lock(false)
	must(t, err)
	owner.Close()
	owner.Close()
	a, err := f.Lock(true)
	must(t, err)
	b, err := f.Lock(true)
	must(t, err)
	a.Close()
	if _, err := f.Lock(false); !errors.Is(err, disk.ErrLocked) {
		t.Error(err)
	}
	b.Close()
	_, err = f.Lock(false)
	must(t, err)
}

// TestFiles has the errors of files.
func TestFiles(t *testing.T) {
	f := crashfs.New(crashfs.Options{})
	f.Put("a", []byte{1, 2, 3})
	file, err := f.Open("a")
	must(t, err)
	b := make([]byte, 4)
	if n, err := file.ReadAt(b, 1); n != 2 || !errors.Is(err, io.EOF) {
		t.Error(n, err)
	}
	if n, err := file.ReadAt(b, 5); n != 0 || !errors.Is(err, io.EOF) {
		t.Error(n, err)
	}
	if size, err := file.Size(); size != 3 || err != nil {
		t.Error(size, err)
	}
	if _, err := file.WriteAt(b, 0); err == nil {
		t.Error("a file was opened for reading and is written")
	}
	if _, err := f.Create("a"); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	if _, err := f.Open("b"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := f.Remove("b"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	f.Flip("a", 17)
	if got := f.Get("a"); !bytes.Equal(got, []byte{1, 2, 1}) || !bytes.Equal(f.Crash().Get("a"), got) {
		t.Error(got)
	}
	must(t, f.Remove("a")) // an open file is still read
	if n, err := file.ReadAt(b[:3], 0); n != 3 || err != nil {
		t.Error(n, err)
	}
	must(t, file.Close())
	if err := file.Close(); !errors.Is(err, fs.ErrClosed) {
		t.Error(err)
	}
	if _, err := file.ReadAt(b, 0); !errors.Is(err, fs.ErrClosed) {
		t.Error(err)
	}
}

// TestSeed repeats a run.
func TestSeed(t *testing.T) {
	run := func(seed uint64) (bytes []byte) {
		f := crashfs.New(crashfs.Options{Seed: seed, Keep: 0.5})
		for _, name := range []string{"a", "b", "c"} {
			file, err := f.Create(name)
			must(t, err)
			write(t, file, name[0], 10000, 0)
			f.Fail(&crashfs.Fault{Err: syscall.EIO})
			_, _ = file.WriteAt(make([]byte, 5000), 0)
		}
		f = f.Crash().Crash()
		for _, name := range []string{"a", "b", "c"} {
			bytes = append(bytes, f.Get(name)...)
		}
		return bytes
	}
	if !bytes.Equal(run(1), run(1)) || bytes.Equal(run(1), run(2)) {
		t.Error("the seed does not decide")
	}
}

// TestConcurrent uses an FS from several goroutines, for the race detector.
func TestConcurrent(t *testing.T) {
	f := crashfs.New(crashfs.Options{Keep: 0.5})
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			file := create(t, f, fmt.Sprint(i), 4096)
			for n := range 50 {
				write(t, file, byte(n), 100, int64(n))
				must(t, file.Sync())
				must(t, f.SyncDir())
				if got := f.Crash().Get(fmt.Sprint(i)); got[n] != byte(n) {
					t.Error(got[n])
				}
			}
		})
	}
	all.Wait()
}
