package main

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"
)

// sum is a number of rows, and the sum of their values.
type sum struct{ Rows, Value int64 }

// answers are the oracle's answers about the rows of profiles.
type answers struct {
	Rows int64 `json:"rows"`
	// Types has the sums by sample type and unit, separated by a line end.
	Types map[string]sum `json:"types"`
	// Labels has the sums for each value of each label column, with numbers in decimal. It excludes rows
	// without the label.
	Labels map[string]map[string]sum `json:"labels"`
	Times  map[int64]sum             `json:"times"` // by nanoseconds since 1970
	// Stacks has the sums by sample type and function names, each on a line.
	Stacks map[string]sum `json:"stacks"`
	// Functions counts a row once for each of its frames.
	Functions map[string]sum `json:"functions"`
	// Locations has the sorted sums by sample type and stack. It distinguishes locations with equal names but
	// other addresses or lines, therefore an engine with ids instead of names finds the same sums.
	Locations []sum `json:"locations"`

	byLocations map[string]sum
}

func newAnswers() *answers {
	return &answers{
		Types: map[string]sum{}, Labels: map[string]map[string]sum{}, Times: map[int64]sum{},
		Stacks: map[string]sum{}, Functions: map[string]sum{}, byLocations: map[string]sum{},
	}
}

// read returns the answers for all profiles in a directory and its subdirectories.
func read(dir string) (*answers, error) {
	a := newAnswers()
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".pb.gz") {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		p, err := profile.ParseData(data)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		at := p.TimeNanos
		if at == 0 { // use the time of the file
			info, err := d.Info()
			if err != nil {
				return err
			}
			at = info.ModTime().UnixNano()
		}
		if err := a.add(p, at, pathLabels(name)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
	for _, s := range a.byLocations {
		a.Locations = append(a.Locations, s)
	}
	slices.SortFunc(a.Locations, func(x, y sum) int {
		return cmp.Or(cmp.Compare(x.Value, y.Value), cmp.Compare(x.Rows, y.Rows))
	})
	return a, err
}

// pathLabels returns the columns for the labels in a path.
func pathLabels(name string) map[string]string {
	labels := map[string]string{}
	for folder := range strings.SplitSeq(filepath.ToSlash(filepath.Dir(name)), "/") {
		if label, value, ok := strings.Cut(folder, "="); ok {
			labels["labels."+label] = value
		}
	}
	if len(labels) == 0 {
		labels["labels.file"] = name
	}
	return labels
}

// add adds a profile's rows.
func (a *answers) add(p *profile.Profile, at int64, labels map[string]string) error {
	for _, s := range p.Sample {
		own, err := sampleLabels(s)
		if err != nil {
			return err
		}
		names := names(s)
		stack, locations := strings.Join(names, "\n"), identity(s)
		for i, value := range s.Value {
			if value == 0 {
				continue
			}
			kind := p.SampleType[i].Type
			a.Rows++
			count(a.Types, kind+"\n"+p.SampleType[i].Unit, value)
			count(a.Times, at, value)
			count(a.Stacks, kind+"\n"+stack, value)
			count(a.byLocations, kind+"\n"+locations, value)
			for _, name := range names {
				count(a.Functions, name, value)
			}
			a.addLabels(labels, value)
			a.addLabels(own, value)
		}
	}
	return nil
}

func (a *answers) addLabels(labels map[string]string, value int64) {
	for column, text := range labels {
		if a.Labels[column] == nil {
			a.Labels[column] = map[string]sum{}
		}
		count(a.Labels[column], text, value)
	}
}

func count[K comparable](sums map[K]sum, of K, value int64) {
	s := sums[of]
	sums[of] = sum{s.Rows + 1, s.Value + value}
}

// sampleLabels returns a sample's labels by column.
func sampleLabels(s *profile.Sample) (map[string]string, error) {
	labels := map[string]string{}
	for name, values := range s.Label {
		if len(values) > 1 || name == "trace_id" || name == "span_id" {
			return nil, fmt.Errorf("label %q has several values, or is an id: the oracle does not support it", name)
		}
		if values[0] != "" {
			labels["pprof_labels."+name] = values[0]
		}
	}
	for name, values := range s.NumLabel {
		if len(values) > 1 {
			return nil, fmt.Errorf("label %q has several values: the oracle does not support it", name)
		}
		column := "pprof_num_labels." + name
		if unit := s.NumUnit[name]; len(unit) > 0 && unit[0] != "" {
			column += "[" + unit[0] + "]"
		}
		labels[column] = strconv.FormatInt(values[0], 10)
	}
	return labels, nil
}

// names returns the functions in a stack.
func names(s *profile.Sample) []string {
	var names []string
	for _, l := range s.Location {
		unnamed := "<unknown>"
		if l.Mapping != nil && l.Mapping.File != "" {
			unnamed = "[" + path.Base(l.Mapping.File) + "]"
		}
		if len(l.Line) == 0 {
			names = append(names, unnamed)
		}
		for _, line := range l.Line {
			if line.Function != nil && line.Function.Name != "" {
				names = append(names, line.Function.Name)
			} else {
				names = append(names, unnamed)
			}
		}
	}
	return names
}

// identity returns the key of a stack: the code at each of its locations, independent of its
// address in one process.
func identity(s *profile.Sample) string {
	var b strings.Builder
	for _, l := range s.Location {
		address := l.Address
		if m := l.Mapping; m != nil {
			fmt.Fprintf(&b, "mapping %q", cmp.Or(m.BuildID, m.File))
			address += m.Offset - m.Start
		}
		fmt.Fprintf(&b, " %x %t", address, l.IsFolded)
		for _, line := range l.Line {
			fmt.Fprintf(&b, " %d:%d", line.Line, line.Column)
			if f := line.Function; f != nil {
				fmt.Fprintf(&b, " %q %q %q %d", f.Name, f.SystemName, f.Filename, f.StartLine)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}
