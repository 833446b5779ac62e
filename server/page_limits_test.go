package server

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/granarydb/granary/columnstore"
)

// pagePaths are the questions of a page about stacks, each of its forms.
var pagePaths = []string{"flame?t=cpu", "flame?t=cpu&inv=1", "flame?t=cpu&function=runtime.mcall", "flame?t=cpu&bto=latest-1s", "top?t=cpu", "top?t=cpu&bto=latest-1s", "top?t=cpu&bto=latest-1s&rate=1&spread=1", "export?as=csv&t=cpu", "export?as=folded&t=cpu", "lines?t=cpu&function=runtime.mallocgc", "callgraph?t=cpu"}

// TestPage_Limits asks beyond each limit.
func TestPage_Limits(t *testing.T) {
	for name, test := range map[string]struct {
		limits Limits
		paths  []string
		status int
		text   string
	}{
		"memory of groups": {Limits{QueryBytes: 1 << 10}, pagePaths, 422, "limit: the memory of a query, at most 1024 bytes"},
		"memory of dots":   {Limits{QueryBytes: 64}, []string{"profiles?t=cpu", "services?t=cpu"}, 422, "limit: the memory of a query, at most 64 bytes"},
		"memory of trees":  {Limits{QueryBytes: 256 << 10}, pagePaths[:2], 422, "functions on call paths"},
		"an answer":        {Limits{ResultBytes: 200}, append(pagePaths, "profiles?t=cpu", "services?t=cpu", "inspect?t=cpu", "store"), 422, "limit: an answer of more than 200 bytes"},
		"time":             {Limits{QueryTime: time.Nanosecond}, append(pagePaths, "profiles?t=cpu", "services?t=cpu", "inspect?t=cpu", "store"), 0, "limit: "},
		"granules":         {Limits{}, []string{"inspect?rows=1001"}, 422, "at most 1000"},
		"nodes":            {Limits{Nodes: 10}, []string{"flame?t=cpu&max_nodes=11", "top?t=cpu&rows=11", "profiles?t=cpu&rows=11", "services?t=cpu&rows=11", "inspect?rows=11", "export?as=svg&t=cpu&max_nodes=11", "export?as=csv&t=cpu&rows=11", "lines?t=cpu&function=f&rows=11"}, 422, "at most 10"},
		"memory of files":  {Limits{QueryBytes: 100 << 10}, []string{"export?as=folded&t=cpu", "export?as=speedscope&t=cpu", "export?as=svg&t=cpu"}, 422, "limit: the memory of a query"},
	} {
		r := newReceiver(t, Options{Limits: test.limits}, columnstore.Options{FutureLimit: -1})
		r.want(http.StatusOK, "rows", r.request(http.MethodPost, "/pprof?job=a", file(t, "etcd/cpu-1.pb.gz")))
		for _, path := range test.paths {
			status, text := r.send(r.request(http.MethodGet, "/api/v1/"+path, nil))
			isWrong := status != test.status
			if test.status == 0 { // there is time for a place, or none
				isWrong = status != http.StatusUnprocessableEntity && status != http.StatusTooManyRequests
			}
			if isWrong || !strings.Contains(text, test.text) {
				t.Errorf("%s, %s: status %d: %.300s", name, path, status, text)
			}
		}
	}
}

// TestPage_Queries asks while as many questions as are allowed are in progress.
func TestPage_Queries(t *testing.T) {
	r := newReceiver(t, Options{Limits: Limits{Queries: 1, QueryTime: 50 * time.Millisecond}}, columnstore.Options{})
	r.want(http.StatusOK, "2 rows", r.request(http.MethodPost, "/pprof?job=a", small(t, 1)))
	isIn, goOn := make(chan struct{}), make(chan struct{})
	var asking sync.WaitGroup
	asking.Go(func() {
		_ = r.s.gate.InTime(t.Context(), func(context.Context) error { close(isIn); <-goOn; return nil })
	})
	<-isIn
	for _, path := range append(pagePaths, "profiles", "services", "inspect", "store", "histories", "states", "meanwhile") {
		r.want(http.StatusTooManyRequests, "limit: 1 queries at once", r.request(http.MethodGet, "/api/v1/"+path, nil))
	}
	close(goOn)
	asking.Wait()
	r.want(http.StatusOK, `"names"`, r.request(http.MethodGet, "/api/v1/flame", nil))
}

// TestPage_Tokens asks without a token to read, which no other has a way around.
func TestPage_Tokens(t *testing.T) {
	r := newReceiver(t, Options{Tokens: Tokens{Read: []string{"r"}, Write: []string{"w"}}}, columnstore.Options{})
	for _, path := range append(pagePaths, "profiles", "services", "inspect", "store") {
		for _, token := range []string{"", "Bearer w", "Bearer x", "r"} {
			r.want(http.StatusUnauthorized, "token", r.request(http.MethodGet, "/api/v1/"+path, nil, "Authorization", token))
		}
		if status, _ := r.send(r.request(http.MethodGet, "/api/v1/"+path, nil, "Authorization", "Bearer r")); status == http.StatusUnauthorized {
			t.Errorf("%s: a token to read is refused", path)
		}
		if status, text := r.send(r.request(http.MethodPost, "/api/v1/"+path, nil, "Authorization", "Bearer r")); status != http.StatusMethodNotAllowed {
			t.Errorf("POST %s: status %d: %s", path, status, text)
		}
	}
}
