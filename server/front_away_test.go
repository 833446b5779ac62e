package server

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	pprof "github.com/google/pprof/profile"
	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"

	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/fanout"
)

// awayLimits are those of the fronts of these tests, with room for what filled has.
var awayLimits = Limits{ResultBytes: 1 << 20}

// awayNodes are nodes that do not answer, or not well, with a word of the error that they cause.
func awayNodes(t *testing.T, good string) map[string]struct {
	serve http.HandlerFunc
	want  string
} {
	t.Helper()
	body := func(media string, data []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if w.Header().Set("Content-Type", media); media == "" {
				w.Header().Set("Content-Type", mediaOf(r))
			}
			_, _ = w.Write(data)
		}
	}
	answers := func(h http.HandlerFunc) http.HandlerFunc { return answersFirst(good, h) }
	cut := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1000")
		body("", []byte("some"))(w, r)
	}
	return map[string]struct {
		serve http.HandlerFunc
		want  string
	}{
		"cut":          {cut, "amid the answer"},
		"cut later":    {answers(cut), "amid the answer"},
		"garbage":      {body("", []byte("\xff\xff\xff garbage")), "answer"},
		"garbage then": {answers(body("", []byte("\x2a\x04\x0a\x02\xff\xff"))), "answer"},
		"nothing":      {answers(body("", nil)), "answer"},
		"a page":       {body("text/html", []byte("<html>")), "is it a Granary"},
		"500":          {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "out of\norder \u00e9", 500) }, "500 out of order"},
		"401":          {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "token", http.StatusUnauthorized) }, "401 token"},
		"its limit": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(429)
			_, _ = io.WriteString(w, `{"code":"resource_exhausted","message":"16 queries at once"}`)
		}, "429 16 queries"},
		"huge": {body("", make([]byte, awayLimits.ResultBytes+1)), "more than 1048576 bytes"},
		"elsewhere": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, good+r.URL.Path, http.StatusTemporaryRedirect)
		}, "307"},
	}
}

// mediaOf returns the media type of a node's answer.
func mediaOf(r *http.Request) string {
	if r.Method == http.MethodPost && r.URL.Path != fanout.StacksPath {
		return "application/proto"
	}
	return fanout.BytesMedia
}

// answersFirst is a handler that has the answers of a good node about types of profiles.
func answersFirst(good string, h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/ProfileTypes") {
			req, err := http.NewRequestWithContext(r.Context(), r.Method, good+r.URL.Path, r.Body)
			if err != nil {
				panic(err)
			}
			req.Header = r.Header
			resp, err := http.DefaultTransport.RoundTrip(req)
			if err != nil {
				panic(err)
			}
			defer func() { _ = resp.Body.Close() }()
			maps.Copy(w.Header(), resp.Header)
			_, _ = io.Copy(w, resp.Body)
			return
		}
		h(w, r)
	}
}

