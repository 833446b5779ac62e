package dict

import (
	"bytes"
	"encoding/binary"
	"iter"
	"math/bits"

	"github.com/google/uuid"
	"github.com/zeebo/xxh3"
)

// location is the parts of a record in the form that package profile/pprof gives a location. They are the record's memory.
//
//	head: flags | build id | file
//	address | number of lines
//	line: 1, or 0 if no function | function | system name | file | start line | line | column
//	tail: file | mapping start | size | offset | bits
//
// Numbers are varints, and texts are preceded by their length. The head and the tail describe the binary, and are stored as
// one text. A record of another form is kept whole. The stored form:
//
//	bytes of the address + 16 * lines, 15 for more | [lines - 15] | code of the binary | address, lowest byte first
//	line: function | system name | file | start line | line | 2 * column, + 1 if it has a function
//	system name: 0 for none, 1 for the function's name, else its code + 1
type location struct {
	head, tail []byte
	address    uint64
	lines      []recordLine
}

// recordLine is a line of a location.
type recordLine struct {
	function, system, file []byte
	start, line            uint64 // as they are in the record
	column                 uint64 // as it is stored
}

// parseLocation returns the parts of a record, with its lines in the memory of lines. It returns false for a record of another
// form, which includes a number in more bytes than it needs. It also returns false for more than mostLines lines, because the
// parts take many times the bytes of the record.
func parseLocation(record []byte, lines []recordLine) (l location, ok bool) {
	in := recordParser{rest: record}
	in.head()
	l.head = record[:len(record)-len(in.rest)]
	l.address = in.number()
	n := in.number()
	if n > min(mostLines, uint64(len(in.rest)/leastLine)) {
		return l, false
	}
	l.lines = lines
	for range n {
		l.lines = append(l.lines, in.line())
	}
	l.tail = in.rest
	in.text()
	for range 4 {
		in.number()
	}
	return l, !in.bad && len(in.rest) == 0
}

const (
	leastLine = 7   // bytes of a line, at least
	mostLines = 256 // lines of a location that is kept as codes
)

// shares returns the number of the record's bytes that are in no text, and whether the texts have leastText bytes or more in the
// mean. New texts would take many times their length if they were shorter.
func (l *location) shares(record []byte) (own int, ok bool) {
	bytes, texts := len(l.head)+len(l.tail), 1
	inTexts := bytes
	for i := range l.lines {
		ln := &l.lines[i]
		inTexts += len(ln.function) + len(ln.system) + len(ln.file)
		for _, length := range [...]int{len(ln.function), len(ln.ownSystem()), len(ln.file)} {
			if bytes += length; length > 0 {
				texts++
			}
		}
	}
	return len(record) - inTexts, bytes >= leastText*texts
}

// texts yields the texts that have codes, in the order of interning. The first is the binary's, which is valid until the next.
func (l *location) texts() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		var few [256]byte
		if !yield(l.binary(few[:0])) {
			return
		}
		for i := range l.lines {
			ln := &l.lines[i]
			for _, text := range [...][]byte{ln.function, ln.ownSystem(), ln.file} {
				if len(text) > 0 && !yield(text) {
					return
				}
			}
		}
	}
}

// binary appends the text of the binary to dst.
func (l *location) binary(dst []byte) []byte { return append(append(dst, l.head...), l.tail...) }

// ownSystem returns the system name, or none if it is the function's name.
func (ln *recordLine) ownSystem() []byte {
	if bytes.Equal(ln.system, ln.function) {
		return nil
	}
	return ln.system
}

// recordParser reads a record's parts by their place. After bytes that are no part, bad is true.
type recordParser struct {
	rest []byte
	bad  bool
}

func (in *recordParser) number() uint64 {
	if len(in.rest) > 0 && in.rest[0] < 0x80 {
		v := in.rest[0]
		in.rest = in.rest[1:]
		return uint64(v)
	}
	v, n := binary.Uvarint(in.rest)
	if n <= 0 || in.rest[n-1] == 0 {
		in.rest, in.bad = nil, true
		return 0
	}
	in.rest = in.rest[n:]
	return v
}

func (in *recordParser) text() []byte {
	n := in.number()
	if n > uint64(len(in.rest)) {
		in.rest, in.bad = nil, true
		return nil
	}
	text := in.rest[:n:n]
	in.rest = in.rest[n:]
	return text
}

// head skips a location's head.
func (in *recordParser) head() {
	in.number()
	in.text()
	in.text()
}

func (in *recordParser) line() (ln recordLine) {
	has := in.number()
	ln.function, ln.system, ln.file = in.text(), in.text(), in.text()
	ln.start, ln.line, ln.column = in.number(), in.number(), in.number()
	if has > 1 || bits.Len64(ln.column) > 63 {
		in.bad = true
	}
	ln.column = ln.column<<1 | has
	return ln
}

// appendLocation appends the stored form of a location. The caller holds mu.
func (r *records) appendLocation(stored []byte, l *location) ([]byte, error) {
	width := (bits.Len64(l.address) + 7) / 8
	stored = append(stored, byte(min(len(l.lines), manyLines)<<4|width))
	if len(l.lines) >= manyLines {
		stored = binary.AppendUvarint(stored, uint64(len(l.lines)-manyLines))
	}
	r.work.binary = l.binary(r.work.binary[:0])
	code, err := r.intern(r.work.binary)
	if cap(r.work.binary) > mostKeptBytes {
		r.work.binary = nil
	}
	if err != nil {
		return stored, err
	}
	stored = binary.AppendUvarint(stored, uint64(code))
	stored = binary.LittleEndian.AppendUint64(stored, l.address)
	stored = stored[:len(stored)-8+width]
	for i := range l.lines {
		if stored, err = r.appendLine(stored, &l.lines[i]); err != nil {
			return stored, err
		}
	}
	return stored, nil
}

