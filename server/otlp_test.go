package server

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	pprof "github.com/google/pprof/profile"
	collectorv1 "go.opentelemetry.io/proto/otlp/collector/profiles/v1development"
	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	profilesv1 "go.opentelemetry.io/proto/otlp/profiles/v1development"
	resourcev1 "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/gzipped"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/push"
)

// otlpRequest is a request with one CPU profile of two samples: 3 values at times, and 2 times.
func otlpRequest(id byte) *collectorv1.ExportProfilesServiceRequest {
	texts := []string{
		"", "samples", "count", "cpu", "nanoseconds", "main.leaf", "main.root", "main.go", "api.so",
		"thread.name", "worker", "thread.id", "service.name", "shop", "process.executable.build_id.gnu", "abcd", "bytes",
	}
	text := func(index int32) *commonv1.AnyValue {
		return &commonv1.AnyValue{Value: &commonv1.AnyValue_StringValueStrindex{StringValueStrindex: index}}
	}
	return &collectorv1.ExportProfilesServiceRequest{
		Dictionary: &profilesv1.ProfilesDictionary{
			StringTable:  texts,
			MappingTable: []*profilesv1.Mapping{{}, {MemoryStart: 0x1000, MemoryLimit: 0x9000, FilenameStrindex: 8, AttributeIndices: []int32{3}}},
			FunctionTable: []*profilesv1.Function{
				{}, {NameStrindex: 5, FilenameStrindex: 7}, {NameStrindex: 6, FilenameStrindex: 7},
			},
			LocationTable: []*profilesv1.Location{
				{},
				{MappingIndex: 1, Address: 0x1100, Lines: []*profilesv1.Line{{FunctionIndex: 1, Line: 11}}},
				{MappingIndex: 1, Address: 0x1200, Lines: []*profilesv1.Line{{FunctionIndex: 2, Line: 22}}},
			},
			StackTable: []*profilesv1.Stack{{}, {LocationIndices: []int32{1, 2}}, {LocationIndices: []int32{2}}},
			LinkTable:  []*profilesv1.Link{{}, {TraceId: bytes.Repeat([]byte{0xab}, 16), SpanId: bytes.Repeat([]byte{0xcd}, 8)}},
			AttributeTable: []*profilesv1.KeyValueAndUnit{
				{},
				{KeyStrindex: 9, Value: text(10)},
				{KeyStrindex: 11, UnitStrindex: 16, Value: &commonv1.AnyValue{Value: &commonv1.AnyValue_IntValue{IntValue: 77}}},
				{KeyStrindex: 14, Value: text(15)},
			},
		},
		ResourceProfiles: []*profilesv1.ResourceProfiles{{
			Resource: &resourcev1.Resource{Attributes: []*commonv1.KeyValue{
				{KeyStrindex: 12, Value: text(13)},
				{Key: "replicas", Value: &commonv1.AnyValue{Value: &commonv1.AnyValue_IntValue{IntValue: 3}}},
				{Key: "list", Value: &commonv1.AnyValue{Value: &commonv1.AnyValue_ArrayValue{ArrayValue: &commonv1.ArrayValue{}}}},
			}},
			ScopeProfiles: []*profilesv1.ScopeProfiles{{Profiles: []*profilesv1.Profile{{
				SampleType: &profilesv1.ValueType{TypeStrindex: 1, UnitStrindex: 2},
				PeriodType: &profilesv1.ValueType{TypeStrindex: 3, UnitStrindex: 4}, Period: 1000,
				TimeUnixNano: uint64(time.Now().UnixNano()), DurationNano: 5e9, ProfileId: bytes.Repeat([]byte{id}, 16),
				Samples: []*profilesv1.Sample{
					{StackIndex: 1, LinkIndex: 1, Values: []int64{1, 2}, TimestampsUnixNano: []uint64{1, 2}, AttributeIndices: []int32{1, 2}},
					{StackIndex: 2, TimestampsUnixNano: []uint64{1, 2}},
				},
			}}}},
		}},
	}
}

func firstProfile(r *collectorv1.ExportProfilesServiceRequest) *profilesv1.Profile {
	return r.GetResourceProfiles()[0].GetScopeProfiles()[0].GetProfiles()[0]
}