// TestFront_Hangs: a node has not answered when three quarters of a query's time are over.
func TestFront_Hangs(t *testing.T) {
	t.Parallel() // it waits
	_, good := filled(t, Options{})
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	hang := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // otherwise the end of the connection is not seen
		<-r.Context().Done()
	}
	drip := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", mediaOf(r))
		_, _ = w.Write([]byte("x"))
		_ = http.NewResponseController(w).Flush()
		hang(w, r)
	}
	opts := Options{Limits: Limits{QueryTime: 3 * time.Second}}
	ask := func() *connect.Request[querierv1.SelectMergeStacktracesRequest] { // a request belongs to one goroutine
		return connect.NewRequest(&querierv1.SelectMergeStacktracesRequest{ProfileTypeID: cpuID})
	}
	for name, h := range map[string]http.HandlerFunc{"hangs": hang, "drips": drip} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			away := serve(t, h)
			_, front := newFront(t, Nodes{URLs: []string{good, away}}, opts)
			_, err := clients(t, front)["grpc"].SelectMergeStacktraces(t.Context(), ask())
			if connect.CodeOf(err) != connect.CodeUnavailable || !strings.Contains(err.Error(), away+": no answer within") {
				t.Errorf("%v, want an error with %s", err, away)
			}
		})
	}
	t.Run("partial", func(t *testing.T) {
		t.Parallel()
		away := serve(t, http.HandlerFunc(hang))
		_, front := newFront(t, Nodes{URLs: []string{good, away}, PartialAnswers: true}, opts)
		part, err := clients(t, front)["grpc"].SelectMergeStacktraces(t.Context(), ask())
		if err != nil || part.Msg.GetFlamegraph().GetTotal() == 0 || !strings.Contains(part.Header().Get(fanout.WarningHeader), away+": no answer within") {
			t.Errorf("%v, %v, want a warning with %s", part, err, away)
		}
	})
	t.Run("partial pprof", func(t *testing.T) {
		t.Parallel()
		away := serve(t, answersFirst(good, hang))
		_, front := newFront(t, Nodes{URLs: []string{good, away}, PartialAnswers: true}, opts)
		code, body := fetched(t, front+"/pprof?type=cpu")
		p, err := pprof.ParseData([]byte(body))
		if err != nil || len(p.Sample) == 0 || len(p.Comments) != 1 || !strings.Contains(p.Comments[0], away+": no answer within") {
			t.Errorf("%d, %v, %v, want a comment with %s", code, err, p, away)
		}
	})
}

// TestFront_Stalled: a partial answer waits for a stopped node for a second, the next one not at all, and the node is there
// again after a moment.
func TestFront_Stalled(t *testing.T) {
	t.Parallel() // it waits
	_, good := filled(t, Options{})
	node, _ := filled(t, Options{})
	var isStopped atomic.Bool
	other := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isStopped.Load() {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
			return
		}
		node.ServeHTTP(w, r)
	}))
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	_, front := newFront(t, Nodes{URLs: []string{good, other}, PartialAnswers: true}, Options{Limits: Limits{QueryTime: time.Hour}})
	ask := func() (total int64, warning string) {
		answer, err := clients(t, front)["grpc"].SelectMergeStacktraces(t.Context(), connect.NewRequest(&querierv1.SelectMergeStacktracesRequest{ProfileTypeID: cpuID}))
		if err != nil {
			t.Fatal(err)
		}
		return answer.Msg.GetFlamegraph().GetTotal(), answer.Header().Get(fanout.WarningHeader)
	}
	all, warning := ask()
	if warning != "" {
		t.Fatal(warning)
	}
	isStopped.Store(true)
	for i, most := range []time.Duration{effort.Patience, time.Second} { // an hour is left
		start := time.Now()
		if total, warning := ask(); 2*total != all || !strings.Contains(warning, other+": no answer within") || time.Since(start) > most {
			t.Errorf("answer %d: %d of %d after %s, with the warning %q", i, total, all, time.Since(start), warning)
		}
	}
	isStopped.Store(false)
	deadline := time.Now().Add(effort.Patience)
	for {
		total, warning := ask()
		if total == all && warning == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d, %q: the node answers again", total, all, warning)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// TestFront_Away asks fronts of a good node and one that is away: an error names it, or an answer without
// it says so.
func TestFront_Away(t *testing.T) {
	_, good := filled(t, Options{})
	for name, away := range awayNodes(t, good) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testAway(t, good, serve(t, away.serve), away.want)
		})
	}
	t.Run("refuses", func(t *testing.T) {
		t.Parallel()
		closed := httptest.NewServer(http.NotFoundHandler())
		closed.Close()
		testAway(t, good, closed.URL, "refused")
	})
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
}

