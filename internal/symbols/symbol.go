package symbols

import (
	"bytes"
	"slices"
	"unicode/utf8"

	codec "github.com/granarydb/granary/profile/pprof"
)

// Symbol is a location with the functions of its frames.
type Symbol struct {
	codec.LocationRecord
	Functions []uint32  // by frame: the index in Resolver.Functions
	one       [1]uint32 // memory of Functions for one frame
	hidden    bool      // no frame is left
}

// Of returns a record's symbol, without the numbers of its functions.
func Of(l *codec.LocationRecord) *Symbol { return &Symbol{LocationRecord: *l} }

// Frames returns a location's number of frames, at least 1.
func (y *Symbol) Frames() int { return max(1, len(y.Lines)) }

// Name returns the name of a frame's function. Frame 0 is the innermost.
func (y *Symbol) Name(frame int) string {
	if len(y.Lines) == 0 || y.Lines[frame].Function == "" {
		return y.Unnamed()
	}
	return y.Lines[frame].Shown
}

// file returns a frame's file.
func (y *Symbol) file(frame int) string {
	if len(y.Lines) == 0 {
		return ""
	}
	return y.Lines[frame].File
}

// Frame returns a frame. Frame 0 is the innermost.
func (y *Symbol) Frame(i int) FrameText {
	f := FrameText{Function: y.Name(i), File: y.file(i)}
	f.Mapping, _, _ = y.Place()
	if len(y.Lines) > 0 {
		f.Line, f.Inlined = y.Lines[i].Line, i < len(y.Lines)-1
	}
	return f
}

// Place returns the file and build id of a location's binary, and the address in that file. Without a
// binary, the address is in the process.
func (y *Symbol) Place() (file, buildID string, address uint64) {
	m := y.Mapping
	if m == nil {
		return "", "", y.Address
	}
	return m.File, m.BuildID, y.Address - m.Start + m.Offset
}

// AppendNames appends the names of a record's functions to dst, in the form of frames. The names share the
// record's memory, unless a function has no name or a mangled one, or the record is malformed. namer, if not nil, names
// addresses.
func AppendNames(dst [][]byte, record []byte, namer codec.Namer) [][]byte {
	start := len(dst)
	dst, ok := codec.AppendNames(dst, record)
	if ok && len(dst) > start && !slices.ContainsFunc(dst[start:], func(name []byte) bool { return len(name) == 0 }) {
		for i, name := range dst[start:] {
			dst[start+i] = shownName(name)
		}
		return dst
	}
	l, decoder := &codec.LocationRecord{}, codec.RecordDecoder{Namer: namer}
	if err := decoder.Decode(l, record); err != nil {
		l = &codec.LocationRecord{}
	}
	y := Of(l)
	dst = dst[:start]
	for i := range y.Frames() {
		dst = append(dst, []byte(y.Name(i)))
	}
	return dst
}

// shownName returns a name as frames have it: demangled, and mended if it is of an older store, or damaged.
func shownName(name []byte) []byte {
	if !utf8.Valid(name) {
		name = bytes.ToValidUTF8(name, []byte(string(utf8.RuneError)))
	}
	return codec.DemangledBytes(name)
}
