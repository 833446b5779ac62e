package pprof

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// RecordText is a text that records share, record[Start:End], with a code. It is the type of dict.SharedText.
type RecordText = struct{ Start, End, Code uint32 }

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
	shared []sharedPlace           // by code
}

const recentBits = 11

// sharedPlace is the last text that was found in a shared one: where it begins, its length, and its index plus 1.
type sharedPlace struct{ start, length, index uint32 }

// Append appends the location of a record, and returns its index. texts are the shared texts in the record, in order;
// without them the location is the same, and costs more. An empty record is a location without symbols. The record is
// not kept. The error wraps ErrLocation, and then nothing was appended. A location costs about 100 ns, and 30 ns for
// each line.
func (c *LocationColumns) Append(record []byte, texts []RecordText) (int, error) {
	c.begin()
	n, lines := len(c.Addresses), len(c.Lines)
	r := columnsReader{recordReader: recordReader{record: record}, texts: texts}
	file, build, address := c.read(&r, true)
	if r.bad {
		c.Functions, c.SystemNames, c.SourceFiles = c.Functions[:lines], c.SystemNames[:lines], c.SourceFiles[:lines]
		c.StartLines, c.Lines = c.StartLines[:lines], c.Lines[:lines]
		return 0, fmt.Errorf("%w of %d bytes", ErrLocation, len(record))
	}
	c.Addresses, c.Files, c.BuildIDs = append(withRoom(c.Addresses, 1), address), append(withRoom(c.Files, 1), file), append(withRoom(c.BuildIDs, 1), build)
	c.LineEnds = append(withRoom(c.LineEnds, 1), int32(len(c.Lines)))
	return n, nil
}

// Binary returns the binary of a record's location, as indexes of Texts: its file and its build id, both 0 if it has
// none. It appends nothing to the columns. Parameters and errors are as for Append. It costs about half as much.
func (c *LocationColumns) Binary(record []byte, texts []RecordText) (file, build uint32, err error) {
	c.begin()
	r := columnsReader{recordReader: recordReader{record: record}, texts: texts}
	if file, build, _ = c.read(&r, false); r.bad {
		return 0, 0, fmt.Errorf("%w of %d bytes", ErrLocation, len(record))
	}
	return file, build, nil
}

// Bytes of a location, of a line, and of a text beside its own, in columns and maps that can be half empty.
const (
	columnsLocation = 2 * (8 + 4 + 4 + 4)
	columnsLine     = 2 * (3*4 + 2*8)
	columnsText     = 2 * (16 + 24)
)

// Size returns about the bytes of memory that the columns take.
func (c *LocationColumns) Size() int64 {
	return columnsLocation*int64(len(c.Addresses)) + columnsLine*int64(len(c.Lines)) + c.texts + 12*int64(len(c.shared))
}

// begin makes the zero value ready.
func (c *LocationColumns) begin() {
	if len(c.LineEnds) == 0 {
		c.LineEnds, c.Texts, c.known = append(c.LineEnds, 0), append(c.Texts, ""), map[string]uint32{"": 0}
	}
}

// read reads a whole record. It appends its lines, or skips them.
func (c *LocationColumns) read(r *columnsReader, lines bool) (file, build uint32, address uint64) {
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

func (c *LocationColumns) line(r *columnsReader) {
	r.uvarint() // whether it has a function; without one it has no texts
	c.Functions, c.SystemNames, c.SourceFiles = append(c.Functions, c.text(r)), append(c.SystemNames, c.text(r)), append(c.SourceFiles, c.text(r))
	c.StartLines, c.Lines = append(c.StartLines, r.varint()), append(c.Lines, r.varint())
	r.uvarint() // column
}

// text reads a text, and returns its index.
func (c *LocationColumns) text(r *columnsReader) uint32 {
	from, to := r.text()
	if from == to {
		return 0
	}
	for len(r.texts) > 0 && int(r.texts[0].End) <= from {
		r.texts = r.texts[1:]
	}
	if len(r.texts) == 0 || from < int(r.texts[0].Start) || to > int(r.texts[0].End) {
		return c.index(r.record[from:to])
	}
	t := &r.texts[0]
	for int(t.Code) >= len(c.shared) {
		c.shared = append(c.shared, make([]sharedPlace, max(256, len(c.shared)))...)
	}
	place := &c.shared[t.Code]
	start, length := uint32(from)-t.Start, uint32(to-from)
	if place.index == 0 || place.start != start || place.length != length {
		*place = sharedPlace{start, length, c.index(r.record[from:to]) + 1}
	}
	return place.index - 1
}

// index returns the index in Texts of a text that is not empty.
func (c *LocationColumns) index(text []byte) uint32 {
	recent := &c.recent[recentHash(text)]
	if c.Texts[*recent] != string(text) {
		*recent = c.find(text)
	}
	return *recent
}

// recentHash hashes a text's length, and its ends of eight bytes each.
func recentHash(text []byte) uint64 {
	var first, last uint64
	if n := len(text); n >= 8 {
		first, last = binary.LittleEndian.Uint64(text), binary.LittleEndian.Uint64(text[n-8:])
	} else {
		for _, b := range text {
			first = first<<8 | uint64(b)
		}
	}
	const odd = 0x9e3779b97f4a7c15
	return ((first*odd^last)*odd + uint64(len(text))) * odd >> (64 - recentBits)
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

// columnsReader reads a record whose shared texts are known.
type columnsReader struct {
	recordReader
	texts []RecordText // in order, from the place on
}

func (r *columnsReader) skipLine() {
	r.uvarint()
	for range 3 {
		r.text()
	}
	for range 3 {
		r.uvarint()
	}
}
