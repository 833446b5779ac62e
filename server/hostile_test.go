package server

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"
	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/gzipped"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/push"
	"github.com/granarydb/granary/server/internal/web"
)

// hostile is a request that must be refused.
type hostile struct {
	name         string
	method, path string
	headers      []string
	body         []byte
	status       int
	text         string
}

const (
	pushPath = "/push.v1.PusherService/Push"
	otlpPath = "/v1development/profiles"
)

var (
	asProto  = []string{"Content-Type", "application/proto"}
	asJSON   = []string{"Content-Type", "application/json"}
	asX      = []string{"Content-Type", "application/x-protobuf"}
	hostiles = Limits{Body: 1 << 20, Profile: profile.Limits{Bytes: 4 << 20, Samples: 10_000}}
)

// TestHostileRequests sends requests that must be refused for the named reason. None leaves a row,
// and a good request works after each.
func TestHostileRequests(t *testing.T) {
	effort.Alone(t)
	r := newReceiver(t, Options{Limits: hostiles}, columnstore.Options{})
	good := small(t, 1)
	rows := 0
	cases := allHostile(t)
	if len(cases) < 450 {
		t.Errorf("%d requests", len(cases))
	}
	before := liveHeap()
	for _, h := range cases {
		method := h.method
		if method == "" {
			method = http.MethodPost
		}
		status, answer := r.send(r.request(method, h.path, h.body, h.headers...))
		if status != h.status || !strings.Contains(answer, h.text) || strings.Count(answer, "\n") > 1 && h.status != http.StatusOK {
			t.Errorf("%s: status %d: %.300s; want %d and %q", h.name, status, answer, h.status, h.text)
		}
		if got := r.rows(); got != rows {
			t.Errorf("%s: %d rows were inserted", h.name, got-rows)
			rows = got
		}
		r.want(http.StatusOK, "2 rows", r.request(http.MethodPost, "/pprof?job=good", good))
		rows += 2
	}
	wantLabels(t, r.labels(), `{__name__="process_cpu", job="good", service_name="unknown_service"}`)
	if grown := liveHeap() - before; grown > 4<<20 {
		t.Errorf("the heap grew by %d bytes for %d requests", grown, len(cases))
	}
	t.Logf("%d requests", len(cases))
}

func allHostile(t *testing.T) []hostile {
	t.Helper()
	return slices.Concat(cutBodies(t), bombs(t), wrongMethods(), wrongQueries(t), wrongForms(t), wrongPushes(t), wrongOTLP(t),
		cutFields(t), packed(t), contradictions(t), floods(t), otherMethods())
}

// cutBodies are good bodies without their ends.
func cutBodies(t *testing.T) (all []hostile) {
	t.Helper()
	good := file(t, "pebble/cpu-1.pb.gz")
	multi, contentType := form(t, part{"profile", good}, part{"sample_type_config", []byte(`{"cpu":{"units":"ns"}}`)})
	push := marshal(t, &pushv1.PushRequest{Series: []*pushv1.RawProfileSeries{pushSeries([]string{"a", "b"}, good)}})
	otlp := gzipped.Of(t, marshal(t, otlpRequest(1)))
	for i := range 8 {
		cut := func(body []byte) []byte { return body[:len(body)*(2*i+1)/16] }
		name := fmt.Sprintf("cut at %d/16 of ", 2*i+1)
		all = append(all,
			hostile{name + "pprof", "", "/pprof", nil, cut(good), 400, "not a valid pprof profile"},
			hostile{name + "a raw ingest", "", "/ingest?name=a", nil, cut(good), 400, "not a valid pprof profile"},
			hostile{name + "a form", "", "/ingest?name=a", []string{"Content-Type", contentType}, cut(multi), 400, "EOF"},
			hostile{name + "Push", "", pushPath, asProto, cut(push), 400, "invalid_argument"},
			hostile{name + "OTLP", "", otlpPath, append([]string{"Content-Encoding", "gzip"}, asX...), cut(otlp), 400, "EOF"},
		)
	}
	return all
}

