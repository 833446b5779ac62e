package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	pprof "github.com/google/pprof/profile"
	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/schema"
)

// replayFolder has real profiles, from the folder of this module. They are no part of
// the project.
const replayFolder = "../../shared/data/pprof"

// openReplay reads all pprof files of a folder. A type of a file that has no value but
// zero makes no template.
func openReplay(folder string) (*replay, error) {
	r := &replay{}
	err := fs.WalkDir(os.DirFS(folder), ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".pb.gz") {
			return err
		}
		data, err := fs.ReadFile(os.DirFS(folder), name)
		if err != nil {
			return err
		}
		p, err := profile.Parse(data, profile.Limits{})
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for i := range p.SampleType {
			if b := template(p, i); b.Rows > 0 {
				r.templates = append(r.templates, b)
			}
		}
		return nil
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("workload pprof: the folder %s is not there: it has real profiles that are no part of the project, and is looked for from bench/: %w", folder, err)
	case err != nil:
		return nil, fmt.Errorf("workload pprof: %w", err)
	case len(r.templates) == 0:
		return nil, fmt.Errorf("workload pprof: no profile (*.pb.gz) is in %s", folder)
	}
	return r, nil
}

// template turns one type of a profile into a batch without time and labels of its own.
func template(p *pprof.Profile, kind int) schema.Batch {
	var samples []*pprof.Sample
	for _, s := range p.Sample {
		if s.Value[kind] != 0 {
			samples = append(samples, s)
		}
	}
	period := p.PeriodType
	if period == nil {
		period = &pprof.ValueType{}
	}
	stacks, values := make([][]uuid.UUID, len(samples)), make([]int64, len(samples))
	for i, s := range samples {
		values[i] = s.Value[kind]
		for _, l := range s.Location {
			stacks[i] = append(stacks[i], locationID(l))
		}
	}
	b := schema.Batch{Rows: len(samples), Columns: map[string]encoding.Vector{
		profile.ColumnSampleType: encoding.Strings(or(p.SampleType[kind].Type)), profile.ColumnSampleUnit: encoding.Strings(or(p.SampleType[kind].Unit)),
		profile.ColumnPeriodType: encoding.Strings(or(period.Type)), profile.ColumnPeriodUnit: encoding.Strings(or(period.Unit)),
		profile.ColumnStacktrace: encoding.UUIDLists(stacks...), profile.ColumnValue: encoding.Int64s(values...),
		profile.ColumnPeriod: encoding.Int64s(p.Period), profile.ColumnDuration: encoding.Int64s(p.DurationNanos),
	}}
	sampleLabels(b, samples)
	return b
}

// or stands in for an empty name, which some peers cannot tell from none.
func or(name string) string {
	if name == "" {
		return "none"
	}
	return name
}

// sampleLabels adds labels of samples as columns: of several values of one name the
// first, of numbers without their units.
func sampleLabels(b schema.Batch, samples []*pprof.Sample) {
	for i, s := range samples {
		for name, all := range s.Label {
			column := profile.ColumnPprofLabels + "." + name
			v, ok := b.Columns[column]
			if !ok {
				v = encoding.Strings(make([]string, b.Rows)...)
				b.Columns[column] = v
			}
			v.Strings[i] = all[0]
		}
		for name, all := range s.NumLabel {
			column := profile.ColumnPprofNumLabels + "." + name
			v, ok := b.Columns[column]
			if !ok {
				v = encoding.Int64s(make([]int64, b.Rows)...)
				v.Valid = make([]bool, b.Rows)
				b.Columns[column] = v
			}
			v.Int64s[i], v.Valid[i] = all[0], true
		}
	}
}

// locationID is made from what a person sees of a location, so that one location of
// two files has one id.
func locationID(l *pprof.Location) uuid.UUID {
	var text strings.Builder
	for _, line := range l.Line {
		if f := line.Function; f != nil {
			fmt.Fprintf(&text, "%s\x00%s\x00%d\x00", f.Name, f.Filename, line.Line)
		}
	}
	if l.Mapping != nil {
		fmt.Fprintf(&text, "%s\x00%s\x00", l.Mapping.File, l.Mapping.BuildID)
	}
	fmt.Fprintf(&text, "%x", l.Address)
	return uuid.NewSHA1(uuid.Nil, []byte(text.String()))
}
