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

// sampleBuilder makes a profile in memory, within the limits. Equal frames share a location. Samples with the same stack
// and labels are one, because profilers write each sample on its own and a row for each is dear.
type sampleBuilder struct {
	hints     Hints
	rootFirst bool           // the order of stack
	to        *pprof.Profile // outlives the maps below

	stack     []*pprof.Location              // of the next sample
	frames    int                            // of all samples
	plain     map[[2]string]*pprof.Location  // of frames with only a function and a file, which most are
	locations map[stackFrame]*pprof.Location // of others
	functions map[[2]string]*pprof.Function  // of others, by name and file
	mappings  map[string]*pprof.Mapping      // by file
	samples   map[string]*pprof.Sample       // by key
	labels    map[string]*labels
	key       []byte
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
		hints: h, to: &pprof.Profile{SampleType: typesOf(types...)},
		plain: map[[2]string]*pprof.Location{}, locations: map[stackFrame]*pprof.Location{}, functions: map[[2]string]*pprof.Function{},
		mappings: map[string]*pprof.Mapping{}, samples: map[string]*pprof.Sample{}, labels: map[string]*labels{},
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
	name := [2]string{f.function, f.file}
	isPlain := f == stackFrame{function: f.function, file: f.file}
	l := b.plain[name]
	if !isPlain {
		l = b.locations[f]
	}
	if l == nil {
		if len(b.to.Location) == maxLocations {
			return fmt.Errorf("%w: more than %d functions or addresses", profile.ErrTooLarge, maxLocations)
		}
		l = &pprof.Location{ID: uint64(len(b.to.Location) + 1), Address: f.address, Mapping: b.mapping(f)}
		if !f.bare {
			l.Line = []pprof.Line{{Function: b.function(name, isPlain), Line: f.line, Column: f.column}}
		}
		if b.to.Location = append(b.to.Location, l); isPlain {
			b.plain[name] = l
		} else {
			b.locations[f] = l
		}
	}
	b.stack = append(b.stack, l)
	return nil
}

// function returns the function with a name and a file. A plain one has one location, which is found before it.
func (b *sampleBuilder) function(name [2]string, isPlain bool) *pprof.Function {
	f := b.functions[name]
	if f == nil {
		f = &pprof.Function{ID: uint64(len(b.to.Function) + 1), Name: name[0], SystemName: name[0], Filename: name[1]}
		if b.to.Function = append(b.to.Function, f); !isPlain {
			b.functions[name] = f
		}
	}
	return f
}

// mapping returns a frame's mapping, or nil. Once it has functions, go tool pprof does not look for them.
func (b *sampleBuilder) mapping(f stackFrame) *pprof.Mapping {
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
