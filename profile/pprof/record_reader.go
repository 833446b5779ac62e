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
// symbols. Strings that are in known are reused, and others are added to it; known may be nil.
// The result shares no memory with the record. The error wraps ErrLocation.
func ParseLocation(record []byte, known map[string]string) (*LocationRecord, error) {
	if len(record) == 0 {
		return &LocationRecord{}, nil
	}
	r := recordReader{rest: record, known: known}
	flags := r.uvarint()
	m := &pprof.Mapping{BuildID: r.string(), File: r.string()}
	l := &LocationRecord{Folded: flags&flagFolded != 0, Address: r.uvarint()}
	for n := r.uvarint(); n > 0 && !r.bad; n-- {
		l.Lines = append(l.Lines, r.line())
	}
	m.File += r.string()
	m.Start = r.uvarint()
	m.Limit = m.Start + r.uvarint()
	m.Offset = r.uvarint()
	has := r.uvarint()
	m.HasFunctions, m.HasFilenames = has&HasFunctions != 0, has&HasFilenames != 0
	m.HasLineNumbers, m.HasInlineFrames = has&HasLineNumbers != 0, has&HasInlineFrames != 0
	if r.bad || len(r.rest) > 0 {
		return nil, fmt.Errorf("%w of %d bytes", ErrLocation, len(record))
	}
	if flags&flagMapping != 0 {
		l.Mapping, l.Program = m, has&IsProgram != 0
	}
	l.Address += m.Start - m.Offset
	return l, nil
}

// recordReader reads the parts of a record. After bad bytes all parts are empty.
type recordReader struct {
	rest  []byte
	bad   bool
	known map[string]string
}

func (r *recordReader) line() RecordLine {
	return RecordLine{
		NoFunction: r.uvarint() == 0,
		Function:   r.string(), SystemName: r.string(), File: r.string(),
		StartLine: r.varint(), Line: r.varint(), Column: r.varint(),
	}
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

func (r *recordReader) string() string {
	b := r.bytes()
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
