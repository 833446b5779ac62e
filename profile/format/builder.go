package format

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/profile"
)

// Bounds of a profile in memory. An entry of a stack takes 8 bytes, and a location with its function, or a
// label, up to 300.
const (
	maxFrames    = 16 << 20
	maxLocations = 1 << 20
	maxTexts     = 1 << 20
)

// sampleBuilder makes a profile in memory, within the limits. Samples with the same stack
// and labels are one, because profilers write each sample on its own and a row for each is dear.
type sampleBuilder struct {
	places
	hints     Hints
	rootFirst bool // the order of stack

	stack   []*pprof.Location        // of the next sample
	frames  int                      // of all samples
	samples map[string]*pprof.Sample // by key
	labels  map[string]*labels
	key     []byte
}

// places makes the locations of a profile, with their functions and mappings. Equal frames share a location.
type places struct {
	to        *pprof.Profile // outlives the maps
	locations map[locationKey]*pprof.Location
	functions map[[2]string]*function   // by name and file
	mappings  map[string]*pprof.Mapping // by file
}

func newPlaces(to *pprof.Profile) places {
	return places{to: to, locations: map[locationKey]*pprof.Location{}, functions: map[[2]string]*function{}, mappings: map[string]*pprof.Mapping{}}
}

// locationKey is a location that is not a function alone.
type locationKey struct {
	function     *function // nil: none
	mapping      *pprof.Mapping
	line, column int64
	address      uint64
}

// function is a function, with the location that is the function alone, as most are in formats without addresses.
type function struct {
	*pprof.Function
	alone *pprof.Location
}

// stackFrame is a place in a program.
type stackFrame struct {
	function, file, mapping string
	line, column            int64
	address                 uint64
	bare                    bool // without a function
}

// labels are the labels of one or more samples.
type labels struct {
	id      uint64
	text    map[string][]string
	numbers map[string][]int64
}

// newBuilder returns a builder of a profile with sample types: names and units in turn.
func newBuilder(h Hints, types ...string) *sampleBuilder {
	return &sampleBuilder{
		places: newPlaces(&pprof.Profile{SampleType: typesOf(types...)}), hints: h,
		samples: map[string]*pprof.Sample{}, labels: map[string]*labels{},
	}
}

// typesOf returns sample types from names and units in turn.
func typesOf(types ...string) (all []*pprof.ValueType) {
	for pair := range slices.Chunk(types, 2) {
		all = append(all, &pprof.ValueType{Type: pair[0], Unit: pair[1]})
	}
	return all
}

// push adds a frame to the stack of the next sample.
func (b *sampleBuilder) push(f stackFrame) error {
	if depth := len(b.stack); depth == b.hints.Limits.Depth {
		return fmt.Errorf("%w: a stack of more than %d functions", profile.ErrTooLarge, depth)
	}
	l := b.location(&f)
	if l.ID > maxLocations {
		return fmt.Errorf("%w: more than %d functions or addresses", profile.ErrTooLarge, maxLocations)
	}
	b.stack = append(b.stack, l)
	return nil
}

// location returns the location of a frame.
func (b *places) location(f *stackFrame) *pprof.Location {
	var of *function
	if !f.bare {
		of = b.function(f.function, f.file)
	}
	isAlone := of != nil && f.mapping == "" && f.line|f.column == 0 && f.address == 0
	if isAlone && of.alone != nil {
		return of.alone
	}
	at := locationKey{of, b.mapping(f), f.line, f.column, f.address}
	l := b.locations[at]
	if l != nil {
		return l
	}
	l = &pprof.Location{ID: uint64(len(b.to.Location) + 1), Address: f.address, Mapping: at.mapping}
	b.to.Location = append(b.to.Location, l)
	if of != nil {
		l.Line = []pprof.Line{{Function: of.Function, Line: f.line, Column: f.column}}
	}
	if isAlone {
		of.alone = l
	} else {
		b.locations[at] = l
	}
	return l
}

