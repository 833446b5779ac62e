package dictionaries

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/files"
)

// table is an owner whose files are numbers: the strings that dictionaries have.
type table struct {
	*Generations
	bytes   int64
	cached  map[int64]*DurableGeneration
	reads   int
	missing bool
}

func newTable(cache bool) *table {
	t := &table{cached: map[int64]*DurableGeneration{}}
	t.Generations = New(Owner{
		New: func() *granule.Generation { return granule.NewGeneration(1) },
		Read: func(files files.GenerationFiles, into *granule.Generation) error {
			t.reads++
			if t.missing {
				return fs.ErrNotExist
			}
			for i := range files.Files[0] {
				into.Strings.Intern(fmt.Append(nil, i))
			}
			return nil
		},
		Cached: func(number int64, read func() (*DurableGeneration, error)) (*DurableGeneration, error) {
			if g := t.cached[number]; g != nil {
				return g, nil
			}
			g, err := read()
			if cache && err == nil {
				t.cached[number] = g
			}
			return g, err
		},
		Forget:  func(number int64) { delete(t.cached, number) },
		Reserve: func(int64) (func(), error) { return func() {}, nil },
		Account: func(bytes int64) { t.bytes += bytes },
	})
	return t
}

// add adds the i-th string, and logs it as the next entry.
func add(t *testing.T, g *DurableGeneration, i int) {
	t.Helper()
	if code, err := g.Strings.Intern(fmt.Append(nil, i)); err != nil || int(code) != i+1 {
		t.Fatalf("string %d has code %d, %v", i, code, err)
	}
	if err := g.Log(func(e *Extent) error {
		*e = Extent{g.Watermark(), e.Entries + 1}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// file makes files of all that dictionaries have.
func (t *table) file(g *DurableGeneration) {
	d := g.Files()
	t.SetFiles([]files.GenerationFiles{{Number: g.Number, Entries: d.Entries, Files: []uint64{uint64(g.Strings.Len())}}})
	t.SetFiled(g, d.Logged)
}

// Dictionaries leave memory when files have all of them and nobody has pinned them (N1, N3), and mean the
// same when they are back (N2).
func TestGenerations_Demote(t *testing.T) {
	for _, cache := range []bool{false, true} {
		s := newTable(cache)
		g, kept, err := s.Pin(7)
		if err != nil || !kept {
			t.Fatal(kept, err)
		}
		add(t, g, 0)
		s.Count(g)
		s.file(g)
		if s.Demote(7); s.Find(7) == nil {
			t.Fatal("pinned dictionaries left memory")
		}
		add(t, g, 1)
		g.Unpin()
		if s.Demote(7); s.Find(7) == nil {
			t.Fatal("dictionaries left memory, and files lack an entry")
		}
		s.file(g)
		if s.Demote(7); s.Find(7) != nil || s.bytes != 0 {
			t.Fatalf("idle dictionaries stay, and %d bytes are counted", s.bytes)
		}
		read, err := s.Read(7)
		if err != nil || read.Strings.Len() != 2 || s.Find(7) != nil {
			t.Fatalf("%d strings, %v", read.Strings.Len(), err)
		}
		again, kept, err := s.Acquire(7)
		if err != nil || !kept || s.bytes != int64(again.Size()) {
			t.Fatalf("%v, %v: %d bytes are counted", kept, err, s.bytes)
		}
		add(t, again, 2)
		if now, err := s.Read(7); err != nil || now != again {
			t.Errorf("a read has other dictionaries than the rows that come: %v", err)
		}
	}
}

// Dictionaries that were read before others were added to, filed and unloaded are not used again (N1).
func TestGenerations_Stale(t *testing.T) {
	s := newTable(true)
	g, _, _ := s.Acquire(1)
	add(t, g, 0)
	s.file(g)
	s.Demote(1)
	old, err := s.Read(1)
	if err != nil {
		t.Fatal(err)
	}
	delete(s.cached, 1) // as if it had no room
	s.recent = map[int64]recentlyRead{}
	hot, _, err := s.Acquire(1)
	if err != nil || hot.Generation == old.Generation {
		t.Fatal("the same dictionaries", err)
	}
	add(t, hot, 1)
	s.file(hot)
	s.Demote(1)
	s.cached[1] = old // as a slow query would put it there
	now, err := s.Read(1)
	if err != nil || now.Strings.Len() != 2 {
		t.Errorf("%d strings, %v", now.Strings.Len(), err)
	}
}

// A query that finds no room for dictionaries reads them once while it has them.
func TestGenerations_ReadOnceWithoutRoom(t *testing.T) {
	s := newTable(false)
	s.SetFiles([]files.GenerationFiles{{Number: 3, Entries: 1, Files: []uint64{5}}})
	first, err := s.Read(3)
	if err != nil {
		t.Fatal(err)
	}
	second, err := s.Read(3)
	if err != nil || second.Generation != first.Generation || s.reads != 1 {
		t.Errorf("read %d times, %v", s.reads, err)
	}
	if first.Strings.Len() != 5 {
		t.Error("not the strings of the file")
	}
}

// Dropped dictionaries take no rows, and are read until they are forgotten. Missing files are damage.
func TestGenerations_Drop(t *testing.T) {
	s := newTable(false)
	for number := range int64(4) {
		g, _, _ := s.Acquire(number)
		add(t, g, 0)
		s.Count(g)
		s.file(g)
	}
	_, inFiles := s.Drop(2)
	if len(inFiles) != 2 || s.First() != 2 || len(s.All()) != 2 {
		t.Errorf("dropped %v, and %d are left", inFiles, len(s.All()))
	}
	if _, kept, err := s.Acquire(1); kept || err != nil {
		t.Errorf("dropped dictionaries take rows: %v", err)
	}
	if _, inFiles := s.Drop(2); len(inFiles) > 0 {
		t.Errorf("dropped %v again", inFiles)
	}
	if g, err := s.Read(1); err != nil || g.Strings.Len() != 1 {
		t.Error(err)
	}
	s.Forget(1)
	if _, err := s.Read(1); !errors.Is(err, files.ErrFile) {
		t.Errorf("forgotten dictionaries: %v", err)
	}
	s.missing = true
	if _, err := s.Read(0); err == nil {
		t.Error("no error of a missing file")
	} else if _, damaged := errors.AsType[*disk.DamagedError](err); !damaged {
		t.Errorf("a missing file is %v", err)
	}
}

// The times of a number are those of its ranges, at the ends of int64 too.
func TestRanges(t *testing.T) {
	for _, r := range []Ranges{{10, 4}, {7, 1}, {1 << 62, 3}, {0, 16}} {
		for _, bucket := range []int64{-1 << 63, -1 << 62, -41, -40, -1, 0, 39, 40, 1 << 62} {
			number := r.Of(bucket)
			from, to := r.Times(number)
			if bucket < from || bucket > to || r.Start(bucket) > bucket || r.Width > 0 && r.Width < 100 && bucket > -1<<62 && (r.Start(bucket) != from || r.Of(to+1) != number+1) {
				t.Errorf("%+v: %d has number %d, of %d to %d, from %d", r, bucket, number, from, to, r.Start(bucket))
			}
		}
	}
}
