package dict

import (
	"bytes"
	"encoding/binary"
	"iter"
	"math"
	"sync"
	"sync/atomic"
)

// records is an append-only sequence of byte strings, with codes from 1 up; the code 0 is none. Most are records of
// locations. Most of their bytes are texts that other locations share: names, files, and the description of the binary. So a
// record is stored in one of three forms, and its first byte tells which:
//
//	whole      wholeForm | varint: length | bytes
//	texts      textsForm | a record that an earlier release cut into texts (record_texts.go)
//	location   any other byte: codes of texts, and numbers (record_location.go)
//
// docs/decisions/0068 has the figures. Reading takes no lock.
type records struct {
	texts *Values

	mu     sync.Mutex // held by writers
	whole  int        // bytes of whole records, for addTexts
	bytes  arena
	places stable[place]
	n      atomic.Uint32
	work   *recordWriter // nil until a record is added
}

// place is where a record begins.
type place struct{ block, offset uint32 }

// The first bytes of forms. A location has the number of bytes of its address in the low four bits, 8 at most.
const (
	wholeForm = 0x0f
	textsForm = 0x1f
)

// leastText is the least mean length of the texts of a location that is kept as codes. A text takes 1 to 3 bytes in each record,
// and 16 bytes and a slot once.
const leastText = 8

// recordWriter is memory that is used again for each record. It keeps none that a long record needed.
type recordWriter struct {
	stored, binary []byte
	lines          []recordLine
	recent         [1 << recentBits]uint32 // codes of recent texts, by a hash: most are the same few hundred
}

const (
	recentBits       = 10
	mostKeptBytes    = 1 << 10
	mostKeptLines    = 16
	recordWriterSize = 4<<recentBits + 4<<10 // bounds the heap bytes of a writer
)

// add adds a record, and returns its code and its identity (RecordID). The error is ErrFull, after which no record was added.
func (r *records) add(record []byte) (code uint32, identity []byte, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.len() >= maxCodes || len(record) > math.MaxInt32 {
		return 0, nil, ErrFull
	}
	if r.work == nil {
		r.work = &recordWriter{}
	}
	l, ok := parseLocation(record, r.work.lines[:0])
	defer clear(l.lines) // they would keep the caller's memory
	if !ok {
		return r.keepWhole(record), record, nil
	}
	identity = record[:len(record)-len(l.tail)]
	if _, shares := l.shares(record); !shares {
		return r.keepWhole(record), identity, nil
	}
	stored, err := r.appendLocation(r.work.stored[:0], &l)
	if err != nil {
		return 0, nil, err
	}
	if cap(l.lines) <= mostKeptLines && cap(stored) <= mostKeptBytes {
		r.work.lines, r.work.stored = l.lines, stored
	}
	return r.keep(stored), identity, nil
}

// keepWhole keeps a whole record, and returns its code. The caller holds mu.
func (r *records) keepWhole(record []byte) uint32 {
	var few [256]byte
	return r.keep(append(binary.AppendUvarint(append(few[:0], wholeForm), uint64(len(record))), record...))
}

// keep keeps a record in its stored form, and returns its code. The caller holds mu.
func (r *records) keep(stored []byte) uint32 {
	if stored[0] == wholeForm {
		r.whole += len(wholeRecord(stored))
	}
	n := r.len()
	r.places.grow(n)
	block, offset := r.bytes.keep(stored)
	*r.places.at(n) = place{block, offset}
	return r.n.Add(1)
}

// intern returns the code of a text, 0 of an empty one. The caller holds mu.
func (r *records) intern(text []byte) (uint32, error) {
	if len(text) == 0 {
		return 0, nil
	}
	recent := &r.work.recent[TextHash(text)>>(64-recentBits)]
	if *recent != 0 && string(r.texts.Value(*recent)) == string(text) {
		return *recent, nil
	}
	code, err := r.texts.Intern(text)
	if err == nil {
		*recent = code
	}
	return code, err
}

// TextHash hashes a text's length, and its ends of eight bytes each. Its high bits are the best. It serves caches of recent texts,
// because texts that differ only between their ends have the same hash.
func TextHash(text []byte) uint64 {
	var first, last uint64
	if n := len(text); n >= 8 {
		first, last = binary.LittleEndian.Uint64(text), binary.LittleEndian.Uint64(text[n-8:])
	} else {
		for _, b := range text {
			first = first<<8 | uint64(b)
		}
	}
	const odd = 0x9e3779b97f4a7c15
	return ((first*odd^last)*odd + uint64(len(text))) * odd
}

