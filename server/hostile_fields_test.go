package server

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"
	googlev1 "github.com/grafana/pyroscope/api/gen/proto/go/google/v1"
	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"
	collectorv1 "go.opentelemetry.io/proto/otlp/collector/profiles/v1development"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/granarydb/granary/internal/gzipped"
	"github.com/granarydb/granary/server/internal/push"
)

// fieldCuts adds the place in the first value of each field of an encoded message, by the path of the field. A
// message that is cut there is malformed.
func fieldCuts(cuts map[string]int, data []byte, of protoreflect.MessageDescriptor, path string, offset int) {
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeTag(data)
		field := of.Fields().ByNumber(number)
		size := protowire.ConsumeFieldValue(number, kind, data[n:])
		if n < 0 || size < 0 || field == nil {
			return
		}
		name, at := path+"."+string(field.Name()), n
		if kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(data[n:])
			at = n + size - len(value) + len(value)/2
			if len(value) < 2 {
				at = n
			}
			if m := field.Message(); m != nil {
				fieldCuts(cuts, value, m, name, offset+n+size-len(value))
			}
		}
		if _, known := cuts[name]; !known {
			cuts[name] = offset + at
		}
		data, offset = data[n+size:], offset+n+size
	}
}

// fullProfile has each field of pprof.
func fullProfile(t *testing.T) []byte {
	t.Helper()
	p, err := pprof.ParseData(small(t, 1))
	if err != nil {
		t.Fatal(err)
	}
	p.Mapping = []*pprof.Mapping{{ID: 1, Start: 1, Limit: 2, Offset: 3, File: "a.so", BuildID: "id", HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true}}
	p.Location[0].Mapping, p.Location[0].Address, p.Location[0].IsFolded = p.Mapping[0], 1, true
	p.Location[0].Line[0].Column = 3
	p.Function[0].SystemName, p.Function[0].Filename, p.Function[0].StartLine = "work", "main.go", 5
	p.Sample[0].Label, p.Sample[0].NumLabel, p.Sample[0].NumUnit = map[string][]string{"a": {"b"}}, map[string][]int64{"n": {7}}, map[string][]string{"n": {"bytes"}}
	p.Comments, p.DefaultSampleType, p.DropFrames, p.KeepFrames, p.DocURL = []string{"made by hand"}, "cpu", "drop", "keep", "https://example.com"
	var b bytes.Buffer
	if err := p.WriteUncompressed(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// cutFields are good requests that end amid a field: each field of each protocol, and each name of the two in JSON.
func cutFields(t *testing.T) (all []hostile) {
	t.Helper()
	each := func(m proto.Message, data []byte, add func(name string, cut []byte)) {
		cuts := map[string]int{}
		fieldCuts(cuts, data, m.ProtoReflect().Descriptor(), "", 0)
		for _, name := range slices.Sorted(maps.Keys(cuts)) {
			add("cut in "+name[1:], data[:cuts[name]])
		}
	}
	eachJSON := func(m proto.Message, path string, add func(name string, cut []byte)) {
		data, err := protojson.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, at := range regexp.MustCompile(`"\w+":`).FindAllIndex(data, -1) {
			if key := string(data[at[0]:at[1]]); !seen[key] {
				seen[key] = true
				add(path+" cut behind "+key, data[:at[1]])
			}
		}
	}
	each(&googlev1.Profile{}, fullProfile(t), func(name string, cut []byte) {
		all = append(all, hostile{"pprof " + name, "", "/pprof", nil, cut, 400, "not a valid pprof profile"})
	})
	request := &pushv1.PushRequest{Series: []*pushv1.RawProfileSeries{pushSeries([]string{"job", "a"}, small(t, 1))}}
	for path, m := range map[string]proto.Message{pushPath: request, push.OTLPProcedure: otlpRequest(1)} {
		each(m, marshal(t, m), func(name string, cut []byte) {
			all = append(all,
				hostile{path + " " + name, "", path, asProto, cut, 400, "invalid_argument"},
				hostile{path + " gRPC-Web " + name, "", path, asWeb, framed(0, uint32(len(cut)), string(cut)), 200, "grpc-status: 3"})
		})
		eachJSON(m, path, func(name string, cut []byte) {
			all = append(all, hostile{name, "", path, asJSON, cut, 400, "unmarshal message"})
		})
	}
	each(&collectorv1.ExportProfilesServiceRequest{}, marshal(t, otlpRequest(1)), func(name string, cut []byte) {
		all = append(all, hostile{"OTLP " + name, "", otlpPath, asX, cut, 400, "body: "})
	})
	return all
}

// asWeb are the headers of gRPC-Web, whose answers have status 200 and that of gRPC in the body.
var asWeb = []string{"Content-Type", "application/grpc-web+proto"}

// packed are bodies in formats that are not taken, or not so often.
func packed(t *testing.T) []hostile {
	t.Helper()
	good := small(t, 1)
	zeros := gzipped.Of(t, make([]byte, 16<<20))
	zlib := append([]byte{0x78, 0x9c}, good[10:]...)
	zstd := append([]byte{0x28, 0xb5, 0x2f, 0xfd}, good...)
	members := bytes.Repeat(gzipped.Of(t, make([]byte, 64<<10)), 100)
	lying := append(bytes.Clone(zeros[:len(zeros)-4]), 1, 0, 0, 0) // the size that it says
	named := append([]byte{0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 0}, bytes.Repeat([]byte("n"), 500_000)...)
	encoding := func(name string, more ...string) []string { return append([]string{"Content-Encoding", name}, more...) }
	all := []hostile{
		{"zlib", "", "/pprof", nil, zlib, 400, "not a valid pprof profile"},
		{"zstd", "", "/pprof", nil, zstd, 400, "not a valid pprof profile"},
		{"gzip in gzip", "", "/pprof?__name__=a", nil, gzipped.Of(t, good), 400, "compressed twice"},
		{"zstd in gzip", "", "/pprof?__name__=a", nil, gzipped.Of(t, zstd), 400, "compressed twice"},
		{"gzip in gzip in gzip", "", "/ingest?name=a", nil, gzipped.Of(t, gzipped.Of(t, good)), 400, "not a valid pprof profile"},
		{"zeros in gzip in gzip", "", "/pprof", nil, gzipped.Of(t, zeros), 400, "compressed twice"},
		{"100 gzip files in one", "", "/pprof", nil, members, 413, "4194304"},
		{"gzip that says it is short", "", "/pprof", nil, lying, 413, "4194304"},
		{"gzip with an endless name", "", "/pprof", nil, named, 400, "not a valid pprof profile"},
		{"gzip of nothing", "", "/pprof", nil, gzipped.Of(t, nil), 400, "not a valid pprof profile"},
		{"head of gzip alone", "", "/pprof", nil, good[:10], 400, "not a valid pprof profile"},
		{"gzip with a wrong sum", "", "/pprof", nil, append(bytes.Clone(good[:len(good)-8]), 1, 2, 3, 4, 5, 6, 7, 8), 400, "not a valid pprof profile"},
		{"gzip with another method", "", "/pprof", nil, append([]byte{0x1f, 0x8b, 9}, good[3:]...), 400, "not a valid pprof profile"},
		{"gzip and what is behind it", "", "/pprof", nil, append(bytes.Clone(good), "more"...), 400, "not a valid pprof profile"},
		{"gRPC-Web of zeros", "", pushPath, append([]string{"Grpc-Encoding", "gzip"}, asWeb...), framed(1, uint32(len(zeros)), string(zeros)), 200, "grpc-status: 8"},
		{"gRPC-Web in an encoding", "", pushPath, append([]string{"Grpc-Encoding", "zstd"}, asWeb...), framed(1, 3, "abc"), 200, "grpc-status: 12"},
		{"gRPC-Web compressed without saying how", "", pushPath, asWeb, framed(1, uint32(len(good)), string(good)), 200, "grpc-status: 13"},
		{"Push gzipped twice", "", pushPath, encoding("gzip", asProto...), gzipped.Of(t, gzipped.Of(t, []byte{0x0a, 0})), 400, "unmarshal"},
		{"OTLP gzipped twice", "", otlpPath, encoding("gzip", asX...), gzipped.Of(t, gzipped.Of(t, marshal(t, otlpRequest(1)))), 400, "body: "},
		{"OTLP of 100 gzip files", "", otlpPath, encoding("gzip", asX...), members, 413, "4194304"},
		{"OTLP of zeros by Connect", "", push.OTLPProcedure, encoding("gzip", asProto...), zeros, 429, "4194304"},
	}
	for _, name := range []string{"deflate", "zstd", "br", "gzip, gzip", "GZIP", "x"} {
		status, text := 415, "gzip, zstd and br are"
		if name == "zstd" || name == "br" || name == "GZIP" {
			status, text = 400, "body: " // of something else
		}
		all = append(all,
			hostile{"OTLP in " + name, "", otlpPath, encoding(name, asX...), zlib, status, text},
			hostile{"Push in " + name, "", pushPath, encoding(name, asProto...), zlib, 501, "unimplemented"})
	}
	for _, contentType := range []string{"application/x-www-form-urlencoded", "application/proto; charset=\xff", "application/", "multipart/form-data; boundary=x", "application/connect+proto", "application/octet-stream"} {
		all = append(all, hostile{"Push as " + contentType, "", pushPath, []string{"Content-Type", contentType}, []byte("x"), 415, ""})
	}
	return all
}

// edited returns a good profile after a change.
func edited(t *testing.T, edit func(*googlev1.Profile)) []byte {
	t.Helper()
	var p googlev1.Profile
	if err := proto.Unmarshal(fullProfile(t), &p); err != nil {
		t.Fatal(err)
	}
	edit(&p)
	return marshal(t, &p)
}

// contradictions are profiles that can be decoded and make no sense.
func contradictions(t *testing.T) (all []hostile) {
	t.Helper()
	for _, tt := range []struct {
		name, text string
		edit       func(*googlev1.Profile)
	}{
		{"time below 0", "", func(p *googlev1.Profile) { p.TimeNanos = -1 }},
		{"time in seconds", "", func(p *googlev1.Profile) { p.TimeNanos = 1_700_000_000 }},
		{"time in 2262", "future", func(p *googlev1.Profile) { p.TimeNanos = 1<<63 - 1 }},
		{"no sample types", "", func(p *googlev1.Profile) { p.SampleType = nil }},
		{"more types than values", "", func(p *googlev1.Profile) { p.SampleType = append(p.SampleType, p.SampleType...) }},
		{"more values than types", "", func(p *googlev1.Profile) { p.Sample[0].Value = make([]int64, 9) }},
		{"no values", "", func(p *googlev1.Profile) { p.Sample[0].Value = nil }},
		{"unknown location", "", func(p *googlev1.Profile) { p.Sample[0].LocationId = []uint64{99} }},
		{"location 0", "", func(p *googlev1.Profile) { p.Sample[0].LocationId = []uint64{0} }},
		{"huge location", "", func(p *googlev1.Profile) { p.Sample[0].LocationId = []uint64{1<<64 - 1} }},
		{"location twice", "", func(p *googlev1.Profile) { p.Location = append(p.Location, p.Location[0]) }},
		{"location without an id", "", func(p *googlev1.Profile) { p.Location[0].Id = 0 }},
		{"function twice", "", func(p *googlev1.Profile) { p.Function = append(p.Function, p.Function[0]) }},
		{"function without an id", "", func(p *googlev1.Profile) { p.Function[0].Id = 0 }},
		{"unknown function", "", func(p *googlev1.Profile) { p.Location[0].Line[0].FunctionId = 99 }},
		{"mapping twice", "", func(p *googlev1.Profile) { p.Mapping = append(p.Mapping, p.Mapping[0]) }},
		{"mapping without an id", "", func(p *googlev1.Profile) { p.Mapping[0].Id = 0 }},
		{"no strings", "", func(p *googlev1.Profile) { p.StringTable = nil }},
		{"first string", "", func(p *googlev1.Profile) { p.StringTable[0] = "a" }},
		{"string below 0", "", func(p *googlev1.Profile) { p.Function[0].Name = -1 }},
		{"unknown string of a function", "", func(p *googlev1.Profile) { p.Function[0].Name = 999 }},
		{"unknown string of a type", "", func(p *googlev1.Profile) { p.SampleType[0].Type = 999 }},
		{"unknown string of a period", "", func(p *googlev1.Profile) { p.PeriodType.Unit = 999 }},
		{"unknown string of a label", "", func(p *googlev1.Profile) { p.Sample[0].Label[0].Key = 999 }},
		{"unknown string of a mapping", "", func(p *googlev1.Profile) { p.Mapping[0].Filename = 1 << 62 }},
		{"unknown comment", "", func(p *googlev1.Profile) { p.Comment = []int64{999} }},
		{"unknown default type", "", func(p *googlev1.Profile) { p.DefaultSampleType = 1 << 40 }},
		{"label without a name", "invalid batch", func(p *googlev1.Profile) { p.Sample[0].Label[0].Key = 0 }},
		{"deep stack", "locations", func(p *googlev1.Profile) { p.Sample[0].LocationId = slices.Repeat([]uint64{1}, 17_000) }},
		{"too many samples", "samples", func(p *googlev1.Profile) { p.Sample = slices.Repeat(p.Sample, 10_001) }},
	} {
		h := hostile{tt.name, "", "/pprof", nil, edited(t, tt.edit), 400, cmp.Or(tt.text, "not a valid pprof profile")}
		if tt.name == "deep stack" || tt.name == "too many samples" {
			h.status = 413
		}
		all = append(all, h)
	}
	huge := func(number protowire.Number) []byte { // a varint of 11 bytes
		return append(protowire.AppendTag(nil, number, protowire.VarintType), bytes.Repeat([]byte{0xff}, 11)...)
	}
	length := func(number protowire.Number) []byte { // of 2^63
		return protowire.AppendVarint(protowire.AppendTag(nil, number, protowire.BytesType), 1<<63)
	}
	group := []byte{0x0b, 0x0b, 0x0b}
	reason := map[string]string{"/pprof": "not a valid pprof profile", otlpPath: "body: ", pushPath: "unmarshal message", push.OTLPProcedure: "unmarshal message"}
	for path, headers := range map[string][]string{"/pprof": nil, pushPath: asProto, otlpPath: asX, push.OTLPProcedure: asProto} {
		for name, body := range map[string][]byte{"huge varint": huge(9), "huge length": length(1), "groups without an end": group, "field 0": {0x02, 0x00}, "wire type 7": {0x0f}} {
			all = append(all, hostile{path + " " + name, "", path, headers, body, 400, reason[path]})
		}
	}
	return all
}

// floods are requests with too many of what each may have some.
func floods(t *testing.T) []hostile {
	t.Helper()
	good := small(t, 1)
	var names strings.Builder
	for i := range 100 {
		fmt.Fprintf(&names, "l%d=v,", i)
	}
	parts := make([]part, 9)
	for i := range parts {
		parts[i] = part{fmt.Sprint("part", i), good}
	}
	pushed := func(series *pushv1.RawProfileSeries, times int) []byte {
		return marshal(t, &pushv1.PushRequest{Series: slices.Repeat([]*pushv1.RawProfileSeries{series}, times)})
	}
	otlp := otlpRequest(1)
	scope := otlp.GetResourceProfiles()[0].GetScopeProfiles()[0]
	scope.Profiles = slices.Repeat(scope.GetProfiles(), 1001)
	for _, p := range scope.GetProfiles() {
		p.Samples = nil
	}
	many, contentType := form(t, parts...)
	long := strings.Repeat("x", 3000)
	return []hostile{
		{"labels in a name", "", "/ingest?name=" + url.QueryEscape("a{"+names.String()+"l=v}"), nil, good, 413, "labels, at most 64"},
		{"parts of a form", "", "/ingest?name=a", []string{"Content-Type", contentType}, many, 400, "part"},
		{"profiles of Push", "", pushPath, asProto, pushed(pushSeries(nil, []byte("p")), 1001), 429, "1001 profiles in a request, at most 1000"},
		{"profiles of OTLP", "", otlpPath, asX, marshal(t, otlp), 413, "more than 1000 profiles"},
		{"long name", "", "/pprof?" + long + "=a", nil, good, 413, "3000 bytes, at most 200"},
		{"long name of Push", "", pushPath, asProto, pushed(pushSeries([]string{long, "a"}, good), 1), 429, "3000 bytes, at most 200"},
		{"long format", "", "/ingest?name=a&format=" + long, nil, good, 415, `xxx"...`},
		{"id without characters", "", pushPath, append([]string{push.KeyHeader, "a\tb"}, asProto...), pushed(pushSeries(nil, good), 1), 400, "printable"},
	}
}

// otherMethods are paths that exist, with methods that they have not.
func otherMethods() (all []hostile) {
	for path, allowed := range map[string]string{
		"/metrics": "GET HEAD", "/healthz": "GET HEAD", "/readyz": "GET HEAD", "/arrow": "GET HEAD", "/pprof": "GET HEAD POST", "/ingest": "POST", otlpPath: "POST",
	} {
		for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"} {
			if !slices.Contains(strings.Fields(allowed), method) {
				all = append(all, hostile{method + " " + path, method, path, nil, nil, http.StatusMethodNotAllowed, "Method Not Allowed"})
			}
		}
	}
	all = append(all, hostile{"a POST of the page", "", "/", nil, nil, http.StatusMethodNotAllowed, "Method Not Allowed"})
	for _, path := range []string{"/../etc/passwd", "/metrics/", "/pprof/", "/push.v1.PusherService/", "/push.v1.PusherService/push", "/%2e%2e/metrics", "/metrics%00", "/v1/profiles", "/debug/pprof/"} {
		all = append(all, hostile{"path " + path, "", path, nil, nil, http.StatusNotFound, "not found"})
	}
	return all
}
