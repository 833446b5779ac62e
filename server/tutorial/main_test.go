package main

import (
	"bytes"
	"encoding/xml"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"
	"go.uber.org/goleak"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start runs the server of the tutorial on loopback.
func start(t *testing.T, opts columnstore.Options) *client {
	t.Helper()
	store, err := columnstore.Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	db, err := profile.Open(store, profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(server{db}.handler())
	t.Cleanup(srv.Close)
	return &client{t: t, url: srv.URL, http: srv.Client()}
}

type client struct {
	t    *testing.T
	url  string
	http *http.Client
}

// do returns the body of an answer that must have the status.
func (c *client) do(status int, method, path string, body []byte) []byte {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.url+path, bytes.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	if resp.StatusCode != status {
		c.t.Fatalf("%s %s: status %d, want %d: %s", method, path, resp.StatusCode, status, text)
	}
	return text
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("../../testdata/profiles/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestPushAndAsk(t *testing.T) {
	c := start(t, columnstore.Options{})
	pushed := read(t, "pebble/cpu-1.pb.gz")
	c.do(http.StatusOK, "POST", "/push?job=api&pod=api-1", pushed)
	c.do(http.StatusOK, "POST", "/push?job=db&pod=db-1", read(t, "etcd/cpu-1.pb.gz"))
	api := "type=cpu&selector=" + url.QueryEscape(`{job="api"}`)

	top := strings.Split(string(c.do(http.StatusOK, "GET", "/top?"+api, nil)), "\n")
	if want := "    3.75 s  internal/runtime/syscall/linux.Syscall6"; top[0] != want || len(top) != 21 {
		t.Errorf("top has %d lines, the first is %q, want 21 and %q", len(top), top[0], want)
	}

	svg := c.do(http.StatusOK, "GET", "/flamegraph?"+api, nil)
	if err := xml.Unmarshal(svg, new(struct{ XMLName xml.Name })); err != nil {
		t.Errorf("flame graph: %v", err)
	}
	if !bytes.Contains(svg, []byte("ycsb")) || bytes.Contains(svg, []byte("etcdserver")) {
		t.Error("the flame graph of job api does not have its functions alone")
	}

	got, err := pprof.ParseData(c.do(http.StatusOK, "GET", "/pprof?"+api, nil))
	if err != nil {
		t.Fatal(err)
	}
	in, err := pprof.ParseData(pushed)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.SampleType) != 1 || total(got, "cpu") != total(in, "cpu") {
		t.Errorf("pprof has types %v and %d ns, want cpu alone and %d", got.SampleType, total(got, "cpu"), total(in, "cpu"))
	}
	all, err := pprof.ParseData(c.do(http.StatusOK, "GET", "/pprof?type=cpu", nil))
	if err != nil || total(all, "cpu") <= total(got, "cpu") {
		t.Errorf("both jobs have %d ns, one has %d: %v", total(all, "cpu"), total(got, "cpu"), err)
	}
}

// total sums the values of a sample type.
func total(p *pprof.Profile, name string) (sum int64) {
	for i, typ := range p.SampleType {
		if typ.Type != name {
			continue
		}
		for _, s := range p.Sample {
			sum += s.Value[i]
		}
	}
	return sum
}

func TestBadRequests(t *testing.T) {
	c := start(t, columnstore.Options{MemoryBudget: 1 << 20})
	c.do(http.StatusBadRequest, "POST", "/push?job=api", []byte("no profile"))
	c.do(http.StatusBadRequest, "POST", "/push?job=api", make([]byte, 16<<20+1))
	c.do(http.StatusBadRequest, "GET", "/top?type=cpu", nil)
	c.do(http.StatusOK, "POST", "/push?job=api", read(t, "nats-server/goroutine-1.pb.gz"))
	c.do(http.StatusBadRequest, "GET", "/top?selector="+url.QueryEscape(`{job=~"("}`), nil)
	c.do(http.StatusMethodNotAllowed, "GET", "/push", nil)
	c.do(http.StatusServiceUnavailable, "POST", "/push?job=api", read(t, "compile/heap.pb.gz"))
}
