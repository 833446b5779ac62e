package fleet

import (
	"bytes"
	"context"
	"strings"
	"time"

	pprof "github.com/google/pprof/profile"
	"github.com/google/uuid"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/schema"
)

// PprofFile is a profile as a server receives it: gzipped pprof, with labels and time beside it.
type PprofFile struct {
	data   []byte
	labels map[string]string
}

// NewPprofFile encodes a fleet's profile, without trace ids.
func NewPprofFile(b schema.Batch) (PprofFile, error) {
	text := func(name string) string { return b.Columns[name].Strings[0] }
	number := func(name string) int64 { return b.Columns[name].Int64s[0] }
	p := &pprof.Profile{
		SampleType: []*pprof.ValueType{{Type: text(profile.ColumnSampleType), Unit: text(profile.ColumnSampleUnit)}},
		PeriodType: &pprof.ValueType{Type: text(profile.ColumnPeriodType), Unit: text(profile.ColumnPeriodUnit)},
		Period:     number(profile.ColumnPeriod), DurationNanos: number(profile.ColumnDuration),
	}
	locations := map[uuid.UUID]*pprof.Location{}
	values := b.Columns[profile.ColumnValue].Int64s
	for i, stack := range b.Columns[profile.ColumnStacktrace].UUIDLists {
		s := &pprof.Sample{Value: []int64{values[i]}}
		for _, id := range stack {
			l := locations[id]
			if l == nil {
				f := &pprof.Function{ID: uint64(len(locations) + 1), Name: id.String()}
				l = &pprof.Location{ID: f.ID, Line: []pprof.Line{{Function: f, Line: 1}}}
				locations[id] = l
				p.Function, p.Location = append(p.Function, f), append(p.Location, l)
			}
			s.Location = append(s.Location, l)
		}
		p.Sample = append(p.Sample, s)
	}
	file := PprofFile{labels: map[string]string{}}
	for name, v := range b.Columns {
		if label, ok := strings.CutPrefix(name, LabelPrefix); ok {
			file.labels[label] = v.Strings[0]
		}
	}
	var buf bytes.Buffer
	if err := p.Write(&buf); err != nil {
		return file, err
	}
	file.data = bytes.Clone(buf.Bytes())
	return file, nil
}

// Insert decodes the file and inserts its rows with the time `at` in Unix nanoseconds.
func (f *PprofFile) Insert(db *profile.DB, at int64) error {
	_, err := db.InsertEncoded(context.Background(), f.data, profile.InsertOptions{Labels: f.labels, Time: time.Unix(0, at)})
	return err
}

// Data returns the encoded profile, which must not be changed.
func (f *PprofFile) Data() []byte { return f.data }

// Labels returns the profile's labels, which must not be changed.
func (f *PprofFile) Labels() map[string]string { return f.labels }
