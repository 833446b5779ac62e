package pprof

import (
	"encoding/binary"
	"errors"
	"fmt"

	pprof "github.com/google/pprof/profile"
)

// ErrLocation reports bytes that are not the record of a location.
var ErrLocation = errors.New("malformed location record")

// ParseLocation is the inverse of Flat.AppendLocation. An empty record is a location without
// symbols. The result shares no memory with the record. The error wraps ErrLocation.
func ParseLocation(record []byte) (*LocationRecord, error) {
	l := &LocationRecord{}
	if err := new(RecordDecoder).Decode(l, record); err != nil {
		return nil, err
	}
	return l, nil
}

// RecordDecoder decodes records as ParseLocation does. What NewRecordDecoder returns is for many records: it keeps
// their distinct texts, and they share them, and mappings that are equal. They share no other memory, and none is to change a
// mapping. It belongs to one goroutine at a time. The zero value shares nothing.
type RecordDecoder struct {
	texts     map[string]string
	functions map[recordFunction]uint32 // by name and file: the place in named
	named     []recordFunction
	mapping   *pprof.Mapping // of the record before
	lines     []RecordLine   // memory for the lines of the next records
}

// recordFunction identifies a function, because its lines can differ in all else.
type recordFunction struct{ name, file string }

// NewRecordDecoder returns a decoder for the records of an answer.
func NewRecordDecoder() *RecordDecoder {
	return &RecordDecoder{texts: map[string]string{}, functions: map[recordFunction]uint32{}, mapping: &pprof.Mapping{}}
}

// Decode decodes a record into a location that is new or of no more use: it takes the memory of its lines. The error wraps
// ErrLocation. A record costs about 0.5 us.
func (d *RecordDecoder) Decode(l *LocationRecord, record []byte) error {
	lines := l.Lines
	if *l = (LocationRecord{}); len(record) == 0 {
		return nil
	}
	last := d.mapping
	if last == nil {
		last = &pprof.Mapping{}
	}
	r := recordReader{rest: record, known: d.texts}
	flags := r.uvarint()
	m := pprof.Mapping{BuildID: r.stringAs(last.BuildID), File: r.stringAs(last.File)}
	l.Folded, l.Address = flags&flagFolded != 0, r.uvarint()
	if n := r.uvarint(); n <= uint64(len(r.rest)/leastLine) {
		l.Lines = d.room(lines, int(n))
	} else {
		r.bad = true
	}
	for i := range l.Lines {
		d.line(&r, &l.Lines[i])
	}
	m.File += r.stringAs(last.File)
	m.Start = r.uvarint()
	m.Limit = m.Start + r.uvarint()
	m.Offset = r.uvarint()
	has := r.uvarint()
	m.HasFunctions, m.HasFilenames = has&HasFunctions != 0, has&HasFilenames != 0
	m.HasLineNumbers, m.HasInlineFrames = has&HasLineNumbers != 0, has&HasInlineFrames != 0
	if r.bad || len(r.rest) > 0 {
		*l = LocationRecord{}
		return fmt.Errorf("%w of %d bytes", ErrLocation, len(record))
	}
	if flags&flagMapping != 0 {
		l.Mapping, l.Program = d.shared(m, last), has&IsProgram != 0
	}
	l.Address += m.Start - m.Offset
	return nil
}

// shared returns a mapping, which is the last one if they are equal.
func (d *RecordDecoder) shared(m pprof.Mapping, last *pprof.Mapping) *pprof.Mapping {
	if d.mapping != nil && m == *last {
		return last
	}
	own := m // m itself stays off the heap
	if d.mapping != nil {
		d.mapping = &own
	}
	return &own
}

// linesAtOnce is for how many lines a decoder of many records makes room.
const linesAtOnce = 128

// room returns n lines, in the memory of some that are of no more use if they are enough.
func (d *RecordDecoder) room(used []RecordLine, n int) (lines []RecordLine) {
	if n == 0 {
		return nil
	}
	if n <= cap(used) {
		return used[:n]
	}
	if d.texts == nil || n > linesAtOnce {
		return make([]RecordLine, n)
	}
	if len(d.lines) < n {
		d.lines = make([]RecordLine, linesAtOnce)
	}
	lines, d.lines = d.lines[:n:n], d.lines[n:]
	return lines
}

// line decodes a line. A decoder of many records looks its function up once, and has the texts of the first line with it.
func (d *RecordDecoder) line(r *recordReader, ln *RecordLine) {
	ln.NoFunction = r.uvarint() == 0
	name, system, file := r.bytes(), r.bytes(), r.bytes()
	ln.StartLine, ln.Line, ln.Column = r.varint(), r.varint(), r.varint()
	if d.functions == nil {
		ln.Function, ln.File = string(name), string(file)
	} else {
		at, known := d.functions[recordFunction{string(name), string(file)}]
		if !known {
			at = uint32(len(d.named))
			f := recordFunction{string(name), r.text(file, "")}
			d.functions[f], d.named = at, append(d.named, f)
		}
		ln.Function, ln.File, ln.Number = d.named[at].name, d.named[at].file, at+1
	}
	ln.SystemName = r.text(system, ln.Function)
}

// leastLine is the number of bytes that a line has at least: its numbers and empty texts have one each.
const leastLine = 7

// recordReader reads the parts of a record. After bad bytes all parts are empty.
type recordReader struct {
	rest  []byte
	bad   bool
	known map[string]string
}

func (r *recordReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	r.skip(n)
	return v
}

func (r *recordReader) varint() int64 {
	v, n := binary.Varint(r.rest)
	r.skip(n)
	return v
}

func (r *recordReader) skip(n int) {
	if n <= 0 {
		r.bad, r.rest = true, nil
		return
	}
	r.rest = r.rest[n:]
}

func (r *recordReader) bytes() []byte {
	n := r.uvarint()
	if n > uint64(len(r.rest)) {
		r.bad, r.rest = true, nil
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

// stringAs reads a text that is likely to be equal to another, which it returns then.
func (r *recordReader) stringAs(likely string) string { return r.text(r.bytes(), likely) }

// text returns bytes as a text, which is likely to be equal to another.
func (r *recordReader) text(b []byte, likely string) string {
	if string(b) == likely {
		return likely
	}
	if len(b) == 0 {
		return ""
	}
	if s, ok := r.known[string(b)]; ok {
		return s
	}
	s := string(b)
	if r.known != nil {
		r.known[s] = s
	}
	return s
}

// AppendNames appends the names of the lines of a record to dst. It returns false for a record
// that is empty or malformed. It allocates nothing except for dst.
func AppendNames(dst [][]byte, record []byte) (names [][]byte, ok bool) {
	r := recordReader{rest: record}
	r.uvarint() // flags
	r.bytes()   // build id
	r.bytes()   // file
	r.uvarint() // address
	for n := r.uvarint(); n > 0 && !r.bad; n-- {
		r.uvarint() // whether the line has a function
		dst = append(dst, r.bytes())
		r.bytes()  // system name
		r.bytes()  // file
		r.varint() // start line
		r.varint() // line
		r.varint() // column
	}
	r.bytes() // file, if there is a build id
	for range 4 {
		r.uvarint() // mapping start, size, offset, bits
	}
	return dst, !r.bad && len(r.rest) == 0
}