func testAway(t *testing.T, good, away, want string) {
	strict, strictURL := newFront(t, Nodes{URLs: []string{good, away}}, Options{Limits: awayLimits})
	partial, partialURL := newFront(t, Nodes{URLs: []string{away, good}, PartialAnswers: true}, Options{Limits: awayLimits})
	ones, fronts, partials := clients(t, good), clients(t, strictURL), clients(t, partialURL)
	q := connect.NewRequest(&querierv1.SelectMergeStacktracesRequest{ProfileTypeID: cpuID})
	n := len(fronts)
	for protocol, c := range fronts {
		_, err := c.SelectMergeStacktraces(t.Context(), q)
		if connect.CodeOf(err) != connect.CodeUnavailable || !strings.Contains(err.Error(), away) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %s and %s", protocol, err, away, want)
		}
		all, err := ones[protocol].SelectMergeStacktraces(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		part, err := partials[protocol].SelectMergeStacktraces(t.Context(), q)
		if err != nil {
			t.Fatalf("%s, with partial answers: %v", protocol, err)
		}
		if got := part.Header().Values(fanout.WarningHeader); len(got) != 1 || !strings.Contains(got[0], away) || !strings.Contains(got[0], want) {
			t.Errorf("%s: warnings %q, want one with %s and %s", protocol, got, away, want)
		}
		if part.Msg.GetFlamegraph().GetTotal() != all.Msg.GetFlamegraph().GetTotal() {
			t.Errorf("%s: %d, want the %d of the good node", protocol, part.Msg.GetFlamegraph().GetTotal(), all.Msg.GetFlamegraph().GetTotal())
		}
	}
	if code, body := fetched(t, strictURL+"/pprof?type=cpu"); code != http.StatusBadGateway || !strings.Contains(body, away) || strings.Contains(body, "parameter") || strings.Count(body, "\n") != 1 {
		t.Errorf("pprof: %d %s", code, body)
	}
	code, body := fetched(t, partialURL+"/pprof?type=cpu")
	p, err := pprof.ParseData([]byte(body))
	if err != nil {
		t.Fatalf("pprof: %d %s: %v", code, body, err)
	}
	if len(p.Comments) != 1 || !strings.Contains(p.Comments[0], away) || len(p.Sample) == 0 {
		t.Errorf("a partial profile of %d samples with the comments %q", len(p.Sample), p.Comments)
	}
	for s, lines := range map[*Server][]string{
		strict:  {`granary_node_failures_total{node="` + away + `"}`, fmt.Sprint(`granary_http_failures_total{cause="node",handler="querier"} `, n), `granary_node_missing_total{node="` + away + `"} 0`},
		partial: {`granary_node_failures_total{node="` + away + `"} ` + fmt.Sprint(n+1), `granary_node_missing_total{node="` + away + `"} ` + fmt.Sprint(n+1), `granary_node_failures_total{node="` + good + `"} 0`, `granary_node_request_seconds_count{node="` + good + `"} ` + fmt.Sprint(n+3)}, // a request for new stacks, and two for pprof
	} {
		text := answer(s, http.MethodGet, "/metrics", "", "").Body.String()
		for _, line := range lines {
			if !strings.Contains(text, line) {
				t.Errorf("metrics have no %s:\n%s", line, grep(text, "granary_node"))
			}
		}
	}
}

// grep returns the lines with a text.
func grep(text, word string) (found string) {
	for line := range strings.Lines(text) {
		if strings.Contains(line, word) {
			found += line
		}
	}
	return found
}

// TestFront_AllAway: a partial answer of no node is none.
func TestFront_AllAway(t *testing.T) {
	a, b := serve(t, http.NotFoundHandler()), serve(t, http.NotFoundHandler())
	_, front := newFront(t, Nodes{URLs: []string{a, b}, PartialAnswers: true}, Options{})
	_, err := clients(t, front)["grpc"].LabelNames(t.Context(), connect.NewRequest(&typesv1.LabelNamesRequest{}))
	if connect.CodeOf(err) != connect.CodeUnavailable || !strings.Contains(err.Error(), a) || !strings.Contains(err.Error(), b) {
		t.Errorf("%v, want an error that names both", err)
	}
}

