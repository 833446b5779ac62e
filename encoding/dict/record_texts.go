package dict

import (
	"encoding/binary"
	"iter"
	"math"
	"math/bits"
)

// Releases before images of version LocationCodes cut a record into its own bytes and texts of eight bytes or more:
//
//	varint: own bytes | these bytes | varint: code of a text, 0 at the end | own bytes ...
//
// These records are kept as they are read, because later images count on the codes of their texts. addTexts makes the
// same texts of the whole records of version WholeRecords.

// mostWhole is the bytes of whole records from which on these releases cut records.
const mostWhole = 16 << 20

// addTexts adds a record as these releases did. The error is ErrFull.
func (r *records) addTexts(record []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.len() >= maxCodes || len(record) > math.MaxInt32 {
		return ErrFull
	}
	var few [256]byte
	stored := append(few[:0], textsForm)
	for own, text := range cut(record) {
		if len(own) == len(record) || r.whole < mostWhole {
			r.keepWhole(record)
			return nil
		}
		stored = append(binary.AppendUvarint(stored, uint64(len(own))), own...)
		code := uint32(0)
		if len(text) > 0 {
			var err error
			if code, err = r.texts.Intern(text); err != nil {
				return err
			}
		}
		stored = binary.AppendUvarint(stored, uint64(code))
	}
	r.keep(stored)
	return nil
}

// cut yields a record's own bytes, each time with the text that follows them, and at the end with none. The bytes
// behind the last text are a text too, unless they are few: for locations, they describe the binary.
func cut(record []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(own, text []byte) bool) {
		for isFirst := true; ; isFirst = false {
			start, end := nextText(record)
			if start == end {
				start, end = 0, len(record)
				if isFirst || len(record) < leastText {
					yield(record, nil)
					return
				}
			}
			if !yield(record[:start], record[start:end]) {
				return
			}
			record = record[end:]
		}
	}
}

// nextText returns where the first leastText or more bytes from ' ' to 0x7f begin and end, or two equal indexes. The
// length before a text is often such a byte, and then part of the text.
func nextText(record []byte) (start, end int) {
	for start = 0; start+leastText <= len(record); start = end + 1 {
		if end = start + printable(record[start:]); end-start >= leastText {
			return start, end
		}
	}
	return 0, 0
}

// printable returns the number of bytes from ' ' to 0x7f that b begins with. It looks at eight at once: a byte below ' '
// borrows from the high bit in the subtraction, and a byte above 0x7f has that bit.
func printable(b []byte) (n int) {
	const low, high = 0x0101010101010101 * ' ', 0x8080808080808080
	for ; n+8 <= len(b); n += 8 {
		word := binary.LittleEndian.Uint64(b[n:])
		if others := ((word - low) | word) & high; others != 0 {
			return n + bits.TrailingZeros64(others)/8
		}
	}
	for n < len(b) && b[n] >= ' ' && b[n] <= 0x7f {
		n++
	}
	return n
}

// next divides the stored form of a record into its first own bytes, the code of the text that follows them, 0 at the end,
// and the rest.
func next(stored []byte) (own []byte, text uint32, rest []byte) {
	length, n := small(stored)
	own, stored = stored[n:n+int(length)], stored[n+int(length):]
	code, n := small(stored)
	return own, uint32(code), stored[n:]
}

// appendTexts appends the record of a stored form without its first byte.
func (v *recordsView) appendTexts(record, stored []byte) []byte {
	for text := uint32(1); text != 0; {
		var own []byte
		own, text, stored = next(stored)
		record = append(append(record, own...), v.text(text)...)
	}
	return record
}

// pastTexts returns the bytes behind a stored form without its first byte.
func pastTexts(stored []byte) []byte {
	for text := uint32(1); text != 0; {
		_, text, stored = next(stored)
	}
	return stored
}
