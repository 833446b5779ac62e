package otlp

import (
	"encoding/hex"
	"maps"
	"math"
	"slices"
	"strconv"

	pprof "github.com/google/pprof/profile"
	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	profilesv1 "go.opentelemetry.io/proto/otlp/profiles/v1development"
	"google.golang.org/protobuf/proto"

	"github.com/granarydb/granary/server/internal/fault"
)

// profile converts a profile of OTLP to pprof, with the labels of its resource.
func (d *dictionary) profile(from *profilesv1.Profile, labels map[string]string) (in Profile, err error) {
	d.err = nil
	in.Size = proto.Size(from)
	in.Labels = withService(d.withAttributes(labels, from.GetAttributeIndices()))
	switch id := from.GetProfileId(); {
	case len(id) != 0 && len(id) != 16:
		d.fail(fault.Invalid("profile_id has %d bytes, want 16", len(id)))
	case !isZero(id):
		in.ID = hex.EncodeToString(id)
	}
	if from.GetOriginalPayloadFormat() == "pprof" && len(from.GetOriginalPayload()) > 0 {
		in.Encoded = from.GetOriginalPayload()
		return in, d.err
	}
	in.Parsed = &pprof.Profile{
		Period: from.GetPeriod(), TimeNanos: d.nanos("time", from.GetTimeUnixNano()), DurationNanos: d.nanos("duration", from.GetDurationNano()),
		SampleType: []*pprof.ValueType{d.valueType(from.GetSampleType())},
	}
	if t := in.Parsed.SampleType[0]; t.Type == "events" && t.Unit == "nanoseconds" {
		t.Type = "off_cpu" // as later versions of the profiler for eBPF name it
	}
	if from.GetPeriodType() != nil {
		in.Parsed.PeriodType = d.valueType(from.GetPeriodType())
	}
	d.samples(in.Parsed, from.GetSamples())
	if d.err == nil {
		addTime(in.Parsed)
	}
	return in, d.err
}

// addTime adds the CPU time to a profile of samples that are a period apart, as Go's CPU profiles have both, because clients ask for
// the time. Samples whose time overflows are left alone.
func addTime(p *pprof.Profile) {
	t, every := p.SampleType[0], p.PeriodType
	if t.Type != "samples" || t.Unit != "count" || every == nil || every.Type != "cpu" || every.Unit != "nanoseconds" || p.Period <= 0 {
		return
	}
	for _, s := range p.Sample {
		if v := s.Value[0]; v > math.MaxInt64/p.Period || v < math.MinInt64/p.Period {
			return
		}
	}
	p.SampleType = append(p.SampleType, &pprof.ValueType{Type: every.Type, Unit: every.Unit})
	for _, s := range p.Sample {
		s.Value = append(s.Value, s.Value[0]*p.Period)
	}
}

func (d *dictionary) nanos(what string, n uint64) int64 {
	if n > math.MaxInt64 {
		d.fail(fault.Invalid("%s of %d ns", what, n))
	}
	return int64(n)
}

func (d *dictionary) valueType(from *profilesv1.ValueType) *pprof.ValueType {
	return &pprof.ValueType{Type: d.text(from.GetTypeStrindex()), Unit: d.text(from.GetUnitStrindex())}
}

// samples adds samples, and the tables that they use, to a profile.
func (d *dictionary) samples(p *pprof.Profile, from []*profilesv1.Sample) {
	if len(from) > d.most {
		d.fail(fault.TooLarge("%d samples, at most %d", len(from), d.most))
	}
	if d.err != nil {
		return
	}
	p.Sample = make([]*pprof.Sample, 0, len(from))
	used := map[int32]bool{} // stacks
	into := newTables(p)
	for i, sample := range from {
		s := d.sample(sample)
		if d.err != nil {
			d.err = fault.At("sample "+strconv.Itoa(i), d.err)
			return
		}
		p.Sample = append(p.Sample, s)
		if index := sample.GetStackIndex(); !used[index] {
			used[index] = true
			into.add(s.Location)
		}
	}
}

func (d *dictionary) sample(from *profilesv1.Sample) *pprof.Sample {
	value, err := sumOf(from)
	d.fail(err)
	s := &pprof.Sample{Value: []int64{value}, Location: d.stack(from.GetStackIndex())}
	trace, span := d.link(from.GetLinkIndex())
	add := func(key, text string) {
		if s.Label == nil {
			s.Label = map[string][]string{}
		}
		if key != "" && text != "" && !slices.Contains(s.Label[key], text) {
			s.Label[key] = append(s.Label[key], text)
		}
	}
	add("trace_id", trace)
	add("span_id", span)
	d.eachAttribute(from.GetAttributeIndices(), func(key, unit string, v *commonv1.AnyValue) {
		if n, isInt := v.GetValue().(*commonv1.AnyValue_IntValue); isInt {
			addNumber(s, key, unit, n.IntValue)
			return
		}
		text, _ := d.value(v)
		add(key, text)
	})
	return s
}

// withService returns labels with service.name also as service_name unless that exists, because clients of Pyroscope's API
// look for a service there.
func withService(labels map[string]string) map[string]string {
	const as = "service_name"
	service, isNamed := labels["service.name"]
	if _, taken := labels[as]; taken || !isNamed {
		return labels
	}
	labels = maps.Clone(labels)
	labels[as] = service
	return labels
}

// addNumber adds a number label to a sample. It ignores an attribute whose key exists already, because
// keys are distinct, and the values of a label must have as many units.
func addNumber(s *pprof.Sample, key, unit string, n int64) {
	if s.NumLabel == nil {
		s.NumLabel, s.NumUnit = map[string][]int64{}, map[string][]string{}
	}
	if _, known := s.NumLabel[key]; known || key == "" {
		return
	}
	s.NumLabel[key] = []int64{n}
	if unit != "" {
		s.NumUnit[key] = []string{unit}
	}
}

// sumOf returns a sample's value: the sum of its values, or the number of its timestamps if it has no
// values.
func sumOf(from *profilesv1.Sample) (sum int64, err error) {
	values, times := from.GetValues(), from.GetTimestampsUnixNano()
	switch {
	case len(values) == 0:
		return int64(len(times)), nil
	case len(times) > 0 && len(times) != len(values):
		return 0, fault.Invalid("%d values at %d times", len(values), len(times))
	}
	for _, v := range values {
		if v > 0 && sum > math.MaxInt64-v || v < 0 && sum < math.MinInt64-v {
			return 0, fault.Invalid("its values exceed 64 bits together")
		}
		sum += v
	}
	return sum, nil
}

// tables fills the tables of a profile from the locations of stacks.
type tables struct {
	to   *pprof.Profile
	seen map[any]bool
}

func newTables(to *pprof.Profile) *tables { return &tables{to, map[any]bool{}} }

// isNew reports whether an entry was not seen before.
func (t *tables) isNew(e any) bool {
	known := t.seen[e]
	t.seen[e] = true
	return !known
}

func (t *tables) add(stack []*pprof.Location) {
	for _, l := range stack {
		if !t.isNew(l) {
			continue
		}
		t.to.Location = append(t.to.Location, l)
		if l.Mapping != nil && t.isNew(l.Mapping) {
			t.to.Mapping = append(t.to.Mapping, l.Mapping)
		}
		for _, line := range l.Line {
			if t.isNew(line.Function) {
				t.to.Function = append(t.to.Function, line.Function)
			}
		}
	}
}
