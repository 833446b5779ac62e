package server

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/server/internal/archive"
)

// sourceArchive returns a gzipped tar of a file.
func sourceArchive(t *testing.T, name, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(text)), Mode: 0o644, Typeflag: tar.TypeReg})
	if err == nil {
		_, err = w.Write([]byte(text))
	}
	if err = errors.Join(err, w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestArchives pushes archives of versions, which only readers of their tenant see beside the lines of profiles of that version, before
// what is mapped; lists and removes them.
func TestArchives(t *testing.T) {
	dir, mapped := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(mapped, "main.go"), []byte("mapped\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	opts := Options{
		Archives: dir, Sources: []SourceDir{{Prefix: "/build", Dir: mapped}}, Tokens: Tokens{Read: []string{"r", "of-b"}, Write: []string{"w", "of-b"}, Tenants: map[string]string{"of-b": "b"}},
	}
	r := newReceiver(t, opts, columnstore.Options{})
	read, write, other := []string{"Authorization", "Bearer r"}, []string{"Authorization", "Bearer w"}, []string{"Authorization", "Bearer of-b"}
	for labels, as := range map[string][]string{"job=a&version=1.0": write, "job=b&version=2.0": write, "job=c": write, "job=a&version=1.0&": other} {
		r.want(http.StatusOK, "rows", r.request(http.MethodPost, "/pprof?"+strings.TrimSuffix(labels, "&"), lineProfile(t, "/build/main.go", 1), as...))
	}
	push := func(query, text string, as []string) {
		t.Helper()
		r.want(http.StatusOK, `"files":1`, r.request(http.MethodPost, "/archives?"+query, sourceArchive(t, "shop-1/main.go", text), as...))
	}
	lines := func(job string, as []string) string {
		t.Helper()
		_, text := r.send(r.request(http.MethodGet, "/api/v1/lines?t=n&function=main.work&texts=1&q="+url.QueryEscape(job), nil, as...))
		return text
	}
	want := func(job, text string, as []string) {
		t.Helper()
		if got := lines(job, as); !strings.Contains(got, text) {
			t.Errorf("%s: %s, want %s", job, got, text)
		}
	}
	want(`{job="a"}`, "mapped", read)
	push("version=1.0&prefix=/build&strip=1", "of 1.0\n", write)
	push("version=2.0&prefix=/build&strip=1", "of 2.0\n", write)
	want(`{job="a"}`, "of 1.0", read)
	want(`{job="b"}`, "of 2.0", read)
	want(`{job="c"}`, "mapped", read)
	want(`{job=~"a|b"}`, "mapped", read) // of several versions
	want(`{job="a"}`, "mapped", other)
	push("version=1.0&prefix=/build&strip=1", "of b\n", other)
	want(`{job="a"}`, "of b", other)
	want(`{job="a"}`, "of 1.0", read)
	var listed struct{ Archives []archive.Archive }
	_, text := r.send(r.request(http.MethodGet, "/archives", nil, read...))
	if err := json.Unmarshal([]byte(text), &listed); err != nil || len(listed.Archives) != 2 || listed.Archives[0].Version != "2.0" || listed.Archives[0].Prefix != "/build" {
		t.Errorf("%v: %s", err, text)
	}
	r.want(http.StatusOK, `{"archives":[]}`, r.request(http.MethodGet, "/archives", nil, append([]string{TenantHeader, "none"}, read...)...))
	r.want(http.StatusNotFound, "no archive of version", r.request(http.MethodDelete, "/archives?version=1.0", nil, write...))
	r.want(http.StatusNoContent, "", r.request(http.MethodDelete, "/archives?version=1.0&prefix=/build", nil, write...))
	want(`{job="a"}`, "mapped", read)
	want(`{job="a"}`, "of b", other)
	for _, c := range []struct {
		status              int
		text, method, query string
		as                  []string
	}{
		{http.StatusUnauthorized, "token", http.MethodPost, "version=1", read},
		{http.StatusUnauthorized, "token", http.MethodDelete, "version=2.0&prefix=/build", read},
		{http.StatusUnauthorized, "token", http.MethodGet, "", write},
		{http.StatusForbidden, "another tenant", http.MethodGet, "", append([]string{TenantHeader, "a"}, other...)},
		{http.StatusMethodNotAllowed, "", http.MethodPut, "version=1", write},
	} {
		r.want(c.status, c.text, r.request(c.method, "/archives?"+c.query, nil, c.as...))
	}
	if all, err := os.ReadDir(filepath.Join(dir, "tenants")); err != nil || len(all) != 2 {
		t.Errorf("%v, %v", all, err)
	}
}

// TestArchives_Refused sends what is no archive, too much, wrong parameters, and tenants that may not push; a server without a directory
// and a front refuse all.
func TestArchives_Refused(t *testing.T) {
	dir := t.TempDir()
	r := newReceiver(t, Options{
		Archives: dir, Limits: Limits{Archives: 4000, Tenants: 2}, Tenants: map[string]TenantLimits{"anonymous": {}, "a": {}, "b": {}},
	}, columnstore.Options{})
	good := sourceArchive(t, "main.go", "text\n")
	for _, c := range []struct {
		status      int
		text, query string
		body        []byte
		header      []string
	}{
		{http.StatusBadRequest, "want a tar", "version=1", []byte("no archive"), nil},
		{http.StatusBadRequest, "want a tar", "version=1", nil, nil},
		{http.StatusBadRequest, "version", "", good, nil},
		{http.StatusBadRequest, "twice", "version=1&version=2", good, nil},
		{http.StatusBadRequest, "not known", "version=1&path=/etc", good, nil},
		{http.StatusBadRequest, "strip", "version=1&strip=-1", good, nil},
		{http.StatusBadRequest, "strip", "version=1&strip=99999999999", good, nil},
		{http.StatusRequestEntityTooLarge, "at most 4000", "version=1", make([]byte, 5000), nil},
		{http.StatusRequestEntityTooLarge, "unpacked", "version=1", sourceArchive(t, "main.go", strings.Repeat("x", 100_000)), nil},
		{http.StatusForbidden, "none of this server's", "version=1", good, []string{TenantHeader, "stranger"}},
		{http.StatusOK, `"version":"1"`, "version=1", good, nil},
		{http.StatusOK, `"version":"1"`, "version=1", good, []string{TenantHeader, "a"}},
		{http.StatusTooManyRequests, "at most 2 tenants", "version=1", good, []string{TenantHeader, "b"}},
		{http.StatusForbidden, "", "version=1", good, []string{"Origin", "http://evil.example"}},
	} {
		r.want(c.status, c.text, r.request(http.MethodPost, "/archives?"+c.query, c.body, c.header...))
	}
	kept, err := filepath.Glob(filepath.Join(dir, "*", "*", "*"))
	if err != nil || len(kept) != 2 {
		t.Errorf("files %v: %v", kept, err)
	}
	none := newReceiver(t, Options{}, columnstore.Options{})
	front, err := NewFront(Nodes{URLs: []string{none.url}}, Options{Archives: dir})
	if err != nil {
		t.Fatal(err)
	}
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
		none.want(http.StatusNotImplemented, "keeps no archives", none.request(method, "/archives?version=1", good))
		w := httptest.NewRecorder()
		front.ServeHTTP(w, httptest.NewRequest(method, "http://localhost/archives?version=1", bytes.NewReader(good)))
		if w.Code != http.StatusNotImplemented || !strings.Contains(w.Body.String(), "a front has no archives") {
			t.Errorf("%s on a front: status %d: %s", method, w.Code, w.Body)
		}
	}
	if err := front.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}
