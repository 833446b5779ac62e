package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/effort"
)

// pushLong pushes five profiles with a label of 2,000 bytes, and functions with names of 64 KB.
func (r *receiver) pushLong() {
	r.t.Helper()
	for i := range 5 {
		p, err := pprof.ParseData(small(r.t, 1))
		if err != nil {
			r.t.Fatal(err)
		}
		p.Function[0].Name = strings.Repeat("a", 64_000+i)
		r.want(http.StatusOK, "2 rows", r.request(http.MethodPost, "/pprof?job="+strings.Repeat("a", 2000-i), encoded(r.t, p)))
	}
}

// costly are questions whose patterns would take minutes: the largest that the limits of selectors and pages allow, for
// labels, types and functions.
func costly() map[string]string {
	selector := url.QueryEscape(`{job=~"` + strings.Repeat(".{0,1000}", 4) + `b"}`)
	function := url.QueryEscape(strings.Repeat(".{0,600}", 4) + "b")
	return map[string]string{
		"a selector of top":   "/api/v1/top?t=cpu&q=" + selector,
		"a selector of flame": "/api/v1/flame?t=cpu&q=" + selector,
		"a selector of pprof": "/pprof?type=cpu&selector=" + selector,
		"a selector of arrow": "/arrow?type=cpu&selector=" + selector,
		"a selector of label": "/pyroscope/label-values?label=job&query=" + selector,
		"focus":               "/api/v1/flame?t=cpu&focus=" + function,
		"hide":                "/api/v1/flame?t=cpu&hide=" + function,
		"show":                "/api/v1/top?t=cpu&show=" + function,
		"search":              "/api/v1/flame?t=cpu&s=" + function,
		"search of functions": "/api/v1/top?t=cpu&s=" + function,
	}
}

// TestPatterns_Refused asks with patterns beyond the limits.
func TestPatterns_Refused(t *testing.T) {
	r := newReceiver(t, Options{}, columnstore.Options{})
	r.pushLong()
	selector := url.QueryEscape(`{job=~"` + strings.Repeat(".{0,1000}", 300) + `b"}`)
	for path, text := range map[string]string{
		"/api/v1/top?q=" + selector:                                   "the patterns have more than 16384 instructions",
		"/pprof?selector=" + selector:                                 "the patterns have more than 16384 instructions",
		"/api/v1/top?s=" + strings.Repeat(".{0,1000}", 3):             "steps in parameter s, at most 5000",
		"/pprof?selector=" + url.QueryEscape(`{__type__=~"a{1000}"}`): "a pattern of more than 1000 instructions for __type__",
	} {
		start := time.Now()
		status, got := r.send(r.request(http.MethodGet, path, nil))
		if status < 400 || !strings.Contains(got, text) || time.Since(start) > time.Second*5 {
			t.Errorf("%.40s: status %d after %s: %.300s", path, status, time.Since(start), got)
		}
	}
}

// TestPatterns_Time asks with patterns that take longer than the time of a query.
func TestPatterns_Time(t *testing.T) {
	effort.Slow(t)
	const most = 100 * time.Millisecond // a fast machine takes three times as long
	r := newReceiver(t, Options{Limits: Limits{QueryTime: most}}, columnstore.Options{})
	r.pushLong()
	for name, path := range costly() {
		start := time.Now()
		status, text := r.send(r.request(http.MethodGet, path, nil))
		if took := time.Since(start); status != http.StatusUnprocessableEntity || !strings.Contains(text, "limit: the time of a query, at most 100ms") || took > most+time.Second {
			t.Errorf("%s: status %d after %s: %.300s", name, status, took, text)
		}
	}
}

// TestPatterns_Left asks with patterns and leaves: the place among the queries is free soon after.
func TestPatterns_Left(t *testing.T) {
	effort.Slow(t)
	r := newReceiver(t, Options{Limits: Limits{Queries: 1}}, columnstore.Options{})
	r.pushLong()
	for name, path := range costly() {
		ctx, leave := context.WithTimeout(t.Context(), 50*time.Millisecond) // a fast machine answered one of them in less than 200
		resp, err := r.http.Do(r.request(http.MethodGet, path, nil).WithContext(ctx))
		if err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
		if leave(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
		start := time.Now()
		r.want(http.StatusOK, "job", r.request(http.MethodGet, "/pyroscope/labels", nil))
		if took := time.Since(start); took > time.Second {
			t.Errorf("%s: the next is answered after %s", name, took)
		}
	}
}
