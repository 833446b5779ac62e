package mirror

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/schema"
)

// counted are Objects that count what is written.
type counted struct {
	Objects
	mu   sync.Mutex
	puts map[string]int // by folder
}

func (c *counted) count(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	folder, _, _ := strings.Cut(name, "/")
	c.puts[folder]++
}

func (c *counted) Put(ctx context.Context, name string, body io.Reader) error {
	c.count(name)
	return c.Objects.Put(ctx, name, body)
}

func (c *counted) Create(ctx context.Context, name string, body []byte) error {
	c.count(name)
	return c.Objects.Create(ctx, name, body)
}

// fillTest opens a store in a directory, adds rows to it in several files, and closes it.
func fillTest(t *testing.T, m *FS) {
	t.Helper()
	store, err := columnstore.Open(columnstore.Options{
		FS: m, Sync: columnstore.SyncEach, Manual: true, LogBytes: 2000, FutureLimit: -1, PastLimit: -1, GranuleRows: 4,
	})
	if err != nil {
		t.Fatal(err)
	}
	table, err := store.CreateTable("rows", schema.Definition{
		Columns: []schema.Column{{Name: "time", Type: encoding.Int64, Encoding: encoding.Delta}}, SortingKey: []string{"time"}, Bucket: schema.Bucket{Column: "time", Width: 10},
	})
	for i := int64(0); i < 100 && err == nil; i++ {
		if _, err = table.Insert(t.Context(), schema.Batch{Rows: 1, Columns: map[string]encoding.Vector{"time": encoding.Int64s(i)}}); err == nil {
			err = store.Maintain(t.Context())
		}
	}
	if err := errors.Join(err, m.Tidy(t.Context()), store.Close()); err != nil {
		t.Fatal(err)
	}
}