// stored returns the stored form of a record.
func (r *records) stored(code uint32) []byte {
	at := r.places.at(int(code) - 1)
	stored, _ := first(r.bytes.from(at.block, at.offset))
	return stored
}

// first divides bytes into the stored form of the record that they begin with, and the rest.
func first(from []byte) (stored, rest []byte) {
	switch from[0] {
	case wholeForm:
		length, n := small(from[1:])
		rest = from[1+n+int(length):]
	case textsForm:
		rest = pastTexts(from[1:])
	default:
		c := locationCursor{rest: from}
		_, _, lines := c.head()
		for range 6 * lines {
			c.number()
		}
		rest = c.rest
	}
	return from[:len(from)-len(rest)], rest
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

// recordsView reads the records that were there when it was made, with the directories of their pages.
type recordsView struct {
	places  []*[pageLen]place
	blocks  []*[pageLen][]byte
	entries []*[pageLen]entry
	texts   []*[pageLen][]byte
}

// view returns a view of the present records. It costs 5 ns.
func (r *records) view() recordsView {
	return recordsView{r.places.all(), r.bytes.blocks.all(), r.texts.entries.all(), r.texts.bytes.blocks.all()}
}

// from returns the bytes from the i-th record on.
func (v *recordsView) from(i int) []byte {
	at := v.places[uint(i)/pageLen][uint(i)%pageLen]
	return v.blocks[at.block/pageLen][at.block%pageLen][at.offset:]
}

// text returns a text, which is empty for code 0.
func (v *recordsView) text(code uint32) []byte {
	if code == 0 {
		return nil
	}
	e := &v.entries[(code-1)/pageLen][(code-1)%pageLen]
	if e.length == 0 {
		return nil
	}
	return v.texts[e.block/pageLen][e.block%pageLen][e.offset:][:e.length:e.length]
}

// read returns the i-th record, which nobody may change: its own memory if it is whole, or that of buf. Putting it together
// costs about 10 ns a text.
func (v *recordsView) read(buf *[]byte, i int) []byte {
	stored := v.from(i)
	switch stored[0] {
	case wholeForm:
		return wholeRecord(stored)
	case textsForm:
		*buf = v.appendTexts((*buf)[:0], stored[1:])
	default:
		*buf, _ = v.appendLocation((*buf)[:0], stored)
	}
	return *buf
}

// wholeRecord returns the record of a whole form.
func wholeRecord(stored []byte) []byte {
	length, n := small(stored[1:])
	return stored[1+n:][:length:length]
}

// len returns the number of records; their codes are 1 to len.
func (r *records) len() int { return int(r.n.Load()) }

const placeSize = 8

// size returns the heap bytes.
func (r *records) size() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	size := r.bytes.heap() + placeSize*paged(r.len()) + r.texts.Size()
	if r.work != nil {
		size += recordWriterSize
	}
	return size
}

// need bounds the growth in bytes, as Values.Need does.
func (r *records) need(g *Growth) int {
	if g.Records == 0 {
		return 0
	}
	const head, text = 10, 10 // bytes of a record beside its own, and of codes and lengths for a text
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.len()
	need := r.bytes.need(g.OwnBytes+head*g.Records+text*(g.Texts+g.KnownTexts)) + placeSize*(paged(n+g.Records)-paged(n)) +
		r.texts.Need(g.Texts, g.TextBytes)
	if r.work == nil {
		need += recordWriterSize
	}
	return need
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
	var few [8]recordLine
	l, ok := parseLocation(record, few[:0])
	own, shares := l.shares(record)
	if !ok || !shares {
		g.OwnBytes += len(record)
		return
	}
	g.OwnBytes += own
	for text := range l.texts() {
		if d.records.texts.Find(text) != 0 {
			g.KnownTexts++
		} else {
			g.Texts++
			g.TextBytes += len(text)
		}
	}
}

var recordWork = sync.Pool{New: func() any { return new([]uint32) }}

// keptRecords bounds the size of pooled memory, in elements of 4 bytes.
const keptRecords = 1 << 18

// RecordOrder yields the elements with a record, in the order of the records in memory. New elements
// come in any order, so reading all records this way takes less than half as long as by code. If several elements have the same
// record, it yields one of them. It takes 4 bytes an element, which are pooled if they are not many.
func (d *Lists) RecordOrder() iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
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
		for _, e := range elements[1:] {
			if e != 0 && !yield(e) {
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
