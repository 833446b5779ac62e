package profile

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	pprof "github.com/google/pprof/profile"
	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/rows"
	"github.com/granarydb/granary/schema"
)

// slowBatch returns the batch of a profile as an oracle. It works value by value on the
// structs of google/pprof, with maps for everything, after the same checks.
func slowBatch(data []byte, limits Limits, opts InsertOptions, zeros bool) (schema.Batch, typeList, error) {
	p, err := pprof.ParseUncompressed(data)
	if err == nil {
		err = p.CheckValid()
	}
	if err != nil {
		return schema.Batch{}, typeList{}, fmt.Errorf("%w: %w", ErrProfile, err)
	}
	slowMend(p)
	if err := slowCheck(p, limits); err != nil {
		return schema.Batch{}, typeList{}, err
	}
	_ = p.RemoveUninteresting() // go tool pprof ignores the error
	s := slowBatcher{columns: map[string]encoding.Vector{}, records: map[uuid.UUID][]byte{}}
	for value := range p.SampleType {
		for sample := range p.Sample {
			if zeros || p.Sample[sample].Value[value] != 0 {
				s.rows = append(s.rows, slowRow{sample, value})
			}
		}
	}
	s.add(p, opts)
	return schema.Batch{Rows: len(s.rows), Columns: s.columns, Records: s.records}, typeListOf(p), nil
}

// slowMend makes all strings of a profile UTF-8, except the patterns.
func slowMend(p *pprof.Profile) {
	mend := func(texts ...*string) {
		for _, s := range texts {
			*s = strings.ToValidUTF8(*s, "\ufffd")
		}
	}
	for _, t := range append(slices.Clip(p.SampleType), p.PeriodType) {
		if t != nil {
			mend(&t.Type, &t.Unit)
		}
	}
	mend(&p.DefaultSampleType)
	for _, m := range p.Mapping {
		mend(&m.File, &m.BuildID)
	}
	for _, f := range p.Function {
		mend(&f.Name, &f.SystemName, &f.Filename)
	}
	for _, s := range p.Sample {
		for _, texts := range s.Label {
			for i := range texts {
				mend(&texts[i])
			}
		}
		for _, units := range s.NumUnit {
			for i := range units {
				mend(&units[i])
			}
		}
		s.Label, s.NumLabel, s.NumUnit = mendKeys(s.Label), mendKeys(s.NumLabel), mendKeys(s.NumUnit)
	}
}

// mendKeys returns a map with keys that are UTF-8. Values of keys that become equal are appended in the order of the keys.
func mendKeys[V any](m map[string][]V) map[string][]V {
	out := map[string][]V{}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		key := strings.ToValidUTF8(k, "\ufffd")
		out[key] = append(out[key], m[k]...)
	}
	return out
}

// typeListOf is newTypeList for a profile in memory.
func typeListOf(p *pprof.Profile) typeList {
	l := typeList{Default: len(p.SampleType) - 1, Named: p.DefaultSampleType != ""}
	var period pprof.ValueType
	if p.PeriodType != nil {
		period = *p.PeriodType
	}
	for i, t := range p.SampleType {
		l.Types = append(l.Types, Type{t.Type, t.Unit, period.Type, period.Unit})
		if t.Type == p.DefaultSampleType && t.Type != "" {
			l.Default = i
		}
	}
	return l
}

// slowCheck checks a profile against the limits that a parsed profile can violate.
func slowCheck(p *pprof.Profile, limits Limits) error {
	if len(p.SampleType) == 0 {
		return ErrProfile
	}
	names := 0
	for i, t := range p.SampleType {
		names += len(t.Type) + len(t.Unit) + len(p.PeriodType.Type) + len(p.PeriodType.Unit)
		for _, u := range p.SampleType[:i] {
			if *t == *u {
				return ErrProfile
			}
		}
	}
	ids, records, labels := 0, 0, 0
	columns := map[string]bool{}
	for _, s := range p.Sample {
		ids += len(s.Location)
		if len(s.Location) > limits.Depth {
			return ErrTooLarge
		}
		for name, values := range s.Label {
			for k, v := range values {
				labels += len(name) + len(v)
				columns[rows.LabelColumn("s", name, k)] = true
			}
			if len(values) > rows.MaxValues {
				return ErrTooLarge
			}
		}
		for name, values := range s.NumLabel {
			for k := range values {
				labels += len(name) + 16
				columns[rows.NumLabelColumn(name, unitOf(s, name, k), k)] = true
			}
			if len(values) > rows.MaxValues {
				return ErrTooLarge
			}
		}
	}
	for _, l := range p.Location {
		record := 64
		for _, ln := range l.Line {
			record += 32 + len(ln.Function.Name) + len(ln.Function.SystemName) + len(ln.Function.Filename)
		}
		if records += record; record > schema.MaxRecord {
			return ErrTooLarge
		}
	}
	cells := len(p.Sample) * len(p.SampleType)
	if len(p.Sample) > limits.Samples || names > schema.MaxString || ids > 16<<20 || records > rows.MaxRecords || cells > 8<<20 ||
		labels*len(p.SampleType) > rows.MaxLabelBytes || len(columns) > schema.MaxDynamic || len(columns)*cells > rows.MaxLabelCells {
		return ErrTooLarge
	}
	return nil
}