// TestFront_OfFronts: a warning of a node's answer is not lost, so a partial answer is one of a node that is away.
func TestFront_OfFronts(t *testing.T) {
	_, good := filled(t, Options{})
	_, partial := newFront(t, Nodes{URLs: []string{good, serve(t, http.NotFoundHandler())}, PartialAnswers: true}, Options{})
	_, front := newFront(t, Nodes{URLs: []string{partial}}, Options{})
	_, err := clients(t, front)["connect"].LabelNames(t.Context(), connect.NewRequest(&typesv1.LabelNamesRequest{}))
	if connect.CodeOf(err) != connect.CodeUnavailable || !strings.Contains(err.Error(), partial+": a partial answer: node http") {
		t.Errorf("%v, want an error that names both", err)
	}
}

// TestFront_Cancel: the first error, and a client that goes away, end the requests to all nodes.
func TestFront_Cancel(t *testing.T) {
	began, ended := make(chan bool, 4), make(chan bool, 4)
	hangs := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		began <- true
		<-r.Context().Done()
		ended <- true
	}))
	fails := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		<-began
		http.Error(w, "no", http.StatusInternalServerError)
	}))
	s, front := newFront(t, Nodes{URLs: []string{hangs, fails}}, Options{})
	start := time.Now()
	_, err := clients(t, front)["connect"].LabelNames(t.Context(), connect.NewRequest(&typesv1.LabelNamesRequest{}))
	if <-ended; !strings.Contains(fmt.Sprint(err), fails) || time.Since(start) > effort.Patience {
		t.Errorf("%v after %s", err, time.Since(start))
	}
	alone, err := NewFront(Nodes{URLs: []string{hangs}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-began; cancel() }()
	w := httptest.NewRecorder()
	alone.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/pprof?type=cpu", nil))
	<-ended
	_ = alone.Wait(t.Context())
	for s, want := range map[*Server]string{s: "0", alone: "0"} {
		if text := answer(s, http.MethodGet, "/metrics", "", "").Body.String(); !strings.Contains(text, `granary_node_failures_total{node="`+hangs+`"} `+want) {
			t.Errorf("a node is blamed for the client:\n%s", grep(text, "granary_node"))
		}
	}
}

// TestFront_ClientsTime: of a client with less time than a query may take, nodes have a part of that.
func TestFront_ClientsTime(t *testing.T) {
	_, good := filled(t, Options{})
	_, front := newFront(t, Nodes{URLs: []string{good}}, Options{Limits: Limits{QueryTime: time.Hour}})
	for protocol, c := range clients(t, front) {
		ctx, cancel := context.WithTimeout(t.Context(), effort.Patience)
		if _, err := c.LabelNames(ctx, connect.NewRequest(&typesv1.LabelNamesRequest{})); err != nil {
			t.Errorf("%s: %v", protocol, err)
		}
		cancel()
	}
}

// TestFront_Memory: stacks beyond the memory of a query are an error, and not a smaller answer.
func TestFront_Memory(t *testing.T) {
	urls := nodesWith(t, func(p *pprof.Profile) {
		rng := rand.New(rand.NewPCG(6, 6))
		for range 10_000 {
			s := &pprof.Sample{Value: []int64{1, 1}}
			for range 8 {
				s.Location = append(s.Location, p.Location[rng.IntN(len(p.Location))])
			}
			p.Sample = append(p.Sample, s)
		}
	}, map[string]string{profile.NameLabel: "process_cpu"}, map[string]string{profile.NameLabel: "process_cpu"})
	for bytes, want := range map[int64]int{1 << 20: http.StatusUnprocessableEntity, 64 << 20: http.StatusOK} {
		_, front := newFront(t, Nodes{URLs: urls}, Options{Limits: Limits{QueryBytes: bytes}})
		code, body := fetched(t, front+"/pprof?type=cpu")
		if code != want || want != http.StatusOK && !strings.Contains(body, "the memory of a query, at most 1048576 bytes") {
			t.Errorf("%d bytes: %d %.300s, want %d", bytes, code, body, want)
		}
	}
}

