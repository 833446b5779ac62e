package profile

import (
	"encoding/binary"
	"errors"
	"path"

	pprof "github.com/google/pprof/profile"

	codec "github.com/granarydb/granary/profile/pprof"
)

// location is a location as the store keeps it beside the id: enough to make the
// pprof location again.
//
// The record is its bytes. The first part is the identity, whose hash is the
// id (P3). The rest is the place that one process had it at: the first process
// that is seen wins.
//
//	identity: flags | build id | file, if no build id | address in the file:
//	          from mapping start, plus its offset | lines
//	line:     function | system name | file | start line | line | column
//	rest:     file, if build id | mapping start, size, offset | bits of FlatMapping.Has
//
// Numbers are varints, strings have their length before them, lines their
// count.
type location struct {
	folded  bool
	mapping *pprof.Mapping // without an ID; nil if there is none
	program bool           // the mapping is that of the program itself
	address uint64         // as in the profile: mapping start included
	lines   []line
}

// line is one function at a location, the innermost first.
type line struct {
	noFunction           bool
	function, systemName string
	file                 string
	startLine            int64
	line, column         int64
}

const (
	flagFolded = 1 << iota
	flagMapping
)

// errRecord says that bytes are not a record: a batch that was not made by this
// package brought it.
var errRecord = errors.New("malformed location record")

// parseLocation is the inverse of appendLocation. No record at all is a
// location that nothing is known of. Texts that are in known are not made again, others
// are added to it; nil keeps none.
func parseLocation(record []byte, known map[string]string) (*location, error) {
	if len(record) == 0 {
		return &location{}, nil
	}
	r := recordReader{rest: record, known: known}
	flags := r.uvarint()
	m := &pprof.Mapping{BuildID: r.string(), File: r.string()}
	l := &location{folded: flags&flagFolded != 0, address: r.uvarint()}
	for n := r.uvarint(); n > 0 && !r.bad; n-- {
		l.lines = append(l.lines, r.line())
	}
	m.File += r.string()
	m.Start = r.uvarint()
	m.Limit = m.Start + r.uvarint()
	m.Offset = r.uvarint()
	has := r.uvarint()
	m.HasFunctions, m.HasFilenames = has&codec.HasFunctions != 0, has&codec.HasFilenames != 0
	m.HasLineNumbers, m.HasInlineFrames = has&codec.HasLineNumbers != 0, has&codec.HasInlineFrames != 0
	if r.bad || len(r.rest) > 0 {
		return nil, errRecord
	}
	if flags&flagMapping != 0 {
		l.mapping, l.program = m, has&codec.IsProgram != 0
	}
	l.address += m.Start - m.Offset
	return l, nil
}

type recordReader struct {
	rest  []byte
	bad   bool
	known map[string]string
}

func (r *recordReader) line() line {
	return line{
		noFunction: r.uvarint() == 0,
		function:   r.string(), systemName: r.string(), file: r.string(),
		startLine: r.varint(), line: r.varint(), column: r.varint(),
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
	if s, ok := r.known[string(b)]; ok {
		return s
	}
	s := string(b)
	if r.known != nil {
		r.known[s] = s
	}
	return s
}

// unnamed returns the name for a function without one: its binary, as in pprof.
func (l *location) unnamed() string {
	if l.mapping == nil || l.mapping.File == "" {
		return "<unknown>"
	}
	return "[" + path.Base(l.mapping.File) + "]"
}
