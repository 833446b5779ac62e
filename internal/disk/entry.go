package disk

import "encoding/binary"

// Entry is a record in the log.
type Entry struct {
	Kind uint32 // the user's, not 0
	// Commit is the entry's commit id, Begin its transaction's begin id. The log uses only Commit, for
	// Segment.Commit and DamagedError.
	Commit, Begin uint64
	Body          []byte // less than 1 GiB
}

const entryHeader = 40 // bytes before the body

// entrySize returns the bytes in the log of an entry with a body of `body` bytes.
func entrySize(body int64) int64 { return entryHeader + align(body) }

// appendHeader appends the header of the entry at an offset in a segment that is durable up to synced. seed
// is the segment's.
func (e *Entry) appendHeader(b []byte, seed uint32, offset, synced int64) []byte {
	at := len(b)
	b = binary.LittleEndian.AppendUint32(b, 0)
	b = binary.LittleEndian.AppendUint32(b, crc(crc(0, e.Body), pad(len(e.Body))))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(e.Body)))
	b = binary.LittleEndian.AppendUint32(b, e.Kind)
	b = binary.LittleEndian.AppendUint64(b, uint64(synced))
	b = binary.LittleEndian.AppendUint64(b, e.Commit)
	b = binary.LittleEndian.AppendUint64(b, e.Begin)
	binary.LittleEndian.PutUint32(b[at:], headerSum(b[at:], seed, offset))
	return b
}

// headerSum is the checksum of an entry's header. It begins with the entry's place, because an entry must
// not pass for whole in another file, or where the disk wrote it by mistake.
func headerSum(b []byte, seed uint32, offset int64) uint32 {
	return crc(seed^uint32(offset/8), b[4:entryHeader])
}

// entryAt is an entry's header as read.
type entryAt struct {
	entry   Entry // without its body
	length  int64 // length of the body
	bodySum uint32
	synced  int64
}

// parseHeader reads the first 40 bytes of b as the header of an entry at an offset. ok is false if they are
// not a header.
func parseHeader(b []byte, seed uint32, offset int64) (h entryAt, ok bool) {
	h.synced = int64(binary.LittleEndian.Uint64(b[16:]))
	if h.synced != 0 && h.synced < headerSector || h.synced > offset || binary.LittleEndian.Uint32(b) != headerSum(b, seed, offset) {
		return h, false
	}
	h.bodySum = binary.LittleEndian.Uint32(b[4:])
	h.length = int64(binary.LittleEndian.Uint32(b[8:]))
	h.entry.Kind = binary.LittleEndian.Uint32(b[12:])
	h.entry.Commit = binary.LittleEndian.Uint64(b[24:])
	h.entry.Begin = binary.LittleEndian.Uint64(b[32:])
	return h, true
}
