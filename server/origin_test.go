package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/granarydb/granary/columnstore"
)

// TestServer_Origin sends what browsers send for pages of this site and of others, and what other clients send.
func TestServer_Origin(t *testing.T) {
	r := newReceiver(t, Options{}, columnstore.Options{})
	own := r.url
	port := own[strings.LastIndex(own, ":"):]
	for _, test := range []struct {
		name, method, path string
		headers            []string
		want               int
	}{
		{"a push by an SDK", "POST", "/pprof", nil, 200},
		{"a push by a page of this server", "POST", "/pprof", []string{"Origin", own, "Sec-Fetch-Site", "same-origin"}, 200},
		{"the same in an older browser", "POST", "/pprof", []string{"Origin", own}, 200},
		{"a push by another site", "POST", "/pprof", []string{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}, 403},
		{"the same in an older browser", "POST", "/pprof", []string{"Origin", "https://evil.example"}, 403},
		{"a push by another port of this host", "POST", "/pprof", []string{"Origin", "http://127.0.0.1:1", "Sec-Fetch-Site", "same-site"}, 403},
		{"a push by a page without an origin", "POST", "/pprof", []string{"Origin", "null"}, 403},
		{"a push by another name of this host", "POST", "/pprof", []string{"Origin", "http://localhost" + port}, 403},
		{"a question by another site", "POST", "/querier.v1.QuerierService/ProfileTypes", []string{"Origin", "https://evil.example", "Content-Type", "application/json"}, 403},
		{"DELETE by another site", "DELETE", "/pprof", []string{"Origin", "https://evil.example"}, 403},

		{"a question by curl", "GET", "/api/v1/store", nil, 200},
		{"a question by the page", "GET", "/api/v1/store", []string{"Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "cors", "Sec-Fetch-Dest", "empty"}, 200},
		{"an address that was typed", "GET", "/healthz", []string{"Sec-Fetch-Site", "none", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, 200},
		{"a link on another site", "GET", "/healthz", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, 200},
		{"a picture on another site", "GET", "/api/v1/flame", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image"}, 403},
		{"a script on another site", "GET", "/pprof", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "script"}, 403},
		{"fetch on another port", "GET", "/api/v1/top", []string{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "cors", "Sec-Fetch-Dest", "empty"}, 403},
		{"a frame on another site", "GET", "/api/v1/flame", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"}, 403},
		{"HEAD on another site", "HEAD", "/pprof", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"}, 403},
		{"a word that browsers do not send", "GET", "/pprof", []string{"Sec-Fetch-Site", "\x80"}, 403},
	} {
		var body []byte
		if test.method == http.MethodPost && test.path == "/pprof" {
			body = small(t, 1)
		}
		rows := r.rows()
		status, text := r.send(r.request(test.method, test.path, body, test.headers...))
		if status != test.want {
			t.Errorf("%s: status %d: %s, want %d", test.name, status, text, test.want)
		}
		if changed := r.rows() != rows; changed != (test.want == 200 && test.path == "/pprof") {
			t.Errorf("%s: the store has changed: %v", test.name, changed)
		}
	}
}

// TestServer_OriginOfHost is about a name that resolves to this server and belongs to someone else: the origin of its
// pages is that of the request, so the Host alone tells.
func TestServer_OriginOfHost(t *testing.T) {
	r := newReceiver(t, Options{}, columnstore.Options{})
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		req := r.request(method, "/pprof", small(t, 1), "Origin", "http://evil.example", "Sec-Fetch-Site", "same-origin")
		req.Host = "evil.example"
		r.want(http.StatusMisdirectedRequest, "evil.example", req)
	}
	if r.rows() != 0 {
		t.Errorf("%d rows", r.rows())
	}
}

// TestServer_GetChangesNothing sends GET to every path: no row and no commit is new.
func TestServer_GetChangesNothing(t *testing.T) {
	r := newReceiver(t, Options{}, columnstore.Options{Manual: true})
	r.want(http.StatusOK, "rows", r.request(http.MethodPost, "/pprof?job=a", small(t, 1)))
	commit := func() (id uint64) {
		if err := r.store.View(t.Context(), func(snap *columnstore.Snapshot) error { id = uint64(snap.Commit()); return nil }); err != nil {
			t.Fatal(err)
		}
		return id
	}
	before, rows := commit(), r.rows()
	for _, path := range []string{
		"/", "/healthz", "/readyz", "/metrics", "/pprof", "/traces", "/arrow", "/ingest?name=a", "/v1development/profiles", "/push.v1.PusherService/Push",
		"/querier.v1.QuerierService/ProfileTypes", "/sources", "/api/v1/flame?t=cpu", "/api/v1/top?t=cpu", "/api/v1/profiles?t=cpu", "/api/v1/store",
		"/api/v1/inspect?t=cpu", "/debug/pprof/",
	} {
		req := r.request(http.MethodGet, path, small(t, 1)) // with a body, as if it were a push
		if status, text := r.send(req); status >= 500 {
			t.Errorf("%s: status %d: %.200s", path, status, text)
		}
	}
	if commit() != before || r.rows() != rows {
		t.Errorf("commit %d and %d rows became %d and %d", before, rows, commit(), r.rows())
	}
}
