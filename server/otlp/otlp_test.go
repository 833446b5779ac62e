package otlp

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"
	collectorv1 "go.opentelemetry.io/proto/otlp/collector/profiles/v1development"
	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	profilesv1 "go.opentelemetry.io/proto/otlp/profiles/v1development"
	resourcev1 "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/format"
)

var update = flag.Bool("update", false, "write the golden file of testdata anew")

// request has two profiles of one resource: 3 and 4 samples of main.f.
func request() *collectorv1.ExportProfilesServiceRequest {
	of := func(values ...int64) *profilesv1.Profile {
		return &profilesv1.Profile{
			SampleType: &profilesv1.ValueType{TypeStrindex: 1, UnitStrindex: 2}, TimeUnixNano: 1_790_000_000_000_000_000, DurationNano: 1e9,
			PeriodType: &profilesv1.ValueType{TypeStrindex: 3, UnitStrindex: 4}, Period: 10_000_000,
			Samples: []*profilesv1.Sample{{StackIndex: 1, Values: values, AttributeIndices: []int32{1}}},
		}
	}
	return &collectorv1.ExportProfilesServiceRequest{
		ResourceProfiles: []*profilesv1.ResourceProfiles{{
			Resource: &resourcev1.Resource{Attributes: []*commonv1.KeyValue{
				{KeyStrindex: 5, Value: &commonv1.AnyValue{Value: &commonv1.AnyValue_StringValueStrindex{StringValueStrindex: 6}}},
			}},
			ScopeProfiles: []*profilesv1.ScopeProfiles{{Profiles: []*profilesv1.Profile{of(1, 2), of(4)}}},
		}},
		Dictionary: &profilesv1.ProfilesDictionary{
			StringTable:    []string{"", "samples", "count", "cpu", "nanoseconds", "service.name", "shop", "main.f", "thread.name", "worker", "/bin/shop"},
			MappingTable:   []*profilesv1.Mapping{{}, {MemoryStart: 0x1000, MemoryLimit: 0x2000, FilenameStrindex: 10}},
			FunctionTable:  []*profilesv1.Function{{}, {NameStrindex: 7}},
			LocationTable:  []*profilesv1.Location{{}, {MappingIndex: 1, Address: 0x1234, Lines: []*profilesv1.Line{{FunctionIndex: 1, Line: 3}}}},
			StackTable:     []*profilesv1.Stack{{}, {LocationIndices: []int32{1}}},
			LinkTable:      []*profilesv1.Link{{}},
			AttributeTable: []*profilesv1.KeyValueAndUnit{{}, {KeyStrindex: 8, Value: &commonv1.AnyValue{Value: &commonv1.AnyValue_StringValue{StringValue: "worker"}}}},
		},
	}
}

