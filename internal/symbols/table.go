package symbols

import (
	"sync"
	"sync/atomic"

	"github.com/granarydb/granary/encoding/dict"
	codec "github.com/granarydb/granary/profile/pprof"
)

// FrameText is a frame with its texts: a call of a function at a location.
type FrameText struct {
	// Function is the function's name, or the binary's in brackets.
	Function string
	File     string
	Line     int64
	Inlined  bool   // into its caller
	Mapping  string // file of the binary
}

// frameTable has the frames of a dictionary's locations, so that a record is decoded once for many answers. It is kept beside the
// dictionary, and is safe for concurrent use.
//
//	ends        2     3     3        by location: the number of frames up to its end. The third has none here
//	frames   f0 f1    f2             with numbers of functions, and of binaries
//	functions   by number
//
// A location without a valid record, or without lines, has no frames in the table: what its frames are can change
// while a dictionary lives.
type frameTable struct {
	mu    sync.Mutex // held while the table grows
	known atomic.Pointer[tableFrames]
}

// tableFrames is a version of a table. It is immutable: the next one appends behind its slices' ends.
type tableFrames struct {
	ends      []uint32
	frames    []tableFrame
	functions []FunctionID
	binaries  []string
	bytes     int
}

// tableFrame is a frame in a table.
type tableFrame struct {
	line     int64
	function uint32
	binary   uint32 // times 2, plus 1 for an inlined function
}

// mostTable bounds the bytes of a table. A dictionary with more symbols has none, and its records are decoded for each answer.
const mostTable = 32 << 20

// tableOf returns the frames of all present locations of a dictionary, or nil if they exceed mostTable. It costs 400 ns for each new
// location, and nothing without one.
func tableOf(d *dict.Lists) *tableFrames {
	beside := d.Beside()
	if beside.Load() == nil {
		beside.CompareAndSwap(nil, &frameTable{})
	}
	t := beside.Load().(*frameTable)
	n := d.Elements()
	known := t.known.Load()
	if known == nil || len(known.ends) < n {
		known = t.grow(d, n)
	}
	if known.bytes > mostTable {
		return nil
	}
	return known
}

// grow decodes the locations up to n that the table lacks, and returns the new version.
func (t *frameTable) grow(d *dict.Lists, n int) *tableFrames {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := t.known.Load()
	if last == nil {
		last = &tableFrames{}
	}
	if len(last.ends) >= n || last.bytes > mostTable {
		return last
	}
	next := *last
	b := tableBuilder{tableFrames: &next, of: codec.NewRecordDecoder(), functionOf: map[FunctionID]uint32{}, binaryOf: map[string]uint32{}}
	for i, f := range next.functions {
		b.functionOf[f] = uint32(i)
	}
	for i, name := range next.binaries {
		b.binaryOf[name] = uint32(i)
	}
	for reader := d.View().RecordReader(); len(next.ends) < n && next.bytes <= mostTable; {
		b.add(reader, uint32(len(next.ends)+1))
	}
	if next.bytes > mostTable { // it is kept to say so
		next = tableFrames{bytes: next.bytes}
	}
	t.known.Store(&next)
	return &next
}

// tableBuilder appends locations to a table.
type tableBuilder struct {
	*tableFrames
	of         *codec.RecordDecoder
	symbol     Symbol
	functionOf map[FunctionID]uint32
	binaryOf   map[string]uint32
}

// Bytes of a location, a frame, and a function or a binary without its text, in slices that can be half empty.
const (
	tableEnd      = 8
	tableFrameOwn = 32
	tableName     = 64
)

// add adds the location of an element, which is the next.
func (b *tableBuilder) add(from *dict.RecordReader, element uint32) {
	y := &b.symbol
	if _, err := b.of.DecodeElement(&y.LocationRecord, from, element); err == nil && len(y.Lines) > 0 {
		binary, _, _ := y.Place()
		for i := range y.Lines {
			f := tableFrame{line: y.Lines[i].Line, function: b.function(FunctionID{y.Name(i), y.file(i)}), binary: 2 * b.binary(binary)}
			if i < len(y.Lines)-1 {
				f.binary++
			}
			b.frames = append(b.frames, f)
		}
		b.bytes += tableFrameOwn * len(y.Lines)
	}
	b.ends = append(b.ends, uint32(len(b.frames)))
	b.bytes += tableEnd
}

func (b *tableBuilder) function(of FunctionID) uint32 {
	n, known := b.functionOf[of]
	if !known {
		n = uint32(len(b.functions))
		b.functionOf[of], b.functions = n, append(b.functions, of)
		b.bytes += tableName + len(of.Name) + len(of.File)
	}
	return n
}

func (b *tableBuilder) binary(name string) uint32 {
	n, known := b.binaryOf[name]
	if !known {
		n = uint32(len(b.binaries))
		b.binaryOf[name], b.binaries = n, append(b.binaries, name)
		b.bytes += tableName + len(name)
	}
	return n
}

// of returns the frames of a location, innermost first. There are none if the table does not know them.
func (t *tableFrames) of(location uint32) []tableFrame {
	if t == nil || int(location) > len(t.ends) {
		return nil
	}
	first := uint32(0)
	if location > 1 {
		first = t.ends[location-2]
	}
	return t.frames[first:t.ends[location-1]]
}

// frame returns a frame.
func (t *tableFrames) frame(f tableFrame) FrameText {
	of := &t.functions[f.function]
	return FrameText{Function: of.Name, File: of.File, Line: f.line, Inlined: f.binary%2 == 1, Mapping: t.binaries[f.binary/2]}
}
