package server

import (
	"bytes"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/columnstore"
)

// TestPagePprof follows the pages of a selection, and compares what is downloaded with GET /pprof.
func TestPagePprof(t *testing.T) {
	r := newReceiver(t, Options{}, columnstore.Options{FutureLimit: -1})
	r.want(http.StatusOK, "rows", r.request(http.MethodPost, "/pprof?job=a", file(t, "etcd/cpu-1.pb.gz")))
	r.want(http.StatusOK, "rows", r.request(http.MethodPost, "/pprof?job=b", file(t, "pebble/cpu-1.pb.gz")))
	follow := &http.Client{Transport: r.http.Transport}
	open := func(path string) (*http.Response, string) {
		resp, err := follow.Do(r.request(http.MethodGet, path, nil))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var body bytes.Buffer
		if _, err := body.ReadFrom(resp.Body); err != nil {
			t.Fatal(err)
		}
		return resp, body.String()
	}
	resp, body := open(`/ui/pprof/?t=cpu&q={job="a"}&from=-1h`)
	at := resp.Request.URL.Path
	if resp.StatusCode != 200 || !strings.HasSuffix(at, "/flamegraph") || !strings.Contains(body, "etcd.io") || strings.Contains(body, "cockroachdb/pebble") {
		t.Fatalf("%s: status %d: %.300s", at, resp.StatusCode, body)
	}
	for name, want := range map[string]string{"Content-Type": "text/html", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"} {
		if got := resp.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if policy := resp.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "sandbox allow-scripts") || strings.Contains(policy, "allow-same-origin") {
		t.Errorf("policy %s", policy)
	}
	base := strings.TrimSuffix(at, "flamegraph")
	for page, want := range map[string]string{"top": "etcd.io", "peek?f=runtime.schedule": "runtime.findRunnable", "": "etcd.io"} {
		if resp, body := open(base + page); resp.StatusCode != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: status %d: %.300s", page, resp.StatusCode, body)
		}
	}
	want := 200
	if _, err := exec.LookPath("dot"); err != nil {
		want = 501
	}
	if resp, _ := open(base + "graph"); resp.StatusCode != want {
		t.Errorf("graph: status %d", resp.StatusCode)
	}
	_, saved := open(base + "download")
	_, asked := open(`/pprof?type=cpu&selector={job="a"}`)
	a, err := pprof.ParseData([]byte(saved))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := pprof.ParseData([]byte(asked)); err != nil || a.String() != b.String() {
		t.Errorf("%v: another profile is downloaded", err)
	}
	if resp, body := open("/ui/pprof/"); resp.StatusCode != 200 || !strings.Contains(body, "cockroachdb/pebble") {
		t.Errorf("all: status %d: %.300s", resp.StatusCode, body)
	}
}

// TestPagePprof_Refused asks for what is not there, is beyond a limit, or makes no sense.
func TestPagePprof_Refused(t *testing.T) {
	r := newReceiver(t, Options{}, columnstore.Options{})
	r.want(http.StatusOK, "rows", r.request(http.MethodPost, "/pprof?job=a", small(t, 1)))
	for path, want := range map[string]int{
		"/ui/pprof/?t=nothing": 302, "/ui/pprof/?x=1": 400, "/ui/pprof/?q={": 400, "/ui/pprof/?t=cpu&t=cpu": 400, "/ui/pprof/?from=x": 400,
		"/ui/pprof/?q=" + strings.Repeat("a", 9000): 414, "/ui/pprof/~/top?f=" + strings.Repeat("a", 9000): 414,
		"/ui/pprof/~/top?f=" + strings.Repeat("a", 2000): 422, "/ui/pprof/~/graph?n=100000": 422, "/ui/pprof/~/top?trim=f": 400,
		"/ui/pprof/~/top?x=1": 400, "/ui/pprof/~/top?%zz": 400, "/ui/pprof/!/top": 400, "/ui/pprof/AAAA/top": 400, "/ui/pprof/dD1ub3RoaW5n/top": 404,
		"/ui/pprof/~/source?f=a": 404, "/ui/pprof/~/disasm?f=a": 404, "/ui/pprof/~/saveconfig?config=a": 404, "/ui/pprof/~/deleteconfig?config=a": 404,
		"/ui/pprof/~/top/x": 404, "/ui/pprof/~/flamegraph2": 404, "/ui/pprof/x": 307, "/ui/pprof": 307,
	} {
		once := &http.Client{Transport: r.http.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		resp, err := once.Do(r.request(http.MethodGet, path, nil))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%.80s: status %d, want %d", path, resp.StatusCode, want)
		}
	}
	for _, path := range []string{"/ui/pprof/~/top", "/ui/pprof/~/saveconfig?config=a"} {
		if status, _ := r.send(r.request(http.MethodPost, path, nil)); status != http.StatusMethodNotAllowed {
			t.Errorf("POST %s: status %d", path, status)
		}
	}
	for name, limits := range map[string]Limits{"bytes": {ResultBytes: 100}, "time": {QueryTime: time.Nanosecond}, "memory": {QueryBytes: 64}} {
		r := newReceiver(t, Options{Limits: limits}, columnstore.Options{})
		r.want(http.StatusOK, "rows", r.request(http.MethodPost, "/pprof?job=a", small(t, 1)))
		for _, page := range []string{"top", "download"} {
			if status, text := r.send(r.request(http.MethodGet, "/ui/pprof/~/"+page, nil)); status != 422 && status != 429 {
				t.Errorf("%s, %s: status %d: %s", page, name, status, text)
			}
		}
	}
	r = newReceiver(t, Options{Tokens: Tokens{Read: []string{"r"}}}, columnstore.Options{})
	for _, path := range []string{"/ui/pprof/", "/ui/pprof/~/top"} {
		r.want(http.StatusUnauthorized, "token", r.request(http.MethodGet, path, nil))
	}
}
