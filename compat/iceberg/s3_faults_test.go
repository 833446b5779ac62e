package iceberg

import (
	"flag"
	"io"
	"log"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
)

var s3Faults = flag.Int("s3.faults", 0, "of the requests of processes that TestKill kills, one in this number goes wrong in the S3; 0 for none")

// A faultyS3 is an S3 of which requests go wrong: on the way there, after they were done, or amid the answer.
type faultyS3 struct {
	to     http.Handler
	one    int // one request in this number goes wrong
	mu     sync.Mutex
	rng    *rand.Rand
	faults [5]atomic.Int64 // of each kind
}

// withFaultyS3 returns a configuration whose S3 fails, and that S3; both are as given without the flag.
func withFaultyS3(t *testing.T, c Config) (Config, *faultyS3) {
	t.Helper()
	if *s3Faults == 0 || *s3Endpoint == "" {
		return c, nil
	}
	to, err := url.Parse(*s3Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.ErrorLog = log.New(io.Discard, "", 0) // of requests of processes that were killed
	f := &faultyS3{to: proxy, one: *s3Faults, rng: rand.New(rand.NewPCG(*killSeed, 3))}
	server := httptest.NewServer(f)
	t.Cleanup(func() {
		server.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	c.Properties = maps.Clone(c.Properties)
	c.Properties[propertyEndpoint] = server.URL
	return c, f
}

// kind returns the kind of fault that befalls a request; none if it is not one of them.
func (f *faultyS3) kind() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.rng.IntN(f.one) > 0 {
		return -1
	}
	k := f.rng.IntN(len(f.faults))
	f.faults[k].Add(1)
	return k
}

func (f *faultyS3) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch f.kind() {
	case 0: // it is refused
		_, _ = io.Copy(io.Discard, r.Body)
		http.Error(w, "<Error><Code>SlowDown</Code></Error>", http.StatusServiceUnavailable)
	case 1: // it is cut on the way
		panic(http.ErrAbortHandler)
	case 2: // it is done, and its answer is lost
		f.to.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	case 3: // it is done, and its answer is another one
		f.to.ServeHTTP(httptest.NewRecorder(), r)
		http.Error(w, "<Error><Code>InternalError</Code></Error>", http.StatusInternalServerError)
	case 4: // its answer is cut
		rec := httptest.NewRecorder()
		f.to.ServeHTTP(rec, r)
		maps.Copy(w.Header(), rec.Header())
		w.WriteHeader(rec.Code)
		_, _ = w.Write(rec.Body.Bytes()[:rec.Body.Len()/2])
		panic(http.ErrAbortHandler)
	default:
		f.to.ServeHTTP(w, r)
	}
}

// counts returns the number of faults of each kind.
func (f *faultyS3) counts() (n [5]int64) {
	for i := range n {
		n[i] = f.faults[i].Load()
	}
	return n
}
