package disk_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/disk"
)

// twoSegments returns a log of two segments with entries of equal size, and their places.
func twoSegments(t *testing.T) (files, [][]laid) {
	t.Helper()
	var entries []disk.Entry
	for i := range 40 {
		entries = append(entries, entry(uint64(i+1), 200))
	}
	f, places := layLog(t, entries, 10<<10, 5)
	if len(f) != 2 {
		t.Fatalf("%d segments", len(f))
	}
	return f, places
}

// TestLog_MisdirectedWrite puts whole entries where they do not belong (D5): another place of the
// segment, the same place of another one.
func TestLog_MisdirectedWrite(t *testing.T) {
	first, second := disk.FileName("log", 1), disk.FileName("log", 2)
	for _, test := range []struct {
		name           string
		file           string
		from, to       int // entries
		want           int // entries that are left
		damaged, inOne bool
	}{
		{"an earlier entry of the segment", first, 3, 9, 9, true, true},
		{"a later one, in place of the first", second, 5, 0, -1, true, true},
		{"the same place of another segment", second, 2, 2, -1, true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			f, places := twoSegments(t)
			here, source := 0, test.file
			if test.file == second {
				here = 1
			}
			if !test.inOne {
				source = first
			}
			from, to := places[here][test.from], places[here][test.to]
			copy(f[test.file][to.offset:to.end], bytes.Clone(f[source][from.offset:from.end]))
			got, _, err := readLog(f, 0)
			want := test.want
			if want < 0 {
				want = len(places[0]) + test.to
			}
			var damaged *disk.DamagedError
			if len(got) != want || !errors.As(err, &damaged) || damaged.File != test.file || damaged.Offset != int64(to.offset) {
				t.Errorf("%d entries, want %d: %v", len(got), want, err)
			}
		})
	}
}

// TestReadLog_Errors has logs whose segments do not fit together (D6).
func TestReadLog_Errors(t *testing.T) {
	first, second := disk.FileName("log", 1), disk.FileName("log", 2)
	resum := func(b []byte) { binary.LittleEndian.PutUint32(b[60:], sum(b[:60])) }
	for _, test := range []struct {
		name   string
		from   uint64
		change func(f files)
		want   string
	}{
		{"the first segment is missing", 0, func(f files) { delete(f, first) }, first + " is damaged at byte 0: file does not exist"},
		{"the first segment has no header", 0, func(f files) { f[first][0]++ }, first + " is damaged at byte 0: there is no whole header"},
		{"the last segment has no header", 0, func(f files) { f[second][0]++ }, second + " is damaged at byte 0: there is no whole header, after commit 25, before commit 26"},
		{"all segments are missing", 1, func(f files) { clear(f) }, first + " is damaged at byte 0: no segment of the log from here on has a header"},
		{"the log begins later", 3, func(files) {}, "log-000000000003 is damaged at byte 0: no segment"},
		{"a segment is of another store", 0, func(f files) { f[second][16]++; resum(f[second]) }, second + " is damaged at byte 0: it is " + second + " of store 020203"},
		{"a segment has another's name", 0, func(f files) { f[second] = f[first] }, second + " is damaged at byte 0: it is " + first},
		{"a segment of another kind", 0, func(f files) { f[second][8] = 'f'; resum(f[second]) }, second + " is damaged at byte 0: it is fog-"},
		{"a segment follows itself", 0, func(f files) { f[second][40] = 2; resum(f[second]) }, second + " is damaged at byte 0: it follows segment 2"},
		{"the end is before the entries", 0, func(f files) { copy(f[second][48:], words(nil, 100)); resum(f[second]) }, second + " is damaged at byte 0: it follows segment 1 up to byte 100"},
		{"the end is negative", 0, func(f files) { copy(f[second][48:], words(nil, 1<<63)); resum(f[second]) }, second + " is damaged at byte 0: it follows"},
		{"the end is amid an entry", 0, func(f files) { copy(f[second][48:], words(nil, firstEntry+240+8)); resum(f[second]) }, first + " is damaged at byte 4336: there is no room for an entry, after commit 1"},
		{"the end is amid a body", 0, func(f files) { copy(f[second][48:], words(nil, firstEntry+240+48)); resum(f[second]) }, first + " is damaged at byte 4336: the entry has 240 bytes, after commit 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f, _ := twoSegments(t)
			test.change(f)
			_, _, err := readLog(f, test.from)
			var damaged *disk.DamagedError
			if !errors.As(err, &damaged) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %s", err, test.want)
			}
		})
	}
}

// TestReadLog_NewerFormat is not damage.
func TestReadLog_NewerFormat(t *testing.T) {
	f, _ := twoSegments(t)
	b := f[disk.FileName("log", 2)]
	b[4]++
	binary.LittleEndian.PutUint32(b[60:], sum(b[:60]))
	if _, _, err := readLog(f, 0); !errors.Is(err, disk.ErrFormat) {
		t.Error(err)
	}
}

// TestReadLog_OtherFiles leaves files alone that are not of the log.
func TestReadLog_OtherFiles(t *testing.T) {
	f, places := twoSegments(t)
	for _, name := range []string{"lock", "log-1", "log-0000000000001", "log-00000000000x", "rows-000000000001", "-000000000001", "log"} {
		f[name] = []byte("other")
	}
	got, r, err := readLog(f, 0)
	if !errors.Is(err, io.EOF) || len(got) != len(places[0])+len(places[1]) || len(r.Segments()) != 2 {
		t.Errorf("%d entries: %v", len(got), err)
	}
}

// TestReader_Close ends a reading.
func TestReader_Close(t *testing.T) {
	f, _ := twoSegments(t)
	r, err := disk.ReadLog(f, store, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	r.Close()
	if e, err := r.Next(); err == nil {
		t.Errorf("entry %v after Close", e)
	}
	if _, err := disk.OpenLog(r, disk.Options{}); err == nil {
		t.Error("a log was opened that was not read")
	}
}

// TestOpenLog_FilesOfNoUse removes what crashes have left, and keeps what is below the log for
// RemoveBelow (D8).
func TestOpenLog_FilesOfNoUse(t *testing.T) {
	f, _ := twoSegments(t)
	fs := crashfs.New(crashfs.Options{})
	for name, b := range f {
		fs.Put(name, b)
	}
	fs.Put(disk.FileName("log", 3), make([]byte, 5000)) // a spare one
	fs.Put(disk.FileName("rows", 1), nil)
	_, l := open(t, fs, 2, disk.Options{Manual: true, SegmentBytes: 10 << 10})
	want := func(want ...string) {
		t.Helper()
		if got, _ := fs.List(); strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("files %v, want %v", got, want)
		}
	}
	want(disk.FileName("log", 1), disk.FileName("log", 2), disk.FileName("log", 4), disk.FileName("rows", 1))
	if err := l.RemoveBelow(2); err != nil {
		t.Error(err)
	}
	want(disk.FileName("log", 2), disk.FileName("log", 4), disk.FileName("rows", 1))
	closeLog(t, l)
}