// bombs are small bodies that are large when they are read.
func bombs(t *testing.T) []hostile {
	t.Helper()
	bomb := gzipped.Of(t, make([]byte, 16<<20))
	multi, contentType := form(t, part{"profile", bomb})
	inPush := marshal(t, &pushv1.PushRequest{Series: []*pushv1.RawProfileSeries{pushSeries(nil, bomb)}})
	empties := bytes.Repeat([]byte{0x0a, 0x00}, 500_000) // messages without content
	config := append([]byte(`{"a":{"units":"`), bytes.Repeat([]byte("x"), push.MaxConfigSize)...)
	multi2, contentType2 := form(t, part{"profile", small(t, 1)}, part{"sample_type_config", config})
	gz := []string{"Content-Encoding", "gzip"}
	return []hostile{
		{"pprof of zeros", "", "/pprof", nil, bomb, 413, "4194304"},
		{"pprof of zeros with a name", "", "/pprof?__name__=a", nil, bomb, 413, "4194304"},
		{"form of zeros", "", "/ingest?name=a", []string{"Content-Type", contentType}, multi, 413, "4194304"},
		{"long config", "", "/ingest?name=a", []string{"Content-Type", contentType2}, multi2, 413, "sample_type_config"},
		{"profile of zeros in Push", "", pushPath, asProto, inPush, 429, "4194304"},
		{"Push of zeros", "", pushPath, append(gz, asProto...), bomb, 429, "1048576"},
		{"empty series", "", pushPath, asProto, empties, 400, "messages in a request"},
		{"empty JSON series", "", pushPath, asJSON, []byte(`{"series":[` + strings.Repeat("{},", 300_000) + `{}]}`), 400, "values in a request"},
		{"deep JSON", "", pushPath, asJSON, []byte(strings.Repeat(`{"series":[`, 60_000)), 400, "recursion depth"},
		{"long body", "", "/pprof", nil, make([]byte, 1<<20+1), 413, "at most 1048576"},
		{"long Push", "", pushPath, asProto, make([]byte, 1<<20+1), 413, "at most 1048576"},
		{"OTLP of zeros", "", otlpPath, append(gz, asX...), bomb, 413, "4194304"},
		{"empty resources", "", otlpPath, asX, empties, 413, "20000 messages"},
		{"empty JSON resources", "", otlpPath, asJSON, []byte(`{"resourceProfiles":[` + strings.Repeat("{},", 300_000) + `{}]}`), 413, "80000 values"},
		{"nested attributes", "", otlpPath, asX, nestedAttribute(20_000), 400, "body: "},
	}
}

// nestedAttribute is a resource with an attribute of lists in lists.
func nestedAttribute(depth int) []byte {
	value := []byte{}
	wrap := func(number protowire.Number) {
		value = append(protowire.AppendVarint(protowire.AppendTag(nil, number, protowire.BytesType), uint64(len(value))), value...)
	}
	for range min(depth, 2000) {
		wrap(1) // ArrayValue.values
		wrap(5) // AnyValue.array_value
	}
	for _, number := range []protowire.Number{2, 1, 1, 1} { // KeyValue.value, Resource.attributes, resource, resource_profiles
		wrap(number)
	}
	return value
}

// wrongMethods are methods and paths that no handler has.
func wrongMethods() (all []hostile) {
	for _, path := range []string{"/ingest?name=a", otlpPath} {
		for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete, http.MethodPatch} {
			all = append(all, hostile{method + path, method, path, nil, nil, 405, "Method Not Allowed"})
		}
	}
	all = append(all,
		hostile{"DELETE", http.MethodDelete, "/pprof", nil, nil, 405, "Method Not Allowed"},
		hostile{"PUT", http.MethodPut, pushPath, asProto, nil, 405, ""},
		hostile{"GET", http.MethodGet, pushPath, nil, nil, 405, ""},
		hostile{"no method of the service", "", "/push.v1.PusherService/Pull", asProto, nil, 404, "not found"},
		hostile{"a path below", "", "/ingest/x", nil, nil, 404, "not found"},
		hostile{"text for Push", "", pushPath, []string{"Content-Type", "text/plain"}, nil, 415, ""},
		hostile{"no type for Push", "", pushPath, nil, []byte("x"), 415, ""},
		hostile{"unknown encoding of Push", "", pushPath, append([]string{"Content-Encoding", "br"}, asProto...), []byte("x"), 501, "br"},
	)
	return all
}