// A start writes only the files that the object store has not: none of an unchanged directory, on its disk or on an empty one. What
// it does not write stays there as long as a directory needs it.
func TestOpen_Unchanged(t *testing.T) {
	objects := newStore(1)
	open := func(under disk.FS) (*FS, map[string]int) {
		t.Helper()
		c := &counted{Objects: objects, puts: map[string]int{}}
		m, err := Open(t.Context(), under, c, Options{Manual: true, pause: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		puts := map[string]int{"files": c.puts["files"], "others": c.puts["journal"] + c.puts["whole"] + c.puts["claims"]}
		return m, puts
	}
	end := func(m *FS) {
		t.Helper()
		if err := m.Tidy(t.Context()); err != nil {
			t.Fatal(err)
		}
		m.Finish(0)
		m.end()
		_ = m.lock.Close() // a store that was closed has done so
	}
	on := crashfs.New(crashfs.Options{})
	m, _ := open(on)
	fillTest(t, m)
	end(m)
	all, err := m.names()
	if err != nil || len(all) < 5 {
		t.Fatal(all, err)
	}
	first := content(t, on)
	m, puts := open(on)
	logs := 0
	for _, name := range all {
		if isLog(name) { // which grew as segments
			logs++
		}
	}
	if puts["files"] != logs || logs == len(all) {
		t.Errorf("%d of %d files are written, %d are of the log", puts["files"], len(all), logs)
	}
	end(m)
	for range 2 {
		for _, under := range []*crashfs.FS{on, crashfs.New(crashfs.Options{})} {
			m, puts = open(under)
			if puts["files"] != 0 || puts["others"] != 4 { // a claim and its name, the name of what is whole, and a segment
				t.Errorf("%v objects are written", puts)
			}
			end(m)
			if have := content(t, under); have != first {
				t.Errorf("the directory has\n%s, want\n%s", have, first)
			}
			on = under
		}
	}
}

// content returns the files of a directory, without the zeros that end those of the log.
func content(t *testing.T, under *crashfs.FS) string {
	t.Helper()
	names, err := under.List()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, name := range names {
		if isOurs(name) {
			body := bytes.TrimRight(under.Get(name), "\x00")
			b.WriteString(name + " " + sumOf(int64(len(body)), 0) + "\n")
			b.Write(body)
		}
	}
	return b.String()
}

// A file that is synced again is there as it became, and an object that has other bytes than its name says is no copy of a file.
func TestOpen_Changed(t *testing.T) {
	objects := newStore(1)
	m := openTest(t, objects, Options{Manual: true})
	name := disk.FileName("states", 1)
	f, err := m.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range []string{"one", "two", "six"} {
		writeTest(t, f, text, int64(3*i))
		if err := f.Sync(); err != nil {
			t.Fatal(err)
		}
		again := crashfs.New(crashfs.Options{})
		reader := &FS{FS: again, objects: objects, opts: m.opts, epoch: m.epoch + 1}
		if err := reader.restoreOnce(t.Context(), m.epoch); err != nil || string(again.Get(name)) != "onetwosix"[:3*i+3] {
			t.Errorf("%q, %v", again.Get(name), err)
		}
		if i == 1 {
			if err := m.Tidy(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if files, err := objects.List(t.Context(), filesFolder); err != nil || len(files) != 1 {
		t.Error(files, err)
	}
	m.end()
	m.Finish(0)
	disk := crashfs.New(crashfs.Options{})
	if m, err = Open(t.Context(), disk, objects, Options{Manual: true, pause: time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	m.Finish(0)
	object := m.held[name]
	objects.objects[object] = append(bytes.Clone(objects.objects[object]), 'x')
	if _, err := Open(t.Context(), crashfs.New(crashfs.Options{}), objects, Options{Manual: true, pause: time.Millisecond}); !errors.Is(err, ErrCopy) {
		t.Errorf("%v, want %v", err, ErrCopy)
	}
}

// hooked are Objects that call something before some requests.
type hooked struct {
	Objects
	onList   func(prefix string)
	onCreate func()
}

func (h *hooked) List(ctx context.Context, prefix string) ([]string, error) {
	if h.onList != nil {
		h.onList(prefix)
	}
	return h.Objects.List(ctx, prefix)
}

func (h *hooked) Create(ctx context.Context, name string, body []byte) error {
	err := h.Objects.Create(ctx, name, body)
	if h.onCreate != nil {
		h.onCreate()
	}
	return err
}

// A process whose claim another one follows, which becomes whole and goes on, is not opened. Its directory is made again later, with all
// that this one wrote.
func TestOpen_Followed(t *testing.T) {
	objects := newStore(1)
	write := func(m *FS, number uint64) {
		t.Helper()
		f := createTest(t, m, number)
		writeTest(t, f, "rows", 0)
		if err := f.Sync(); err != nil {
			t.Fatal(err)
		}
	}
	write(openTest(t, objects, Options{Manual: true}), 1)
	h := &hooked{Objects: objects}
	lists := 0
	h.onList = func(prefix string) {
		if prefix != wholeFolder {
			return
		}
		if lists++; lists == 2 { // behind the claim
			write(openTest(t, objects, Options{Manual: true}), 2)
		}
	}
	under := crashfs.New(crashfs.Options{})
	if _, err := Open(t.Context(), under, h, Options{Manual: true, pause: time.Millisecond}); !errors.Is(err, ErrFenced) {
		t.Fatalf("%v, want %v", err, ErrFenced)
	}
	m, err := Open(t.Context(), under, objects, Options{Manual: true, pause: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	m.Finish(0)
	if names, err := m.names(); err != nil || len(names) != 2 {
		t.Error(names, err)
	}
}

// An object is removed only behind a segment that began after its file was removed: here one is on its way meanwhile.
func TestRemove(t *testing.T) {
	h := &hooked{Objects: newStore(1)}
	m := openTest(t, h, Options{Manual: true})
	name := disk.FileName("rows", 7)
	f, err := m.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	writeTest(t, f, "rows", 0)
	log := createTest(t, m, 1)
	writeTest(t, log, "commit", 0)
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	h.onCreate = func() {
		h.onCreate = nil
		if err := m.Remove(name); err != nil {
			t.Error(err)
		}
	}
	if err := log.Sync(); err != nil {
		t.Fatal(err)
	}
	next := m.next
	if err := m.Tidy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if files, err := h.List(t.Context(), filesFolder); err != nil || len(files) != 0 || m.next != next+1 {
		t.Errorf("%d segments and %q, %v", m.next-next, files, err)
	}
}
