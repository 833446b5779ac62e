package main

import (
	"fmt"
	"math/rand/v2"
	"slices"

	codec "github.com/granarydb/granary/profile/pprof"
)

// The values that all rows share.
const (
	producer    = "parca_agent"
	sampleType  = "samples"
	sampleUnit  = "count"
	periodType  = "cpu"
	periodUnit  = "nanoseconds"
	temporality = "delta"
	period      = 52_631_578
	duration    = 1_000_000_000
)

const (
	rowStep   = 500_000         // nanoseconds between rows, if there are a million or more
	leastSpan = 500_000_000_000 // nanoseconds of all rows
	seed      = 42
)

// rows are consecutive rows of one label set.
type rows struct {
	labels *labelSet
	times  []int64
	values []int64
	stacks [][]uint32 // locations in flat, leaf first
	flat   *codec.Flat
}

// source makes rows. It belongs to one goroutine.
type source struct {
	rows     int
	sets     []labelSet
	random   bool // rows have stacks of their own: all, or every second one beside recorded ones
	recorded *recorded
	base     codec.Flat // what all rows share: texts, mappings, and recorded locations
	pool     pool
}

// dataSets are the names of the sets.
var dataSets = []string{"random", "real", "mixed"}

// newSource returns the source of a set with a number of rows.
func newSource(set string, n int) (*source, error) {
	s := &source{rows: n, sets: makeLabelSets(), random: set != "real"}
	s.base.Reset()
	s.base.Strings = append(s.base.Strings, "")
	if set != "random" {
		var err error
		if s.recorded, err = readRecorded(&s.base); err != nil {
			return nil, err
		}
	}
	s.pool.addTo(&s.base)
	return s, nil
}

// step returns the time between two rows.
func (s *source) step() int64 { return max(rowStep, leastSpan/int64(s.rows)) }

// each calls f with all rows, in order. They are valid until f returns.
func (s *source) each(f func(*rows) error) error {
	r := rows{flat: &codec.Flat{}}
	var stack []uint32
	for at := 0; at < s.rows; {
		set := at * labelSets / s.rows
		r.labels = &s.sets[set]
		r.times, r.values, r.stacks, stack = r.times[:0], r.values[:0], r.stacks[:0], stack[:0]
		s.begin(r.flat)
		random := rand.New(rand.NewPCG(seed, uint64(at)))
		for ; at < s.rows && at*labelSets/s.rows == set; at++ {
			r.times = append(r.times, int64(at)*s.step())
			if s.recorded != nil && (!s.random || at%2 == 0) {
				of := &s.recorded.samples[at%len(s.recorded.samples)]
				r.values, r.stacks = append(r.values, of.value), append(r.stacks, of.stack)
				continue
			}
			from := len(stack)
			stack = s.pool.stack(random, r.flat, stack)
			r.values, r.stacks = append(r.values, 1), append(r.stacks, stack[from:len(stack):len(stack)])
		}
		if err := f(&r); err != nil {
			return err
		}
	}
	return nil
}

// begin makes f a copy of what all rows share, in the memory that f has.
func (s *source) begin(f *codec.Flat) {
	f.Strings, f.Mappings = s.base.Strings, s.base.Mappings
	f.Functions = append(f.Functions[:0], s.base.Functions...)
	f.Lines = append(f.Lines[:0], s.base.Lines...)
	f.Locations = append(f.Locations[:0], s.base.Locations...)
}

const (
	poolFunctions = 500
	poolFiles     = 100
	poolBuildIDs  = 20
)

var poolMappings = []string{
	"/usr/bin/app", "/lib/x86_64-linux-gnu/libc.so.6", "/lib/x86_64-linux-gnu/libpthread.so.0", "[vdso]", "[kernel]",
}

// pool is the texts that random locations choose from, as indexes of a Flat.
type pool struct {
	functions, files uint32 // the first string
	mappings         int    // the first of all pairs of a file and a build id
}

func (p *pool) addTo(f *codec.Flat) {
	add := func(format string, args ...any) uint32 {
		f.Strings = append(f.Strings, fmt.Sprintf(format, args...))
		return uint32(len(f.Strings) - 1)
	}
	p.functions, p.files = uint32(len(f.Strings)), uint32(len(f.Strings)+poolFunctions)
	for i := range poolFunctions {
		add("func_%d", i)
	}
	for i := range poolFiles {
		add("/src/pkg%d/%d.go", i/10, i%10)
	}
	var ids []uint32
	for i := range poolBuildIDs {
		ids = append(ids, add("build_%040x", i))
	}
	p.mappings = len(f.Mappings)
	for _, file := range poolMappings {
		at := add("%s", file)
		for _, id := range ids {
			f.Mappings = append(f.Mappings, codec.FlatMapping{File: at, BuildID: id})
		}
	}
	f.Strings = slices.Clip(f.Strings)
}

// stack adds the locations of a random stack to f, and appends their indexes to dst. All texts of a line are
// chosen apart, as the benchmark has it.
func (p *pool) stack(random *rand.Rand, f *codec.Flat, dst []uint32) []uint32 {
	for range 5 + random.IntN(45) {
		l := codec.FlatLocation{
			Address: random.Uint64(),
			Mapping: uint64(p.mappings + random.IntN(len(poolMappings)*poolBuildIDs)),
		}
		for range 1 + random.IntN(4) {
			f.Lines = append(f.Lines, codec.FlatLine{Function: uint64(len(f.Functions)), Line: 1 + random.Int64N(1999)})
			f.Functions = append(f.Functions, codec.FlatFunction{
				Name:       p.functions + random.Uint32N(poolFunctions),
				SystemName: p.functions + random.Uint32N(poolFunctions),
				File:       p.files + random.Uint32N(poolFiles),
				StartLine:  1 + random.Int64N(1999),
			})
		}
		l.Lines = uint32(len(f.Lines))
		dst, f.Locations = append(dst, uint32(len(f.Locations))), append(f.Locations, l)
	}
	return dst
}
