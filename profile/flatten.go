package profile

import (
	"fmt"
	"slices"

	pprof "github.com/google/pprof/profile"
)

// flattener makes a flat profile of one in memory. What it meets it gives an
// index, and again the same one.
type flattener struct {
	to        *flat
	strings   map[string]uint32
	mappings  map[*pprof.Mapping]uint64
	functions map[*pprof.Function]uint64
	locations map[*pprof.Location]uint32
}

// flatten makes f of a profile, within the limits. It only reads the profile, and
// f shares its strings. Errors wrap ErrProfile or ErrTooLarge.
func flatten(p *pprof.Profile, limits Limits, f *flat) error {
	f.reset()
	if p == nil || slices.Contains(p.SampleType, nil) {
		return fmt.Errorf("%w: it or one of its sample types is nil", ErrProfile)
	}
	if err := bound("samples", len(p.Sample), limits.Samples); err != nil {
		return err
	}
	if err := p.CheckValid(); err != nil {
		return fmt.Errorf("%w: %w", ErrProfile, err)
	}
	if err := limits.checkSizes(p); err != nil {
		return err
	}
	m := newFlattener(f)
	f.time, f.duration, f.every, f.preferred = p.TimeNanos, p.DurationNanos, p.Period, p.DefaultSampleType
	if t := p.PeriodType; t != nil {
		f.period = flatType{m.string(t.Type), m.string(t.Unit)}
	}
	for _, t := range p.SampleType {
		f.types = append(f.types, flatType{m.string(t.Type), m.string(t.Unit)})
	}
	if len(p.Mapping) > 0 {
		f.mappings[m.mapping(p.Mapping[0])].has |= isProgram
	}
	for _, l := range p.Location {
		m.location(l)
	}
	for _, s := range p.Sample {
		m.sample(s)
	}
	return f.check()
}

// checkSizes bounds what the slices of a flat profile take, before they grow.
func (l Limits) checkSizes(p *pprof.Profile) error {
	ids, values, labels, lines := 0, 0, 0, 0
	for i, s := range p.Sample {
		if len(s.Location) > l.Depth {
			return fmt.Errorf("%w: sample %d has a stack of %d, at most %d", ErrTooLarge, i, len(s.Location), l.Depth)
		}
		ids += len(s.Location)
		values += len(s.Value)
		for _, v := range s.Label {
			labels += len(v)
		}
		for _, v := range s.NumLabel {
			labels += len(v)
		}
	}
	for _, loc := range p.Location {
		lines += len(loc.Line)
	}
	for _, c := range []struct {
		what       string
		have, most int
	}{
		{"locations in all stacks", ids, maxStackIDs},
		{"values", values, maxSampleValues},
		{"labels", labels, maxLabelCells},
		{"functions or lines", max(lines, len(p.Function), len(p.Location), len(p.Mapping), len(p.SampleType)), maxEntries},
	} {
		if err := bound(c.what, c.have, c.most); err != nil {
			return err
		}
	}
	return nil
}

func newFlattener(f *flat) *flattener {
	f.strings = append(f.strings, "")
	return &flattener{
		to: f, strings: map[string]uint32{"": 0},
		mappings:  map[*pprof.Mapping]uint64{nil: 0},
		functions: map[*pprof.Function]uint64{nil: 0},
		locations: map[*pprof.Location]uint32{},
	}
}

func (m *flattener) string(s string) uint32 {
	i, known := m.strings[s]
	if !known {
		i = uint32(len(m.to.strings))
		m.strings[s] = i
		m.to.strings = append(m.to.strings, s)
	}
	return i
}

func (m *flattener) mapping(p *pprof.Mapping) uint64 {
	i, known := m.mappings[p]
	if !known {
		i = uint64(len(m.to.mappings))
		m.mappings[p] = i
		m.to.mappings = append(m.to.mappings, flatMapping{
			p.Start, p.Limit, p.Offset, m.string(p.File), m.string(p.BuildID), mappingHas(p),
		})
	}
	return i
}

func (m *flattener) function(p *pprof.Function) uint64 {
	i, known := m.functions[p]
	if !known {
		i = uint64(len(m.to.functions))
		m.functions[p] = i
		m.to.functions = append(m.to.functions, flatFunction{
			m.string(p.Name), m.string(p.SystemName), m.string(p.Filename), p.StartLine,
		})
	}
	return i
}

// location returns the index of a location, which may be in a sample only:
// CheckValid does not mind.
func (m *flattener) location(p *pprof.Location) uint32 {
	i, known := m.locations[p]
	if !known {
		for _, ln := range p.Line {
			m.to.lines = append(m.to.lines, flatLine{m.function(ln.Function), ln.Line, ln.Column})
		}
		i = uint32(len(m.to.locations))
		m.locations[p] = i
		m.to.locations = append(m.to.locations, flatLocation{p.Address, m.mapping(p.Mapping), uint32(len(m.to.lines)), p.IsFolded})
	}
	return i
}

func (m *flattener) sample(s *pprof.Sample) {
	for _, l := range s.Location {
		m.to.stack = append(m.to.stack, m.location(l))
	}
	m.to.values = append(m.to.values, s.Value...)
	for name, values := range s.Label {
		for _, v := range values {
			m.to.labels = append(m.to.labels, flatLabel{name: m.string(name), text: m.string(v), isText: true})
		}
	}
	for name, values := range s.NumLabel {
		units := s.NumUnit[name]
		for k, v := range values {
			l := flatLabel{name: m.string(name), number: v}
			if k < len(units) {
				l.text = m.string(units[k])
			}
			m.to.labels = append(m.to.labels, l)
		}
	}
	m.to.samples = append(m.to.samples, flatSample{uint32(len(m.to.stack)), uint32(len(m.to.labels))})
}
