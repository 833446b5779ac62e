package server

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	pprof "github.com/google/pprof/profile"
	"github.com/google/uuid"
	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/push/v1/pushv1connect"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/gzipped"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/push"
)

// series returns a series of Push. Labels are name, value, name, value.
func pushSeries(labels []string, profiles ...[]byte) *pushv1.RawProfileSeries {
	s := &pushv1.RawProfileSeries{}
	for i := 0; i < len(labels); i += 2 {
		s.Labels = append(s.Labels, &typesv1.LabelPair{Name: labels[i], Value: labels[i+1]})
	}
	for _, p := range profiles {
		s.Samples = append(s.Samples, &pushv1.RawSample{RawProfile: p, ID: uuid.NewString()})
	}
	return s
}

// pushers are the clients of Push by protocol.
func (r *receiver) pushers() map[string]pushv1connect.PusherServiceClient {
	return map[string]pushv1connect.PusherServiceClient{
		"connect":      pushv1connect.NewPusherServiceClient(r.http, r.url),
		"connect gzip": pushv1connect.NewPusherServiceClient(r.http, r.url, connect.WithSendGzip()),
		"JSON":         pushv1connect.NewPusherServiceClient(r.http, r.url, connect.WithProtoJSON()),
		"gRPC":         pushv1connect.NewPusherServiceClient(r.h2c, r.url, connect.WithGRPC()),
		"gRPC-Web":     pushv1connect.NewPusherServiceClient(r.http, r.url, connect.WithGRPCWeb()),
	}
}

// TestPush pushes profiles in each protocol, and a request with a bad profile behind a good one.
func TestPush(t *testing.T) {
	r := newReceiver(t, Options{}, columnstore.Options{})
	cpu, heap, mutex := file(t, "pebble/cpu-1.pb.gz"), file(t, "etcd/heap-1.pb.gz"), file(t, "etcd/mutex-1.pb.gz")
	want := map[string]int64{}
	for name, client := range r.pushers() {
		request := &pushv1.PushRequest{Series: []*pushv1.RawProfileSeries{
			pushSeries([]string{"__name__", "process_cpu", "service_name", "db", "__session_id__", name}, cpu),
			pushSeries([]string{"service_name", "db", "empty", "", "__delta__", "false"}, heap),
			pushSeries([]string{"__name__", "mutex", "service_name", "api", "__delta__", "false"}, mutex, mutex),
		}}
		for range 2 { // the second time has the ids of the first
			if _, err := client.Push(t.Context(), connect.NewRequest(request)); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		addSums(t, want, "process_cpu", cpu)
		addSums(t, want, "memory", heap)
		addSums(t, want, "mutex", mutex)
		addSums(t, want, "mutex", mutex)

		rows := r.rows()
		bad := &pushv1.PushRequest{Series: []*pushv1.RawProfileSeries{pushSeries([]string{"a", "b"}, cpu, []byte("no profile"))}}
		_, err := client.Push(t.Context(), connect.NewRequest(bad))
		if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), "series 0, sample 1") {
			t.Errorf("%s: a bad profile: %v", name, err)
		}
		if r.rows() != rows {
			t.Errorf("%s: %d rows of a request that failed", name, r.rows()-rows)
		}
	}
	wantSums(t, r.sums(""), want)
	wantLabels(t, r.labels(),
		`{__name__="memory", service_name="db"}`, `{__name__="mutex", service_name="api"}`, `{__name__="process_cpu", service_name="db"}`)
	r.wantMetrics(
		`granary_push_profiles_total 20`, `granary_push_duplicates_total 20`,
		`granary_http_failures_total{cause="invalid",handler="push"} 5`)
}

