package pprof

import "math"

// The wire format of protocol buffers, read as google/pprof reads it (C1): groups are an error, numbers
// of ten bytes lose the bits beyond 64, and unknown fields of any number are skipped. Every library
// differs from google/pprof in one of these: decision 0008 has a table, and measurements.
//
// Bytes are read at an index. Malformed bytes move the index past the data's end. That ends every loop,
// and a check of the index afterwards detects it.

const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

// pastEnd is the index after malformed bytes. It leaves room for small additions.
const pastEnd = math.MaxInt - 64

// uvarint reads a number at data[at:]. It is small enough for inlining, which gains more here than a fast
// path for numbers of one byte.
func uvarint(data string, at int) (v uint64, next int) {
	end := min(at+10, len(data))
	for shift := 0; at < end; shift += 7 {
		b := data[at]
		at++
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v, at
		}
	}
	return 0, pastEnd
}

// field reads the field at data[at:]: its tag, its number if it is a varint, and its bytes if it has any.
func field(data string, at int) (tag, number uint64, text string, next int) {
	tag, at = uvarint(data, at)
	switch tag & 7 {
	case wireVarint:
		number, at = uvarint(data, at)
	case wireFixed64:
		at += 8
	case wireBytes:
		var n uint64
		n, at = uvarint(data, at)
		if at > len(data) || n > uint64(len(data)-at) {
			return tag, 0, "", pastEnd
		}
		text = data[at : at+int(n)]
		at += int(n)
	case wireFixed32:
		at += 4
	default:
		at = pastEnd
	}
	return tag, number, text, at
}

// numbers reads a message whose known fields are numbers. It sets fields[i] to field i, or to 0 if the
// field is missing. It returns false for malformed bytes.
func numbers(data string, fields []uint64) bool {
	clear(fields)
	for at := 0; at < len(data); {
		tag, number, _, next := field(data, at)
		if next > len(data) {
			return false
		}
		at = next
		if i := tag >> 3; i > 0 && i < uint64(len(fields)) {
			if tag&7 != wireVarint {
				return false
			}
			fields[i] = number
		}
	}
	return true
}
