package disk_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"testing"

	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/disk"
)

// FuzzReadLog reads up to three files with hostile bytes, with and without right checksums. What
// can be read can be gone on with.
//
// The first byte of the input has whether to mend checksums. Each file follows its length.
func FuzzReadLog(f *testing.F) {
	entries := []disk.Entry{entry(1, 10), entry(2, 0), entry(3, 100), entry(4, 33), entry(5, 900), entry(6, 7)}
	whole, _ := layLog(f, entries, 5<<10, 2)
	if len(whole) != 2 {
		f.Fatalf("%d segments", len(whole))
	}
	for _, mend := range []byte{0, 1} {
		packed := []byte{mend}
		for i := range uint64(2) {
			b := whole[disk.FileName("log", i+1)]
			packed = binary.LittleEndian.AppendUint16(packed, uint16(64+len(b)-firstEntry))
			packed = append(append(packed, b[:64]...), b[firstEntry:]...)
		}
		if got, _, err := readLog(unpack(packed), 0); len(got) != len(entries) || !errors.Is(err, io.EOF) {
			f.Fatalf("%d entries: %v", len(got), err)
		}
		f.Add(packed)
		f.Add(append(packed, 100, 0, 1, 2, 3))
		f.Add(packed[:len(packed)-20])
		f.Add(packed[:100])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<16 {
			return
		}
		laid := unpack(b)
		got, _, err := readLog(laid, 0)
		total, most := 0, 0
		for _, e := range got {
			total += size(len(e.Body))
		}
		for _, b := range laid {
			most += len(b)
		}
		if total > most {
			t.Fatalf("%d bytes of entries in %d", total, most)
		}
		if errors.Is(err, io.EOF) {
			goOn(t, laid, got)
		}
	})
}

// unpack returns the files of a fuzz input.
func unpack(b []byte) files {
	f := files{}
	mends := len(b) > 0 && b[0]&1 > 0
	b = b[min(1, len(b)):]
	for i := uint64(1); len(b) >= 2 && i < 4; i++ {
		n := min(int(binary.LittleEndian.Uint16(b)), len(b)-2)
		part := b[2 : 2+n]
		b = b[2+n:]
		file := bytes.Clone(part[:min(64, n)])
		if n > 64 {
			file = append(append(file, make([]byte, firstEntry-64)...), part[64:]...)
		}
		if mends {
			mend(file)
		}
		f[disk.FileName("log", i)] = file
	}
	return f
}

// mend makes the checksums of a segment right.
func mend(file []byte) {
	if len(file) < 64 {
		return
	}
	binary.LittleEndian.PutUint32(file[60:], sum(file[:60]))
	for at := firstEntry; at+40 <= len(file); {
		n := int(binary.LittleEndian.Uint32(file[at+8:]))
		if n > len(file) || at+size(n) > len(file) {
			return
		}
		binary.LittleEndian.PutUint32(file[at+4:], sum(file[at+40:at+size(n)]))
		binary.LittleEndian.PutUint32(file[at:], crc32.Update(sum(file[:40])^uint32(at/8), castagnoli, file[at+4:at+40]))
		at += size(n)
	}
}

// goOn opens a log that was read, appends to it, and reads it again.
func goOn(t *testing.T, laid files, want []disk.Entry) {
	fs := crashfs.New(crashfs.Options{})
	for name, b := range laid {
		fs.Put(name, bytes.Clone(b))
	}
	_, r, err := readLog(fs, 0)
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	l, err := disk.OpenLog(r, disk.Options{Manual: true, SegmentBytes: 8 << 10})
	if _, ok := errors.AsType[*disk.DamagedError](err); ok {
		return // an entry has recorded an offset at which none begins
	}
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, entry(1<<40, 9))
	add(t, l, want[len(want)-1])
	closeLog(t, l)
	got, _, err := readLog(fs.Crash(), 0)
	if !errors.Is(err, io.EOF) || len(got) != len(want) {
		t.Fatalf("%d entries, want %d: %v", len(got), len(want), err)
	}
	for i, e := range got {
		if !equal(e, want[i]) {
			t.Fatalf("entry %d is %v, want %v", i, e, want[i])
		}
	}
}

// FuzzOpenFile opens hostile bytes, with and without right checksums, and reads pieces.
func FuzzOpenFile(f *testing.F) {
	whole := layFile(pieces())
	f.Add(whole, uint64(64), uint64(8), false)
	f.Add(whole, uint64(64), uint64(8), true)
	f.Add(layFile(nil), uint64(0), uint64(1<<40), true)
	f.Fuzz(func(t *testing.T, b []byte, offset, length uint64, mended bool) {
		if n := len(b) - 24; mended && n >= 64 {
			b = bytes.Clone(b)
			binary.LittleEndian.PutUint32(b[60:], sum(b[:60]))
			binary.LittleEndian.PutUint32(b[n+20:], sum(b[:40], b[n:n+20]))
		}
		r, err := disk.OpenFile(files{"test-000000000007": b}, store, "test", 7, 1)
		if err != nil {
			return
		}
		defer r.Close()
		if len(r.Directory()) > len(b) {
			t.Errorf("a directory of %d bytes in %d", len(r.Directory()), len(b))
		}
		if got, err := r.Read(disk.Piece{Offset: int64(offset), Length: int64(length)}, nil); err == nil && uint64(len(got)) != length {
			t.Errorf("%d bytes, want %d", len(got), length)
		}
	})
}
