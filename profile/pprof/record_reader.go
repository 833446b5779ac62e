package pprof

import (
	"encoding/binary"
	"errors"
	"fmt"

	pprof "github.com/google/pprof/profile"
)

// ErrLocation reports bytes that are not a location's record.
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

// RecordDecoder decodes records as ParseLocation does. A decoder from NewRecordDecoder is for many
// records: it keeps their distinct texts and the last mapping, and locations share them. They share no
// other memory, and no caller may change a mapping. It belongs to one goroutine at a time. The zero value
// shares nothing. Texts are UTF-8, also of a store that took others, because no answer could carry them.
type RecordDecoder struct {
	// Namer, if not nil, has the lines of locations that have an address alone.
	Namer Namer

	texts     map[string]string
	functions map[string]uint32 // index in named, by functionKey
	named     []namedFunction
	demangled map[string]uint32 // numbers, by functionKey of the shown name; nil until a name was mangled
	key       []byte            // buffer of a functionKey
	mapping   *pprof.Mapping    // mapping of the previous record
	lines     []RecordLine      // memory for the lines of the next records
	known     *knownCodes       // of DecodeElement
}

// namedFunction is a function with its shown name. Functions with the same shown name and file have one number.
type namedFunction struct {
	name, file string
	shown      string
	number     uint32
}

// appendFunctionKey appends what identifies a function: its name and its file, because its lines can differ in everything
// else. The texts are the key's end, so that a function needs no other memory for them.
func appendFunctionKey[T string | []byte](key []byte, name, file T) []byte {
	key = binary.AppendUvarint(key, uint64(len(name)))
	return append(append(key, name...), file...)
}

// NewRecordDecoder returns a decoder for an answer's records.
func NewRecordDecoder() *RecordDecoder {
	return &RecordDecoder{texts: map[string]string{}, functions: map[string]uint32{}, mapping: &pprof.Mapping{}}
}

// Decode decodes a record into l, which is new or not used any more: its lines are overwritten. The error
// wraps ErrLocation. A record costs about 0.5 us.
func (d *RecordDecoder) Decode(l *LocationRecord, record []byte) error {
	lines := l.Lines
	if *l = (LocationRecord{}); len(record) == 0 {
		return nil
	}
	last := d.mapping
	if last == nil {
		last = &pprof.Mapping{}
	}
	r := recordReader{record: record}
	flags := r.uvarint()
	m := pprof.Mapping{BuildID: d.text(r.bytes(), last.BuildID), File: d.text(r.bytes(), last.File)}
	l.Folded, l.Address = flags&flagFolded != 0, r.uvarint()
	if n := r.uvarint(); n <= uint64(r.left()/leastLine) {
		l.Lines = d.room(lines, int(n))
	} else {
		r.bad = true
	}
	for i := range l.Lines {
		d.line(&r, &l.Lines[i])
	}
	has := d.restOfMapping(&r, &m, last.File)
	if !r.done() {
		*l = LocationRecord{}
		return fmt.Errorf("%w of %d bytes", ErrLocation, len(record))
	}
	if flags&flagMapping != 0 {
		l.Mapping, l.Program = d.shared(m, last), has&IsProgram != 0
	}
	l.Address += m.Start - m.Offset
	if d.Namer != nil && len(l.Lines) == 0 && l.Mapping != nil {
		d.name(l)
	}
	return nil
}

// restOfMapping reads the part behind a record's lines into m, and returns the bits of FlatMapping.Has. The file is often `likely`.
func (d *RecordDecoder) restOfMapping(r *recordReader, m *pprof.Mapping, likely string) (has uint64) {
	m.File += d.text(r.bytes(), likely)
	m.Start = r.uvarint()
	m.Limit = m.Start + r.uvarint()
	m.Offset = r.uvarint()
	has = r.uvarint()
	m.HasFunctions, m.HasFilenames = has&HasFunctions != 0, has&HasFilenames != 0
	m.HasLineNumbers, m.HasInlineFrames = has&HasLineNumbers != 0, has&HasInlineFrames != 0
	return has
}

// shared returns a mapping equal to m. It returns last if that is equal.
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

// linesAtOnce is the number of lines for which a decoder of many records makes room.
const linesAtOnce = 128

// room returns n lines. It reuses the memory of used if that suffices.
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

