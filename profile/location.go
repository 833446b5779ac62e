package profile

import (
	"encoding/binary"
	"errors"

	pprof "github.com/google/pprof/profile"
	"github.com/google/uuid"
	"github.com/zeebo/xxh3"
)

// location is what the store keeps beside a location id: enough to make the
// pprof location again.
//
// The record is its bytes. The first part is what the location is, and its hash
// is the id (P3); the rest says where one process had it, and the first process
// to be seen wins.
//
//	identity: flags | build id | file, if no build id | address in the file:
//	          from mapping start, plus its offset | lines
//	line:     function | system name | file | start line | line | column
//	rest:     file, if build id | mapping start, size, offset | what it has
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

const (
	hasFunctions = 1 << iota
	hasFilenames
	hasLineNumbers
	hasInlineFrames
	isProgram // the profile's first mapping: the program itself
)

// appendLocation appends the record of location i to dst and returns the id.
func (f *flat) appendLocation(dst []byte, i uint32) ([]byte, uuid.UUID) {
	start := len(dst)
	l := &f.locations[i]
	m := &f.mappings[l.mapping]
	var flags byte
	if l.folded {
		flags |= flagFolded
	}
	if l.mapping != 0 {
		flags |= flagMapping
	}
	dst = append(dst, flags)
	identity, rest := f.strings[m.file], ""
	if f.strings[m.buildID] != "" { // it says more than a path, which depends on mounts
		identity, rest = rest, identity
	}
	dst = appendString(dst, f.strings[m.buildID])
	dst = appendString(dst, identity)
	dst = binary.AppendUvarint(dst, l.address-m.start+m.offset) // segments of a file differ in the offset
	lines := f.linesOf(i)
	dst = binary.AppendUvarint(dst, uint64(len(lines)))
	for k := range lines {
		dst = f.appendLine(dst, &lines[k])
	}
	id := locationID(dst[start:])
	dst = appendString(dst, rest)
	dst = binary.AppendUvarint(dst, m.start)
	dst = binary.AppendUvarint(dst, m.limit-m.start)
	dst = binary.AppendUvarint(dst, m.offset)
	return binary.AppendUvarint(dst, m.has), id
}

func (f *flat) appendLine(dst []byte, ln *flatLine) []byte {
	fn := &f.functions[ln.function]
	hasFunction := byte(1)
	if ln.function == 0 {
		hasFunction = 0
	}
	dst = append(dst, hasFunction)
	dst = appendString(dst, f.strings[fn.name])
	dst = appendString(dst, f.strings[fn.systemName])
	dst = appendString(dst, f.strings[fn.file])
	dst = binary.AppendVarint(dst, fn.startLine)
	dst = binary.AppendVarint(dst, ln.line)
	return binary.AppendVarint(dst, ln.column)
}

// locationID makes a version 8 UUID of the 128-bit xxh3 of an identity. It is
// not keyed: the same code has the same id in every process and store.
func locationID(identity []byte) uuid.UUID {
	id := uuid.UUID(xxh3.Hash128(identity).Bytes())
	id[6] = id[6]&0x0f | 0x80
	id[8] = id[8]&0x3f | 0x80
	return id
}

func mappingHas(m *pprof.Mapping) uint64 {
	var has uint64
	for i, b := range []bool{m.HasFunctions, m.HasFilenames, m.HasLineNumbers, m.HasInlineFrames} {
		if b {
			has |= 1 << i
		}
	}
	return has
}

func appendString(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

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
	m.HasFunctions, m.HasFilenames = has&hasFunctions != 0, has&hasFilenames != 0
	m.HasLineNumbers, m.HasInlineFrames = has&hasLineNumbers != 0, has&hasInlineFrames != 0
	if r.bad || len(r.rest) > 0 {
		return nil, errRecord
	}
	if flags&flagMapping != 0 {
		l.mapping, l.program = m, has&isProgram != 0
	}
	l.address += m.Start - m.Offset
	return l, nil
}

// appendNames appends the names of the functions of a record, as frames have them, to
// dst. They are parts of the record: no text is made of it, unless a function has no
// name.
func appendNames(dst [][]byte, record []byte) [][]byte {
	start := len(dst)
	r := recordReader{rest: record}
	r.uvarint() // flags
	r.bytes()   // build id
	r.bytes()   // file
	r.uvarint() // address
	n := r.uvarint()
	unnamed := n == 0
	for ; n > 0 && !r.bad; n-- {
		r.uvarint() // whether there is a function
		name := r.bytes()
		dst = append(dst, name)
		unnamed = unnamed || len(name) == 0
		r.bytes()  // system name
		r.bytes()  // file
		r.varint() // start line
		r.varint() // line
		r.varint() // column
	}
	r.bytes() // file, if there is a build id
	for range 4 {
		r.uvarint() // mapping start, size, offset, what it has
	}
	if !unnamed && !r.bad && len(r.rest) == 0 {
		return dst
	}
	l, err := parseLocation(record, nil)
	if err != nil {
		l = &location{}
	}
	y := symbol{location: *l, unnamed: l.unnamed()}
	dst = dst[:start]
	for i := range y.frames() {
		dst = append(dst, []byte(y.frame(i).Function))
	}
	return dst
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
