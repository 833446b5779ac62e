package mirror

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/internal/disk"
)

// besideTest is the folder beside a store, and what tests keep there.
func besideTest(dir string) Options {
	return Options{Manual: true, pause: time.Millisecond, Beside: Beside{Dir: dir, Names: []string{"notes", "archives/tenants"}}}
}

func openBeside(t *testing.T, dir string, objects Objects) *FS {
	t.Helper()
	m, err := Open(t.Context(), disk.System(dir), objects, besideTest(dir))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// endBeside ends an FS whose store is not opened.
func endBeside(t *testing.T, m *FS) {
	t.Helper()
	m.Finish(0)
	m.end()
	if err := m.lock.Close(); err != nil {
		t.Fatal(err)
	}
}

func writeBeside(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// readBeside returns the files of a directory that are none of a store, by name.
func readBeside(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if _, isMarked := isMark(d.Name()); err != nil || d.IsDir() || isMarked || isOurs(d.Name()) || d.Name() == disk.LockName {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		files[filepath.ToSlash(rel)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func wantBeside(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	if have := readBeside(t, dir); !maps.Equal(have, want) {
		t.Errorf("%q, want %q", have, want)
	}
}

// Invariant M1 for files beside those of the store: after Keep each is there as it was, on an empty disk too, and one that was removed is
// not. A start writes none that is there.
func TestKeep(t *testing.T) {
	objects := newStore(1)
	dir := t.TempDir()
	m := openBeside(t, dir, objects)
	keep := func(name string) {
		t.Helper()
		if err := m.Keep(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	log := createTest(t, m, 1)
	writeTest(t, log, "rows", 0)
	if err := log.Sync(); err != nil {
		t.Fatal(err)
	}
	keep("notes") // there is none
	writeBeside(t, dir, "notes", "one\n")
	writeBeside(t, dir, "archives/tenants/a/1.zip", "first")
	writeBeside(t, dir, "archives/tenants/a/2.zip", "second")
	writeBeside(t, dir, "archives/tenants/a/3.zip.new", "not whole")
	writeBeside(t, dir, "archives/tenants/other/1.zip", "not kept")
	keep("notes")
	keep("archives/tenants/a")
	writeBeside(t, dir, "notes", "one\ntwo\n")
	keep("notes")
	if err := os.Remove(filepath.Join(dir, "archives/tenants/a/1.zip")); err != nil {
		t.Fatal(err)
	}
	keep("archives/tenants/a")
	writeBeside(t, dir, "notes", "one\ntwo\nnot kept\n")
	want := map[string]string{"notes": "one\ntwo\n", "archives/tenants/a/2.zip": "second"}
	for range 3 {
		endBeside(t, m)
		dir = t.TempDir()
		c := &counted{Objects: objects, puts: map[string]int{}}
		m = openBeside(t, dir, c)
		wantBeside(t, dir, want)
		if c.puts["beside"] > 0 {
			t.Errorf("%d files are written again", c.puts["beside"])
		}
		if err := m.Tidy(t.Context()); err != nil { // what earlier epochs left
			t.Fatal(err)
		}
	}
	// On its disk a start takes what was not kept.
	writeBeside(t, dir, "notes", "new\n")
	endBeside(t, m)
	endBeside(t, openBeside(t, dir, objects))
	dir = t.TempDir()
	m = openBeside(t, dir, objects)
	want["notes"] = "new\n"
	wantBeside(t, dir, want)
	endBeside(t, m)
}

// Invariant M3. An FS that was followed keeps nothing, and removes nothing of the one that followed.
func TestKeep_Followed(t *testing.T) {
	objects := newStore(1)
	first, second := t.TempDir(), t.TempDir()
	m := openBeside(t, first, objects)
	f := createTest(t, m, 1)
	writeTest(t, f, "rows", 0)
	writeBeside(t, first, "notes", "one\n")
	if err := errors.Join(f.Sync(), m.Keep(t.Context(), "notes")); err != nil {
		t.Fatal(err)
	}
	next := openBeside(t, second, objects)
	writeBeside(t, first, "notes", "two\n")
	if err := m.Keep(t.Context(), "notes"); !errors.Is(err, ErrFenced) {
		t.Errorf("%v, want %v", err, ErrFenced)
	}
	endBeside(t, m)
	endBeside(t, next)
	dir := t.TempDir()
	endBeside(t, openBeside(t, dir, objects))
	wantBeside(t, dir, map[string]string{"notes": "one\n"})
}

// segmentOf writes a segment.
func segmentOf(t *testing.T, m *FS) {
	t.Helper()
	f := createTest(t, m, 1)
	writeTest(t, f, "rows", 0)
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
}

// Keep waits for an object store that is away as long as its request does. The next one keeps the file.
func TestKeep_Away(t *testing.T) {
	objects := newStore(1)
	dir := t.TempDir()
	m := openBeside(t, dir, objects)
	defer endBeside(t, m)
	writeBeside(t, dir, "notes", "one\n")
	objects.fail(1, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := m.Keep(ctx, "notes"); !errors.Is(err, errRequest) && !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	objects.fail(0, 0)
	if err := m.Keep(t.Context(), "notes"); err != nil || len(m.beside) != 1 {
		t.Error(m.beside, err)
	}
}

// An object whose name leads elsewhere is no file.
func TestKeep_Names(t *testing.T) {
	objects := newStore(1)
	dir := filepath.Join(t.TempDir(), "db")
	m := openBeside(t, filepath.Join(t.TempDir(), "first"), objects)
	sum := sumOf(1, 0)
	for _, name := range []string{"../notes", "/notes", "notes/../../x", "notes//x", "log-000000000001", "", "archives/x", "archives/tenants/../../x"} {
		objects.objects[besideName(m.epoch, 1, sum, name)] = []byte("x")
	}
	segmentOf(t, m)
	endBeside(t, m)
	endBeside(t, openBeside(t, dir, objects))
	wantBeside(t, dir, map[string]string{})
	if entries, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(entries) != 1 || strings.Contains(entries[0].Name(), "notes") {
		t.Error(entries, err)
	}
}

// A file that is replaced soon by one of the same size and time is kept.
func TestKeep_SameTime(t *testing.T) {
	objects := newStore(1)
	dir := t.TempDir()
	m := openBeside(t, dir, objects)
	segmentOf(t, m)
	at := time.Now()
	for _, text := range []string{"one", "two"} {
		writeBeside(t, dir, "notes", text)
		if err := errors.Join(os.Chtimes(filepath.Join(dir, "notes"), at, at), m.Keep(t.Context(), "notes")); err != nil {
			t.Fatal(err)
		}
	}
	endBeside(t, m)
	dir = t.TempDir()
	endBeside(t, openBeside(t, dir, objects))
	wantBeside(t, dir, map[string]string{"notes": "two"})
}

// Of several versions of a file, whose removal failed, the newest one is there.
func TestKeep_Versions(t *testing.T) {
	objects := newStore(1)
	dir := t.TempDir()
	m := openBeside(t, dir, objects)
	segmentOf(t, m)
	all := map[string][]byte{}
	for _, text := range []string{"one", "two", "six"} {
		writeBeside(t, dir, "notes", text)
		if err := m.Keep(t.Context(), "notes"); err != nil {
			t.Fatal(err)
		}
		maps.Copy(all, objects.objects)
	}
	endBeside(t, m)
	maps.Copy(objects.objects, all)
	dir = t.TempDir()
	endBeside(t, openBeside(t, dir, objects))
	wantBeside(t, dir, map[string]string{"notes": "six"})
}
