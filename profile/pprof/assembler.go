package pprof

import (
	"slices"

	pprof "github.com/google/pprof/profile"
)

// Assembler adds locations to a profile of google/pprof, and each of their mappings and functions once.
// It belongs to one goroutine.
type Assembler struct {
	out       *pprof.Profile
	locations map[*LocationRecord]*pprof.Location
	mappings  map[pprof.Mapping]*pprof.Mapping // keyed by the mapping moved to address 0
	program   *pprof.Mapping
	functions map[pprof.Function]*pprof.Function
	bytes     int
}

// Bytes of a location with a line, of a function without its texts, and for each byte of these: as they are read, in two
// tables, and encoded in buffers that double.
const (
	locationBytes = 400
	functionBytes = 200
	textFactor    = 12
)

// Bytes returns the approximate bytes of the locations and functions, with those of their encoding.
func (a *Assembler) Bytes() int { return a.bytes }

// NewAssembler returns an assembler for a profile without locations.
func NewAssembler(out *pprof.Profile) *Assembler {
	return &Assembler{
		out:       out,
		locations: map[*LocationRecord]*pprof.Location{},
		mappings:  map[pprof.Mapping]*pprof.Mapping{},
		functions: map[pprof.Function]*pprof.Function{},
	}
}

// Location returns a record's location. The same pointer gives the same location.
func (a *Assembler) Location(from *LocationRecord) *pprof.Location {
	if l := a.locations[from]; l != nil {
		return l
	}
	l := &pprof.Location{ID: uint64(len(a.out.Location) + 1), Address: from.Address, IsFolded: from.Folded}
	if from.Mapping != nil {
		l.Mapping = a.mapping(from.Mapping)
		l.Address += l.Mapping.Start - from.Mapping.Start
		if from.Program {
			a.program = l.Mapping
		}
	}
	for _, ln := range from.Lines {
		out := pprof.Line{Line: ln.Line, Column: ln.Column}
		if !ln.NoFunction {
			out.Function = a.function(pprof.Function{Name: ln.Function, SystemName: ln.SystemName, Filename: ln.File, StartLine: ln.StartLine})
		}
		l.Line = append(l.Line, out)
	}
	a.bytes += locationBytes
	a.locations[from] = l
	a.out.Location = append(a.out.Location, l)
	return l
}

// mapping returns the output's mapping for m. Processes map a binary at different addresses; the output
// has the addresses of the first process.
func (a *Assembler) mapping(m *pprof.Mapping) *pprof.Mapping {
	key := *m
	key.Limit -= key.Start
	key.Start = 0
	out := a.mappings[key]
	if out == nil {
		clone := *m
		out = &clone
		a.mappings[key] = out
		out.ID = uint64(len(a.out.Mapping) + 1)
		a.out.Mapping = append(a.out.Mapping, out)
	}
	return out
}

// ProgramFirst moves the mapping of the program to the front, where pprof expects it.
func (a *Assembler) ProgramFirst() {
	slices.SortStableFunc(a.out.Mapping, func(x, y *pprof.Mapping) int {
		switch {
		case x == a.program && y != a.program:
			return -1
		case y == a.program && x != a.program:
			return 1
		}
		return 0
	})
	for i, m := range a.out.Mapping {
		m.ID = uint64(i + 1)
	}
}

func (a *Assembler) function(f pprof.Function) *pprof.Function {
	out := a.functions[f]
	if out == nil {
		out = &f
		a.bytes += functionBytes + textFactor*(len(f.Name)+len(f.SystemName)+len(f.Filename))
		a.functions[f] = out
		out.ID = uint64(len(a.out.Function) + 1)
		a.out.Function = append(a.out.Function, out)
	}
	return out
}
