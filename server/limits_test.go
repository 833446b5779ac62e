package server

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/gzipped"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/push"
	"github.com/granarydb/granary/server/internal/web"
)

// TestLimits exceeds each limit by one, after a request that is within.
func TestLimits(t *testing.T) {
	good := small(t, 1)
	stack := file(t, "compile/heap.pb.gz")
	query := func(n int) string {
		q := url.Values{}
		for i := range n {
			q.Set(fmt.Sprintf("l%d", i), "v")
		}
		return "?" + q.Encode()
	}
	for name, tt := range map[string]struct {
		limits       Limits
		within, path string // of POST /pprof
		body         []byte
		status       int
		text         string
	}{
		"labels":          {Limits{Labels: 3}, query(2), query(4), good, 413, "4 labels, at most 3"},
		"name of a label": {Limits{LabelName: 8}, "?12345678=a", "?123456789=a", good, 413, "9 bytes, at most 8"},
		"series":          {Limits{Series: 2}, "?a=1", "?a=3", good, 429, "limit: 2 sets of labels (series)"},
		"body":            {Limits{Body: 1000}, "", "", make([]byte, 1001), 413, "1001 bytes, at most 1000"},
		"profile":         {Limits{Profile: profile.Limits{Bytes: 4096}}, "", "", gzipped.Of(t, make([]byte, 4097)), 413, "4096 bytes"},
		"samples":         {Limits{Profile: profile.Limits{Samples: 1}}, "", "", stack, 413, "samples"},
		"depth":           {Limits{Profile: profile.Limits{Depth: 1}}, "", "", stack, 413, "more than 1 locations"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReceiver(t, Options{Limits: tt.limits}, columnstore.Options{})
			r.want(http.StatusOK, "2 rows", r.request(http.MethodPost, "/pprof"+tt.within, good))
			if name == "series" {
				r.want(http.StatusOK, "2 rows", r.request(http.MethodPost, "/pprof?a=2", good))
			}
			rows := r.rows()
			r.want(tt.status, tt.text, r.request(http.MethodPost, "/pprof"+tt.path, tt.body))
			if r.rows() != rows {
				t.Errorf("%d rows beyond the limit", r.rows()-rows)
			}
			r.want(http.StatusOK, "2 rows", r.request(http.MethodPost, "/pprof"+tt.within, good))
			r.wantMetrics(`granary_http_failures_total{cause="limit",handler="pprof push"} 1`)
		})
	}
}

// TestLimits_Profiles exceeds the profiles of a request.
func TestLimits_Profiles(t *testing.T) {
	r := newReceiver(t, Options{Limits: Limits{Profiles: 2}}, columnstore.Options{})
	one := small(t, 1)
	for name, client := range r.pushers() {
		request := &pushv1.PushRequest{Series: []*pushv1.RawProfileSeries{pushSeries(nil, one), pushSeries(nil, one, one)}}
		_, err := client.Push(t.Context(), connect.NewRequest(request))
		if connect.CodeOf(err) != connect.CodeResourceExhausted || !strings.Contains(err.Error(), "3 profiles in a request, at most 2") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if r.rows() != 0 {
		t.Errorf("%d rows", r.rows())
	}
}

// TestLimits_Series counts series by tenant and forgets them.
func TestLimits_Series(t *testing.T) {
	c := newClock()
	r := newReceiver(t, Options{Limits: Limits{Series: 2, Tenants: 2}, Now: c.now}, columnstore.Options{})
	pushed := func(status int, text, tenant, pod string) {
		t.Helper()
		r.want(status, text, r.request(http.MethodPost, "/pprof?pod="+pod, small(t, 1), web.TenantHeader, tenant))
	}
	pushed(200, "", "", "1")
	pushed(200, "", "", "2")
	pushed(429, "2 sets of labels (series) of a tenant", "", "3")
	pushed(200, "", "b", "3")
	pushed(429, "limit: at most 2 tenants", "c", "1")
	r.want(http.StatusBadRequest, "", r.request(http.MethodPost, "/pprof?pod=4", []byte("none"), web.TenantHeader, "b"))
	pushed(200, "", "b", "5") // the profile that failed does not count
	c.advance(push.SeriesAge)
	pushed(200, "", "", "2")
	c.advance(push.SeriesAge)
	pushed(200, "", "", "3") // pod 1 is forgotten, pod 2 is not
	pushed(429, "2 sets", "", "4")
	c.advance(2 * push.SeriesAge)
	pushed(200, "", "", "4")
	pushed(429, "limit: at most 2 tenants", "c", "1")
}

// TestLimits_ReadTime sends bodies too slowly, and asks a question that takes longer than a body.
func TestLimits_ReadTime(t *testing.T) {
	t.Parallel() // it waits
	const most = 100 * time.Millisecond
	r := newReceiver(t, Options{Limits: Limits{ReadTime: most}}, columnstore.Options{})
	for path, contentType := range map[string]string{
		"/pprof": "", "/traces": "", "/ingest?name=a": "", "/push.v1.PusherService/Push": "application/proto",
		"/v1development/profiles": "application/x-protobuf",
	} {
		req := r.request(http.MethodPost, path, nil, "Content-Type", contentType)
		req.Body = http.NoBody
		req.ContentLength = 1000
		req.Body = readCloser{stalled{bytes.NewReader([]byte("x")), t.Context()}}
		start := time.Now()
		status, text := r.send(req)
		if status < 400 || !strings.Contains(text, "limit: a body that takes more than 100ms") || time.Since(start) < most {
			t.Errorf("%s: status %d after %s: %s", path, status, time.Since(start), text)
		}
	}
	const enough = 400 * time.Millisecond // for a body that is there, on a busy machine too
	r = newReceiver(t, Options{Limits: Limits{ReadTime: enough}}, columnstore.Options{})
	r.s.handle(r.s.mux, toWrite, web.Route{Pattern: "POST /slow", Name: "slow", Handler: http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		if _, err := io.Copy(io.Discard, req.Body); err != nil {
			t.Error(err)
		}
		select {
		case <-req.Context().Done():
			t.Error("the request was cancelled by the deadline of its body")
		case <-time.After(2 * enough):
		}
	})})
	r.want(http.StatusOK, "", r.request(http.MethodPost, "/slow", []byte("body")))
	r.want(http.StatusOK, "", r.request(http.MethodPost, "/slow", nil))
	r.want(http.StatusOK, "2 rows", r.request(http.MethodPost, "/pprof", small(t, 1)))
}

// TestFullStore answers a push that the memory budget has no place for.
func TestFullStore(t *testing.T) {
	r := newReceiver(t, Options{}, columnstore.Options{MemoryBudget: 1 << 20})
	r.want(http.StatusServiceUnavailable, "memory", r.request(http.MethodPost, "/pprof", file(t, "compile/heap.pb.gz"), push.KeyHeader, "k"))
	if stats := r.store.Stats(); stats.Rows != 0 {
		t.Errorf("%d rows", stats.Rows)
	}
	r.want(http.StatusOK, "2 rows", r.request(http.MethodPost, "/pprof", small(t, 1), push.KeyHeader, "k"))
}
