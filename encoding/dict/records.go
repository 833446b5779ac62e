package dict

import (
	"bytes"
	"encoding/binary"
	"iter"
	"math"
	"math/bits"
	"sync"
	"sync/atomic"
)

// records is an append-only sequence of byte strings, with codes from 1 up; the code 0 is none. Texts within
// records are shared, because a location's record is mostly names of functions and files, which many locations
// have. A record is stored as
//
//	varint: own bytes | these bytes | varint: code of a text, 0 at the end | own bytes ...
//
// The first ones are whole, without a text, because reading these copies nothing, and most dictionaries have no others.
// docs/decisions/0060 has the figures. Reading takes no lock.
type records struct {
	texts *Values

	mu     sync.Mutex // held by writers
	whole  int        // bytes of records without a text
	bytes  arena
	places stable[place]
	n      atomic.Uint32
}

// place is where a record begins.
type place struct{ block, offset uint32 }

// mostWhole is the bytes of whole records from which on texts are shared.
const mostWhole = 16 << 20

// leastText is the length from which on a text is shared. A shared text takes 2 or 3 bytes in a record, and 16
// bytes and a slot once.
const leastText = 8

// add adds a record, and returns its code. The error is ErrFull, after which no record was added.
func (r *records) add(record []byte) (uint32, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.len() >= maxCodes || len(record) > math.MaxInt32 {
		return 0, ErrFull
	}
	var few [256]byte
	stored := few[:0]
	for own, text := range r.parts(record) {
		stored = append(binary.AppendUvarint(stored, uint64(len(own))), own...)
		code := uint32(0)
		if len(text) > 0 {
			var err error
			if code, err = r.texts.Intern(text); err != nil {
				return 0, err
			}
		}
		stored = binary.AppendUvarint(stored, uint64(code))
	}
	return r.keep(stored), nil
}

// keep keeps a record in its stored form, and returns its code. The caller holds mu.
func (r *records) keep(stored []byte) uint32 {
	if own, text, _ := next(stored); text == 0 {
		r.whole += len(own)
	}
	n := r.len()
	r.places.grow(n)
	block, offset := r.bytes.keep(stored)
	*r.places.at(n) = place{block, offset}
	return r.n.Add(1)
}

// parts is cut, unless the record is kept whole. The caller holds mu.
func (r *records) parts(record []byte) iter.Seq2[[]byte, []byte] {
	if r.whole < mostWhole {
		return func(yield func(own, text []byte) bool) { yield(record, nil) }
	}
	return cut(record)
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

// small is binary.Uvarint, and faster for numbers of one or two bytes.
func small(b []byte) (v uint64, n int) {
	if b[0] < 0x80 {
		return uint64(b[0]), 1
	}
	if b[1] < 0x80 {
		return uint64(b[0]&0x7f) | uint64(b[1])<<7, 2
	}
	return binary.Uvarint(b)
}

// stored returns the stored form of a record.
func (r *records) stored(code uint32) []byte {
	at := r.places.at(int(code) - 1)
	stored, _ := first(r.bytes.from(at.block, at.offset))
	return stored
}

// first divides bytes into the stored form of the record that they begin with, and the rest.
func first(from []byte) (stored, rest []byte) {
	rest = from
	for text := uint32(1); text != 0; {
		_, text, rest = next(rest)
	}
	return from[:len(from)-len(rest)], rest
}

// next divides the stored form of a record into its first own bytes, the code of the text that follows them, 0 at the end,
// and the rest.
func next(stored []byte) (own []byte, text uint32, rest []byte) {
	length, n := small(stored)
	own, stored = stored[n:n+int(length)], stored[n+int(length):]
	code, n := small(stored)
	return own, uint32(code), stored[n:]
}

// recordsView reads the records that were there when it was made, with the directories of their pages.
type recordsView struct {
	places  []*[pageLen]place
	stored  []*[pageLen][]byte
	entries []*[pageLen]entry
	texts   []*[pageLen][]byte
}

// view returns a view of the present records. It costs 5 ns.
func (r *records) view() recordsView {
	return recordsView{r.places.all(), r.bytes.blocks.all(), r.texts.entries.all(), r.texts.bytes.blocks.all()}
}

// read returns the i-th record, which nobody may change: its own memory if it is whole, or that of buf. It costs about 10 ns
// a text.
func (v *recordsView) read(buf *[]byte, i int) []byte { return v.readTexts(buf, i, nil, 0) }

// readTexts is read that also appends the shared texts in the record to texts, if that is not nil. Their codes begin behind base.
func (v *recordsView) readTexts(buf *[]byte, i int, texts *[]SharedText, base uint32) []byte {
	at := v.places[uint(i)/pageLen][uint(i)%pageLen]
	stored := v.stored[at.block/pageLen][at.block%pageLen][at.offset:]
	length, n := small(stored)
	if end := n + int(length); stored[end] == 0 { // whole
		return stored[n:end:end]
	}
	own, text, stored := next(stored)
	record := append((*buf)[:0], own...)
	for text != 0 {
		if e := &v.entries[(text-1)/pageLen][(text-1)%pageLen]; e.length > 0 {
			start := uint32(len(record))
			record = append(record, v.texts[e.block/pageLen][e.block%pageLen][e.offset:e.offset+e.length]...)
			if texts != nil {
				*texts = append(*texts, SharedText{start, uint32(len(record)), base + text})
			}
		}
		own, text, stored = next(stored)
		record = append(record, own...)
	}
	*buf = record
	return record
}

// len returns the number of records; their codes are 1 to len.
func (r *records) len() int { return int(r.n.Load()) }

const placeSize = 8

// size returns the heap bytes.
func (r *records) size() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bytes.heap() + placeSize*paged(r.len()) + r.texts.Size()
}

