package profile

import (
	pprof "github.com/google/pprof/profile"
	"github.com/google/uuid"

	"github.com/granarydb/granary/internal/rows"
	codec "github.com/granarydb/granary/profile/pprof"
)

// decode is workspace.read for a profile that is not compressed.
func decode(data string, limits Limits, f *rows.Profile) error {
	if err := codec.Decode(data, limits, &f.Flat); err != nil {
		return err
	}
	return f.Check()
}

// flatten is the first half of DB.Insert.
func flatten(p *pprof.Profile, limits Limits, f *rows.Profile) error {
	if err := codec.Flatten(p, limits, &f.Flat); err != nil {
		return err
	}
	return f.Check()
}

// locationRecord appends the record of a location to dst and returns its id. program is the
// mapping of the program itself, or nil. The location may lack the ids that it has in a
// profile.
func locationRecord(dst []byte, l *pprof.Location, program *pprof.Mapping) ([]byte, uuid.UUID) {
	loc := *l
	loc.ID, loc.Line = 1, nil
	p := &pprof.Profile{SampleType: []*pprof.ValueType{{Type: "t"}}, Location: []*pprof.Location{&loc}, Mapping: []*pprof.Mapping{{ID: 1}}}
	for i, ln := range l.Line {
		fn := pprof.Function{}
		if ln.Function != nil {
			fn = *ln.Function
		}
		fn.ID = uint64(i + 1)
		ln.Function = &fn
		p.Function = append(p.Function, &fn)
		loc.Line = append(loc.Line, ln)
	}
	if l.Mapping != nil {
		m := *l.Mapping
		loc.Mapping, m.ID = &m, 2
		p.Mapping = append(p.Mapping, &m)
		if l.Mapping == program {
			m.ID, p.Mapping = 1, p.Mapping[1:]
		}
	}
	var f rows.Profile
	if err := codec.Flatten(p, Limits{}.WithDefaults(), &f.Flat); err != nil {
		panic(err)
	}
	for i, ln := range l.Line {
		if ln.Function == nil { // no valid profile has such a line
			f.Lines[i].Function = 0
		}
	}
	return f.AppendLocation(dst, 1)
}
