package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/columnstore"
)

// bytesOf returns the bytes of a directory's files.
func bytesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[e.Name()] = string(data)
	}
	return out
}

// Questions change no byte of a directory that cannot be written, and answer beside another reader.
// A load is refused meanwhile.
func TestDB_Readers(t *testing.T) {
	dir := stored(t, services(t, time.Minute))
	before := bytesOf(t, dir)
	reader, err := columnstore.Open(columnstore.Options{Dir: dir, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	for name := range before {
		if err := os.Chmod(filepath.Join(dir, name), 0o400); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o700) // or it cannot be removed
	for _, args := range [][]string{{"top"}, {"inspect", "--compact"}, {"labels"}, {"export", "-o", filepath.Join(t.TempDir(), "x.arrows")}} {
		if r := granary(t, append(args, "--db", dir)...); r.code != cli.ExitOK {
			t.Errorf("%s: %+v", args[0], r)
		}
	}
	if after := bytesOf(t, dir); !maps.Equal(before, after) {
		t.Errorf("the files have changed: %v, they were %v", slices.Sorted(maps.Keys(after)), slices.Sorted(maps.Keys(before)))
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name := range before {
		if err := os.Chmod(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if r := granary(t, "load", "--db", dir, file(t, "cpu.pb.gz", service())); r.code != cli.ExitFailed || !strings.Contains(r.stderr, "another process has it open") {
		t.Errorf("load beside a reader: %+v", r)
	}
}
