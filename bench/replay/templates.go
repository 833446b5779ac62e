package replay

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	pprof "github.com/google/pprof/profile"
	"github.com/google/uuid"

	"github.com/granarydb/granary/bench/fleet"
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/schema"
)

// SharedData returns the path of a folder with recorded data beside the checkout, relative to this module's
// folder or one of its packages. The data is not part of the project, and the folder may be missing.
func SharedData(name string) string {
	const here = "../../shared/data"
	for _, from := range []string{here, "../" + here} {
		if path := filepath.Join(from, name); isFolder(path) {
			return path
		}
	}
	return filepath.Join(here, name)
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// Open reads all pprof files in a folder. If a file's sample type has only zeros, it makes no template.
func Open(folder string) (*Templates, error) {
	r := &Templates{}
	err := fs.WalkDir(os.DirFS(folder), ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".pb.gz") {
			return err
		}
		data, err := fs.ReadFile(os.DirFS(folder), name)
		if err != nil {
			return err
		}
		p, err := pprof.ParseData(data)
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
		return nil, fmt.Errorf("workload pprof: the folder %s is not there: it has recorded profiles that are not part of the project, and its path is relative to bench/: %w", folder, err)
	case err != nil:
		return nil, fmt.Errorf("workload pprof: %w", err)
	case len(r.templates) == 0:
		return nil, fmt.Errorf("workload pprof: no profile (*.pb.gz) is in %s", folder)
	}
	return r, nil
}

// template turns one of a profile's sample types into a batch without time and labels.
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

// or replaces an empty name, which some peers consider missing.
func or(name string) string {
	if name == "" {
		return "none"
	}
	return name
}

// sampleLabels adds samples' labels as columns. If a name has several values it takes the first. Numbers
// lose their unit.
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

// locationID returns an id made from a location's text, so that a location in two files has one id.
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

// Templates makes profiles by number from recorded ones. Each sample type in each file is a template. It
// belongs to one goroutine.
type Templates struct{ templates []schema.Batch }

const (
	templatePods   = 200
	templateJobs   = 25
	scrapeInterval = 10 * time.Second
)

// Profile returns the n-th profile: pod by pod, each from another template, so that few rows suffice for
// all pods and all files. Values and times vary around the recorded ones.
func (r *Templates) Profile(n int) schema.Batch {
	rng := rand.New(rand.NewPCG(fleet.Seed, uint64(n)))
	pod, round := n%templatePods, n/templatePods
	from := r.templates[(pod+round)%len(r.templates)]
	b := schema.Batch{Rows: from.Rows, Columns: make(map[string]encoding.Vector, len(from.Columns)+8)}
	maps.Copy(b.Columns, from.Columns)
	values := make([]int64, from.Rows)
	for i, v := range from.Columns[profile.ColumnValue].Int64s {
		values[i] = max(1, int64(float64(v)*(0.5+rng.Float64())))
	}
	at := fleet.Start.Add(time.Duration(round)*scrapeInterval + time.Duration(rng.IntN(int(scrapeInterval))))
	b.Columns[profile.ColumnValue] = encoding.Int64s(values...)
	b.Columns[profile.ColumnTimestamp] = encoding.Int64s(at.UnixNano())
	job := pod * templateJobs / templatePods
	for label, value := range map[string]string{
		"job": fmt.Sprint("job-", job), "pod": fmt.Sprintf("job-%d-%08x", job, pod), "namespace": fmt.Sprint("team-", job%7),
		"node": fmt.Sprint("node-", pod%40), "zone": string(rune('a' + pod%3)), fmt.Sprint("of_job_", job): "yes",
	} {
		b.Columns[fleet.LabelPrefix+label] = encoding.Strings(value)
	}
	return b
}

// Len returns the number of templates.
func (r *Templates) Len() int { return len(r.templates) }
