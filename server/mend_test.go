package server

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"connectrpc.com/connect"
	"github.com/andybalholm/brotli"
	pprof "github.com/google/pprof/profile"
	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/querier/v1/querierv1connect"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"
	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/gzipped"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/flametest"
)

// Values of labels that cannot be stored are mended, and the profile is kept.
func TestMend_Labels(t *testing.T) {
	r := newReceiver(t, Options{Limits: Limits{LabelValue: 11}}, columnstore.Options{})
	good := small(t, 1)
	for value, want := range map[string]string{
		"GET /caf\xe9":             "GET /caf\ufffd",
		"a\x00b\nc":                "a\ufffdb\ufffdc",
		"process_cpu":              "process_cpu",
		"process_cpus":             "process_…",
		"ééééééé":                  "éééé…",
		strings.Repeat("\xff", 99): "\ufffd\ufffd…",
		"\x80\x80\x80\x80":         "\ufffd\ufffd…",
	} {
		before := r.s.mended()
		r.want(http.StatusOK, "2 rows", r.request(http.MethodPost, "/pprof?a="+url.QueryEscape(value), good))
		if mended := r.s.mended() - before; mended > 1 || (mended == 1) != (value != want) {
			t.Errorf("%q counts %v times as mended", value, mended)
		}
		ask := querierv1connect.NewQuerierServiceClient(r.http, r.url)
		values, err := ask.LabelValues(t.Context(), connect.NewRequest(&typesv1.LabelValuesRequest{Name: "a"}))
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%q", values.Msg.GetNames()); !strings.Contains(got, fmt.Sprintf("%q", want)) {
			t.Errorf("%q is stored as one of %s, want %q", value, got, want)
		}
	}
}

// Whatever bytes the strings of pushed profiles have, every method of the querier answers afterwards.
func TestMend_AllMethods(t *testing.T) {
	effort.Alone(t)
	r := newReceiver(t, Options{}, columnstore.Options{FutureLimit: -1})
	rng := rand.New(rand.NewPCG(7, 1))
	pushed := 0
	for i := range effort.Part(10_000, 50) {
		p := flametest.RandomProfile(rng, queryAt+int64(i)*1000)
		spoil(rng, p)
		labels := url.Values{"job": {text(rng)}, "url": {text(rng)}, "otel.scope.version": {text(rng)}}
		req := r.request(http.MethodPost, "/pprof?"+labels.Encode(), encoded(t, p))
		resp, err := r.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		switch resp.StatusCode {
		case http.StatusOK:
			pushed++
		case http.StatusBadRequest: // such as two sample types that are equal now
		default:
			t.Fatalf("profile %d: status %d", i, resp.StatusCode)
		}
		if i%100 == 99 {
			askAll(t, r)
		}
	}
	askAll(t, r)
	if r.s.mended() == 0 || pushed == 0 {
		t.Errorf("%d profiles pushed, %v strings mended", pushed, r.s.mended())
	}
}

// text returns a text that may be cut, or have odd bytes.
func text(rng *rand.Rand) string {
	s := []string{"café", "日本語", "SELECT '…'", "a", "x\x00y", "\xf0\x9f\x92", "\n", "{}=\"'\\", "main.main"}[rng.IntN(9)]
	if rng.IntN(3) == 0 {
		s = s[:rng.IntN(len(s)+1)]
	}
	if rng.IntN(4) == 0 {
		s += string([]byte{byte(rng.Uint32())})
	}
	return s
}

// spoil changes strings of a profile.
func spoil(rng *rand.Rand, p *pprof.Profile) {
	change := func(texts ...*string) {
		for _, s := range texts {
			if rng.IntN(4) == 0 {
				*s = text(rng)
			}
		}
	}
	for _, f := range p.Function {
		change(&f.Name, &f.SystemName, &f.Filename)
	}
	for _, m := range p.Mapping {
		change(&m.File, &m.BuildID)
	}
	if rng.IntN(4) == 0 {
		for _, typ := range p.SampleType {
			change(&typ.Type, &typ.Unit)
		}
		if p.PeriodType != nil {
			change(&p.PeriodType.Type, &p.PeriodType.Unit)
		}
	}
	for _, s := range p.Sample {
		if rng.IntN(3) == 0 {
			s.Label = map[string][]string{"l" + text(rng): {text(rng), text(rng)}}
		}
	}
	oddTypes(rng, p)
}

