package disk_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/disk"
)

// pieces are the pieces of test files.
func pieces() (all [][]byte) {
	for i := range 12 {
		all = append(all, bytes.Repeat([]byte{byte(i + 1)}, i*i*3))
	}
	return all
}

// writeFile writes the file test-7 with a directory that has the places of the pieces. It puts every other piece in parts.
func writeFile(fs disk.FS, pieces [][]byte) error {
	w, err := disk.CreateFile(fs, store, "test", 7, 1)
	if err != nil {
		return err
	}
	var directory []byte
	for i, b := range pieces {
		write := w.Write
		if i%2 == 1 {
			write = func(b []byte) (disk.Piece, error) { return w.WriteParts(inParts(b)) }
		}
		p, err := write(b)
		if err != nil {
			w.Abandon()
			return err
		}
		directory = words(directory, uint64(p.Offset), uint64(p.Length), uint64(p.CRC))
	}
	return w.Finish(directory)
}

// inParts puts bytes in parts of seven.
func inParts(b []byte) func(put func([]byte) error) error {
	return func(put func([]byte) error) error {
		for part := range slices.Chunk(b, 7) {
			if err := put(part); err != nil {
				return err
			}
		}
		return nil
	}
}

// readFile returns the pieces of the file.
func readPieces(f disk.FS) (pieces [][]byte, err error) {
	r, err := disk.OpenFile(f, store, "test", 7, 1)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	word := func(at int) uint64 { return binary.LittleEndian.Uint64(r.Directory()[8*at:]) }
	for i := 0; i < len(r.Directory())/8; i += 3 {
		b, err := r.Read(disk.Piece{Offset: int64(word(i)), Length: int64(word(i + 1)), CRC: uint32(word(i + 2))}, nil)
		if err != nil {
			return nil, err
		}
		pieces = append(pieces, b)
	}
	return pieces, nil
}

// layFile returns the bytes of a file with the pieces.
func layFile(pieces [][]byte) []byte {
	b := layHeader("test", 7, 0, 0)
	var directory []byte
	add := func(p []byte) (place []byte) {
		place = words(nil, uint64(len(b)), uint64(len(p)), uint64(sum(p)))
		b = append(append(b, p...), make([]byte, (len(p)+7)/8*8-len(p))...)
		return place
	}
	for _, p := range pieces {
		directory = append(directory, add(p)...)
	}
	trailer := add(directory)[:20]
	return binary.LittleEndian.AppendUint32(append(b, trailer...), sum(b[:40], trailer))
}

// TestFile writes a file and reads it, and compares it with one that is laid out by hand.
func TestFile(t *testing.T) {
	for _, pieces := range [][][]byte{pieces(), nil, {make([]byte, 1<<20)}} {
		f := crashfs.New(crashfs.Options{})
		if err := writeFile(f, pieces); err != nil {
			t.Fatal(err)
		}
		if want, got := layFile(pieces), f.Get("test-000000000007"); !bytes.Equal(want, got) {
			t.Errorf("%d bytes, want %d: %.300x, want %.300x", len(got), len(want), got, want)
		}
		got, err := readPieces(f)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(pieces) {
			t.Errorf("pieces %.300x: %v", got, err)
		}
	}
}

// TestFile_EveryBit flips each bit of a file, and cuts it at each byte (D5, D6): it is damaged, or
// its pieces are right.
func TestFile_EveryBit(t *testing.T) {
	want := fmt.Sprint(pieces())
	b, padding := layFile(pieces()), 0
	check := func(what string, at int, f files) bool {
		got, err := readPieces(f)
		var damaged *disk.DamagedError
		if err == nil && fmt.Sprint(got) != want || err != nil && !errors.As(err, &damaged) {
			t.Fatalf("%s %d: %v, pieces %x", what, at, err, got)
		}
		return err == nil
	}
	for bit := range 8 * len(b) {
		b[bit/8] ^= 1 << (bit % 8)
		if check("bit", bit, files{"test-000000000007": b}) {
			padding++
		}
		b[bit/8] ^= 1 << (bit % 8)
	}
	for cut := range b {
		if check("cut at", cut, files{"test-000000000007": b[:cut]}) {
			t.Errorf("cut at %d, and read", cut)
		}
	}
	zeros := 0 // between the pieces
	for _, p := range pieces() {
		zeros += (len(p)+7)/8*8 - len(p)
	}
	if padding != 8*zeros {
		t.Errorf("%d bits do not matter, want %d", padding, 8*zeros)
	}
}

