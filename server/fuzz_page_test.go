package server

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/internal/effort"
)

// fuzzedPaths are the questions of a page and of Pyroscope's clients, each with one that has an answer.
var fuzzedPaths = []struct{ path, query string }{
	{"flame", "t=cpu&s=leaf[0-3]&max_nodes=4&inv=1&h=threads&p=Threads/{thread}&shares=1"},
	{"flame", "t=cpu&function=leaf1&state=running&h=threads&p=Threads/{thread}"},
	{"flame", "t=cpu&granularity=line&fold=1&group=thread"},
	{"callgraph", "t=cpu&nodes=3&fold=1"},
	{"top", "t=cpu&granularity=file&s=leaf"},
	{"top", "t=cpu&sort=cum&rows=2&offset=1&bq={}&norm=1"},
	{"top", "t=cpu&rows=3&bfrom=latest-2h&bto=latest-1h&rate=1&spread=1"},
	{"states", "t=cpu&h=threads&p=Threads/{thread}&attribute=Threads/3"},
	{"meanwhile", "t=cpu&h=threads&p=Threads/{thread}&attribute=Threads/3&state=running&max_nodes=9"},
	{"profiles", "t=cpu&q={thread!=\"1\"}&rows=5&pixels=10"},
	{"timeline", "t=cpu&from=2026-01-31T09:00:00Z&h=threads&p=Threads/{thread}&attribute=Threads/3&pixels=7"},
	{"annotations", "q={thread=\"1\"}&from=latest-1h&to=now"},
	{"inspect", "t=cpu&rows=2&offset=1&hide=leaf1"},
	{"services", "t=cpu&label=thread&from=latest-1m&points=9&match=[1-3]&sort=change&ago=1d&reverse=1&rows=3&offset=1&changed=1"},
	{"lines", "t=cpu&function=leaf1&texts=1&rows=3&bq={}"},
	{"export", "as=svg&t=cpu&inv=1&max_nodes=4&bq={}"},
	{"export", "as=csv&t=cpu&sort=cum&rows=2"},
	{"export", "as=callers&t=cpu&function=leaf1"},
	{"command", "t=cpu&sort=cum&ignore='&show=x"},
	{"histories", ""},
	{"histories/threads/tree", "path=Threads&rows=3&offset=2"},
	{"histories/threads/pixels", "p=Threads/{thread}&pixels=7&rows=4&offset=1&shares=1"},
	{"histories/threads/pixels", "p=Threads/{thread}&pixels=9&find=1&sort=waits&under=1&wakes=1&samples=1"},
	{"histories/threads/lines", "p=Threads/{thread}&pixels=9"},
	{"histories/threads/stats", "p=Threads/*&by=state,../../Count,attribute&rows=4&offset=1&from=2026-01-31T09:00:00Z"},
	{"histories/threads/at", "p=Threads/{thread}&at=2026-01-31T09:00:00Z&rows=3"},
	{"histories/threads/range", "attribute=Threads/3&rows=4&to=-0s"},
	{"/pyroscope/render", "query=" + cpuID + "{}&from=20260131&until=1769850300&groupBy=thread&max-nodes=3"},
	{"/pyroscope/render", "query=" + cpuID + "{}&from=1769850000000&format=dot&maxNodes=9"},
	{"/pyroscope/render-diff", "leftQuery=" + cpuID + "{}&leftFrom=1769850000&rightQuery={__profile_type__=\"" + cpuID + "\"}&rightFrom=now-1h&rightUntil=now"},
	{"/pyroscope/label-values", "label=__name__&query=" + cpuID + "&from=now-1d"},
	{"/pyroscope/labels", "query={}&until=1769850300"},
}

// fuzzedPath returns the whole path of a question.
func fuzzedPath(path string) string {
	if strings.HasPrefix(path, "/") {
		return path
	}
	return "/api/v1/" + path
}

// FuzzPage asks any question of a page: an answer is JSON, a graph or an error of the client, in bounded time and of bounded size.
func FuzzPage(f *testing.F) {
	for i, p := range fuzzedPaths {
		f.Add(uint8(i), p.query)
	}
	for i, query := range []string{
		"t=cpu&t=cpu", "%", "t=;", "from=99999999999999999999", "from=-99999999h", "from=-1d&to=-2d", "max_nodes=-1", "max_nodes=100001", "rows=1e9", "offset=9223372036854775807",
		"commit=1", "commit=x", "p={", "p={a}{b}", "p=/", "p=\"", "attribute=..", "state=b\"\\xff\"", "q={a=~\"((b{1000}){1000}){1000}\"}", "s=((((((((((((", "s=(a{1000}){1000}", "pixels=0", "pixels=4097", "norm=2",
	} {
		f.Add(uint8(i), query)
		f.Add(uint8(i+3), "t=cpu&h=threads&p=Threads/{thread}&"+query)
	}
	m := newMadeStates(f, 5, Options{Limits: Limits{QueryTime: 5 * time.Second, QueryBytes: 8 << 20, ResultBytes: 1 << 20}})
	f.Fuzz(func(t *testing.T, at uint8, query string) {
		p := fuzzedPaths[int(at)%len(fuzzedPaths)]
		r := httptest.NewRequest(http.MethodGet, "http://localhost"+fuzzedPath(p.path), nil)
		r.URL.RawQuery = query
		w, start := httptest.NewRecorder(), time.Now()
		m.ServeHTTP(w, r)
		data, _ := io.ReadAll(w.Body) // a recorder has no errors
		switch code := w.Code; {
		case time.Since(start) > effort.Patience:
			t.Errorf("it took %v", time.Since(start))
		case code == http.StatusOK && p.path == "export":
			if h := w.Header().Get("Content-Disposition"); len(data) > 1<<20 || !strings.HasPrefix(h, "attachment; ") {
				t.Errorf("%d bytes, %s", len(data), h)
			}
		case code == http.StatusOK && (!json.Valid(data) && !strings.HasPrefix(string(data), "digraph") || len(data) > 1<<20):
			t.Errorf("%d bytes that are no answer: %.200q", len(data), data)
		case code != http.StatusOK && (code/100 != 4 && code != http.StatusNotImplemented || len(data) > 1100 || len(data) == 0):
			t.Errorf("%d: %.2000q", code, data)
		}
		if of, err := url.ParseQuery(query); w.Code == http.StatusOK && (err != nil || slices.ContainsFunc(slices.Collect(maps.Values(of)), func(v []string) bool { return len(v) > 1 })) {
			t.Errorf("%q has an answer: %v", query, err)
		}
	})
}