// oddTypes gives a profile the types and units of other profilers, or none.
func oddTypes(rng *rand.Rand, p *pprof.Profile) {
	types := [][2]pprof.ValueType{
		{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "ms"}},
		{{Type: "inuse-objects", Unit: "count"}, {Type: "inuse-space", Unit: "bytes"}},
		{{Type: "samples"}, {Type: "cpu"}},
		{{Type: "alloc_objects", Unit: "count"}, {Type: "alloc_space", Unit: "kilobytes"}},
		{{Type: "contentions", Unit: "count"}, {Type: "delay", Unit: "microseconds"}},
		{{Type: "off-cpu", Unit: "s"}, {Type: "wall:a", Unit: "ns"}},
	}
	if i := rng.IntN(2 * len(types)); i < len(types) {
		for j := range types[i] {
			p.SampleType[j] = &types[i][j]
		}
	}
	switch rng.IntN(8) {
	case 0:
		p.PeriodType, p.Period = nil, 0
	case 1:
		p.PeriodType = &pprof.ValueType{Type: "space", Unit: "bytes"}
	case 2:
		if p.SampleType[0].Type == "contentions" {
			break // without delay they are of another kind, and an answer over both is refused
		}
		p.SampleType, p.DefaultSampleType = p.SampleType[:1], ""
		for _, s := range p.Sample {
			s.Value = s.Value[:1]
		}
	}
}

// askAll asks all methods of the querier over all types.
func askAll(t *testing.T, r *receiver) {
	t.Helper()
	ctx := t.Context()
	c := querierv1connect.NewQuerierServiceClient(r.http, r.url)
	fail := func(method string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", method, err)
		}
	}
	from, to := queryAt-1000, queryAt+20_000_000
	types, err := c.ProfileTypes(ctx, connect.NewRequest(&querierv1.ProfileTypesRequest{Start: from, End: to}))
	fail("ProfileTypes", err)
	names, err := c.LabelNames(ctx, connect.NewRequest(&typesv1.LabelNamesRequest{Start: from, End: to}))
	fail("LabelNames", err)
	for _, name := range names.Msg.GetNames() {
		values, err := c.LabelValues(ctx, connect.NewRequest(&typesv1.LabelValuesRequest{Name: name, Start: from, End: to}))
		fail("LabelValues", err)
		for _, v := range values.Msg.GetNames() {
			if !utf8.ValidString(v) {
				t.Errorf("label %q has the value %q", name, v)
			}
		}
	}
	_, err = c.Series(ctx, connect.NewRequest(&querierv1.SeriesRequest{Start: from, End: to}))
	fail("Series", err)
	if len(types.Msg.GetProfileTypes()) == 0 {
		t.Fatal("no types")
	}
	for _, typ := range types.Msg.GetProfileTypes() {
		all := &querierv1.SelectMergeStacktracesRequest{ProfileTypeID: typ.GetID(), LabelSelector: "{}", Start: from, End: to}
		_, err = c.SelectMergeStacktraces(ctx, connect.NewRequest(all))
		fail("SelectMergeStacktraces "+typ.GetID(), err)
		_, err = c.SelectMergeProfile(ctx, connect.NewRequest(&querierv1.SelectMergeProfileRequest{ProfileTypeID: typ.GetID(), LabelSelector: "{}", Start: from, End: to})) //nolint:staticcheck // clients still call it
		fail("SelectMergeProfile "+typ.GetID(), err)
		_, err = c.SelectSeries(ctx, connect.NewRequest(&querierv1.SelectSeriesRequest{
			ProfileTypeID: typ.GetID(), LabelSelector: "{}", Start: from, End: to, Step: 60, GroupBy: []string{"job", "url"},
		}))
		fail("SelectSeries "+typ.GetID(), err)
		_, err = c.Diff(ctx, connect.NewRequest(&querierv1.DiffRequest{Left: all, Right: all}))
		fail("Diff "+typ.GetID(), err)
		askPictures(t, r, c, all)
	}
	_, err = c.GetProfileStats(ctx, connect.NewRequest(&typesv1.GetProfileStatsRequest{}))
	fail("GetProfileStats", err)
	_, err = c.AnalyzeQuery(ctx, connect.NewRequest(&querierv1.AnalyzeQueryRequest{Query: "{}", Start: from, End: to}))
	fail("AnalyzeQuery", err)
	for _, name := range append(names.Msg.GetNames(), "otel.scope.version") {
		checkTexts(t, r.url+"/pyroscope/label-values?label="+url.QueryEscape(name))
	}
	checkTexts(t, r.url+"/pyroscope/labels")
}

