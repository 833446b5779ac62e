package fleet

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"time"

	pprof "github.com/google/pprof/profile"
)

// Stacks makes profiles of stacks that do not repeat: a program with random addresses, as in the public benchmark of
// the field (vortex-bench, polarsignals), from its description. A stack has 5 to 49 locations, each with a new address
// in one of ten binaries, and 1 to 4 lines in a thousand functions. It is not safe for concurrent use.
type Stacks struct {
	random    *rand.Rand
	mappings  []*pprof.Mapping
	functions []*pprof.Function
	made      int
}

// NewStacks returns a source of such profiles.
func NewStacks(seed uint64) *Stacks {
	s := &Stacks{random: rand.New(rand.NewPCG(seed, 1))}
	for i := range 10 {
		s.mappings = append(s.mappings, &pprof.Mapping{
			ID: uint64(i + 1), Start: 0x400000, Limit: 1 << 47, File: fmt.Sprintf("/usr/bin/program-%d", i), BuildID: fmt.Sprintf("%040x", s.random.Uint64()),
		})
	}
	for i := range 1000 {
		name := fmt.Sprintf("example.com/program/package%d.(*Type%d).Method%d", i%40, i%300, i)
		s.functions = append(s.functions, &pprof.Function{
			ID: uint64(i + 1), Name: name, SystemName: name, Filename: fmt.Sprintf("/src/program/package%d/file%d.go", i%40, i%200),
		})
	}
	return s
}

// Profile returns the next profile, encoded: a sample for each of `rows` rows, and its number of locations. Profiles
// are 10 s apart.
func (s *Stacks) Profile(rows int) (data []byte, locations int, err error) {
	cpu := pprof.ValueType{Type: "cpu", Unit: "nanoseconds"}
	p := &pprof.Profile{
		SampleType: []*pprof.ValueType{&cpu}, PeriodType: &cpu, Period: 1e7, DurationNanos: 1e10,
		TimeNanos: time.Date(2026, 1, 1, 0, 0, 10*s.made, 0, time.UTC).UnixNano(), Mapping: s.mappings, Function: s.functions,
	}
	s.made++
	for range rows {
		sample := &pprof.Sample{Value: []int64{1e7}, Label: map[string][]string{"comm": {fmt.Sprint("comm-", s.random.IntN(200))}}}
		for range 5 + s.random.IntN(45) {
			l := &pprof.Location{ID: uint64(len(p.Location) + 1), Mapping: s.mappings[s.random.IntN(len(s.mappings))]}
			l.Address = l.Mapping.Start + s.random.Uint64N(l.Mapping.Limit-l.Mapping.Start)
			for range 1 + s.random.IntN(4) {
				l.Line = append(l.Line, pprof.Line{Function: s.functions[s.random.IntN(len(s.functions))], Line: int64(s.random.IntN(2000))})
			}
			p.Location, sample.Location = append(p.Location, l), append(sample.Location, l)
		}
		p.Sample = append(p.Sample, sample)
	}
	var out bytes.Buffer
	err = p.WriteUncompressed(&out)
	return out.Bytes(), len(p.Location), err
}
