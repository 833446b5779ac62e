package main

import (
	"flag"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var (
	latencyTime  = flag.Duration("latency.time", 20*time.Second, "how long TestServe_Latency pushes")
	latencyDelay = flag.Duration("latency.delay", 50*time.Millisecond, "what it adds to each request to the S3")
)

// With --ack lake a push is answered within 700 ms in the median, and 2 s at the 99th percentile, by an S3 whose requests take 50 ms
// more.
func TestServe_Latency(t *testing.T) {
	if *s3Endpoint == "" {
		t.Skip("there is no -s3.endpoint")
	}
	to, err := url.Parse(*s3Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	var requests, puts atomic.Int64
	proxy := httputil.NewSingleHostReverseProxy(to)
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1); r.Method == http.MethodPut {
			puts.Add(1)
		}
		time.Sleep(*latencyDelay)
		proxy.ServeHTTP(w, r)
	}))
	defer slow.Close()
	dir := t.TempDir()
	catalog := s3Catalog(dir, slow.URL)
	command(t, 0, append([]string{"init"}, catalog...)...)
	for _, of := range []struct {
		node string
		args []string
	}{{"local", nil}, {"default", []string{"--ack", "lake"}}, {"at-once", []string{"--ack", "lake", "--ack-every", "0s"}}} {
		args := append(append([]string{"--node", of.node, "--db", filepath.Join(dir, of.node)}, catalog...), of.args...)
		requests.Store(0)
		puts.Store(0)
		took, within := pushFor(t, args)
		half, most := took[len(took)/2], took[len(took)*99/100]
		perHour := func(n int64) int64 { return n * int64(time.Hour) / int64(within) }
		t.Logf("%s: %d pushes, median %v, 99th percentile %v; %d requests an hour, %d of them PUT", of.node, len(took), half, most, perHour(requests.Load()), perHour(puts.Load()))
		if len(took) < 100 || half > 700*time.Millisecond || most > 2*time.Second {
			t.Error("that is too slow")
		}
	}
}

// pushFor starts a node, pushes to it, and returns the times until the answers, in order.
func pushFor(t *testing.T, args []string) (took []time.Duration, within time.Duration) {
	t.Helper()
	cmd, address := startNode(t, append(args, "--every", "5s")...)
	defer kill(cmd)
	defer http.DefaultClient.CloseIdleConnections()
	const pushers = 8
	var of pushed
	var mu sync.Mutex
	var pushing sync.WaitGroup
	start := time.Now()
	for range pushers {
		pushing.Go(func() {
			before := time.Now()
			of.push(t, address, func() bool {
				mu.Lock()
				took = append(took, time.Since(before))
				mu.Unlock()
				time.Sleep(20 * time.Millisecond)
				before = time.Now()
				return time.Since(start) < *latencyTime
			})
		})
	}
	pushing.Wait()
	slices.Sort(took)
	return took, time.Since(start)
}
