package disk_test

import (
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/disk"
)

// The layout of docs/format/log.md, written a second time: the log.

const firstEntry = 4096

func size(body int) int { return 40 + (body+7)/8*8 }

// layEntry returns an entry that lies at an offset of a segment.
func layEntry(e disk.Entry, header []byte, offset, synced int) []byte {
	body := append(append([]byte{}, e.Body...), make([]byte, size(len(e.Body))-40-len(e.Body))...)
	b := binary.LittleEndian.AppendUint32(make([]byte, 4), sum(body))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(e.Body)))
	b = binary.LittleEndian.AppendUint32(b, e.Kind)
	b = words(b, uint64(synced), e.Commit, e.Begin)
	binary.LittleEndian.PutUint32(b, crc32.Update(sum(header[:40])^uint32(offset/8), castagnoli, b[4:]))
	return append(b, body...)
}

// laid is an entry and its place.
type laid struct {
	disk.Entry
	offset, end, synced int
}

// layLog makes a log with segments of a size, and syncs after some of the entries. It returns the
// files, and the places of the entries in each.
func layLog(t testing.TB, entries []disk.Entry, segment, syncEach int) (fs files, places [][]laid) {
	t.Helper()
	live := crashfs.New(crashfs.Options{})
	_, l := open(t, live, 0, disk.Options{Sync: disk.SyncNever, Manual: true, SegmentBytes: int64(segment), QueueBytes: 8 << 20})
	offset, synced := firstEntry, firstEntry
	var here []laid
	for i, e := range entries {
		add(t, l, e)
		if end := offset + size(len(e.Body)); end > segment {
			places, here, offset, synced = append(places, here), nil, firstEntry, 0
		}
		here = append(here, laid{e, offset, offset + size(len(e.Body)), synced})
		offset += size(len(e.Body))
		if i%syncEach == syncEach-1 {
			if err := l.Sync(t.Context(), everything); err != nil {
				t.Fatal(err)
			}
			synced = offset
		}
	}
	closeLog(t, l)
	fs = files{}
	for i := range append(places, here) {
		name := disk.FileName("log", uint64(i+1))
		fs[name] = live.Get(name)
	}
	return fs, append(places, here)
}

// TestLog_Layout compares a segment with one that is laid out after the document.
func TestLog_Layout(t *testing.T) {
	var entries []disk.Entry
	for i := range 50 {
		entries = append(entries, entry(uint64(i+1), i))
	}
	fs, places := layLog(t, entries, 1<<20, 7)
	header := layHeader("log", 1, 0, 0)
	want := append(append([]byte{}, header...), make([]byte, firstEntry-len(header))...)
	for _, p := range places[0] {
		want = append(want, layEntry(p.Entry, header, p.offset, p.synced)...)
	}
	if diff := cmp.Diff(want, fs[disk.FileName("log", 1)]); diff != "" {
		t.Error(diff)
	}
}

// TestLog_LayoutOfNext has the link of the second segment.
func TestLog_LayoutOfNext(t *testing.T) {
	fs := crashfs.New(crashfs.Options{})
	_, l := open(t, fs, 0, disk.Options{Manual: true, SegmentBytes: 6 << 10})
	add(t, l, entry(1, 1500))
	add(t, l, entry(2, 1000))
	if err := l.Sync(t.Context(), everything); err != nil {
		t.Fatal(err)
	}
	header := layHeader("log", 2, 1, uint64(firstEntry+size(1500)))
	if diff := cmp.Diff(header, fs.Get(disk.FileName("log", 2))[:64]); diff != "" {
		t.Error(diff)
	}
	want := []disk.Segment{{Number: 1, Size: int64(firstEntry + size(1500)), Commit: 1}, {Number: 2, Size: int64(firstEntry + size(1000)), Commit: 2}}
	if diff := cmp.Diff(want, l.Segments()); diff != "" {
		t.Error(diff)
	}
	closeLog(t, l)
}

// TestLog_SyncsOfRotation counts the syncs of a rotation behind a durable entry: of the next spare
// segment, and of the entry.
func TestLog_SyncsOfRotation(t *testing.T) {
	fs := &countedFS{FS: crashfs.New(crashfs.Options{})}
	_, l := open(t, fs, 0, disk.Options{Sync: disk.SyncEach, Manual: true, SegmentBytes: 6 << 10})
	add(t, l, entry(1, 1500))
	before := fs.syncs.Load()
	add(t, l, entry(2, 1000))
	for l.Step() {
	}
	if n := fs.syncs.Load() - before; n != 2 || len(l.Segments()) != 2 {
		t.Errorf("%d syncs, segments %v", n, l.Segments())
	}
	closeLog(t, l)
}
