package profile

import (
	"fmt"

	"github.com/granarydb/granary/schema"
)

// flat is a profile as its rows are made from it: a few slices without
// pointers, and what repeats is there once. Both ways in end here: decode for
// bytes, flatten for a profile in memory.
//
// Strings, mappings, functions and locations are known by their index. Index 0
// is the empty string, no mapping, no function, no location, as id 0 is in the
// format. Lines belong to locations, and stacks, values and labels to samples, in
// their order: each says where its own end.
type flat struct {
	strings   []string
	types     []flatType
	period    flatType
	preferred string // the sample type to show first
	time      int64  // Unix nanoseconds; 0 for none
	duration  int64  // nanoseconds
	every     int64  // the period, in units of its type

	mappings  []flatMapping
	functions []flatFunction
	lines     []flatLine
	locations []flatLocation

	samples []flatSample
	stack   []uint32 // locations, leaf first
	values  []int64  // as many as types for each sample
	labels  []flatLabel

	columns labelColumns // that the labels go to
}

type flatType struct{ name, unit uint32 }

type flatMapping struct {
	start, limit, offset uint64
	file, buildID        uint32
	has                  uint64 // what location records say of it, isProgram included
}

type flatFunction struct {
	name, systemName, file uint32
	startLine              int64
}

type flatLine struct {
	function     uint64 // the decoder has an id here until all functions are there
	line, column int64
}

type flatLocation struct {
	address uint64
	mapping uint64 // likewise
	lines   uint32 // end in flat.lines
	folded  bool
}

type flatSample struct{ stack, labels uint32 } // ends in flat.stack and flat.labels

// flatLabel is one value of a label: a string or a number with a unit.
type flatLabel struct {
	name   uint32
	text   uint32 // or, of a number, its unit
	number int64
	isText bool
	column uint32 // index in flat.columns, set by placeLabels
}

// reset empties f and keeps its memory. Strings are dropped: they hold the bytes
// that they were read from.
func (f *flat) reset() {
	clear(f.strings)
	columns := f.columns
	columns.reset()
	*f = flat{
		strings: f.strings[:0], types: f.types[:0],
		mappings: append(f.mappings[:0], flatMapping{}), functions: append(f.functions[:0], flatFunction{}),
		lines: f.lines[:0], locations: append(f.locations[:0], flatLocation{}),
		samples: f.samples[:0], stack: f.stack[:0], values: f.values[:0], labels: f.labels[:0],
		columns: columns,
	}
}

// size returns the bytes of memory that f keeps, about.
func (f *flat) size() int {
	return 64*(cap(f.mappings)+cap(f.functions)) + 32*(cap(f.strings)+cap(f.lines)+cap(f.locations)+cap(f.labels)) +
		8*(cap(f.samples)+cap(f.stack)+cap(f.values))
}

// linesOf returns the lines of a location, the innermost first.
func (f *flat) linesOf(location uint32) []flatLine {
	return f.lines[f.locations[location-1].lines:f.locations[location].lines]
}

// sample returns the stack, the values and the labels of sample i.
func (f *flat) sample(i int) (stack []uint32, values []int64, labels []flatLabel) {
	var from flatSample
	if i > 0 {
		from = f.samples[i-1]
	}
	to := f.samples[i]
	return f.stack[from.stack:to.stack], f.values[i*len(f.types) : (i+1)*len(f.types)], f.labels[from.labels:to.labels]
}

// kind returns the kind of a profile. Without a default sample type the last
// one is shown first, as go tool pprof does.
func (f *flat) kind() Kind {
	k := Kind{Default: len(f.types) - 1}
	for i, t := range f.types {
		typ := Type{f.strings[t.name], f.strings[t.unit], f.strings[f.period.name], f.strings[f.period.unit]}
		k.Types = append(k.Types, typ)
		if typ.Sample == f.preferred && f.preferred != "" {
			k.Default = i
		}
	}
	return k
}

// check holds a profile to what rows need and to the limits on what they expand
// to, before any of it is made (P5). It places the labels.
func (f *flat) check() error {
	if len(f.types) == 0 {
		return fmt.Errorf("%w: it has no sample types", ErrProfile)
	}
	if err := f.checkTypes(); err != nil {
		return err
	}
	if err := f.checkRecords(); err != nil {
		return err
	}
	bytes, err := f.placeLabels()
	if err != nil {
		return err
	}
	rows := len(f.samples) * len(f.types)
	for _, c := range []struct {
		what       string
		have, most int
	}{
		{"bytes of labels", bytes * len(f.types), maxLabelBytes},
		{"labels times rows", len(f.columns.list) * rows, maxLabelCells},
	} {
		if c.have > c.most {
			return fmt.Errorf("%w: %d %s, at most %d", ErrTooLarge, c.have, c.what, c.most)
		}
	}
	return nil
}

// checkTypes finds equal sample types, whose values could not be told apart, and
// bounds the note that is made of them.
func (f *flat) checkTypes() error {
	seen := map[[2]string]bool{}
	bytes := 0
	for _, t := range f.types {
		name, unit := f.strings[t.name], f.strings[t.unit]
		bytes += len(name) + len(unit) + len(f.strings[f.period.name]) + len(f.strings[f.period.unit])
		if bytes > schema.MaxString {
			return fmt.Errorf("%w: the names of its types have more than %d bytes", ErrTooLarge, schema.MaxString)
		}
		if seen[[2]string{name, unit}] {
			return fmt.Errorf("%w: it has the sample type %s:%s twice", ErrProfile, name, unit)
		}
		seen[[2]string{name, unit}] = true
	}
	return nil
}

// checkRecords bounds the records of locations.
func (f *flat) checkRecords() error {
	all := 0
	for i := range f.locations[1:] {
		record := 64
		for _, ln := range f.linesOf(uint32(i + 1)) {
			fn := &f.functions[ln.function]
			record += 32 + len(f.strings[fn.name]) + len(f.strings[fn.systemName]) + len(f.strings[fn.file])
		}
		if record > schema.MaxRecord {
			return fmt.Errorf("%w: the names at address %#x have %d bytes, at most %d", ErrTooLarge, f.locations[i+1].address, record, schema.MaxRecord)
		}
		if all += record; all > maxRecords {
			return fmt.Errorf("%w: more than %d bytes of location names", ErrTooLarge, maxRecords)
		}
	}
	return nil
}

// bound refuses what is more than a limit.
func bound(what string, have, most int) error {
	if have > most {
		return fmt.Errorf("%w: %d %s, at most %d", ErrTooLarge, have, what, most)
	}
	return nil
}