// files are the forms of a request in a file.
func files(t testing.TB) map[string][]byte {
	t.Helper()
	binary, err := proto.Marshal(request())
	text, err2 := protojson.Marshal(request())
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/shop.otlp" // for tests of others
	if *update {
		if err := os.WriteFile(golden, binary, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{"protobuf": binary, "kept": kept, "JSON": text, "JSON with space": append([]byte("\n  "), text...)}
}

func typeOf(t *pprof.ValueType) string {
	if t == nil {
		return ""
	}
	return t.Type + "/" + t.Unit
}

// decode returns the profiles of a file as texts.
func decode(data []byte) (texts []string, err error) {
	for p, err := range format.Decode(data, format.Hints{OTLP: Options{}.Decode}) {
		if err != nil {
			return nil, err
		}
		if p.Parsed == nil {
			continue // the original of a damaged profile
		}
		if err := p.Parsed.CheckValid(); err != nil {
			return nil, err
		}
		sum, name, labels := int64(0), "", map[string][]string{}
		for _, s := range p.Parsed.Sample {
			sum += s.Value[0]
			for _, l := range s.Location {
				for _, line := range l.Line {
					name = line.Function.Name
				}
			}
			maps.Copy(labels, s.Label)
		}
		types := p.Parsed.SampleType[0]
		texts = append(texts, fmt.Sprintf("%s %s %d: %d of %s, %v %v", typeOf(types),
			typeOf(p.Parsed.PeriodType), p.Parsed.Period, sum, name, labels, p.Labels))
	}
	return texts, nil
}

// TestDecode reads files, whose format is known by their content.
func TestDecode(t *testing.T) {
	const of = " of main.f, map[thread.name:[worker]] map[service.name:shop service_name:shop]"
	want := fmt.Sprint([]string{"samples/count cpu/nanoseconds 10000000: 3" + of, "samples/count cpu/nanoseconds 10000000: 4" + of})
	for name, data := range files(t) {
		got, err := decode(data)
		if err != nil || fmt.Sprint(got) != want || format.Of(data) != format.OTLP {
			t.Errorf("%s: %v, %v, want %v; format %q", name, got, err, want, format.Of(data))
		}
		for _, err := range format.Decode(data, format.Hints{}) {
			if !errors.Is(err, profile.ErrProfile) || !strings.Contains(err.Error(), "OpenTelemetry") {
				t.Errorf("%s without a decoder: %v", name, err)
			}
		}
	}
	empty := request()
	empty.ResourceProfiles[0].Resource = &resourcev1.Resource{}
	if data, err := proto.Marshal(empty); err != nil || format.Of(data) != format.OTLP {
		t.Errorf("a resource without attributes: %q, %v", format.Of(data), err)
	}
	for _, text := range []string{"", "\n", "\n\n\n\n\n\n", "\n{\n  \"a\": 1}", "{\"resource\":1}", "\x0a\x04\x08\x01\x10\x02", "\x0a\x02\x0a\x05", "\x0a\x7f", "\x0a\x00\x12\x09\x0a\x05S\x0d(HT\x10\x01\x12\x0c"} {
		if is := format.Of([]byte(text)); is == format.OTLP {
			t.Errorf("%q is taken for OTLP", text)
		}
	}
}

// TestDecode_Real reads what the profiler of OpenTelemetry sent: 10 samples at 19 Hz.
func TestDecode_Real(t *testing.T) {
	data, err := os.ReadFile("../../../shared/data/clients/ebpf.otlp")
	if err != nil {
		t.Skip("there is no folder with files of other profilers beside this repository: ", err)
	}
	got, err := decode(data)
	if err != nil || len(got) != 1 || !strings.HasPrefix(got[0], "samples/count cpu/nanoseconds 52631578: 10 of ") {
		t.Errorf("%q, %v", got, err)
	}
}

// TestDecode_Hostile reads files that are wrong.
func TestDecode_Hostile(t *testing.T) {
	effort.Slow(t)
	with := func(change func(r *collectorv1.ExportProfilesServiceRequest, p *profilesv1.Profile, d *profilesv1.ProfilesDictionary)) []byte {
		r := request()
		change(r, r.ResourceProfiles[0].ScopeProfiles[0].Profiles[0], r.Dictionary)
		data, err := proto.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	type (
		all      = *collectorv1.ExportProfilesServiceRequest
		one      = *profilesv1.Profile
		contents = *profilesv1.ProfilesDictionary
	)
	for name, c := range map[string]struct {
		data   []byte
		saying string
	}{
		"no dictionary":   {with(func(r all, _ one, _ contents) { r.Dictionary = nil }), "of 0"},
		"a stack":         {with(func(_ all, p one, _ contents) { p.Samples[0].StackIndex = 9 }), "stack 9 of 2"},
		"a stack below 0": {with(func(_ all, p one, _ contents) { p.Samples[0].StackIndex = -1 }), "stack -1 of 2"},
		"a link":          {with(func(_ all, p one, _ contents) { p.Samples[0].LinkIndex = 7 }), "link 7"},
		"an attribute":    {with(func(_ all, p one, _ contents) { p.Samples[0].AttributeIndices = []int32{7} }), "attribute 7"},
		"a location":      {with(func(_ all, _ one, d contents) { d.StackTable[1].LocationIndices = []int32{8} }), "location 8"},
		"a function":      {with(func(_ all, _ one, d contents) { d.LocationTable[1].Lines[0].FunctionIndex = 6 }), "function 6"},
		"a mapping":       {with(func(_ all, _ one, d contents) { d.LocationTable[1].MappingIndex = 5 }), "mapping 5"},
		"a string":        {with(func(_ all, _ one, d contents) { d.FunctionTable[1].NameStrindex = 1 << 30 }), "string 1073741824"},
		"a type":          {with(func(_ all, p one, _ contents) { p.SampleType.TypeStrindex = -5 }), "string -5"},
		"a time":          {with(func(_ all, p one, _ contents) { p.TimeUnixNano = 1 << 63 }), "time of"},
		"a duration":      {with(func(_ all, p one, _ contents) { p.DurationNano = 1 << 63 }), "duration of"},
		"an id":           {with(func(_ all, p one, _ contents) { p.ProfileId = []byte{1} }), "profile_id"},
		"values":          {with(func(_ all, p one, _ contents) { p.Samples[0].Values = []int64{1 << 62, 1 << 62} }), "64 bits"},
		"times":           {with(func(_ all, p one, _ contents) { p.Samples[0].TimestampsUnixNano = []uint64{1} }), "2 values at 1 times"},
		"a resource":      {with(func(r all, _ one, _ contents) { r.ResourceProfiles[0].Resource.Attributes[0].KeyStrindex = 99 }), "string 99"},
		"the second profile": {with(func(r all, _ one, _ contents) {
			r.ResourceProfiles[0].ScopeProfiles[0].Profiles[1].Samples[0].StackIndex = 3
		}), "profile 1: "},
		"cut JSON":            {[]byte(`{"resourceProfiles": [`), "OTLP: "},
		"JSON of other types": {[]byte(`{"resourceProfiles": {"a": 1}}`), "OTLP: "},
		"many messages":       {append(files(t)["protobuf"], bytes.Repeat([]byte{0x0a, 0}, 3_000_000)...), "messages"},
		"many values in JSON": {[]byte(`{"resourceProfiles": [` + strings.Repeat("{},", 5_000_000) + `{}]}`), "values"},
	} {
		got, err := decode(c.data)
		if !errors.Is(err, profile.ErrProfile) && !errors.Is(err, profile.ErrTooLarge) || !strings.Contains(err.Error(), c.saying) {
			t.Errorf("%s: %v, %v, want %q", name, got, err, c.saying)
		}
	}
	for name, data := range files(t) {
		for i := range data {
			for what, data := range map[string][]byte{"cut": data[:i], "changed": append(append(bytes.Clone(data[:i]), 0xff), data[i+1:]...)} {
				if _, err := decode(data); err != nil && !errors.Is(err, profile.ErrProfile) && !errors.Is(err, profile.ErrTooLarge) {
					t.Fatal(fmt.Sprint(name, " ", what, " at ", i), err)
				}
			}
		}
	}
}

// FuzzDecode reads any file.
func FuzzDecode(f *testing.F) {
	for _, data := range files(f) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for p, err := range (Options{}).Decode(data, profile.Limits{Samples: 100}) {
			if err == nil && p.Parsed != nil {
				err = p.Parsed.CheckValid()
			}
			if err != nil && !errors.Is(err, profile.ErrProfile) && !errors.Is(err, profile.ErrTooLarge) {
				t.Fatal(err)
			}
		}
	})
}