// checkTexts asks for a list of texts, which has to be JSON of valid texts.
func checkTexts(t *testing.T, path string) {
	t.Helper()
	var texts []string
	status, body := fetched(t, path)
	if err := json.Unmarshal([]byte(body), &texts); status != http.StatusOK || err != nil || len(texts) == 0 || !utf8.ValidString(body) {
		t.Fatalf("%s: status %d, %v: %.300q", path, status, err, body)
	}
}

// askPictures asks what Grafana and scripts draw of a type.
func askPictures(t *testing.T, r *receiver, c querierv1connect.QuerierServiceClient, all *querierv1.SelectMergeStacktracesRequest) {
	t.Helper()
	ctx, id := t.Context(), all.GetProfileTypeID()
	fail := func(method string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s %s: %v", method, id, err)
		}
	}
	for _, form := range []querierv1.ProfileFormat{querierv1.ProfileFormat_PROFILE_FORMAT_TREE, querierv1.ProfileFormat_PROFILE_FORMAT_DOT} {
		_, err := c.SelectMergeStacktraces(ctx, connect.NewRequest(&querierv1.SelectMergeStacktracesRequest{
			ProfileTypeID: id, LabelSelector: "{}", Start: all.GetStart(), End: all.GetEnd(), Format: form,
		}))
		fail(form.String(), err)
	}
	for kind := range int32(2) {
		exemplars := typesv1.ExemplarType(2 + kind)
		_, err := c.SelectSeries(ctx, connect.NewRequest(&querierv1.SelectSeriesRequest{
			ProfileTypeID: id, LabelSelector: "{}", Start: all.GetStart(), End: all.GetEnd(), Step: 60, GroupBy: []string{"job", "otel_scope_version"}, ExemplarType: exemplars,
		}))
		fail("SelectSeries with "+exemplars.String(), err)
		_, err = c.SelectHeatmap(ctx, connect.NewRequest(&querierv1.SelectHeatmapRequest{
			ProfileTypeID: id, LabelSelector: "{}", Start: all.GetStart(), End: all.GetEnd(), Step: 60, GroupBy: []string{"url"},
			QueryType: querierv1.HeatmapQueryType(1 + kind), ExemplarType: exemplars,
		}))
		fail("SelectHeatmap with "+exemplars.String(), err)
	}
	query, from, until := id+"{}", fmt.Sprint(all.GetStart()), fmt.Sprint(all.GetEnd())
	asked(t, r.url+"/pyroscope/render", "query", query, "from", from, "until", until, "groupBy", "job")
	asked(t, r.url+"/pyroscope/render", "query", query, "from", from, "until", until, "format", "dot")
	asked(t, r.url+"/pyroscope/render-diff", "leftQuery", query, "leftFrom", from, "leftUntil", until, "rightQuery", query, "rightFrom", from, "rightUntil", until)
}

// Pushes in messages have the same right to odd bytes: they are mended in all strings, and nothing else changes.
func TestMend_Messages(t *testing.T) {
	for name, pushIt := range map[string]func(r *receiver, spoil func([]byte) []byte) *http.Request{
		"OTLP": func(r *receiver, spoil func([]byte) []byte) *http.Request {
			return r.request(http.MethodPost, otlpPath, spoil(marshal(t, otlpRequest(1))), "Content-Type", "application/x-protobuf")
		},
		"OTLP JSON": func(r *receiver, spoil func([]byte) []byte) *http.Request {
			body, err := protojson.Marshal(otlpRequest(1))
			if err != nil {
				t.Fatal(err)
			}
			return r.request(http.MethodPost, otlpPath, spoil(body), "Content-Type", "application/json")
		},
		"Push": func(r *receiver, spoil func([]byte) []byte) *http.Request {
			m := &pushv1.PushRequest{Series: []*pushv1.RawProfileSeries{pushSeries([]string{"service_name", "shop"}, small(t, 1))}}
			return r.request(http.MethodPost, pushPath, spoil(marshal(t, m)), asProto...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReceiver(t, Options{}, columnstore.Options{FutureLimit: -1})
			found := 0
			r.want(http.StatusOK, "", pushIt(r, func(body []byte) []byte {
				found = bytes.Count(body, []byte("shop"))
				return bytes.ReplaceAll(body, []byte("shop"), []byte("sh\xffp"))
			}))
			if found == 0 {
				t.Fatal("nothing was spoiled: the test is blind")
			}
			ask := querierv1connect.NewQuerierServiceClient(r.http, r.url)
			values, err := ask.LabelValues(t.Context(), connect.NewRequest(&typesv1.LabelValuesRequest{Name: "service_name"}))
			if err != nil || fmt.Sprint(values.Msg.GetNames()) != "[sh\ufffdp]" {
				t.Errorf("values %q, %v", values.Msg.GetNames(), err)
			}
			if r.rows() < 2 || r.s.mended() == 0 {
				t.Errorf("%d rows, %v strings mended", r.rows(), r.s.mended())
			}
		})
	}
	r := newReceiver(t, Options{}, columnstore.Options{})
	question := marshal(t, &typesv1.LabelValuesRequest{Name: "shop"})
	r.want(http.StatusBadRequest, "UTF-8", r.request(http.MethodPost, querierv1connect.QuerierServiceLabelValuesProcedure, bytes.ReplaceAll(question, []byte("o"), []byte("\xff")), asProto...))
}

