package mirror

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
)

// segment is an object of the journal.
//
//	+0   4 B  "gsg1"
//	+4   u32  CRC32C of what follows
//	+8   u32  bytes of the head
//	+12       head, JSON
//	          bytes of the ranges, one after the other
type segment struct {
	head  segmentHead
	bytes []byte
}

// segmentHead says what a segment has. Without a file it is a claim.
type segmentHead struct {
	Sequence uint64 `json:"sequence"` // that of its name
	Epoch    uint64 `json:"epoch"`
	Writer   string `json:"writer"` // of each FS another one, so that equal bytes are of one FS
	File     string `json:"file,omitempty"`
	Ranges   []span `json:"ranges,omitempty"`
}

// span is a range of bytes of a file.
type span struct {
	Offset int64 `json:"offset"`
	Length int64 `json:"length"`
}

func (s span) end() int64 { return s.Offset + s.Length }

// errSegment is returned for an object that is no segment.
var errSegment = errors.New("not a whole segment")

const (
	segmentMagic = "gsg1"
	segmentFixed = 12
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encode returns the object's bytes.
func (s *segment) encode() []byte {
	head, err := json.Marshal(&s.head)
	if err != nil {
		panic(err) // there are numbers and texts alone
	}
	b := make([]byte, 0, segmentFixed+len(head)+len(s.bytes))
	b = append(b, segmentMagic...)
	b = append(b, 0, 0, 0, 0)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(head)))
	b = append(append(b, head...), s.bytes...)
	binary.LittleEndian.PutUint32(b[4:], crc32.Checksum(b[8:], castagnoli))
	return b
}

// decodeSegment decodes an object, which keeps its bytes. The error is errSegment.
func decodeSegment(b []byte) (*segment, error) {
	if len(b) < segmentFixed || string(b[:4]) != segmentMagic || binary.LittleEndian.Uint32(b[4:]) != crc32.Checksum(b[8:], castagnoli) {
		return nil, errSegment
	}
	n := uint64(binary.LittleEndian.Uint32(b[8:]))
	if n > uint64(len(b)-segmentFixed) {
		return nil, errSegment
	}
	s := &segment{bytes: b[segmentFixed+n:]}
	if err := json.Unmarshal(b[segmentFixed:segmentFixed+n], &s.head); err != nil {
		return nil, fmt.Errorf("%w: %w", errSegment, err)
	}
	left := int64(len(s.bytes))
	for _, r := range s.head.Ranges {
		if r.Offset < 0 || r.Length <= 0 || r.Length > left || r.end() < r.Offset {
			return nil, errSegment
		}
		left -= r.Length
	}
	if left != 0 {
		return nil, errSegment
	}
	return s, nil
}
