package pprof

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Flat is a profile in the form that rows are built from: slices that refer to each other by index, in
// which each string, mapping, function and location occurs once.
//
// Strings, mappings, functions and locations are identified by their index. Index 0 is the empty string,
// no mapping, no function or no location, like id 0 in the format. The lines of all locations are in one
// slice, in the order of locations, and each location has the end of its lines. The same holds for the
// stacks and sample labels. Each sample has one value per type.
//
// The zero Flat is ready to use, and can be reused for any number of profiles. It is not safe for
// concurrent use.
type Flat struct {
	Strings   []string
	Types     []FlatType
	Period    FlatType
	Preferred string // the sample type to show first
	Time      int64  // Unix nanoseconds; 0 if unknown
	Duration  int64  // nanoseconds
	Every     int64  // the period, in units of its type

	DropFrames, KeepFrames string // patterns for Pruner

	Mappings  []FlatMapping
	Functions []FlatFunction
	Lines     []FlatLine
	Locations []FlatLocation

	Mended int // strings that were not UTF-8, or too long for a value of a label

	Samples []FlatSample
	Stack   []uint32 // locations, leaf first
	Values  []int64  // for each sample, one per type
	Labels  []FlatLabel
}

// FlatType is a sample type or the period type. Both fields are indexes of strings.
type FlatType struct{ Name, Unit uint32 }

// FlatMapping is a mapping. File and BuildID are indexes of strings.
type FlatMapping struct {
	Start, Limit, Offset uint64
	File, BuildID        uint32
	Has                  uint64 // bits such as HasFunctions
}

// Bits of FlatMapping.Has.
const (
	HasFunctions = 1 << iota
	HasFilenames
	HasLineNumbers
	HasInlineFrames
	IsProgram // the first mapping of the profile: the program itself
)

// FlatFunction is a function. Name, SystemName and File are indexes of strings.
type FlatFunction struct {
	Name, SystemName, File uint32
	StartLine              int64
}

// FlatLine is a function at a location. The innermost function comes first.
type FlatLine struct {
	Function     uint64 // an id while the decoder reads the tables
	Line, Column int64
}

// FlatLocation is a location. Lines is the end of its lines in Flat.Lines.
type FlatLocation struct {
	Address uint64
	Mapping uint64 // an id while the decoder reads the tables
	Lines   uint32
	Folded  bool
}

// FlatSample has a sample's ends in Flat.Stack and Flat.Labels.
type FlatSample struct{ Stack, Labels uint32 }

// FlatLabel is a value of a label: a string, or a number with a unit.
type FlatLabel struct {
	Name   uint32
	Text   uint32 // for a number, its unit
	Number int64
	IsText bool
}

// Reset empties f and keeps its memory. It drops the strings, because they would keep the decoded bytes
// alive.
func (f *Flat) Reset() {
	clear(f.Strings)
	*f = Flat{
		Strings: f.Strings[:0], Types: f.Types[:0],
		Mappings: append(f.Mappings[:0], FlatMapping{}), Functions: append(f.Functions[:0], FlatFunction{}),
		Lines: f.Lines[:0], Locations: append(f.Locations[:0], FlatLocation{}),
		Samples: f.Samples[:0], Stack: f.Stack[:0], Values: f.Values[:0], Labels: f.Labels[:0],
	}
}

// Size returns the approximate bytes that f keeps.
func (f *Flat) Size() int {
	return 64*(cap(f.Mappings)+cap(f.Functions)) + 32*(cap(f.Strings)+cap(f.Lines)+cap(f.Locations)+cap(f.Labels)) +
		8*(cap(f.Samples)+cap(f.Stack)+cap(f.Values))
}

// LinesOf returns a location's lines, innermost first.
func (f *Flat) LinesOf(location uint32) []FlatLine {
	return f.Lines[f.Locations[location-1].Lines:f.Locations[location].Lines]
}

// Sample returns the stack, the values and the labels of sample i.
func (f *Flat) Sample(i int) (stack []uint32, values []int64, labels []FlatLabel) {
	var from FlatSample
	if i > 0 {
		from = f.Samples[i-1]
	}
	to := f.Samples[i]
	return f.Stack[from.Stack:to.Stack], f.Values[i*len(f.Types) : (i+1)*len(f.Types)], f.Labels[from.Labels:to.Labels]
}

// mend replaces each run of bytes that are not UTF-8 by U+FFFD, in every string except the patterns, which
// go tool pprof ignores if they are not UTF-8. Programs in Latin-1 and labels with a cut text have such bytes. A store
// that kept them could not answer with them, because strings of protocol buffers and of JSON are UTF-8.
func (f *Flat) mend() {
	for i, s := range f.Strings {
		if !utf8.ValidString(s) {
			f.Strings[i] = mended(s)
			f.Mended++
		}
	}
	f.Preferred = mended(f.Preferred)
}

func mended(s string) string { return strings.ToValidUTF8(s, string(utf8.RuneError)) }

// check refuses profiles without sample types, and profiles with two equal sample types, because their
// values cannot be told apart. It bounds the type names before it compares them.
func (f *Flat) check() error {
	if len(f.Types) == 0 {
		return fmt.Errorf("%w: no sample types", ErrProfile)
	}
	seen := map[[2]string]bool{}
	bytes := 0
	for _, t := range f.Types {
		name, unit := f.Strings[t.Name], f.Strings[t.Unit]
		bytes += len(name) + len(unit) + len(f.Strings[f.Period.Name]) + len(f.Strings[f.Period.Unit])
		if bytes > maxTypeBytes {
			return fmt.Errorf("%w: the names of sample types have more than %d bytes", ErrTooLarge, maxTypeBytes)
		}
		if seen[[2]string{name, unit}] {
			return fmt.Errorf("%w: duplicate sample type %s:%s", ErrProfile, name, unit)
		}
		seen[[2]string{name, unit}] = true
	}
	return nil
}

// bound returns an error if a count exceeds its limit.
func bound(what string, have, most int) error {
	if have > most {
		return fmt.Errorf("%w: %d %s, at most %d", ErrTooLarge, have, what, most)
	}
	return nil
}
