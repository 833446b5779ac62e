package file

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path/filepath"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/tile"
)

// ErrFormat is returned by Open for a file whose format or provider is not this program's. Its states are
// not read: rebuild the file.
var ErrFormat = errors.New("history file of another version: rebuild it")

// Magic is the first bytes of each file.
const Magic = "granaryH"

// FS is a file system: Options.FS.
type FS = disk.FS

// DamagedError reports bytes of a file that have changed since they were written.
type DamagedError = disk.DamagedError

// Options configure a file.
type Options struct {
	// Provider names the program that makes the states, and its version, in at most 1 KiB. Open refuses
	// a file with another provider.
	Provider string
	// Cache is the bytes of blocks that stay in memory, at least four blocks, 288 KiB. 0 means 16 MiB.
	// Blocks that queries use come on top, and so do blocks that the collector has not freed yet.
	Cache int64
	// FS is the file's directory, in which path is a name. nil means the operating system.
	FS FS
	// History configures the history. Open ignores Start, and Pages is set.
	History history.Options
}

// find returns a file's directory and name.
func (o *Options) find(path string) (FS, string) {
	if o.FS != nil {
		return o.FS, path
	}
	return disk.System(filepath.Dir(path)), filepath.Base(path)
}

// pages returns pages without functions. Each takes 8 KiB more than its block.
func (o *Options) pages() *tile.Pages {
	bytes := cmp.Or(o.Cache, 16<<20)
	return &tile.Pages{Most: max(4, int(bytes/(tile.ChunkBytes+8<<10)))}
}

const (
	formatVersion = 3
	mostProvider  = 1 << 10
	headerSize    = 32 // before the provider
	endSize       = 64
)

var (
	endMagic   = []byte("granaryE")
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

func sum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// fileID is random, so that no user's bytes pass for an end.
type fileID [16]byte

// header returns a file's header, padded to a multiple of 8 bytes.
func header(id fileID, provider string) []byte {
	b := []byte(Magic)
	b = binary.LittleEndian.AppendUint32(b, formatVersion)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(provider)))
	b = append(append(b, id[:]...), provider...)
	b = append(b, make([]byte, (12-len(b)%8)%8)...)
	return binary.LittleEndian.AppendUint32(b, sum(b))
}

// readHeader checks a file's header, and returns its provider.
func (f *file) readHeader() (provider string, err error) {
	b := make([]byte, len(header(fileID{}, string(make([]byte, mostProvider)))))
	n, err := f.disk.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	if b = b[:n]; n < headerSize || string(b[:8]) != Magic {
		return "", f.damaged(0, "it does not begin as a history")
	}
	length := int(binary.LittleEndian.Uint32(b[12:]))
	size := headerSize + length + (12-(headerSize+length)%8)%8
	if length > mostProvider || size+4 > n || sum(b[:size]) != binary.LittleEndian.Uint32(b[size:]) {
		return "", f.damaged(0, "the checksum of the header is wrong")
	}
	copy(f.id[:], b[16:])
	if version := binary.LittleEndian.Uint32(b[8:]); version != formatVersion {
		return "", fmt.Errorf("%s: %w: it has format %d, not %d", f.name, ErrFormat, version, formatVersion)
	}
	return string(b[headerSize : headerSize+length]), nil
}

// end is the place of an index, or of the block Aside.
type end struct {
	offset int64 // start of the index
	length int64 // bytes in the file
	raw    int64 // uncompressed bytes; equals length if it is not compressed
	sum    uint32
}

// append appends the end at offset at.
func (e end) append(b []byte, id fileID, at int64) []byte {
	from := len(b)
	b = append(append(b, endMagic...), id[:]...)
	for _, x := range []int64{at, e.offset, e.length, e.raw} {
		b = binary.LittleEndian.AppendUint64(b, uint64(x))
	}
	b = binary.LittleEndian.AppendUint32(b, e.sum)
	return binary.LittleEndian.AppendUint32(b, sum(b[from:]))
}

// endAt returns the end at offset at, if it is whole.
func endAt(b []byte, id fileID, at int64) (e end, ok bool) {
	u64 := func(i int) int64 { return int64(binary.LittleEndian.Uint64(b[i:])) }
	if !bytes.Equal(b[:8], endMagic) || !bytes.Equal(b[8:24], id[:]) || u64(24) != at || sum(b[:60]) != binary.LittleEndian.Uint32(b[60:]) {
		return e, false
	}
	return end{u64(32), u64(40), u64(48), binary.LittleEndian.Uint32(b[56:])}, true
}

// block is a page in the file.
type block struct {
	offset int64
	length int // bytes in the file
	raw    int // uncompressed bytes; equals length if it is not compressed
	sum    uint32
}

// file is shared by Writer and Reader.
type file struct {
	disk   disk.File
	name   string
	id     fileID
	blocks []block // by page
	aside  end     // length 0: none
}

func (f *file) damaged(offset int64, reason string) error {
	return &disk.DamagedError{File: f.name, Offset: offset, Reason: reason}
}

// readBlock reads a block into a zeroed chunk, for tile.Pages.
func (f *file) readBlock(b block, into []byte) error {
	data := into[:b.length]
	if b.length < b.raw {
		data = make([]byte, b.length)
	}
	if _, err := f.disk.ReadAt(data, b.offset); errors.Is(err, io.EOF) {
		return f.damaged(b.offset, "the file ends within a block")
	} else if err != nil {
		return fmt.Errorf("%s: block at byte %d: %w", f.name, b.offset, err)
	}
	if sum(data) != b.sum {
		return f.damaged(b.offset, "the checksum of a block is wrong")
	}
	if b.length < b.raw {
		if err := expand(data, into[:b.raw]); err != nil {
			return f.damaged(b.offset, err.Error())
		}
	}
	return nil
}