func marshal(t testing.TB, m proto.Message) []byte {
	t.Helper()
	data, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// export sends a request by HTTP and returns the part of its answer about refused profiles.
func (r *receiver) export(m *collectorv1.ExportProfilesServiceRequest) *collectorv1.ExportProfilesPartialSuccess {
	r.t.Helper()
	status, text := r.send(r.request(http.MethodPost, "/v1development/profiles", marshal(r.t, m), "Content-Type", "application/x-protobuf"))
	var answer collectorv1.ExportProfilesServiceResponse
	if err := proto.Unmarshal([]byte(text), &answer); status != http.StatusOK || err != nil {
		r.t.Errorf("status %d: %v: %s", status, err, text)
	}
	return answer.GetPartialSuccess()
}

// TestOTLP pushes a profile in each form. Each comes out as it went in.
func TestOTLP(t *testing.T) {
	r := newReceiver(t, Options{}, columnstore.Options{})
	if refused := r.export(otlpRequest(1)); refused != nil {
		t.Error(refused)
	}
	r.want(http.StatusOK, "", r.request(http.MethodPost, "/v1development/profiles", gzipped.Of(t, marshal(t, otlpRequest(2))),
		"Content-Type", "application/x-protobuf", "Content-Encoding", "gzip"))
	text, err := protojson.Marshal(otlpRequest(3))
	if err != nil {
		t.Fatal(err)
	}
	r.want(http.StatusOK, "{}", r.request(http.MethodPost, "/v1development/profiles", text, "Content-Type", "application/json; charset=utf-8"))
	grpc := connect.NewClient[collectorv1.ExportProfilesServiceRequest, collectorv1.ExportProfilesServiceResponse](
		r.h2c, r.url+push.OTLPProcedure, connect.WithGRPC(), connect.WithSendGzip())
	for range 2 { // a retry
		if _, err := grpc.CallUnary(t.Context(), connect.NewRequest(otlpRequest(4))); err != nil {
			t.Fatal(err)
		}
	}
	wantSums(t, r.sums(`{"service.name"="shop", replicas="3"}`), map[string]int64{"process_cpu samples count": 20, "process_cpu cpu nanoseconds": 20_000})
	wantSums(t, r.sums(`{service_name="shop"}`), map[string]int64{"process_cpu samples count": 20, "process_cpu cpu nanoseconds": 20_000})
	wantLabels(t, r.labels(), `{__name__="process_cpu", replicas="3", service.name="shop", service_name="shop"}`)
	r.wantMetrics(`granary_push_profiles_total 4`, `granary_push_duplicates_total 1`)
	checkOTLP(t, r)
}

// checkOTLP compares the profile of the store with otlpRequest.
func checkOTLP(t *testing.T, r *receiver) {
	t.Helper()
	var p *pprof.Profile
	err := r.store.View(t.Context(), func(snap *columnstore.Snapshot) (err error) {
		p, err = r.s.db().Profile(t.Context(), snap, profile.Query{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int64{}
	for _, s := range p.Sample {
		var stack []string
		for _, l := range s.Location {
			stack = append(stack, fmt.Sprintf("%s:%d %#x %s", l.Line[0].Function.Name, l.Line[0].Line, l.Address, l.Mapping.BuildID))
		}
		found[fmt.Sprint(strings.Join(stack, ";"), s.Label, s.NumLabel, s.NumUnit)] += s.Value[0]
	}
	trace, span := strings.Repeat("ab", 16), strings.Repeat("cd", 8)
	want := map[string]int64{
		"main.leaf:11 0x1100 abcd;main.root:22 0x1200 abcdmap[span_id:[" + span + "] thread.name:[worker] trace_id:[" + trace + "]] map[thread.id:[77]] map[thread.id:[bytes]]": 12,
		"main.root:22 0x1200 abcdmap[] map[] map[]": 8,
	}
	wantSums(t, found, want)
}

// TestOTLP_File takes a file of OTLP where it takes pprof. Labels of the push replace those of the file.
func TestOTLP_File(t *testing.T) {
	r := newReceiver(t, Options{}, columnstore.Options{})
	data := marshal(t, otlpRequest(1))
	r.want(http.StatusOK, "4 rows", r.request(http.MethodPost, "/pprof?job=a&replicas=4", data))
	r.want(http.StatusOK, "", r.request(http.MethodPost, "/ingest?name=till&format=otlp", gzipped.Of(t, data)))
	for selector, want := range map[string]int64{`{service_name="shop", job="a", replicas="4"}`: 2, `{service_name="till", replicas="3"}`: 2, `{replicas="3", job="a"}`: 0} {
		if got := r.sums(selector); len(got) != int(want) {
			t.Errorf("%s: %v", selector, got)
		}
	}
	r.want(http.StatusBadRequest, "OTLP: ", r.request(http.MethodPost, "/pprof?job=a", data[:len(data)-1]))
	r.want(http.StatusBadRequest, "not in the format otlp", r.request(http.MethodPost, "/ingest?name=a&format=otlp", small(t, 1)))
}

// TestOTLP_Payload stores the original of a profile instead of it.
func TestOTLP_Payload(t *testing.T) {
	r := newReceiver(t, Options{}, columnstore.Options{})
	request := otlpRequest(1)
	p := firstProfile(request)
	p.OriginalPayloadFormat, p.OriginalPayload = "pprof", file(t, "pebble/cpu-1.pb.gz")
	if refused := r.export(request); refused != nil {
		t.Error(refused)
	}
	want := map[string]int64{}
	addSums(t, want, "process_cpu", p.OriginalPayload)
	wantSums(t, r.sums(`{"service.name"="shop"}`), want)
}

// TestOTLP_Refused damages one of two profiles. The other is stored, and the first can be retried.
func TestOTLP_Refused(t *testing.T) {
	for name, tt := range map[string]struct {
		damage func(r *collectorv1.ExportProfilesServiceRequest, p *profilesv1.Profile)
		text   string
	}{
		"stack":    {func(_ *collectorv1.ExportProfilesServiceRequest, p *profilesv1.Profile) { p.Samples[0].StackIndex = 9 }, "sample 0: invalid request: stack 9 of 4"},
		"below 0":  {func(_ *collectorv1.ExportProfilesServiceRequest, p *profilesv1.Profile) { p.Samples[0].StackIndex = -1 }, "stack -1 of 4"},
		"location": {func(_ *collectorv1.ExportProfilesServiceRequest, p *profilesv1.Profile) { p.Samples[0].StackIndex = 3 }, "location 99 of 3"},
		"link":     {func(_ *collectorv1.ExportProfilesServiceRequest, p *profilesv1.Profile) { p.Samples[1].LinkIndex = 5 }, "sample 1: invalid request: link 5 of 2"},
		"attribute": {func(_ *collectorv1.ExportProfilesServiceRequest, p *profilesv1.Profile) {
			p.AttributeIndices = []int32{math.MaxInt32}
		}, "attribute 2147483647 of 4"},
		"type": {func(_ *collectorv1.ExportProfilesServiceRequest, p *profilesv1.Profile) {
			p.SampleType.TypeStrindex = 17
		}, "string 17 of 17"},
		"id": {func(_ *collectorv1.ExportProfilesServiceRequest, p *profilesv1.Profile) { p.ProfileId = []byte{1} }, "profile_id has 1 bytes"},
		"time": {func(_ *collectorv1.ExportProfilesServiceRequest, p *profilesv1.Profile) {
			p.TimeUnixNano = math.MaxUint64
		}, "time of"},
		"old": {func(_ *collectorv1.ExportProfilesServiceRequest, p *profilesv1.Profile) { p.TimeUnixNano = 5 }, "its time is 5"},
		"values": {func(_ *collectorv1.ExportProfilesServiceRequest, p *profilesv1.Profile) {
			p.Samples[0].Values = []int64{1}
		}, "1 values at 2 times"},
		"overflow": {func(_ *collectorv1.ExportProfilesServiceRequest, p *profilesv1.Profile) {
			p.Samples[0].Values = []int64{math.MaxInt64, 1}
		}, "64 bits"},
		"payload": {func(_ *collectorv1.ExportProfilesServiceRequest, p *profilesv1.Profile) {
			p.OriginalPayloadFormat, p.OriginalPayload = "pprof", []byte("none")
		}, "pprof"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReceiver(t, Options{}, columnstore.Options{})
			request := otlpRequest(1)
			request.Dictionary.StackTable = append(request.Dictionary.StackTable, &profilesv1.Stack{LocationIndices: []int32{99}})
			scope := request.ResourceProfiles[0].ScopeProfiles[0]
			bad := proto.Clone(scope.Profiles[0]).(*profilesv1.Profile)
			bad.ProfileId = bytes.Repeat([]byte{2}, 16)
			scope.Profiles = append(scope.Profiles, bad)
			tt.damage(request, bad)
			refused := r.export(request)
			if refused.GetRejectedProfiles() != 1 || !strings.Contains(refused.GetErrorMessage(), "resource 0, scope 0, profile 1: ") ||
				!strings.Contains(refused.GetErrorMessage(), tt.text) {
				t.Errorf("refused %v, want %q", refused, tt.text)
			}
			if r.rows() != 4 { // samples and their time
				t.Errorf("%d rows of the other profile", r.rows())
			}
			if again := r.export(otlpRequest(2)); again != nil || r.rows() != 8 {
				t.Errorf("%d rows after a retry: %v", r.rows(), again)
			}
		})
	}
}

// FuzzOTLP exports bytes that were changed. No request panics, and what it inserts is whole.
func FuzzOTLP(f *testing.F) {
	f.Add(marshal(f, otlpRequest(1)))
	store, err := columnstore.Open(columnstore.Options{MemoryBudget: 64 << 20})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = store.Close() })
	s, err := New(store, Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := httptest.NewRequest(http.MethodPost, otlpPath, bytes.NewReader(data))
		r.Host = "localhost"
		r.Header.Set("Content-Type", "application/x-protobuf")
		w := httptest.NewRecorder()
		if s.ServeHTTP(w, r); w.Code == http.StatusInternalServerError {
			t.Fatalf("%s: %s", hex.EncodeToString(data), w.Body)
		}
	})
}