func (r *records) appendLine(stored []byte, ln *recordLine) ([]byte, error) {
	var codes [3]uint32
	for i, text := range [...][]byte{ln.function, ln.ownSystem(), ln.file} {
		var err error
		if codes[i], err = r.intern(text); err != nil {
			return stored, err
		}
	}
	system := uint64(codes[1])
	switch {
	case system > 0:
		system++
	case len(ln.system) > 0:
		system = sameSystem
	}
	stored = binary.AppendUvarint(stored, uint64(codes[0]))
	stored = binary.AppendUvarint(stored, system)
	stored = binary.AppendUvarint(stored, uint64(codes[2]))
	stored = binary.AppendUvarint(stored, ln.start)
	stored = binary.AppendUvarint(stored, ln.line)
	return binary.AppendUvarint(stored, ln.column), nil
}

const (
	manyLines  = 15 // lines from which on their number has bytes of its own
	sameSystem = 1  // the system name that is the function's name
)

// locationCursor reads the stored form of a location: its head, and then its lines.
type locationCursor struct{ rest []byte }

func (c *locationCursor) number() uint64 {
	v, n := small(c.rest)
	c.rest = c.rest[n:]
	return v
}

func (c *locationCursor) head() (code uint32, address uint64, lines int) {
	form := c.rest[0]
	c.rest = c.rest[1:]
	if lines = int(form >> 4); lines == manyLines {
		lines += int(c.number())
	}
	code = uint32(c.number())
	width := form & 15
	address = lowestFirst(c.rest[:width])
	c.rest = c.rest[width:]
	return code, address, lines
}

// lowestFirst returns the number of at most eight bytes.
func lowestFirst(b []byte) (v uint64) {
	for i, x := range b {
		v |= uint64(x) << (8 * i)
	}
	return v
}

// line reads the next line into ln. Codes of texts begin behind base.
func (c *locationCursor) line(ln *CodedLine, base uint32) {
	ln.Function, ln.SystemName = behind(base, c.number()), uint32(c.number())
	if ln.SystemName == sameSystem {
		ln.SystemName = ln.Function
	} else if ln.SystemName > 0 {
		ln.SystemName = base + ln.SystemName - 1
	}
	ln.File = behind(base, c.number())
	ln.StartLine, ln.Line = signed(c.number()), signed(c.number())
	column := c.number()
	ln.HasFunction, ln.Column = column&1 == 1, signed(column>>1)
}

// behind returns a code behind base, and 0 for 0.
func behind(base uint32, code uint64) uint32 {
	if code == 0 {
		return 0
	}
	return base + uint32(code)
}

// signed returns the number of a varint with a sign.
func signed(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

// appendLocation appends the record of a stored location, and returns the length of its tail.
func (v *recordsView) appendLocation(record, stored []byte) (out []byte, tail int) {
	c := locationCursor{stored}
	code, address, lines := c.head()
	text := v.text(code)
	in := recordParser{rest: text}
	in.head()
	record = append(record, text[:len(text)-len(in.rest)]...)
	record = binary.AppendUvarint(record, address)
	record = binary.AppendUvarint(record, uint64(lines))
	for range lines {
		record = v.appendLine(record, &c)
	}
	return append(record, in.rest...), len(in.rest)
}

// appendLine appends the next line of a stored location to its record. Its first two numbers are the same bytes there.
func (v *recordsView) appendLine(record []byte, c *locationCursor) []byte {
	function, system, file := c.number(), c.number(), c.number()
	if system == sameSystem {
		system = function
	} else if system > 0 {
		system--
	}
	numbers := c.rest
	c.number()
	c.number()
	numbers = numbers[:len(numbers)-len(c.rest)]
	column := c.number()
	record = append(record, byte(column&1))
	for _, code := range [...]uint64{function, system, file} {
		text := v.text(uint32(code))
		record = append(binary.AppendUvarint(record, uint64(len(text))), text...)
	}
	return binary.AppendUvarint(append(record, numbers...), column>>1)
}

// RecordID returns the id of the location with an identity: its record without the tail. It is a UUID of version 8 from the
// 128-bit xxh3. The hash is not keyed, because the same code must have the same id in every process and store. It costs
// 30 ns.
func RecordID(identity []byte) uuid.UUID {
	id := uuid.UUID(xxh3.Hash128(identity).Bytes())
	id[6] = id[6]&0x0f | 0x80
	id[8] = id[8]&0x3f | 0x80
	return id
}

// id returns the id of the i-th record as that of a location, for any record.
func (v *recordsView) id(buf *[]byte, i int) uuid.UUID {
	if stored := v.from(i); stored[0] != wholeForm && stored[0] != textsForm {
		record, tail := v.appendLocation((*buf)[:0], stored)
		*buf = record
		return RecordID(record[:len(record)-tail])
	}
	return IDOfRecord(v.read(buf, i))
}

// IDOfRecord returns the id that a record has if it is the record of a location: RecordID of its identity. It costs 100 ns, and 30 ns for
// each line.
func IDOfRecord(record []byte) uuid.UUID {
	var few [8]recordLine
	if l, ok := parseLocation(record, few[:0]); ok {
		record = record[:len(record)-len(l.tail)]
	}
	return RecordID(record)
}
