package pprof

import (
	"fmt"
	"math"
	"slices"

	"github.com/granarydb/granary/encoding/dict"
)

// LocationColumns is locations as columns, with each distinct text once. It is the form for answers with many locations:
// a location costs a few numbers, and no text of its own. The zero LocationColumns is empty and ready to use. It is not
// safe for concurrent use.
type LocationColumns struct {
	// Texts has the distinct texts of all columns. Columns of texts are indexes of it, and 0 is "". Texts are UTF-8.
	Texts []string

	// Addresses, Files and BuildIDs have an element for each location: the address in the binary's file, the binary's
	// file and its build id. LineEnds has one more: the lines of location i are LineEnds[i] to LineEnds[i+1] of the
	// columns of lines.
	Addresses       []uint64
	Files, BuildIDs []uint32
	LineEnds        []int32

	// Functions, SystemNames, SourceFiles, StartLines and Lines have an element for each line, in each location the
	// innermost function first.
	Functions, SystemNames, SourceFiles []uint32
	StartLines, Lines                   []int64

	expected int   // locations in the end, 0 if that is not known
	most     int64 // bytes of columns that are made in their size

	texts  int64 // bytes of Texts
	known  map[string]uint32
	recent [1 << recentBits]uint32 // indexes of texts that were asked for, by a hash: most texts are the same few thousand

	// The caches of the last reader. codes has 1 more than the index of a text, by its code.
	from     *dict.RecordReader
	codes    []uint32
	binaries map[uint32]binaryOf
	last     uint32 // code of the last binary
	lastOf   binaryOf
}

// binaryOf is the indexes of a binary's file and build id.
type binaryOf struct{ file, build uint32 }

const recentBits = 11

// Append appends the location of an element, and returns its index. An element without a record is a location without
// symbols. The error wraps ErrLocation, and then nothing was appended. A location costs about 50 ns, and 60 ns for each line, if
// the processor's caches do not hold the dictionary. Each of its texts costs more at the first time. The columns forget
// a reader's codes when they get another reader.
func (c *LocationColumns) Append(from *dict.RecordReader, element uint32) (int, error) {
	record, l := from.Read(element)
	if l == nil {
		return c.AppendRecord(record)
	}
	c.begin()
	b, err := c.binary(from, l.Binary)
	if err != nil {
		return 0, err
	}
	c.roomForLines(len(l.Lines))
	for i := range l.Lines {
		ln := &l.Lines[i]
		c.Functions = append(c.Functions, c.code(ln.Function))
		c.SystemNames = append(c.SystemNames, c.code(ln.SystemName))
		c.SourceFiles = append(c.SourceFiles, c.code(ln.File))
		c.StartLines, c.Lines = append(c.StartLines, ln.StartLine), append(c.Lines, ln.Line)
	}
	return c.end(l.Address, b.file, b.build), nil
}

// AppendRecord is Append for a record. It costs several times as much.
func (c *LocationColumns) AppendRecord(record []byte) (int, error) {
	c.begin()
	lines := len(c.Lines)
	r := recordReader{record: record}
	file, build, address := c.read(&r, true)
	if r.bad {
		c.Functions, c.SystemNames, c.SourceFiles = c.Functions[:lines], c.SystemNames[:lines], c.SourceFiles[:lines]
		c.StartLines, c.Lines = c.StartLines[:lines], c.Lines[:lines]
		return 0, fmt.Errorf("%w of %d bytes", ErrLocation, len(record))
	}
	return c.end(address, file, build), nil
}

// end appends a location whose lines are appended, and returns its index.
func (c *LocationColumns) end(address uint64, file, build uint32) int {
	n := len(c.Addresses)
	c.Addresses, c.Files, c.BuildIDs = append(withRoom(c.Addresses, 1), address), append(withRoom(c.Files, 1), file), append(withRoom(c.BuildIDs, 1), build)
	c.LineEnds = append(withRoom(c.LineEnds, 1), int32(len(c.Lines)))
	return n
}

// Binary returns the binary of an element's location, as indexes of Texts: its file and its build id, both 0 if it has
// none. It appends nothing to the columns. Parameters and errors are as for Append. It reads no line of most locations.
func (c *LocationColumns) Binary(from *dict.RecordReader, element uint32) (file, build uint32, err error) {
	c.begin()
	record, code := from.Binary(element)
	if code > 0 {
		b, err := c.binary(from, code)
		return b.file, b.build, err
	}
	r := recordReader{record: record}
	if file, build, _ = c.read(&r, false); r.bad {
		return 0, 0, fmt.Errorf("%w of %d bytes", ErrLocation, len(record))
	}
	return file, build, nil
}

// binary returns the binary that the text with a code describes. The error wraps ErrLocation.
func (c *LocationColumns) binary(from *dict.RecordReader, code uint32) (b binaryOf, err error) {
	if c.from != from {
		c.from, c.binaries, c.last = from, map[uint32]binaryOf{}, 0
		clear(c.codes)
	}
	if code == c.last {
		return c.lastOf, nil
	}
	if b, known := c.binaries[code]; known {
		c.last, c.lastOf = code, b
		return b, nil
	}
	r := recordReader{record: from.Text(code)}
	r.uvarint() // flags
	build, file := c.text(&r), c.text(&r)
	if rest := c.text(&r); build != 0 {
		file = rest
	}
	if r.skipMapping(); !r.done() {
		return b, fmt.Errorf("%w: its binary is described by %d bytes", ErrLocation, len(r.record))
	}
	b = binaryOf{file, build}
	c.binaries[code], c.last, c.lastOf = b, code, b
	return b, nil
}

// code returns the index in Texts of a text of the present reader.
func (c *LocationColumns) code(code uint32) uint32 {
	if int(code) < len(c.codes) && c.codes[code] > 0 {
		return c.codes[code] - 1
	}
	return c.newCode(code)
}

