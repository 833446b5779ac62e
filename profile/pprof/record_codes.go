package pprof

import (
	"fmt"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/encoding/dict"
)

// knownCodes caches a reader's functions, texts and binaries by their codes.
type knownCodes struct {
	from      *dict.RecordReader
	functions map[uint64]uint32 // index in named, by the codes of a name and of a file
	recent    [1 << recentCodes]recentFunction
	texts     map[uint32]string // by code
	binaries  map[uint32]knownBinary
	last      uint32 // code of binary
	binary    knownBinary
}

const recentCodes = 10

// recentFunction is the function of a recent line. Its place is a hash of its codes. Most lines have the same few hundred
// functions.
type recentFunction struct {
	codes uint64
	at    uint32 // index in named, plus 1
}

// knownBinary is the decoded text of a binary.
type knownBinary struct {
	mapping           *pprof.Mapping // nil for none
	shift             uint64         // the address in a process, minus the address in the file
	isFolded, program bool
}

// DecodeElement decodes the record of an element as Decode does, and reports whether there is one. d comes from
// NewRecordDecoder. A location that is kept as codes costs about 30 ns, and as much for each line; each function and each
// binary costs as much as in Decode at the first time. The decoder forgets a reader's codes when it gets another reader.
func (d *RecordDecoder) DecodeElement(l *LocationRecord, from *dict.RecordReader, element uint32) (found bool, err error) {
	record, coded := from.Read(element)
	if coded == nil {
		return len(record) > 0, d.Decode(l, record)
	}
	lines := l.Lines
	*l = LocationRecord{}
	c := d.codes(from)
	b, err := d.binary(c, coded.Binary)
	if err != nil {
		return true, err
	}
	l.Folded, l.Address = b.isFolded, coded.Address+b.shift
	l.Mapping, l.Program = b.mapping, b.program
	l.Lines = d.room(lines, len(coded.Lines))
	for i := range l.Lines {
		d.codedLine(c, &l.Lines[i], &coded.Lines[i])
	}
	if d.Namer != nil && len(l.Lines) == 0 && l.Mapping != nil {
		d.name(l)
	}
	return true, nil
}

// codes returns the cache of a reader. It is empty for a new one, because codes of two readers differ.
func (d *RecordDecoder) codes(from *dict.RecordReader) *knownCodes {
	if d.known == nil || d.known.from != from {
		d.known = &knownCodes{from: from, functions: map[uint64]uint32{}, texts: map[uint32]string{}, binaries: map[uint32]knownBinary{}}
	}
	return d.known
}

// codedLine sets ln to a line whose texts are codes.
func (d *RecordDecoder) codedLine(c *knownCodes, ln *RecordLine, coded *dict.CodedLine) {
	*ln = RecordLine{NoFunction: !coded.HasFunction, StartLine: coded.StartLine, Line: coded.Line, Column: coded.Column}
	codes := uint64(coded.Function)<<32 | uint64(coded.File)
	const odd = 0x9e3779b97f4a7c15
	recent := &c.recent[codes*odd>>(64-recentCodes)]
	if recent.codes != codes || recent.at == 0 {
		at, known := c.functions[codes]
		if !known {
			at = functionOf(d, c.from.Text(coded.Function), c.from.Text(coded.File))
			c.functions[codes] = at
		}
		*recent = recentFunction{codes, at + 1}
	}
	d.named[recent.at-1].setLine(ln)
	switch coded.SystemName {
	case 0:
	case coded.Function:
		ln.SystemName = ln.Function
	default:
		ln.SystemName = d.codedText(c, coded.SystemName)
	}
}

// codedText returns the text with a code.
func (d *RecordDecoder) codedText(c *knownCodes, code uint32) string {
	text, known := c.texts[code]
	if !known {
		text = d.text(c.from.Text(code), "")
		c.texts[code] = text
	}
	return text
}

// binary returns the binary that the text with a code describes. The error wraps ErrLocation.
func (d *RecordDecoder) binary(c *knownCodes, code uint32) (knownBinary, error) {
	if code == c.last {
		return c.binary, nil
	}
	b, known := c.binaries[code]
	if !known {
		var err error
		if b, err = d.newBinary(c.from.Text(code)); err != nil {
			return b, err
		}
		c.binaries[code] = b
	}
	c.last, c.binary = code, b
	return b, nil
}

// newBinary reads the text of a binary.
func (d *RecordDecoder) newBinary(text []byte) (b knownBinary, err error) {
	r := recordReader{record: text}
	flags := r.uvarint()
	m := pprof.Mapping{BuildID: d.text(r.bytes(), ""), File: d.text(r.bytes(), "")}
	has := d.restOfMapping(&r, &m, "")
	if !r.done() {
		return b, fmt.Errorf("%w: its binary is described by %d bytes", ErrLocation, len(text))
	}
	b.isFolded, b.shift = flags&flagFolded != 0, m.Start-m.Offset
	if flags&flagMapping != 0 {
		b.mapping, b.program = &m, has&IsProgram != 0
	}
	return b, nil
}