// line decodes a line. A decoder of many records looks the function up once, and shares the texts of its
// first line.
func (d *RecordDecoder) line(r *recordReader, ln *RecordLine) {
	ln.NoFunction = r.uvarint() == 0
	name, system, file := r.bytes(), r.bytes(), r.bytes()
	ln.StartLine, ln.Line, ln.Column = r.varint(), r.varint(), r.varint()
	if d.functions == nil {
		ln.Function, ln.File = mended(string(name)), mended(string(file))
		ln.Shown = Demangled(ln.Function)
	} else if !r.bad {
		setFunction(d, ln, name, file)
	}
	ln.SystemName = d.text(system, ln.Function)
}

// text returns bytes as a text. It returns likely if the text equals that.
func (d *RecordDecoder) text(b []byte, likely string) string {
	if string(b) == likely {
		return likely
	}
	if len(b) == 0 {
		return ""
	}
	if s, ok := d.texts[string(b)]; ok {
		return s
	}
	s := mended(string(b))
	if d.texts != nil {
		d.texts[string(b)] = s
	}
	return s
}

// setFunction makes a function that of a line. A function is new once.
func setFunction[T string | []byte](d *RecordDecoder, ln *RecordLine, name, file T) {
	d.named[functionOf(d, name, file)].setLine(ln)
}

// functionOf returns the index in named of a function.
func functionOf[T string | []byte](d *RecordDecoder, name, file T) uint32 {
	d.key = appendFunctionKey(d.key[:0], name, file)
	at, known := d.functions[string(d.key)]
	if !known {
		at = d.function(string(d.key), len(name), len(file))
	}
	return at
}

// setLine makes the function that of a line.
func (f *namedFunction) setLine(ln *RecordLine) {
	ln.Function, ln.File, ln.Shown, ln.Number = f.name, f.file, f.shown, f.number
}

// function adds the function with a key, which ends in a name and a file of these lengths. It returns the index in named.
func (d *RecordDecoder) function(key string, name, file int) uint32 {
	at := uint32(len(d.named))
	texts := key[len(key)-name-file:]
	f := namedFunction{name: mended(texts[:name]), file: mended(texts[name:]), number: at + 1}
	f.shown = Demangled(f.name)
	d.key = appendFunctionKey(d.key[:0], f.shown, f.file)
	if number, known := d.demangled[string(d.key)]; known {
		f.number = number
	} else if f.shown != texts[:name] {
		if same, known := d.functions[string(d.key)]; known {
			f.number = d.named[same].number
		}
		if d.demangled == nil {
			d.demangled = map[string]uint32{}
		}
		d.demangled[string(d.key)] = f.number
	}
	d.functions[key], d.named = at, append(d.named, f)
	return at
}

// leastLine is the least number of bytes of a line, because numbers and empty texts take a byte each.
const leastLine = 7

// recordReader reads a record's parts by their place. After malformed bytes all parts are empty.
type recordReader struct {
	record []byte
	at     int
	bad    bool
}

// left returns the number of bytes behind the place.
func (r *recordReader) left() int { return len(r.record) - r.at }

// done reports whether all parts were read, and nothing is left.
func (r *recordReader) done() bool { return !r.bad && r.left() == 0 }

func (r *recordReader) uvarint() uint64 {
	if r.at < len(r.record) {
		if b := r.record[r.at]; b < 0x80 {
			r.at++
			return uint64(b)
		}
	}
	v, n := binary.Uvarint(r.record[r.at:])
	if n <= 0 {
		r.bad, r.at = true, len(r.record)
		return 0
	}
	r.at += n
	return v
}

func (r *recordReader) varint() int64 {
	v := r.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

// text returns where a text begins and ends.
func (r *recordReader) text() (from, to int) {
	n := r.uvarint()
	if n > uint64(r.left()) {
		r.bad, r.at = true, len(r.record)
		return r.at, r.at
	}
	from = r.at
	r.at += int(n)
	return from, r.at
}

// bytes returns a text's bytes, which are the record's.
func (r *recordReader) bytes() []byte {
	from, to := r.text()
	return r.record[from:to]
}

// skipMapping reads the start, the size, the offset and the bits of a mapping.
func (r *recordReader) skipMapping() {
	for range 4 {
		r.uvarint()
	}
}

// AppendNames appends the names of the lines of a record to dst. It returns false for an empty or
// malformed record. It allocates nothing except to grow dst.
func AppendNames(dst [][]byte, record []byte) (names [][]byte, ok bool) {
	r := recordReader{record: record}
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
	r.skipMapping()
	return dst, r.done()
}
