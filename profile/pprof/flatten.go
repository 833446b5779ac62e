package pprof

import (
	"fmt"
	"slices"

	pprof "github.com/google/pprof/profile"
)

// flattener builds a flat profile from a profile in memory. Each object gets an index when it first
// occurs.
type flattener struct {
	to        *Flat
	strings   map[string]uint32
	mappings  map[*pprof.Mapping]uint64
	functions map[*pprof.Function]uint64
	locations map[*pprof.Location]uint32
}

// Flatten turns a profile in memory into a flat profile in f, within the limits. It does not
// change the profile, and f shares its strings, except that bytes that are not UTF-8 become U+FFFD. Errors wrap
// ErrProfile or ErrTooLarge.
func Flatten(p *pprof.Profile, limits Limits, f *Flat) error {
	f.Reset()
	if p == nil || slices.Contains(p.SampleType, nil) {
		return fmt.Errorf("%w: the profile or one of its sample types is nil", ErrProfile)
	}
	if err := bound("samples", len(p.Sample), limits.Samples); err != nil {
		return err
	}
	if err := p.CheckValid(); err != nil {
		return fmt.Errorf("%w: %w", ErrProfile, err)
	}
	if err := reserve(p, limits, f); err != nil {
		return err
	}
	m := newFlattener(f)
	f.Time, f.Duration, f.Every, f.Preferred = p.TimeNanos, p.DurationNanos, p.Period, p.DefaultSampleType
	f.DropFrames, f.KeepFrames = p.DropFrames, p.KeepFrames
	if t := p.PeriodType; t != nil {
		f.Period = FlatType{m.string(t.Type), m.string(t.Unit)}
	}
	for _, t := range p.SampleType {
		f.Types = append(f.Types, FlatType{m.string(t.Type), m.string(t.Unit)})
	}
	if len(p.Mapping) > 0 {
		f.Mappings[m.mapping(p.Mapping[0])].Has |= IsProgram
	}
	for _, l := range p.Location {
		m.location(l)
	}
	for _, s := range p.Sample {
		m.sample(s)
		if err := m.bound(); err != nil {
			return err
		}
	}
	f.mend()
	return f.check()
}

// reserve checks the sizes of a flat profile's slices against the limits, and allocates them at once.
func reserve(p *pprof.Profile, l Limits, f *Flat) error {
	ids, values, labels, lines := 0, 0, 0, 0
	for i, s := range p.Sample {
		if len(s.Location) > l.Depth {
			return fmt.Errorf("%w: sample %d has a stack of %d locations, at most %d", ErrTooLarge, i, len(s.Location), l.Depth)
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
		{"labels", labels, maxLabels},
		{"functions or lines", max(lines, len(p.Function), len(p.Location), len(p.Mapping), len(p.SampleType)), maxEntries},
	} {
		if err := bound(c.what, c.have, c.most); err != nil {
			return err
		}
	}
	f.Types = slices.Grow(f.Types, len(p.SampleType))
	f.Mappings = slices.Grow(f.Mappings, len(p.Mapping)+1)
	f.Functions = slices.Grow(f.Functions, len(p.Function)+1)
	f.Lines = slices.Grow(f.Lines, lines)
	f.Locations = slices.Grow(f.Locations, len(p.Location)+1)
	f.Samples = slices.Grow(f.Samples, len(p.Sample))
	f.Stack = slices.Grow(f.Stack, ids)
	f.Values = slices.Grow(f.Values, values)
	f.Labels = slices.Grow(f.Labels, labels)
	return nil
}

func newFlattener(f *Flat) *flattener {
	f.Strings = append(f.Strings, "")
	return &flattener{
		to: f, strings: map[string]uint32{"": 0},
		mappings:  map[*pprof.Mapping]uint64{nil: 0},
		functions: map[*pprof.Function]uint64{nil: 0},
		locations: map[*pprof.Location]uint32{},
	}
}

// bound bounds the tables. Samples can add to them, because CheckValid accepts locations that only
// samples refer to.
func (m *flattener) bound() error {
	f := m.to
	n := max(len(f.Strings), len(f.Mappings), len(f.Functions), len(f.Locations), len(f.Lines))
	return bound("strings, functions or lines", n, maxEntries+1)
}

func (m *flattener) string(s string) uint32 {
	i, known := m.strings[s]
	if !known {
		i = uint32(len(m.to.Strings))
		m.strings[s] = i
		m.to.Strings = append(m.to.Strings, s)
	}
	return i
}

func (m *flattener) mapping(p *pprof.Mapping) uint64 {
	i, known := m.mappings[p]
	if !known {
		i = uint64(len(m.to.Mappings))
		m.mappings[p] = i
		m.to.Mappings = append(m.to.Mappings, FlatMapping{
			p.Start, p.Limit, p.Offset, m.string(p.File), m.string(p.BuildID), mappingHas(p),
		})
	}
	return i
}

func (m *flattener) function(p *pprof.Function) uint64 {
	i, known := m.functions[p]
	if !known {
		i = uint64(len(m.to.Functions))
		m.functions[p] = i
		m.to.Functions = append(m.to.Functions, FlatFunction{
			m.string(p.Name), m.string(p.SystemName), m.string(p.Filename), p.StartLine,
		})
	}
	return i
}

// location returns a location's index. Profile.Location can lack it.
func (m *flattener) location(p *pprof.Location) uint32 {
	i, known := m.locations[p]
	if !known {
		for _, ln := range p.Line {
			m.to.Lines = append(m.to.Lines, FlatLine{m.function(ln.Function), ln.Line, ln.Column})
		}
		i = uint32(len(m.to.Locations))
		m.locations[p] = i
		m.to.Locations = append(m.to.Locations, FlatLocation{p.Address, m.mapping(p.Mapping), uint32(len(m.to.Lines)), p.IsFolded})
	}
	return i
}

func (m *flattener) sample(s *pprof.Sample) {
	for _, l := range s.Location {
		m.to.Stack = append(m.to.Stack, m.location(l))
	}
	m.to.Values = append(m.to.Values, s.Value...)
	for name, values := range s.Label {
		for _, v := range values {
			m.to.Labels = append(m.to.Labels, FlatLabel{Name: m.string(name), Text: m.string(v), IsText: true})
		}
	}
	for name, values := range s.NumLabel {
		units := s.NumUnit[name]
		for k, v := range values {
			l := FlatLabel{Name: m.string(name), Number: v}
			if k < len(units) {
				l.Text = m.string(units[k])
			}
			m.to.Labels = append(m.to.Labels, l)
		}
	}
	m.to.Samples = append(m.to.Samples, FlatSample{uint32(len(m.to.Stack)), uint32(len(m.to.Labels))})
}

// mappingHas returns the bits of FlatMapping.Has.
func mappingHas(m *pprof.Mapping) uint64 {
	var has uint64
	for i, b := range []bool{m.HasFunctions, m.HasFilenames, m.HasLineNumbers, m.HasInlineFrames} {
		if b {
			has |= 1 << i
		}
	}
	return has
}