// TestFront_MemoryOfAnswers bounds the answers of all nodes together: those of two are too much, although each is
// within its limit.
func TestFront_MemoryOfAnswers(t *testing.T) {
	const room = 2 << 20
	heavy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/proto")
		_, _ = w.Write(marshal(t, &typesv1.LabelNamesResponse{Names: []string{strings.Repeat("x", room*2/3)}}))
	}))
	defer heavy.Close()
	other := httptest.NewServer(heavy.Config.Handler)
	defer other.Close()
	for _, urls := range [][]string{{heavy.URL}, {heavy.URL, other.URL}} {
		for _, isPartial := range []bool{false, true} {
			_, front := newFront(t, Nodes{URLs: urls, PartialAnswers: isPartial}, Options{Limits: Limits{QueryBytes: room, ResultBytes: room}})
			_, err := clients(t, front)["connect"].LabelNames(t.Context(), connect.NewRequest(&typesv1.LabelNamesRequest{}))
			if len(urls) == 1 && err != nil || len(urls) == 2 && (connect.CodeOf(err) != connect.CodeResourceExhausted || !strings.Contains(err.Error(), "the answers of all nodes have more than 2097152 bytes")) {
				t.Errorf("%d nodes, partial %v: %v", len(urls), isPartial, err)
			}
		}
	}
}

// TestFront_TLS asks nodes at https. Only those whose certificate the front trusts answer.
func TestFront_TLS(t *testing.T) {
	s, _ := filled(t, Options{})
	node := httptest.NewTLSServer(s)
	defer node.Close()
	for _, transport := range []http.RoundTripper{node.Client().Transport, nil} {
		_, front := newFront(t, Nodes{URLs: []string{node.URL}, Transport: transport}, Options{})
		code, body := fetched(t, front+"/pprof?type=cpu")
		if isTrusted := transport != nil; isTrusted && code != http.StatusOK || !isTrusted && (code != http.StatusBadGateway || !strings.Contains(body, "certificate")) {
			t.Errorf("trusted %v: %d %.200q", isTrusted, code, body)
		}
	}
	h, _ := newFront(t, Nodes{URLs: []string{node.URL}, Transport: node.Client().Transport}, Options{})
	front := httptest.NewTLSServer(h)
	defer front.Close()
	resp, err := front.Client().Get(front.URL + "/pprof?type=cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("a front at https: %s", resp.Status)
	}
}