// function returns the function with a name and a file.
func (b *places) function(name, file string) *function {
	f := b.functions[[2]string{name, file}]
	if f == nil {
		f = &function{Function: &pprof.Function{ID: uint64(len(b.to.Function) + 1), Name: name, SystemName: name, Filename: file}}
		b.functions[[2]string{name, file}], b.to.Function = f, append(b.to.Function, f.Function)
	}
	return f
}

// mapping returns a frame's mapping, or nil. Once it has functions, go tool pprof does not look for them.
func (b *places) mapping(f *stackFrame) *pprof.Mapping {
	if f.mapping == "" {
		return nil
	}
	m := b.mappings[f.mapping]
	if m == nil {
		m = &pprof.Mapping{ID: uint64(len(b.to.Mapping) + 1), File: f.mapping}
		b.mappings[f.mapping], b.to.Mapping = m, append(b.to.Mapping, m)
	}
	m.HasFunctions = m.HasFunctions || !f.bare
	return m
}

// labelsOf returns the labels of a key, which read returns when the key comes first.
func (b *sampleBuilder) labelsOf(key string, read func(*labels) error) (*labels, error) {
	l := b.labels[key]
	if l == nil {
		if len(b.labels) == maxTexts {
			return nil, fmt.Errorf("%w: more than %d sets of labels", profile.ErrTooLarge, maxTexts)
		}
		l = &labels{id: uint64(len(b.labels) + 1)}
		if err := read(l); err != nil {
			return nil, err
		}
		b.labels[key] = l
	}
	return l, nil
}

// sample returns the sample of the stack with labels, which may be nil. Its values are 0 when it comes first.
func (b *sampleBuilder) sample(of *labels) (*pprof.Sample, error) {
	if b.frames += len(b.stack); b.frames > maxFrames {
		return nil, fmt.Errorf("%w: more than %d functions in all stacks", profile.ErrTooLarge, maxFrames)
	}
	if of == nil {
		of = &labels{}
	}
	b.key = binary.AppendUvarint(b.key[:0], of.id)
	for _, l := range b.stack {
		b.key = binary.AppendUvarint(b.key, l.ID)
	}
	s := b.samples[string(b.key)]
	if s != nil {
		return s, nil
	}
	if len(b.to.Sample) == b.hints.Limits.Samples {
		return nil, fmt.Errorf("%w: more than %d samples", profile.ErrTooLarge, len(b.to.Sample))
	}
	s = &pprof.Sample{Value: make([]int64, len(b.to.SampleType)), Location: slices.Clone(b.stack), Label: of.text, NumLabel: of.numbers}
	if b.rootFirst {
		slices.Reverse(s.Location)
	}
	b.samples[string(b.key)], b.to.Sample = s, append(b.to.Sample, s)
	return s, nil
}

// frameBytes is what an entry of a stack takes in the profile and while that is inserted.
const frameBytes = 32

// count adds v to the value, for a type, of the sample of the stack with labels.
func (b *sampleBuilder) count(of *labels, typ int, v int64) error {
	s, err := b.sample(of)
	if err != nil {
		return err
	}
	return addValue(s, typ, v)
}

// expand takes memory for the stack of the next sample, in formats that do not write each stack out.
func (b *sampleBuilder) expand() error {
	if b.hints.Take == nil {
		return nil
	}
	return b.hints.Take(int64(len(b.stack)) * frameBytes)
}

// addValue adds v to the value of a sample for a type. In formats that tell types as they come, a sample has no value
// for a later one until it needs it or the profile is done.
func addValue(s *pprof.Sample, of int, v int64) error {
	if lacking := of + 1 - len(s.Value); lacking > 0 {
		s.Value = append(s.Value, make([]int64, lacking)...)
	}
	return addTo(&s.Value[of], v)
}

// done returns the profile, whose samples have a value for each type.
func (b *sampleBuilder) done() *pprof.Profile {
	for _, s := range b.to.Sample {
		s.Value = append(s.Value, make([]int64, len(b.to.SampleType)-len(s.Value))...)
	}
	return b.to
}

// addTo adds v to a value of a sample.
func addTo(value *int64, v int64) error {
	if v > 0 && *value > math.MaxInt64-v || v < 0 && *value < math.MinInt64-v {
		return invalid("a sum of more than 64 bits")
	}
	*value += v
	return nil
}