// wrongQueries are good bodies with parameters and headers that are not taken.
func wrongQueries(t *testing.T) (all []hostile) {
	t.Helper()
	good := small(t, 1)
	for _, format := range []string{"JFR", "xml", "PPROF"} {
		all = append(all, hostile{"format " + format, "", "/ingest?name=a&format=" + format, nil, good, 415, "want pprof, folded"})
	}
	for _, name := range []string{"", "{a=b}", "a{", "a{b}", "a{b=c}d", "a{b=c,b=d}", "a{=c}"} {
		all = append(all, hostile{"name " + name, "", "/ingest?name=" + url.QueryEscape(name), nil, good, 400, "name: "})
	}
	for _, text := range []string{"x", "-1", "1.5", "17000000000000", "9999999999", "99999999999999999999", "latest", "now-999999h"} {
		all = append(all,
			hostile{"from " + text, "", "/ingest?name=a&from=" + text, nil, good, 400, "parameter from"},
			hostile{"until " + text, "", "/ingest?name=a&until=" + text, nil, good, 400, "parameter until"},
			hostile{"time " + text, "", "/pprof?time=" + text, nil, good, 400, "parameter time"})
	}
	for _, name := range push.AskedParameters {
		all = append(all, hostile{"parameter " + name, "", "/pprof?" + name + "=cpu", nil, good, 400, "parameter " + name})
	}
	flood := url.Values{}
	for i := range 1000 {
		flood.Set(fmt.Sprint("label", i), "v")
	}
	return append(all,
		hostile{"no query", "", "/pprof?a=%zz", nil, good, 400, "query: "},
		hostile{"no query of ingest", "", "/ingest?a;b", nil, good, 400, "query: "},
		hostile{"twice", "", "/pprof?a=1&a=2", nil, good, 400, `"a" is given twice`},
		hostile{"label flood", "", "/pprof?" + flood.Encode(), nil, good, 413, "1000 labels, at most 64"},
		hostile{"no name of a label", "", "/pprof?=v", nil, good, 400, "label"},
		hostile{"name in Latin-1", "", "/pprof?%ff=v", nil, good, 400, "printable UTF-8"},
		hostile{"name with a bell", "", "/pprof?a%07=v", nil, good, 400, "printable UTF-8"},
		hostile{"long tenant", "", "/pprof", []string{web.TenantHeader, strings.Repeat("t", 201)}, good, 400, "201 bytes, want 1 to 150"},
		hostile{"long key", "", "/ingest?name=a", []string{push.KeyHeader, strings.Repeat("k", 201)}, good, 400, push.KeyHeader},
		hostile{"tenant in Latin-1", "", "/pprof", []string{web.TenantHeader, "\xff"}, good, 400, `"\xff", want letters, digits`},
		hostile{"profile without a time, in 1970", "", "/pprof?time=1", nil, encoded(t, timeless(t)), 400, "far in the past"},
		hostile{"profile without a time, in 2255", "", "/pprof?time=9000000000", nil, encoded(t, timeless(t)), 400, "future"},
	)
}

// wrongForms are multipart bodies that are not taken.
func wrongForms(t *testing.T) (all []hostile) {
	t.Helper()
	good := small(t, 1)
	add := func(name, text string, status int, parts ...part) {
		body, contentType := form(t, parts...)
		all = append(all, hostile{name, "", "/ingest?name=a", []string{"Content-Type", contentType}, body, status, text})
	}
	add("empty form", "no part profile", 400)
	add("no profile", "no part profile", 400, part{"sample_type_config", []byte("{}")})
	add("two profiles", `part "profile" is there twice`, 400, part{"profile", good}, part{"profile", good})
	add("previous profile", "prev_profile: profiles are not subtracted", 400, part{"profile", good}, part{"prev_profile", good})
	add("no JFR", "not in the format jfr", 400, part{"jfr", good})
	add("JFR that is cut off", "JFR: chunk at byte 0: bad recording of Java: want a chunk", 400, part{"jfr", []byte("FLR\x00")})
	add("labels alone", "no part profile, and no part jfr", 400, part{"labels", nil})
	add("bad labels", "part labels: ", 400, part{"jfr", []byte("FLR\x00")}, part{"labels", []byte("\x0a\x7f")})
	add("bad context", "part labels: ", 400, part{"jfr", []byte("FLR\x00")}, part{"labels", []byte("\x0a\x05\x08\x01\x12\x01\x0a")})
	add("no JSON", "part sample_type_config", 400, part{"profile", good}, part{"sample_type_config", []byte("{")})
	add("other JSON", "part sample_type_config", 400, part{"profile", good}, part{"sample_type_config", []byte("[1]")})
	add("bad profile", "not a valid pprof profile", 400, part{"profile", []byte("none")})
	return append(all,
		hostile{"no boundary", "", "/ingest?name=a", []string{"Content-Type", "multipart/form-data"}, good, 400, "boundary"},
		hostile{"no form", "", "/ingest?name=a", []string{"Content-Type", "multipart/form-data; boundary=x"}, good, 400, "EOF"},
		hostile{
			"long header of a part", "", "/ingest?name=a",
			[]string{"Content-Type", "multipart/form-data; boundary=x"},
			[]byte("--x\r\nContent-Disposition: form-data; name=\"" + strings.Repeat("p", 500_000) + "\"\r\n\r\n\r\n--x--\r\n"), 400, "is not taken",
		},
	)
}

