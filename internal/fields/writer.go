package fields

import "encoding/binary"

// Writer collects fields. The zero Writer is empty. It is not safe for concurrent use.
type Writer struct {
	Data []byte // the fields written so far
}

// Uint writes a number in a byte for every 7 bits.
func (w *Writer) Uint(v uint64) { w.Data = binary.AppendUvarint(w.Data, v) }

// Int writes a number of either sign, given as its bits. Numbers near 0 take few bytes
// (zigzag).
func (w *Writer) Int(v uint64) { w.Uint(Zigzag(v)) }

// Zigzag returns a number of either sign, given as its bits, as one that is small if it is near 0.
func Zigzag(v uint64) uint64 { return v<<1 ^ uint64(int64(v)>>63) }

// Text writes the length of a string and its bytes.
func (w *Writer) Text(text string) {
	w.Uint(uint64(len(text)))
	w.Data = append(w.Data, text...)
}

// Raw writes bytes whose number the reader knows.
func (w *Writer) Raw(data []byte) { w.Data = append(w.Data, data...) }

// PutUint is Writer.Uint into b from n on, which has room for binary.MaxVarintLen64 bytes. It
// returns the place behind the number. Unlike that it is inlined as a whole.
func PutUint(b []byte, n int, v uint64) int {
	for v >= 0x80 {
		b[n] = byte(v) | 0x80
		v >>= 7
		n++
	}
	b[n] = byte(v)
	return n + 1
}