func (c *LocationColumns) newCode(code uint32) (index uint32) {
	if text := c.from.Text(code); len(text) > 0 {
		index = c.index(text)
	}
	c.codes = withCode(c.codes, code)
	c.codes[code] = index + 1
	return index
}

// withCode returns s with an element for a code.
func withCode[T any](s []T, code uint32) []T {
	if n := int(code) + 1 - len(s); n > 0 {
		s = append(s, make([]T, max(n, 256, len(s)))...)
	}
	return s
}

// Bytes of a location, of a line, of a text beside its own, and of a known binary, in columns and maps that can be half empty.
const (
	columnsLocation = 2 * (8 + 4 + 4 + 4)
	columnsLine     = 2 * (3*4 + 2*8)
	columnsText     = 2 * (16 + 24)
	columnsBinary   = 2 * (12 + 8)
)

// Size returns about the bytes of memory that the columns take.
func (c *LocationColumns) Size() int64 {
	return columnsLocation*int64(len(c.Addresses)) + columnsLine*int64(len(c.Lines)) + c.texts + 4*int64(len(c.codes)) + columnsBinary*int64(len(c.binaries))
}

// begin makes the zero value ready.
func (c *LocationColumns) begin() {
	if len(c.LineEnds) == 0 {
		c.LineEnds, c.Texts, c.known = append(c.LineEnds, 0), append(c.Texts, ""), map[string]uint32{"": 0}
	}
}

// read reads a whole record. It appends its lines, or skips them.
func (c *LocationColumns) read(r *recordReader, lines bool) (file, build uint32, address uint64) {
	if len(r.record) == 0 {
		return 0, 0, 0
	}
	r.uvarint() // flags
	build, file, address = c.text(r), c.text(r), r.uvarint()
	n := r.uvarint()
	if lines && n <= uint64(len(r.record)) { // more are an error, which comes below
		c.roomForLines(int(n))
	}
	for ; n > 0 && !r.bad; n-- {
		if lines {
			c.line(r)
		} else {
			r.skipLine()
		}
	}
	if rest := c.text(r); build != 0 {
		file = rest
	}
	r.skipMapping()
	r.bad = !r.done()
	return file, build, address
}

// Expect tells that about n locations are to be appended, so that the columns are made in their size, of at most maxBytes; 0 or less means
// no bound. It changes no answer.
func (c *LocationColumns) Expect(n int, maxBytes int64) {
	c.begin()
	if c.most = math.MaxInt64; maxBytes > 0 {
		c.most = maxBytes
	}
	n = max(0, min(n, int(min(c.most/columnsLocation, math.MaxInt32))))
	c.expected = len(c.Addresses) + n
	c.Addresses, c.Files, c.BuildIDs = slices.Grow(c.Addresses, n), slices.Grow(c.Files, n), slices.Grow(c.BuildIDs, n)
	c.LineEnds = slices.Grow(c.LineEnds, n)
}

// fewLocations do not tell how many lines the others have.
const fewLocations = 1024

// roomForLines gives the columns of lines room for n more: for the lines of all expected locations, as far as the first ones tell.
func (c *LocationColumns) roomForLines(n int) {
	if cap(c.Lines)-len(c.Lines) >= n {
		return
	}
	if done := len(c.Addresses); done >= fewLocations && done < c.expected {
		all := int(float64(len(c.Lines)) / float64(done) * 1.05 * float64(c.expected-done))
		n = max(n, min(all, int(min(c.most/columnsLine, math.MaxInt32))))
	}
	c.Functions, c.SystemNames, c.SourceFiles = withRoom(c.Functions, n), withRoom(c.SystemNames, n), withRoom(c.SourceFiles, n)
	c.StartLines, c.Lines = withRoom(c.StartLines, n), withRoom(c.Lines, n)
}

// withRoom returns s with room for n more elements. It doubles what has none, because append gives a long slice a quarter more, and so
// copies each element about four times.
func withRoom[T any](s []T, n int) []T {
	if cap(s)-len(s) >= n {
		return s
	}
	return slices.Grow(s, max(n, len(s)))
}

func (c *LocationColumns) line(r *recordReader) {
	r.uvarint() // whether it has a function; without one it has no texts
	c.Functions, c.SystemNames, c.SourceFiles = append(c.Functions, c.text(r)), append(c.SystemNames, c.text(r)), append(c.SourceFiles, c.text(r))
	c.StartLines, c.Lines = append(c.StartLines, r.varint()), append(c.Lines, r.varint())
	r.uvarint() // column
}

// text reads a text, and returns its index.
func (c *LocationColumns) text(r *recordReader) uint32 {
	from, to := r.text()
	if from == to {
		return 0
	}
	return c.index(r.record[from:to])
}

// index returns the index in Texts of a text that is not empty.
func (c *LocationColumns) index(text []byte) uint32 {
	recent := &c.recent[dict.TextHash(text)>>(64-recentBits)]
	if c.Texts[*recent] != string(text) {
		*recent = c.find(text)
	}
	return *recent
}

// find is index by the map.
func (c *LocationColumns) find(text []byte) uint32 {
	at, known := c.known[string(text)]
	if !known {
		s := mended(string(text))
		if at, known = c.known[s]; !known {
			at = uint32(len(c.Texts))
			c.Texts, c.known[s] = append(c.Texts, s), at
			c.texts += int64(len(s)) + columnsText
		}
		c.known[string(text)] = at
	}
	return at
}

// skipLine reads a line.
func (r *recordReader) skipLine() {
	r.uvarint()
	for range 3 {
		r.text()
	}
	for range 3 {
		r.uvarint()
	}
}