// wrongPushes are requests of Push that cannot be inserted.
func wrongPushes(t *testing.T) []hostile {
	t.Helper()
	good := small(t, 1)
	push := func(labels ...string) []byte {
		return marshal(t, &pushv1.PushRequest{Series: []*pushv1.RawProfileSeries{pushSeries(nil, good), pushSeries(labels, good)}})
	}
	longID := pushSeries(nil, good)
	longID.Samples[0].ID = strings.Repeat("i", 201)
	var flood []string
	for i := range 65 {
		flood = append(flood, fmt.Sprint("l", i), "v")
	}
	return []hostile{
		{"label twice", "", pushPath, asProto, push("a", "1", "a", "2"), 400, `series 1: label \"a\" is given twice`},
		{"label without a name", "", pushPath, asProto, push("", "1"), 400, "series 1, sample 0: invalid request: label"},
		{"label flood", "", pushPath, asProto, push(flood...), 429, "65 labels, at most 64"},
		{"long id", "", pushPath, asProto, marshal(t, &pushv1.PushRequest{Series: []*pushv1.RawProfileSeries{longID}}), 400, "201 bytes, at most 200"},
		{"no profile", "", pushPath, asProto, marshal(t, &pushv1.PushRequest{Series: []*pushv1.RawProfileSeries{pushSeries(nil, nil)}}), 400, "profile"},
		{"JSON for protobuf", "", pushPath, asProto, []byte(`{"series":[]}`), 400, "unmarshal"},
		{"protobuf for JSON", "", pushPath, asJSON, push(), 400, "unmarshal"},
		{"other JSON", "", pushPath, asJSON, []byte(`{"series":7}`), 400, "unmarshal"},
		{"no base64", "", pushPath, asJSON, []byte(`{"series":[{"samples":[{"rawProfile":"!"}]}]}`), 400, "unmarshal"},
		{"not gzipped", "", pushPath, append([]string{"Content-Encoding", "gzip"}, asProto...), good[5:], 400, "gzip"},
	}
}

// wrongOTLP are requests of OTLP that cannot be read. TestOTLP_Refused has readable ones.
func wrongOTLP(t *testing.T) []hostile {
	t.Helper()
	good := marshal(t, otlpRequest(1))
	return []hostile{
		{"no type", "", otlpPath, nil, good, 415, "application/x-protobuf and application/json are"},
		{"text", "", otlpPath, []string{"Content-Type", "text/plain"}, good, 415, "text/plain"},
		{"unknown encoding", "", otlpPath, append([]string{"Content-Encoding", "compress"}, asX...), good, 415, "gzip, zstd and br are"},
		{"not gzipped", "", otlpPath, append([]string{"Content-Encoding", "gzip"}, asX...), good, 400, "body: "},
		{"JSON for protobuf", "", otlpPath, asX, []byte(`{"resourceProfiles":[]}`), 400, "body: "},
		{"protobuf for JSON", "", otlpPath, asJSON, good, 400, "body: "},
		{"a pprof", "", otlpPath, asX, small(t, 1), 400, "body: "},
	}
}