// need bounds the growth in bytes, as Values.Need does.
func (r *records) need(g *Growth) int {
	if g.Records == 0 {
		return 0
	}
	const ends, text = 2, 10 // bytes of lengths and codes, in a record and for a text
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.len()
	return r.bytes.need(g.OwnBytes+ends*g.Records+text*(g.Texts+g.KnownTexts)) + placeSize*(paged(n+g.Records)-paged(n)) +
		r.texts.Need(g.Texts, g.TextBytes)
}

// AddRecords adds n records of `bytes` bytes in all to the additions, as if all their bytes were in new texts, and in
// none. It looks at no record, so that it costs nothing.
func (g *Growth) AddRecords(n, bytes int) {
	g.Records += n
	g.OwnBytes += bytes
	g.Texts += bytes / leastText
	g.TextBytes += bytes
}

// CountRecord adds a record to the additions. It looks up each text, which costs about 50 ns.
func (d *Lists) CountRecord(g *Growth, record []byte) {
	g.Records++
	for own, text := range cut(record) {
		g.OwnBytes += len(own)
		switch {
		case len(text) == 0:
		case d.records.texts.Find(text) != 0:
			g.KnownTexts++
		default:
			g.Texts++
			g.TextBytes += len(text)
		}
	}
}

var recordWork = sync.Pool{New: func() any { return new([]uint32) }}

// keptRecords bounds the size of pooled memory, in elements of 4 bytes.
const keptRecords = 1 << 18

// Records yields the records in memory order, each with the code of an element that has it. New elements
// come in any order, so reading all records this way takes less than half as long as by code. Elements
// without a record are left out. A record is valid until the next. It takes 4 bytes an element, which are pooled if
// they are not many.
func (d *Lists) Records() iter.Seq2[uint32, []byte] {
	return func(yield func(uint32, []byte) bool) {
		n, records := d.Elements(), d.records.len()
		kept := recordWork.Get().(*[]uint32)
		elements := append((*kept)[:0], make([]uint32, records+1)...) // indexed by record
		if *kept = elements; len(elements) <= keptRecords {
			defer recordWork.Put(kept)
		}
		pages := d.recordOf.all()
		for e := range n {
			if record := pages[e/pageLen][e%pageLen].Load(); int(record) < len(elements) { // other records are new
				elements[record] = uint32(e + 1)
			}
		}
		v := d.records.view()
		var buf []byte
		for i, e := range elements[1:] {
			if e != 0 && !yield(e, v.read(&buf, i)) {
				return
			}
		}
	}
}

// ReadRecord returns an element's record, nil if it has none. The caller must not change it, and it is valid until buf is used
// again.
func (d *Lists) ReadRecord(buf *[]byte, code uint32) []byte {
	record := d.recordOf.at(int(code) - 1).Load()
	if record == 0 {
		return nil
	}
	v := d.records.view()
	return v.read(buf, int(record)-1)
}

// Beside returns a place for what a reader makes of the dictionary for later readers. It lives as long as the dictionary, which
// does not look at it; Size does not count it. A reader appends: elements are never removed.
func (d *Lists) Beside() *atomic.Value { return &d.beside }

// Record returns a copy of an element's record, nil if it has none.
func (d *Lists) Record(code uint32) []byte {
	var buf []byte
	return bytes.Clone(d.ReadRecord(&buf, code))
}

// HasRecord reports whether an element has a record.
func (d *Lists) HasRecord(code uint32) bool { return d.recordOf.at(int(code)-1).Load() != 0 }