func wantLabels(t *testing.T, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("labels\n%s, want\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// wantMetrics checks lines of /metrics.
func (r *receiver) wantMetrics(lines ...string) {
	r.t.Helper()
	_, text := r.send(r.request(http.MethodGet, "/metrics", nil))
	for _, line := range lines {
		if !strings.Contains(text, "\n"+line+"\n") {
			r.t.Errorf("/metrics has no line %s", line)
		}
	}
}

// TestPushWithoutProfiles is a request that says nothing, and profiles without samples.
func TestPushWithoutProfiles(t *testing.T) {
	r := newReceiver(t, Options{Limits: Limits{Series: 1}}, columnstore.Options{})
	empty := encoded(t, emptyProfile())
	client := r.pushers()["connect"]
	for _, request := range []*pushv1.PushRequest{
		{},
		{Series: []*pushv1.RawProfileSeries{{}}},
		{Series: []*pushv1.RawProfileSeries{pushSeries([]string{"a", "1"}, empty)}},
		{Series: []*pushv1.RawProfileSeries{pushSeries([]string{"a", "2"}, empty, empty)}}, // no series, so within the limit
	} {
		if _, err := client.Push(t.Context(), connect.NewRequest(request)); err != nil {
			t.Errorf("%v: %v", request, err)
		}
	}
	if r.rows() != 0 {
		t.Errorf("%d rows of empty profiles", r.rows())
	}
}

func emptyProfile() *pprof.Profile {
	return &pprof.Profile{SampleType: []*pprof.ValueType{{Type: "contentions", Unit: "count"}, {Type: "delay", Unit: "nanoseconds"}}}
}

// TestPushDebug1 takes the text of debug=1 where it takes pprof. The text says which kind it is.
func TestPushDebug1(t *testing.T) {
	r := newReceiver(t, Options{}, columnstore.Options{})
	const frames = " @ 0x11\n#\t0x10\tmain.f+0x1\tf.go:1\n"
	for _, text := range []string{"goroutine profile: total 3\n3" + frames, "--- mutex:\ncycles/second=1000000000\nsampling period=1\n20 4" + frames, "--- contention:\ncycles/second=1000000000\n7 5" + frames} {
		r.want(http.StatusOK, "", r.request(http.MethodPost, "/ingest?name=shop{__delta__=false}", []byte(text)))
		r.want(http.StatusOK, "", r.request(http.MethodPost, "/ingest?name=shop{__delta__=false}&format=debug1", gzipped.Of(t, []byte(text))))
	}
	wantSums(t, r.sums(`{service_name="shop"}`), map[string]int64{
		"goroutine goroutine count": 6, "mutex contentions count": 8, "mutex delay nanoseconds": 40, "block contentions count": 10, "block delay nanoseconds": 14,
	})
	r.want(http.StatusBadRequest, "text of debug=1, line 2: want a sample", r.request(http.MethodPost, "/pprof", []byte("goroutine profile: total 3\nx\n")))
	r.want(http.StatusBadRequest, "not in the format debug1", r.request(http.MethodPost, "/ingest?name=shop&format=debug1", small(t, 1)))
}

// TestPushFolded takes folded stacks where it takes pprof, and says which line is wrong.
func TestPushFolded(t *testing.T) {
	r := newReceiver(t, Options{}, columnstore.Options{})
	const text = "main;work;read 12\nmain;work 3\n"
	r.want(http.StatusOK, "2 rows", r.request(http.MethodPost, "/pprof?service_name=shop", []byte(text)))
	r.want(http.StatusOK, "2 rows", r.request(http.MethodPost, "/pprof?service_name=shop&__name__=named", gzipped.Of(t, []byte(text))))
	for _, path := range []string{"/ingest?name=shop", "/ingest?name=shop&format=folded"} {
		r.want(http.StatusOK, "", r.request(http.MethodPost, path, []byte(text)))
	}
	push := &pushv1.PushRequest{Series: []*pushv1.RawProfileSeries{pushSeries([]string{"service_name", "shop"}, []byte(text))}}
	if _, err := r.pushers()["connect"].Push(t.Context(), connect.NewRequest(push)); err != nil {
		t.Error(err)
	}
	wantSums(t, r.sums(`{service_name="shop"}`), map[string]int64{"process_cpu samples count": 4 * 15, "named samples count": 15})
	rows := r.rows()
	r.want(http.StatusBadRequest, "folded stacks, line 20001: want a number behind the last space", r.request(http.MethodPost, "/pprof", []byte(strings.Repeat(text, 10_000)+"main;f x\n")))
	r.want(http.StatusBadRequest, "not a valid pprof profile", r.request(http.MethodPost, "/ingest?name=shop&format=pprof", []byte(text)))
	r.want(http.StatusBadRequest, "not in the format folded", r.request(http.MethodPost, "/ingest?name=shop&format=folded", small(t, 1)))
	if r.rows() != rows {
		t.Errorf("%d rows of profiles that were refused", r.rows()-rows)
	}
}

// TestPushTexts takes the formats of texts and trees, by their content or their names.
func TestPushTexts(t *testing.T) {
	r := newReceiver(t, Options{}, columnstore.Options{})
	const trie, tree = "\x00\x00\x01\x06foo;ba\x00\x02\x01r\x02\x00\x01z\x03\x00", "\x00\x00\x01\x03foo\x00\x02\x03bar\x02\x00\x03baz\x03\x00"
	const speedscope = `{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"f"}]},"profiles":[{"type":"sampled","unit":"seconds","samples":[[0]],"weights":[0.5]}]}`
	for _, c := range []struct {
		service, query, contentType, body, want string
		sum                                     int64
	}{
		{"perf", "", "", "a 1 1.5: 10 cpu-clock: \n\t1 f (/b)\n", "process_cpu cpu nanoseconds", 10},
		{"perf-named", "&format=perf-script", "", "a 1 1.5: 10 cpu-clock: \n\t1 f (/b)\n", "process_cpu cpu nanoseconds", 10},
		{"goroutines", "", "text/plain", "goroutine 1 [running]:\nmain.main()\n\tx.go:5\n", "goroutine goroutine count", 1},
		{"speedscope", "", "application/json", speedscope, "wall wall nanoseconds", 500_000_000},
		{"jemalloc", "", "", "heap_v2/1\n@ 0x1\n  t*: 1: 10 [0: 0]\n", "memory inuse_space bytes", 10},
		{"trie", "&format=trie", "", trie, "process_cpu samples count", 5},
		{"trie-type", "", "binary/octet-stream+trie", trie, "process_cpu samples count", 5},
		{"tree", "&format=tree", "", tree, "process_cpu samples count", 5},
		{"tree-type", "", "binary/octet-stream+tree", tree, "process_cpu samples count", 5},
		{"lines", "&format=lines", "", "foo;bar\nfoo;bar\nx\n", "process_cpu samples count", 3},
		{"lines-type", "", "binary/octet-stream+lines", "foo;bar 7\nx\n", "process_cpu samples count", 2},
		{"groups", "&format=groups", "", "foo;bar 2\nx 4\n", "process_cpu samples count", 6},
		{"groups-type", "", "binary/octet-stream+groups", "x 4\n", "process_cpu samples count", 4},
		{"folded", "&format=folded", "", "x 4\n", "process_cpu samples count", 4},
		{"default", "", "", "x 4\ny 5\n", "process_cpu samples count", 9},
		{"default-type", "", "application/x-www-form-urlencoded", "x 4\n", "process_cpu samples count", 4},
	} {
		var headers []string
		if c.contentType != "" {
			headers = []string{"Content-Type", c.contentType}
		}
		for _, body := range [][]byte{[]byte(c.body), gzipped.Of(t, []byte(c.body))} {
			r.want(http.StatusOK, "", r.request(http.MethodPost, "/ingest?name="+c.service+c.query, body, headers...))
		}
		if sums := r.sums(`{service_name="` + c.service + `"}`); sums[c.want] != 2*c.sum {
			t.Errorf("%s: %v, want %s %d", c.service, sums, c.want, 2*c.sum)
		}
	}
	rows := r.rows()
	for _, c := range []struct{ path, body, want string }{
		{"/ingest?name=a&format=trie", "x;y 1\n", "trie of stacks, byte 1: a name of 120 bytes"},
		{"/ingest?name=a&format=tree", tree + "x", "tree of stacks: 1 bytes behind the last node"},
		{"/ingest?name=a&format=lines", "x\x00", "not in the format lines"},
		{"/ingest?name=a&format=folded", "x;y 1\nx\n", "folded stacks, line 2: want functions, a space and a number"},
		{"/ingest?name=a&format=speedscope", "{}", "not in the format speedscope"},
		{"/ingest?name=a", "x 1\nword\n", "not a valid pprof profile: it is text"},
		{"/ingest?name=a", "PERFILE2h\x00", "perf script -i FILE"},
		{"/pprof", "x 1\n", "not a valid pprof profile: it is text"},
		{"/pprof", "goroutine 1 [running]:\nx\n", "stacks of goroutines, at the end"},
		{"/pprof", "a 1 1.5: 10 cpu-clock: \nx\n", "text of perf script, line 2"},
	} {
		r.want(http.StatusBadRequest, c.want, r.request(http.MethodPost, c.path, []byte(c.body)))
	}
	if r.rows() != rows {
		t.Errorf("%d rows of profiles that were refused", r.rows()-rows)
	}
}

// A push says when a profile without a time was made, in any unit and form of a time.
func TestPush_Times(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	body := encoded(t, timeless(t))
	for text, want := range map[string]time.Time{
		"1769850000":           now.Add(-3 * time.Hour),
		"1769850000.25":        now.Add(-3*time.Hour + 250*time.Millisecond),
		"1769850000250":        now.Add(-3*time.Hour + 250*time.Millisecond),
		"1769850000000250":     now.Add(-3*time.Hour + 250*time.Microsecond),
		"1769850000000000250":  now.Add(-3*time.Hour + 250),
		"now-10s":              now.Add(-10 * time.Second),
		"now":                  now,
		"2026-01-31T10:00:00Z": now.Add(-2 * time.Hour),
	} {
		for _, path := range []string{"/ingest?name=a&until=now&from=", "/pprof?job=a&time="} {
			r := newReceiver(t, Options{Now: func() time.Time { return now }}, columnstore.Options{FutureLimit: -1})
			r.want(http.StatusOK, "", r.request(http.MethodPost, path+url.QueryEscape(text), body))
			var got time.Time
			err := r.s.db().Store().View(t.Context(), func(snap *columnstore.Snapshot) error {
				typ, err := r.s.db().DefaultType(t.Context(), snap, profile.Query{})
				if err != nil {
					return err
				}
				profiles, err := r.s.db().Profiles(t.Context(), snap, typ, profile.Query{})
				if len(profiles) == 1 {
					got = time.Unix(0, profiles[0].Time)
				}
				return err
			})
			if err != nil || !got.Equal(want) {
				t.Errorf("%s%s: the profile is of %v, want %v; %v", path, text, got, want, err)
			}
		}
	}
}

// TestPushTokens refuses pushes without a token to write, also those with one to read.
func TestPushTokens(t *testing.T) {
	r := newReceiver(t, Options{Tokens: Tokens{Read: []string{"r"}, Write: []string{"w"}}}, columnstore.Options{})
	body := small(t, 1)
	for _, path := range []string{"/pprof", "/ingest?name=a", pushPath, otlpPath, push.OTLPProcedure} {
		for _, token := range []string{"", "Bearer r", "Basic dzpy", "Basic w", "Digest w", "w", "Bearer "} {
			r.want(http.StatusUnauthorized, "token", r.request(http.MethodPost, path, body, "Authorization", token))
		}
	}
	if r.rows() != 0 {
		t.Errorf("%d rows without a token", r.rows())
	}
	for _, token := range []string{"Bearer w", "bearer w", "BEARER  w", "Basic dzp3", "basic Onc=", "Basic dXNlcjp3"} { // w:w, :w, user:w
		r.want(http.StatusOK, "", r.request(http.MethodPost, "/ingest?name=a", body, "Authorization", token))
	}
	if r.rows() != 6*2 {
		t.Errorf("%d rows with a token", r.rows())
	}
}