// TestHostileConnections writes requests that no client library sends.
func TestHostileConnections(t *testing.T) {
	r := newReceiver(t, Options{Limits: Limits{ReadTime: 200 * time.Millisecond}}, columnstore.Options{})
	address := strings.TrimPrefix(r.url, "http://")
	for _, tt := range []struct{ name, head, status string }{
		{"another host", "POST /pprof HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 0\r\n\r\n", "421"},
		{"another host in the target", "POST http://evil.example/pprof HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n", "421"},
		{"two hosts", "POST /pprof HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nContent-Length: 0\r\n\r\n", "400"},
		{"no host", "POST /pprof HTTP/1.1\r\nContent-Length: 0\r\n\r\n", "400"},
		{"user in the host", "POST /pprof HTTP/1.1\r\nHost: localhost@evil.example\r\nContent-Length: 0\r\n\r\n", "400"},
		{"two lengths", "POST /pprof HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nContent-Length: 5\r\n\r\nabcde", "400"},
		{"length below 0", "POST /pprof HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n", "400"},
		{"huge length", "POST /pprof HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9223372036854775807\r\n\r\n", "413"},
		{"bad chunk", "POST /pprof HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "400"},
		{"endless chunk", "POST /pprof HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc", "408"},
		{"stalled body", "POST /ingest?name=a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nabc", "408"},
		{"stalled Push", "POST " + pushPath + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/proto\r\nContent-Length: 10\r\n\r\nabc", "504"},
		{"stalled gRPC-Web", "POST " + pushPath + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/grpc-web\r\nContent-Length: 10\r\n\r\n\x00\x00", "200"},
		{"stalled OTLP", "POST " + otlpPath + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{", "408"},
		{"stalled question", "POST /querier.v1.QuerierService/Diff HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{", "504"},
		{"chunks and a length", "POST /pprof HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400"},
		{"chunks twice", "POST /pprof HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "501"},
		{"other transfer encoding", "POST /pprof HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n", "501"},
		{"chunk of 2^64", "POST /pprof HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000000\r\n", "400"},
		{"chunk below 0", "POST /pprof HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", "400"},
		{"long extension of a chunk", "POST /pprof HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1;" + strings.Repeat("x", 100_000) + "\r\na\r\n0\r\n\r\n", "400"},
		{"length in the trailer", "POST /pprof HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nTrailer: Content-Length\r\n\r\n0\r\nContent-Length: 5\r\n\r\n", "400"},
		{"key in the trailer", "POST /pprof HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nTrailer: X-Scope-OrgID\r\n\r\n1\r\na\r\n0\r\nX-Scope-OrgID: t\r\n\r\n", "400"},
		{"space in a header's name", "POST /pprof HTTP/1.1\r\nHost: localhost\r\nContent-Length : 0\r\n\r\n", "400"},
		{"zero in a header", "POST /pprof HTTP/1.1\r\nHost: localhost\r\nX-A: a\x00b\r\n\r\n", "400"},
		{"long header", "POST /pprof HTTP/1.1\r\nHost: localhost\r\nX-A: " + strings.Repeat("a", 2<<20) + "\r\n\r\n", "431"},
		{"long path", "POST /" + strings.Repeat("a", 2<<20) + " HTTP/1.1\r\nHost: localhost\r\n\r\n", "431"},
		{"version", "POST /pprof HTTP/9.9\r\nHost: localhost\r\n\r\n", "505"},
		{"no version", "POST /pprof\r\nHost: localhost\r\n\r\n", "400"},
		{"no method", " /pprof HTTP/1.1\r\nHost: localhost\r\n\r\n", "400"},
		{"CONNECT", "CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n", "421"},
		{"upgrade", "GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", "404"},
		{"expectation", "POST /pprof HTTP/1.1\r\nHost: localhost\r\nExpect: nothing\r\nContent-Length: 1\r\n\r\n", "417"},
		{"forwarded host", "GET /nothing HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: localhost\r\n\r\n", "421"},
		{"unread body", "POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc", "404"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			conn, err := (&net.Dialer{Timeout: effort.Patience}).DialContext(t.Context(), "tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(effort.Patience))
			go func() { _, _ = io.WriteString(conn, tt.head) }() // the server can end long ones early
			answer := make([]byte, 12)
			if _, err := io.ReadFull(conn, answer); err != nil || string(answer) != "HTTP/1.1 "+tt.status {
				t.Errorf("answer %q, want status %s: %v", answer, tt.status, err)
			}
		})
	}
	t.Cleanup(func() {
		if r.rows() != 0 {
			t.Errorf("%d rows", r.rows())
		}
	})
}

// timeless returns small without its time.
func timeless(t *testing.T) *pprof.Profile {
	t.Helper()
	p, err := pprof.ParseData(small(t, 1))
	if err != nil {
		t.Fatal(err)
	}
	p.TimeNanos = 0
	return p
}
