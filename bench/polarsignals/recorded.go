package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/bench/replay"
	codec "github.com/granarydb/granary/profile/pprof"
)

// errNotRecorded is returned if the recorded profiles are not there.
var errNotRecorded = errors.New("the recorded profiles are not there; they are not part of the project")

// recorded is samples of recorded profiles.
type recorded struct{ samples []recordedSample }

type recordedSample struct {
	stack []uint32 // locations in the source's base
	value int64
}

// recorder adds recorded profiles to a Flat. Equal locations become one.
type recorder struct {
	to        *codec.Flat
	strings   map[string]uint32
	mappings  map[string]uint64 // by build id, or by file without one
	locations map[string]uint32
	out       recorded
}

// readRecorded reads all recorded profiles, and adds their locations to an empty f.
func readRecorded(f *codec.Flat) (*recorded, error) {
	folder := os.DirFS(replay.SharedData("pprof"))
	r := recorder{to: f, strings: map[string]uint32{"": 0}, mappings: map[string]uint64{}, locations: map[string]uint32{}}
	err := fs.WalkDir(folder, ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".pb.gz") {
			return err
		}
		data, err := fs.ReadFile(folder, name)
		if err != nil {
			return err
		}
		p, err := pprof.ParseData(data)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		r.add(p)
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(r.out.samples) == 0 {
		return nil, errNotRecorded
	}
	return &r.out, err
}

// add adds the samples with a stack and a value. A sample has the first of its values that is not 0.
func (r *recorder) add(p *pprof.Profile) {
	for _, s := range p.Sample {
		var value int64
		for i := 0; i < len(s.Value) && value == 0; i++ {
			value = s.Value[i]
		}
		if value == 0 || len(s.Location) == 0 {
			continue
		}
		stack := make([]uint32, len(s.Location))
		for i, l := range s.Location {
			stack[i] = r.location(l)
		}
		r.out.samples = append(r.out.samples, recordedSample{stack, value})
	}
}

func (r *recorder) text(s string) uint32 {
	s = strings.ToValidUTF8(s, "\uFFFD")
	at, known := r.strings[s]
	if !known {
		at = uint32(len(r.to.Strings))
		r.strings[s], r.to.Strings = at, append(r.to.Strings, s)
	}
	return at
}

// mapping returns the index of a mapping. A build id has the file of its first mapping, because a location
// with a build id is the same wherever the file is mounted.
func (r *recorder) mapping(m *pprof.Mapping) uint64 {
	if m == nil || m.File == "" && m.BuildID == "" {
		return 0
	}
	key := m.BuildID
	if key == "" {
		key = "file " + m.File
	}
	at, known := r.mappings[key]
	if !known {
		at = uint64(len(r.to.Mappings))
		r.mappings[key] = at
		r.to.Mappings = append(r.to.Mappings, codec.FlatMapping{File: r.text(m.File), BuildID: r.text(m.BuildID)})
	}
	return at
}

// location returns the index of a location. Its address is that in the file, the same in each process.
func (r *recorder) location(l *pprof.Location) uint32 {
	of := codec.FlatLocation{Address: l.Address, Mapping: r.mapping(l.Mapping)}
	if of.Mapping != 0 {
		of.Address += l.Mapping.Offset - l.Mapping.Start
	}
	var functions []codec.FlatFunction
	var numbers []int64
	var key strings.Builder
	fmt.Fprint(&key, of.Address, of.Mapping)
	for _, line := range l.Line {
		if line.Function == nil {
			continue
		}
		f := codec.FlatFunction{
			Name: r.text(line.Function.Name), SystemName: r.text(line.Function.SystemName), File: r.text(line.Function.Filename),
			StartLine: line.Function.StartLine,
		}
		functions, numbers = append(functions, f), append(numbers, line.Line)
		fmt.Fprint(&key, " ", f, line.Line)
	}
	if at, known := r.locations[key.String()]; known {
		return at
	}
	for i, f := range functions {
		r.to.Lines = append(r.to.Lines, codec.FlatLine{Function: uint64(len(r.to.Functions)), Line: numbers[i]})
		r.to.Functions = append(r.to.Functions, f)
	}
	of.Lines = uint32(len(r.to.Lines))
	at := uint32(len(r.to.Locations))
	r.locations[key.String()], r.to.Locations = at, append(r.to.Locations, of)
	return at
}
