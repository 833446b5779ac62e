package disk_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"slices"

	"github.com/granarydb/granary/internal/disk"
)

// The layout of docs/format/log.md, written a second time: headers.

var store = disk.StoreID{1, 2, 3}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func sum(parts ...[]byte) (s uint32) {
	for _, p := range parts {
		s = crc32.Update(s, castagnoli, p)
	}
	return s
}

func words(dst []byte, words ...uint64) []byte {
	for _, w := range words {
		dst = binary.LittleEndian.AppendUint64(dst, w)
	}
	return dst
}

// layHeader returns the header of a file.
func layHeader(kind string, number, before, beforeEnd uint64) []byte {
	b := append([]byte("gran\x01\x00\x00\x00"), kind...)
	if kind == disk.LogKind {
		b[4] = disk.SegmentVersion
	}
	b = append(append(b, make([]byte, 16-len(b))...), store[:]...)
	b = words(b, number, before, beforeEnd)
	b = append(b, 0, 0, 0, 0)
	return binary.LittleEndian.AppendUint32(b, sum(b))
}

// files are files that can only be read.
type files map[string][]byte

type readFile struct {
	*bytes.Reader
	disk.File
}

func (f files) List() ([]string, error) { return slices.Sorted(maps.Keys(f)), nil }

func (f files) Open(name string) (disk.File, error) {
	b, ok := f[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return readFile{Reader: bytes.NewReader(b)}, nil
}

func (f readFile) Size() (int64, error)                   { return f.Reader.Size(), nil }
func (f readFile) ReadAt(b []byte, at int64) (int, error) { return f.Reader.ReadAt(b, at) }
func (f readFile) Close() error                           { return nil }
func (files) Create(string) (disk.File, error)            { return nil, fs.ErrPermission }
func (files) Remove(string) error                         { return fs.ErrPermission }
func (files) SyncDir() error                              { return fs.ErrPermission }
func (files) Trim(string, int64) error                    { return fs.ErrPermission }
func (files) Lock(bool) (io.Closer, error)                { return nil, fs.ErrPermission }
func (files) Free() (int64, error)                        { return 0, nil }
