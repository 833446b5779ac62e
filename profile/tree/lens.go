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
	ByFunction Granularity = iota
	ByLine                 // a line of a function
	ByFile                 // a source file; functions without one are taken by their binary
	ByPackage              // a package, as PackageOf has it
	ByBinary               // the file of a binary
)

var granularities = []string{ByFunction: "function", ByLine: "line", ByFile: "file", ByPackage: "package", ByBinary: "binary"}

// String returns the name of a granularity.
func (g Granularity) String() string { return granularities[g] }

// ParseGranularity returns the granularity with a name. "" is ByFunction.
func ParseGranularity(name string) (g Granularity, ok bool) {
	if name == "" {
		return ByFunction, true
	}
	i := slices.Index(granularities, name)
	return Granularity(max(i, 0)), i >= 0
}

// Lens is a way to read stacks: what their frames stand for, and what is above them. The zero value
// changes nothing.
type Lens struct {
	By Granularity
	// Fold merges a frame with its caller if both are of one function. Frames of files, packages and
	// binaries always merge so: a call within a package is no frame.
	Fold bool
	// Root is the name of a frame above all stacks, or below their leaves if FromLeaf is set; "" is none.
	Root     string
	FromLeaf bool
}

// Of returns the stacks as the lens has them, which costs a look at each frame, and a name for each line.
func (r Lens) Of(stacks StackList) StackList {
	if r == (Lens{}) {
		return stacks
	}
	return &lensStacks{stacks, r}
}

// lensStacks are stacks in a lens.
type lensStacks struct {
	StackList
	Lens
}

// Numbered implements StackList. The frames keep their numbers, but for a root, which is frame 0.
func (s *lensStacks) Numbered(ctx context.Context, see func(f Frame, function uint32), each func(frames []uint32, shared int, value int64) bool) {
	w := lensWalk{Lens: s.Lens, names: map[lensName]uint32{}}
	if s.Root != "" {
		w.see(Frame{Function: s.Root}, lensName{line: -1}, see)
	}
	s.StackList.Numbered(ctx, func(f Frame, function uint32) {
		name := w.name(&f, function)
		w.see(f, name, see)
	}, func(frames []uint32, shared int, value int64) bool {
		out, shared := w.frames(frames, shared)
		return each(out, shared, value)
	})
}

// lensWalk is the state of one Numbered.
type lensWalk struct {
	Lens
	names     map[lensName]uint32 // numbers of functions in the lens
	functions []uint32            // by frame
	texts     []string            // names of lines, by function
	stacks    int
	out       []uint32
}

// lensName identifies what a frame stands for. A number of a function is that of the stacks plus 1.
type lensName struct {
	function uint32
	line     int64
	file     string
}

// name makes a frame one of the lens, and returns what it stands for.
func (w *lensWalk) name(f *Frame, function uint32) (of lensName) {
	switch w.By {
	case ByFunction:
		return lensName{function: function + 1}
	case ByLine:
		of = lensName{function: function + 1, line: f.Line}
		if number, known := w.names[of]; known {
			f.Function = w.texts[number]
		} else if f.Line != 0 {
			f.Function += ":" + strconv.FormatInt(f.Line, 10)
		}
		return of
	case ByFile:
		*f = Frame{Function: f.File, File: f.File, Mapping: f.Mapping}
		if f.File == "" {
			f.Function = binaryName(f.Mapping)
		}
	case ByPackage:
		*f = Frame{Function: PackageOf(f.Function, f.File), Mapping: f.Mapping}
		if f.Function == "" {
			f.Function = binaryName(f.Mapping)
		}
	case ByBinary:
		*f = Frame{Function: f.Mapping, Mapping: f.Mapping}
		if f.Mapping == "" {
			f.Function = binaryName("")
		}
	}
	return lensName{file: f.Function}
}

// binaryName is the name of what is known by its binary alone, as Frame.Function has it.
func binaryName(mapping string) string {
	if mapping == "" {
		return "<unknown>"
	}
	return "[" + mapping[strings.LastIndexAny(mapping, `/\`)+1:] + "]"
}

// see hands over a frame with the number of its function.
func (w *lensWalk) see(f Frame, of lensName, see func(Frame, uint32)) {
	function, known := w.names[of]
	if !known {
		function = uint32(len(w.texts))
		w.names[of], w.texts = function, append(w.texts, f.Function)
	}
	w.functions = append(w.functions, function)
	see(f, function)
}

// frames returns the frames of a stack in the lens. They are valid until the next call.
func (w *lensWalk) frames(frames []uint32, shared int) (out []uint32, known int) {
	own, folds := uint32(0), w.Fold || w.By >= ByFile
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
