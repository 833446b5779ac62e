package profile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path"

	pprof "github.com/google/pprof/profile"

	codec "github.com/granarydb/granary/profile/pprof"
)

// Location is the code at one address, as the record of a location describes it.
type Location struct {
	Mapping string // file of the binary, empty if unknown
	BuildID string // of the binary, empty if unknown
	// Address is the address in the file of the binary: the address in the process, less the
	// start of its mapping, plus the mapping's offset.
	Address uint64
	Frames  []Frame // innermost first, at least one
}

// ErrLocation reports bytes that are not the record of a location.
var ErrLocation = errors.New("malformed location record")

// DecodeLocation decodes the record of a location, which columnstore.ScanOptions.Elements and
// columnstore.HasElement receive. An empty record is a location without symbols: its only
// frame is "<unknown>". The Location belongs to the caller and shares no memory with the
// record. The error wraps ErrLocation. DecodeLocation costs about 1 us, and is safe for
// concurrent use.
func DecodeLocation(record []byte) (Location, error) {
	l, err := parseLocation(record, nil)
	if err != nil {
		return Location{}, err
	}
	out := l.public()
	y := symbol{location: *l, unnamed: l.unnamed()}
	for i := range y.frames() {
		out.Frames = append(out.Frames, y.frame(i))
	}
	return out, nil
}

// public returns the location without its frames.
func (l *location) public() Location {
	if l.mapping == nil {
		return Location{Address: l.address}
	}
	return Location{Mapping: l.mapping.File, BuildID: l.mapping.BuildID, Address: l.address - l.mapping.Start + l.mapping.Offset}
}

// location is a location in the form that the store keeps beside its id. It has all that is
// needed to rebuild the pprof location.
//
// It is encoded as a record. The first part of the record is the identity, whose hash is the
// id (P3). The rest describes the mapping in one process, the first that was inserted.
//
//	identity: flags | build id | file, if no build id | address in the file:
//	          from mapping start, plus its offset | lines
//	line:     1, or 0 if no function | function | system name | file | start line | line |
//	          column
//	rest:     file, if build id | mapping start, size, offset | bits of FlatMapping.Has
//
// Numbers are varints. Strings are preceded by their length, lines by their count.
type location struct {
	folded  bool
	mapping *pprof.Mapping // without an ID; nil for no mapping
	program bool           // the mapping is that of the program itself
	address uint64         // as in the profile, including the mapping start
	lines   []line
}

// line is one function at a location. The innermost function comes first.
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

// parseLocation is the inverse of appendLocation. An empty record is a location without
// symbols. Strings that are in known are reused, and others are added to it; known may be nil.
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
		return nil, fmt.Errorf("%w of %d bytes", ErrLocation, len(record))
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

// unnamed returns the name of a function without one: its binary, as in pprof.
func (l *location) unnamed() string {
	if l.mapping == nil || l.mapping.File == "" {
		return "<unknown>"
	}
	return "[" + path.Base(l.mapping.File) + "]"
}