func unitOf(s *pprof.Sample, name string, k int) string {
	if units := s.NumUnit[name]; k < len(units) {
		return units[k]
	}
	return ""
}

type slowRow struct{ sample, value int }

type slowBatcher struct {
	rows    []slowRow
	columns map[string]encoding.Vector
	records map[uuid.UUID][]byte
}

func (s *slowBatcher) add(p *pprof.Profile, opts InsertOptions) {
	at := p.TimeNanos
	if at == 0 && !opts.Time.IsZero() {
		at = opts.Time.UnixNano()
	}
	s.columns[ColumnTimestamp] = encoding.Int64s(at)
	s.columns[ColumnDuration] = encoding.Int64s(p.DurationNanos)
	s.columns[ColumnPeriod] = encoding.Int64s(p.Period)
	s.columns[ColumnPeriodType] = encoding.Strings(p.PeriodType.Type)
	s.columns[ColumnPeriodUnit] = encoding.Strings(p.PeriodType.Unit)
	for name, value := range opts.Labels {
		s.columns[ColumnLabels+"."+name] = encoding.Strings(value)
	}
	var program *pprof.Mapping
	if len(p.Mapping) > 0 {
		program = p.Mapping[0]
	}
	n := len(s.rows)
	types, units, values := make([]string, n), make([]string, n), make([]int64, n)
	stacks := make([][]uuid.UUID, n)
	type known struct {
		record []byte
		id     uuid.UUID
	}
	locations := map[*pprof.Location]known{}
	for _, l := range p.Location {
		record, id := locationRecord(nil, l, program)
		locations[l] = known{record, id}
	}
	hasRow := map[int]bool{}
	for i, r := range s.rows {
		hasRow[r.sample] = true
		types[i], units[i] = p.SampleType[r.value].Type, p.SampleType[r.value].Unit
		sample := p.Sample[r.sample]
		values[i] = sample.Value[r.value]
		stacks[i] = []uuid.UUID{}
		for _, l := range sample.Location {
			stacks[i] = append(stacks[i], locations[l].id)
		}
		s.addLabels(i, sample)
	}
	// If several locations have one id, the first in the order of samples provides the record.
	for i, sample := range p.Sample {
		for _, l := range sample.Location {
			is := locations[l]
			if _, known := s.records[is.id]; !known && hasRow[i] {
				s.records[is.id] = is.record
			}
		}
	}
	s.columns[ColumnSampleType] = encoding.Strings(types...)
	s.columns[ColumnSampleUnit] = encoding.Strings(units...)
	s.columns[ColumnValue] = encoding.Int64s(values...)
	s.columns[ColumnStacktrace] = encoding.UUIDLists(stacks...)
}

func (s *slowBatcher) addLabels(row int, sample *pprof.Sample) {
	for name, values := range sample.Label {
		if s.addID(row, name, values) {
			continue
		}
		for k, value := range values {
			v := s.column(rows.LabelColumn(ColumnPprofLabels, name, k), encoding.String)
			v.Strings[row] = value
		}
	}
	for name, values := range sample.NumLabel {
		for k, value := range values {
			v := s.column(rows.NumLabelColumn(name, unitOf(sample, name, k), k), encoding.Int64)
			v.Int64s[row], v.Valid[row] = value, true
		}
	}
}

// addID puts a trace or span id into its own column. It reports whether the value is an id.
func (s *slowBatcher) addID(row int, name string, values []string) bool {
	if len(values) != 1 || name != ColumnTraceID && name != ColumnSpanID {
		return false
	}
	raw, err := hex.DecodeString(values[0])
	if err != nil || hex.EncodeToString(raw) != values[0] {
		return false
	}
	switch {
	case name == ColumnTraceID && len(raw) == 16:
		v := s.column(name, encoding.UUID)
		v.UUIDs[row], v.Valid[row] = uuid.UUID(raw), true
	case name == ColumnSpanID && len(raw) == 8:
		v := s.column(name, encoding.Uint64)
		v.Uint64s[row], v.Valid[row] = binary.BigEndian.Uint64(raw), true
	default:
		return false
	}
	return true
}

// column returns a column of the batch, or a new one without values.
func (s *slowBatcher) column(name string, t encoding.Type) encoding.Vector {
	v, ok := s.columns[name]
	if ok {
		return v
	}
	n := len(s.rows)
	v = encoding.Vector{Type: t}
	switch t {
	case encoding.String:
		v.Strings = make([]string, n)
	case encoding.Int64:
		v.Int64s, v.Valid = make([]int64, n), make([]bool, n)
	case encoding.Uint64:
		v.Uint64s, v.Valid = make([]uint64, n), make([]bool, n)
	case encoding.UUID:
		v.UUIDs, v.Valid = make([]uuid.UUID, n), make([]bool, n)
	}
	s.columns[name] = v
	return v
}