// TestFile_Fails lets each call fail, and crashes then (D2): a file whose Finish returned is whole,
// any other is refused or was removed.
func TestFile_Fails(t *testing.T) {
	for n := 0; ; n++ {
		f := crashfs.New(crashfs.Options{Seed: uint64(n), Keep: float64(n%3) / 2})
		fault := &crashfs.Fault{Err: syscall.EIO, After: n}
		f.Fail(fault)
		err := writeFile(f, pieces())
		if err == nil {
			err = f.SyncDir()
		}
		if fault.Fired == 0 {
			if n < 4 {
				t.Errorf("%d calls", n)
			}
			return
		}
		if !errors.Is(err, syscall.EIO) {
			t.Errorf("call %d fails: %v", n, err)
		}
		if names, _ := f.List(); len(names) > 0 && !strings.Contains(err.Error(), "sync directory") {
			t.Errorf("call %d fails: %v, and leaves %v", n, err, names)
		}
		for range 10 {
			got, err := readPieces(f.Crash())
			var damaged *disk.DamagedError
			if err == nil && len(got) != len(pieces()) || err != nil && !errors.As(err, &damaged) && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("call %d fails: then %v", n, err)
			}
		}
	}
}

// TestFile_CrashAfterFinish finds all of a finished file whose name is durable (D2).
func TestFile_CrashAfterFinish(t *testing.T) {
	f := crashfs.New(crashfs.Options{})
	if err := writeFile(f, pieces()); err != nil {
		t.Fatal(err)
	}
	if err := f.SyncDir(); err != nil {
		t.Fatal(err)
	}
	if got, err := readPieces(f.Crash()); err != nil || len(got) != len(pieces()) {
		t.Error(got, err)
	}
}

// TestFile_Errors has pieces and kinds that are none.
func TestFile_Errors(t *testing.T) {
	f := crashfs.New(crashfs.Options{})
	for _, kind := range []string{"", "kind-", "Kind", "kindofkin", "k1"} {
		if _, err := disk.CreateFile(f, store, kind, 1, 1); err == nil {
			t.Errorf("kind %q is taken", kind)
		}
	}
	if err := writeFile(f, pieces()); err != nil {
		t.Fatal(err)
	}
	if err := writeFile(f, pieces()); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a file is written twice: %v", err)
	}
	r, err := disk.OpenFile(f, store, "test", 7, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	size := int64(len(f.Get("test-000000000007")))
	for _, p := range []disk.Piece{
		{Offset: 0, Length: 8},
		{Offset: -8, Length: 8},
		{Offset: 64, Length: -1},
		{Offset: 64, Length: size},
		{Offset: size, Length: 1},
		{Offset: 1 << 62, Length: 1 << 62},
		{Offset: size - 24, Length: 1},
		{Offset: 64, Length: 8, CRC: 1},
	} {
		var damaged *disk.DamagedError
		if _, err := r.Read(p, nil); !errors.As(err, &damaged) {
			t.Errorf("%+v: %v", p, err)
		}
	}
	buf := make([]byte, 1000)
	if got, err := r.Read(disk.Piece{Offset: 64, Length: 3, CRC: sum([]byte{2, 2, 2})}, buf); err != nil || len(got) != 3 || &got[0] != &buf[0] {
		t.Errorf("%v, %v: not in the buffer", got, err)
	}
}

// TestParseName accepts names that FileName makes.
func TestParseName(t *testing.T) {
	for name, want := range map[string]uint64{"log-000000000001": 1, "rows-123456789012": 123456789012, "dict-18446744073709551615": 1<<64 - 1} {
		kind, number, ok := disk.ParseName(name)
		if !ok || number != want || disk.FileName(kind, number) != name {
			t.Errorf("%s: %s, %d, %v", name, kind, number, ok)
		}
	}
	for _, name := range []string{"", "log", "log-1", "log-0000000000001", "LOG-000000000001", "log-+00000000001", "a/b-000000000001", "-000000000001", "lo-g-000000000001", "log-18446744073709551616"} {
		if _, _, ok := disk.ParseName(name); ok {
			t.Errorf("%q is taken", name)
		}
	}
}
