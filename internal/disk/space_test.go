package disk_test

import (
	"errors"
	"testing"

	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/disk"
)

// A Space counts files that are there, written, reserved, cut and removed, and no others. It is full beyond a share of
// its bound, in 32nds.
func TestSpace(t *testing.T) {
	dir := crashfs.New(crashfs.Options{})
	there, other, name := disk.FileName("rows", 1), "notes.txt", disk.FileName("rows", 2)
	dir.Put(there, make([]byte, 1000))
	dir.Put(other, make([]byte, 5000))
	space, err := disk.NewSpace(dir, 3200)
	if err != nil || space.Used() != 1000 {
		t.Fatalf("%d bytes, %v", space.Used(), err)
	}
	f, err := space.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		name string
		do   func() error
		used int64
	}{
		{"write", func() error { _, err := f.WriteAt(make([]byte, 300), 0); return err }, 1300},
		{"write within", func() error { _, err := f.WriteAt(make([]byte, 100), 100); return err }, 1300},
		{"reserve", func() error { return f.Reserve(2000) }, 3000},
		{"cut", func() error { return f.Reserve(500) }, 1500},
		{"trim", func() error { return space.Trim(name, 450) }, 1450},
		{"trim to more", func() error { return space.Trim(name, 700) }, 1450},
		{"reserve again", func() error { return f.Reserve(500) }, 1500},
		{"trim what is not there", func() error {
			if space.Trim("rows-9", 1) == nil {
				return errors.New("no error")
			}
			return nil
		}, 1500},
		{"remove", func() error { return space.Remove(there) }, 500},
		{"remove again", func() error {
			if space.Remove(there) == nil {
				return errors.New("no error")
			}
			return nil
		}, 500},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if space.Used() != step.used {
			t.Errorf("%s: %d bytes, want %d", step.name, space.Used(), step.used)
		}
	}
	if over := space.Over(4); over != 100 {
		t.Errorf("%d bytes over 400, want 100", over)
	}
	if err := space.Full(4); !errors.Is(err, disk.ErrDisk) {
		t.Errorf("500 bytes of 400: %v", err)
	}
	if err := space.Full(5); err != nil {
		t.Errorf("500 bytes of 500: %v", err)
	}
	if got := space.Bytes(func(n string) bool { return n == name }); got != 500 {
		t.Errorf("%d bytes of %s, want 500", got, name)
	}
	var none *disk.Space
	if none.Used() != 0 || none.Over(0) != 0 || none.Full(0) != nil {
		t.Error("a nil Space has a bound")
	}
}