// TestFront_Refuses answers pushes and questions for rows with an error that says where to go.
func TestFront_Refuses(t *testing.T) {
	_, good := filled(t, Options{})
	_, front := newFront(t, Nodes{URLs: []string{good}}, Options{Tokens: Tokens{Write: []string{"w"}}})
	if code, body := fetched(t, front+"/arrow"); code != http.StatusNotImplemented || !strings.Contains(body, good) {
		t.Errorf("arrow: %d %s", code, body)
	}
	post := func(path, media, token string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, front+path, strings.NewReader("anything"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", media)
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(text)
	}
	defer http.DefaultClient.CloseIdleConnections()
	for path, media := range map[string]string{"/ingest?name=a": "", "/pprof?job=a": "", "/traces?job=a": "", "/v1development/profiles": "application/x-protobuf"} {
		if code, body := post(path, media, "w"); code != http.StatusNotImplemented || !strings.Contains(body, "push them to one of its nodes: "+good) {
			t.Errorf("%s: %d %s", path, code, body)
		}
		if code, body := post(path, media, ""); code != http.StatusUnauthorized {
			t.Errorf("%s without a token: %d %s", path, code, body)
		}
	}
	only2 := new(http.Protocols)
	only2.SetUnencryptedHTTP2(true)
	r := &receiver{t: t, url: front, http: http.DefaultClient, h2c: &http.Client{Transport: &http.Transport{Protocols: only2}}}
	defer r.h2c.CloseIdleConnections()
	for name, c := range r.pushers() {
		req := connect.NewRequest(&pushv1.PushRequest{})
		req.Header().Set("Authorization", "Bearer w")
		if _, err := c.Push(t.Context(), req); connect.CodeOf(err) != connect.CodeUnimplemented || !strings.Contains(err.Error(), good) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFront_Tokens: callers show a token of the front's, and the front shows one to its nodes.
func TestFront_Tokens(t *testing.T) {
	_, good := filled(t, Options{Tokens: Tokens{Read: []string{"node"}}})
	s, front := newFront(t, Nodes{URLs: []string{good + "/"}}, Options{Tokens: Tokens{Read: []string{"caller"}, Node: "wrong"}})
	ask := func(token string) (int, string) {
		w := answer(s, http.MethodGet, "/pprof?type=cpu", "", "Bearer "+token)
		return w.Code, w.Body.String()
	}
	if code, _ := ask("node"); code != http.StatusUnauthorized {
		t.Errorf("a node's token at the front: %d", code)
	}
	if code, body := ask("caller"); code != http.StatusBadGateway || !strings.Contains(body, "401") {
		t.Errorf("a wrong token for nodes: %d %s", code, body)
	}
	if err := s.SetTokens(Tokens{Node: "node"}); err != nil {
		t.Fatal(err)
	}
	if code, body := fetched(t, front+"/pprof?type=cpu"); code != http.StatusOK {
		t.Errorf("with a token: %d %s", code, body)
	}
	if w := answer(s, http.MethodGet, "/healthz", "evil.example.com", ""); w.Code != http.StatusMisdirectedRequest {
		t.Errorf("another host: %d", w.Code)
	}
}

// TestFront_Ready: a front is ready if all nodes are, or one with partial answers, and while it does not drain.
func TestFront_Ready(t *testing.T) {
	a, good := filled(t, Options{})
	b, other := filled(t, Options{})
	for _, test := range []struct {
		partial  bool
		drain    []*Server
		code     int
		mentions string
	}{{false, nil, 200, "ok"}, {false, []*Server{b}, 503, other}, {true, nil, 200, "ok"}, {true, []*Server{a}, 503, good}} {
		for _, s := range test.drain {
			s.Drain()
		}
		s, _ := newFront(t, Nodes{URLs: []string{good, other}, PartialAnswers: test.partial}, Options{})
		for range 2 { // the second is from memory
			if w := answer(s, http.MethodGet, "/readyz", "", ""); w.Code != test.code || !strings.Contains(w.Body.String(), test.mentions) {
				t.Errorf("%+v: %d %s", test, w.Code, w.Body)
			}
		}
		s.Drain()
		if w := answer(s, http.MethodGet, "/readyz", "", ""); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "shutting down") {
			t.Errorf("a front that drains: %d %s", w.Code, w.Body)
		}
	}
}

// TestNewFront refuses addresses of nodes that are none.
func TestNewFront(t *testing.T) {
	for _, urls := range [][]string{
		nil, {""}, {"granary-0:4040"}, {"ftp://a"}, {"http://"}, {"http://u:p@a"}, {"http://a?b=c"}, {"http://a#b"}, {"http://a", "http://b", "http://A/"}, {"http://a\n"}, {"http://\u00e9"},
	} {
		if s, err := NewFront(Nodes{URLs: urls}, Options{}); s != nil || err == nil || !strings.Contains(err.Error(), "node") {
			t.Errorf("%q: %v, %v", urls, s, err)
		}
	}
	if _, err := NewFront(Nodes{URLs: []string{"http://a"}}, Options{Limits: Limits{Queries: -1}}); err == nil {
		t.Error("a negative limit is taken")
	}
}