// A body may have an encoding of its own, around a profile that is gzipped or not.
func TestPush_Encodings(t *testing.T) {
	effort.Alone(t)
	zipped := small(t, 1)
	plain, err := io.ReadAll(gunzip(t, zipped))
	if err != nil {
		t.Fatal(err)
	}
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer encoder.Close()
	bomb := make([]byte, 64<<20)
	gzipBomb, zstdBomb, brotliBomb := gzipped.Of(t, bomb), encoder.EncodeAll(bomb, nil), inBrotli(t, bomb)
	for _, path := range []string{"/ingest?name=a", "/pprof?job=a"} {
		r := newReceiver(t, Options{Limits: Limits{Body: 1 << 20, Profile: profile.Limits{Bytes: 1 << 20}}}, columnstore.Options{})
		for _, body := range [][]byte{plain, zipped} {
			r.want(http.StatusOK, "", r.request(http.MethodPost, path, body))
			r.want(http.StatusOK, "", r.request(http.MethodPost, path, body, "Content-Encoding", "identity"))
			r.want(http.StatusOK, "", r.request(http.MethodPost, path, gzipped.Of(t, body), "Content-Encoding", "gzip"))
			r.want(http.StatusOK, "", r.request(http.MethodPost, path, encoder.EncodeAll(body, nil), "Content-Encoding", "zstd"))
			r.want(http.StatusOK, "", r.request(http.MethodPost, path, inBrotli(t, body), "Content-Encoding", "br"))
		}
		r.want(http.StatusOK, "", r.request(http.MethodPost, path, encoder.EncodeAll(plain, nil))) // as a file
		rows := r.rows()
		if rows != 11*2 {
			t.Errorf("%s: %d rows", path, rows)
		}
		r.want(http.StatusRequestEntityTooLarge, "decompressed", r.request(http.MethodPost, path, gzipBomb, "Content-Encoding", "gzip"))
		r.want(http.StatusRequestEntityTooLarge, "decompressed", r.request(http.MethodPost, path, zstdBomb, "Content-Encoding", "zstd"))
		r.want(http.StatusRequestEntityTooLarge, "decompressed", r.request(http.MethodPost, path, zstdBomb))
		r.want(http.StatusBadRequest, "decompressed: ", r.request(http.MethodPost, path, encoder.EncodeAll(plain, nil)[:20]))
		r.want(http.StatusBadRequest, "twice", r.request(http.MethodPost, path, encoder.EncodeAll(zipped, nil)))
		r.want(http.StatusBadRequest, "body", r.request(http.MethodPost, path, plain, "Content-Encoding", "zstd"))
		r.want(http.StatusBadRequest, "body", r.request(http.MethodPost, path, encoder.EncodeAll(plain, nil)[:20], "Content-Encoding", "zstd"))
		r.want(http.StatusRequestEntityTooLarge, "decompressed", r.request(http.MethodPost, path, brotliBomb, "Content-Encoding", "br"))
		r.want(http.StatusBadRequest, "body", r.request(http.MethodPost, path, plain, "Content-Encoding", "br"))
		r.want(http.StatusUnsupportedMediaType, "gzip, zstd and br are", r.request(http.MethodPost, path, plain, "Content-Encoding", "deflate"))
		if r.rows() != rows {
			t.Errorf("%s: %d rows of bodies that were refused", path, r.rows()-rows)
		}
	}
}

// inBrotli returns data in brotli.
func inBrotli(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := brotli.NewWriterLevel(&b, brotli.BestSpeed)
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func gunzip(t *testing.T, data []byte) io.Reader {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return z
}
