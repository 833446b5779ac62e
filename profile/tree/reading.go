package tree

import (
	"context"
	"slices"
	"strconv"
	"strings"
)

// Granularity is what a frame of a tree or of a table stands for.
type Granularity uint8

// The granularities, from a function on.
const (
	Functions Granularity = iota
	Lines                 // a line of a function
	Files                 // a source file; functions without one are taken by their binary
	Packages              // a package, as PackageOf has it
	Binaries              // the file of a binary
)

var granularities = []string{Functions: "function", Lines: "line", Files: "file", Packages: "package", Binaries: "binary"}

// String returns the name of a granularity.
func (g Granularity) String() string { return granularities[g] }

// ParseGranularity returns the granularity with a name. "" is Functions.
func ParseGranularity(name string) (g Granularity, ok bool) {
	if name == "" {
		return Functions, true
	}
	i := slices.Index(granularities, name)
	return Granularity(max(i, 0)), i >= 0
}

// Reading is a way to read stacks: what their frames stand for, and what is above them. The zero value
// changes nothing.
type Reading struct {
	By Granularity
	// Fold merges a frame with its caller if both are of one function. Frames of files, packages and
	// binaries always merge so: a call within a package is no frame.
	Fold bool
	// Root is the name of a frame above all stacks, or below their leaves if FromLeaf is set; "" is none.
	Root     string
	FromLeaf bool
}

// Of returns the stacks as the reading has them. It costs 3 ns a frame, and for lines a name for each.
func (r Reading) Of(stacks StackList) StackList {
	if r == (Reading{}) {
		return stacks
	}
	return &readStacks{stacks, r}
}

// readStacks are stacks in a reading.
type readStacks struct {
	StackList
	Reading
}

// Numbered implements StackList. The frames keep their numbers, but for a root, which is frame 0.
func (s *readStacks) Numbered(ctx context.Context, see func(f Frame, function uint32), each func(frames []uint32, shared int, value int64) bool) {
	w := readWalk{Reading: s.Reading, names: map[readName]uint32{}}
	if s.Root != "" {
		w.see(Frame{Function: s.Root}, readName{line: -1}, see)
	}
	s.StackList.Numbered(ctx, func(f Frame, function uint32) {
		name := w.name(&f, function)
		w.see(f, name, see)
	}, func(frames []uint32, shared int, value int64) bool {
		out, shared := w.frames(frames, shared)
		return each(out, shared, value)
	})
}

// readWalk is the state of one Numbered.
type readWalk struct {
	Reading
	names     map[readName]uint32 // numbers of functions in the reading
	functions []uint32            // by frame
	texts     []string            // names of lines, by function
	stacks    int
	out       []uint32
}

// readName identifies what a frame stands for. A number of a function is that of the stacks plus 1.
type readName struct {
	function uint32
	line     int64
	file     string
}

// name makes a frame one of the reading, and returns what it stands for.
func (w *readWalk) name(f *Frame, function uint32) (of readName) {
	switch w.By {
	case Functions:
		return readName{function: function + 1}
	case Lines:
		of = readName{function: function + 1, line: f.Line}
		if number, known := w.names[of]; known {
			f.Function = w.texts[number]
		} else if f.Line != 0 {
			f.Function += ":" + strconv.FormatInt(f.Line, 10)
		}
		return of
	case Files:
		*f = Frame{Function: f.File, File: f.File, Mapping: f.Mapping}
		if f.File == "" {
			f.Function = binaryName(f.Mapping)
		}
	case Packages:
		*f = Frame{Function: PackageOf(f.Function, f.File), Mapping: f.Mapping}
		if f.Function == "" {
			f.Function = binaryName(f.Mapping)
		}
	case Binaries:
		*f = Frame{Function: f.Mapping, Mapping: f.Mapping}
		if f.Mapping == "" {
			f.Function = binaryName("")
		}
	}
	return readName{file: f.Function}
}

// binaryName is the name of what is known by its binary alone, as Frame.Function has it.
func binaryName(mapping string) string {
	if mapping == "" {
		return "<unknown>"
	}
	return "[" + mapping[strings.LastIndexAny(mapping, `/\`)+1:] + "]"
}

// see hands over a frame with the number of its function.
func (w *readWalk) see(f Frame, of readName, see func(Frame, uint32)) {
	function, known := w.names[of]
	if !known {
		function = uint32(len(w.texts))
		w.names[of], w.texts = function, append(w.texts, f.Function)
	}
	w.functions = append(w.functions, function)
	see(f, function)
}

// frames returns the frames of a stack in the reading. They are valid until the next call.
func (w *readWalk) frames(frames []uint32, shared int) (out []uint32, known int) {
	own, folds := uint32(0), w.Fold || w.By >= Files
	w.out = w.out[:0]
	if w.Root != "" {
		own = 1
		if w.FromLeaf {
			w.out = append(w.out, 0)
		}
	}
	begin := len(w.out)
	for _, n := range frames {
		n += own
		if last := len(w.out) - 1; folds && last >= begin && w.functions[w.out[last]] == w.functions[n] {
			w.out[last] = n // the caller's frame stays
			continue
		}
		w.out = append(w.out, n)
	}
	if w.Root != "" && !w.FromLeaf {
		w.out = append(w.out, 0)
		shared++
	}
	if w.stacks++; folds || w.stacks == 1 {
		shared = 0 // of the other frames, it is not known how many are left
	}
	return w.out, shared
}

// Found returns the sum of the stacks with a frame whose name matches, and the error of ctx.
func Found(ctx context.Context, stacks StackList, matches func(name string) bool) (total int64, err error) {
	var is []bool      // by frame
	known := []uint8{} // by function: 0 is not known yet, 1 no, 2 yes
	stacks.Numbered(ctx, func(f Frame, function uint32) {
		if more := int(function) + 1 - len(known); more > 0 {
			known = append(known, make([]uint8, more)...)
		}
		if known[function] == 0 {
			if known[function] = 1; matches(f.Function) {
				known[function] = 2
			}
		}
		is = append(is, known[function] == 2)
	}, func(frames []uint32, _ int, value int64) bool {
		if slices.ContainsFunc(frames, func(n uint32) bool { return is[n] }) {
			total += value
		}
		return true
	})
	return total, ctx.Err()
}
