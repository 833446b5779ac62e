package disk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"strings"
)

const (
	magic      = "gran"
	format     = 1  // the default version of files
	headerSize = 64 // bytes of a file's header
	kindSize   = 8  // the most letters of a kind
	// headerSector is where a segment's entries begin. The header has its own sector, because it is
	// written after durable entries.
	headerSector = 4096
)

// SegmentVersion is the version of segments. In version 2 parts can store strings which the schema has in a dictionary. In
// version 3 entries of dictionaries have the texts of records apart, and in version 4 the texts of locations. Older programs refuse
// a newer version with ErrFormat. Segments of earlier versions are read.
const SegmentVersion = 4

// StoreID is a random number in the headers of all files in a store.
type StoreID [16]byte

// header is a file's first bytes.
type header struct {
	version uint32
	kind    string // also the first part of the file's name
	store   StoreID
	number  uint64 // also the second part of the name
	before  link   // a segment's predecessor
}

// link is a segment's predecessor: its number, and the end of its entries. The first segment follows number
// 0.
type link struct {
	number uint64
	end    int64
}

// align rounds up to a multiple of 8, at which entries and pieces begin.
func align(n int64) int64 { return (n + 7) &^ 7 }

var zeros [16]byte

// pad returns the zeros that align n bytes.
func pad(n int) []byte { return zeros[:align(int64(n))-int64(n)] }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func crc(sum uint32, p []byte) uint32 { return crc32.Update(sum, castagnoli, p) }

// encode returns a header's bytes.
func (h *header) encode() []byte {
	b := append(make([]byte, 0, headerSize), magic...)
	b = binary.LittleEndian.AppendUint32(b, max(h.version, format))
	b = append(b, h.kind...)
	b = append(b[:8+kindSize], h.store[:]...)
	b = binary.LittleEndian.AppendUint64(b, h.number)
	b = binary.LittleEndian.AppendUint64(b, h.before.number)
	b = binary.LittleEndian.AppendUint64(b, uint64(h.before.end))
	b = binary.LittleEndian.AppendUint32(b, 0)
	return binary.LittleEndian.AppendUint32(b, crc(0, b))
}

// seed begins the checksums of a file's other parts, because a part must not pass in another file.
func (h *header) seed() uint32 { return crc(0, h.encode()[:40]) }

// errNoHeader is for a file without a whole header.
var errNoHeader = errors.New("there is no whole header")

// readHeader reads a file's header, and checks that it belongs to the named file in the store, with a
// version of at most newest. Its error is errNoHeader, ErrFormat, a DamagedError for a file under another's
// name, or comes from reading.
func readHeader(f File, store StoreID, kind string, number uint64, newest uint32) (h header, err error) {
	b := make([]byte, headerSize)
	if _, err := f.ReadAt(b, 0); errors.Is(err, io.EOF) {
		return h, errNoHeader
	} else if err != nil {
		return h, err
	}
	u64 := func(at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }
	if !isHeader(b) {
		return h, errNoHeader
	}
	name := FileName(kind, number)
	version := binary.LittleEndian.Uint32(b[4:])
	if version > newest {
		return h, fmt.Errorf("%s: %w: %d, not %d", name, ErrFormat, version, newest)
	}
	h = header{version, string(bytes.TrimRight(b[8:16], "\x00")), StoreID(b[16:32]), u64(32), link{u64(40), int64(u64(48))}}
	if h.store != store || h.kind != kind || h.number != number {
		return h, &DamagedError{File: name, Reason: fmt.Sprintf("it is %s of store %x", FileName(h.kind, h.number), h.store)}
	}
	return h, nil
}

// isHeader reports whether b is a whole header.
func isHeader(b []byte) bool {
	return string(b[:4]) == magic && binary.LittleEndian.Uint32(b[60:]) == crc(0, b[:60])
}

// FileName returns a file's name. A kind is one to eight lower-case letters. Numbers only rise, because a
// name must never stand for different bytes.
func FileName(kind string, number uint64) string {
	return string(appendName(nil, kind, number))
}

func appendName(dst []byte, kind string, number uint64) []byte {
	dst = append(append(dst, kind...), '-')
	var digits [20]byte
	b := strconv.AppendUint(digits[:0], number, 10)
	for range 12 - len(b) {
		dst = append(dst, '0')
	}
	return append(dst, b...)
}

// ParseName returns a file's kind and number. ok is false if FileName does not make the name.
func ParseName(name string) (kind string, number uint64, ok bool) {
	kind, digits, _ := strings.Cut(name, "-")
	number, err := strconv.ParseUint(digits, 10, 64)
	var want [32]byte
	return kind, number, err == nil && isKind(kind) && name == string(appendName(want[:0], kind, number))
}

func isKind(kind string) bool {
	return 0 < len(kind) && len(kind) <= kindSize && strings.Trim(kind, "abcdefghijklmnopqrstuvwxyz") == ""
}
