package pprof

import (
	pprof "github.com/google/pprof/profile"
	"github.com/google/uuid"
)

// Namer returns the lines at an address in a mapping that a profile has no lines for, innermost first, or none. Of a line it
// sets NoFunction, Function, SystemName, File, StartLine and Line. It does not change the mapping, and is safe for concurrent
// use.
type Namer func(m *pprof.Mapping, address uint64) []RecordLine

// maxNamed bounds the lines at an address that are taken from a Namer, and their texts.
const (
	maxNamed     = 256
	maxNamedText = 64 << 10
)

// linesAt returns the namer's lines at an address, within bounds.
func (of Namer) linesAt(m *pprof.Mapping, address uint64) []RecordLine {
	lines := of(m, address)
	lines = lines[:min(len(lines), maxNamed)]
	for i := range lines {
		ln := &lines[i]
		for _, text := range []*string{&ln.Function, &ln.SystemName, &ln.File} {
			*text = mended((*text)[:min(len(*text), maxNamedText)])
		}
	}
	return lines
}

// name gives a location without lines those of the decoder's Namer.
func (d *RecordDecoder) name(l *LocationRecord) {
	named := d.Namer.linesAt(l.Mapping, l.Address)
	l.Lines = d.room(nil, len(named))
	for i := range l.Lines {
		ln := &l.Lines[i]
		if *ln = named[i]; d.functions == nil {
			ln.Shown = Demangled(ln.Function)
			continue
		}
		setFunction(d, ln, ln.Function, ln.File)
	}
}

// Name gives the locations without lines those of a Namer. It names no more when a table would exceed its bound.
func (f *Flat) Name(of Namer) {
	if !f.hasBareLocation() {
		return
	}
	n := flatNamer{Flat: f, of: of, strings: map[string]uint32{}, functions: map[FlatFunction]uint64{}, mappings: map[uint64]*pprof.Mapping{}}
	lines, begin := make([]FlatLine, 0, len(f.Lines)+len(f.Locations)), uint32(0)
	for i := range f.Locations[1:] {
		l := &f.Locations[i+1]
		own := f.Lines[begin:l.Lines]
		begin = l.Lines
		if lines = append(lines, own...); len(own) == 0 && l.Mapping != 0 {
			lines = n.name(lines, l)
		}
		l.Lines = uint32(len(lines))
	}
	f.Lines = lines
}

func (f *Flat) hasBareLocation() bool {
	for i := range f.Locations[1:] {
		if f.Locations[i+1].Mapping != 0 && f.Locations[i].Lines == f.Locations[i+1].Lines {
			return true
		}
	}
	return false
}

// flatNamer adds functions to a flat profile, each once.
type flatNamer struct {
	*Flat
	of        Namer
	strings   map[string]uint32
	functions map[FlatFunction]uint64
	mappings  map[uint64]*pprof.Mapping
}

// name appends the lines of a location.
func (n *flatNamer) name(lines []FlatLine, l *FlatLocation) []FlatLine {
	at := &n.Mappings[l.Mapping]
	m := n.mappings[l.Mapping]
	if m == nil {
		m = &pprof.Mapping{Start: at.Start, Limit: at.Limit, Offset: at.Offset, File: n.Strings[at.File], BuildID: n.Strings[at.BuildID]}
		n.mappings[l.Mapping] = m
	}
	named := n.of.linesAt(m, l.Address)
	if len(lines)+len(named) > maxEntries || len(n.Functions)+len(named) > maxEntries || len(n.Strings)+3*len(named) > maxEntries {
		return lines
	}
	for _, ln := range named {
		lines = append(lines, FlatLine{Function: n.function(&ln), Line: ln.Line})
		at.Has |= HasFunctions | HasFilenames | HasLineNumbers | HasInlineFrames
	}
	return lines
}

func (n *flatNamer) function(ln *RecordLine) uint64 {
	f := FlatFunction{n.text(ln.Function), n.text(ln.SystemName), n.text(ln.File), ln.StartLine}
	i, known := n.functions[f]
	if !known {
		i = uint64(len(n.Functions))
		n.functions[f], n.Functions = i, append(n.Functions, f)
	}
	return i
}

func (n *flatNamer) text(s string) uint32 {
	if s == "" {
		return 0
	}
	i, known := n.strings[s]
	if !known {
		i = uint32(len(n.Strings))
		n.strings[s], n.Strings = i, append(n.Strings, s)
	}
	return i
}

// NamedRecord returns the record, and its id, of a location with the lines that a namer has for it. The record is nil if the
// location has lines, no binary or no names, or if its record is malformed. It costs 5 us.
func NamedRecord(record []byte, of Namer) (named []byte, id uuid.UUID) {
	l, err := ParseLocation(record)
	if err != nil || len(l.Lines) > 0 || l.Mapping == nil {
		return nil, id
	}
	d := RecordDecoder{Namer: of}
	if d.name(l); len(l.Lines) == 0 {
		return nil, id
	}
	if named, id, err = EncodeLocation(l); err != nil {
		return nil, id
	}
	return named, id
}
