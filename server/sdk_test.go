package server

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	pyroscope "github.com/grafana/pyroscope-go"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/server/internal/web"
)

// recording is a handler that keeps the requests for another.
type recording struct {
	http.Handler
	mu       sync.Mutex
	requests []recorded
}

type recorded struct {
	name, contentType string
	body              []byte
	status            int
}

func (h *recording) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	rec := &web.Recorder{ResponseWriter: w}
	h.Handler.ServeHTTP(rec, r)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.requests = append(h.requests, recorded{r.URL.Query().Get("name"), r.Header.Get("Content-Type"), body, rec.Status})
}

// sums returns the sums of the recorded profiles, read without this package.
func (h *recording) sums(t *testing.T) map[string]int64 {
	t.Helper()
	names := map[string]string{
		"samples": "process_cpu", "alloc_objects": "memory", "goroutine": "goroutine",
		"mutex_count": "mutex", "block_count": "block",
	}
	sums := map[string]int64{}
	for _, r := range h.requests {
		_, params, err := mime.ParseMediaType(r.contentType)
		if err != nil || r.status != http.StatusOK {
			t.Fatalf("a request with status %d: %v", r.status, err)
		}
		parts := map[string][]byte{}
		m := multipart.NewReader(bytes.NewReader(r.body), params["boundary"])
		for p, err := m.NextPart(); err == nil; p, err = m.NextPart() {
			parts[p.FormName()], _ = io.ReadAll(p)
		}
		var config map[string]map[string]any
		if text := parts["sample_type_config"]; text != nil {
			if err := json.Unmarshal(text, &config); err != nil {
				t.Fatal(err)
			}
		}
		name := ""
		for typ, c := range config {
			display, _ := c["display-name"].(string)
			name += names[typ] + names[display]
		}
		if name == "" || names["samples"] == "" {
			name = names["samples"]
		}
		addSums(t, sums, name, parts["profile"])
	}
	return sums
}

// TestSDK lets the Go SDK of Pyroscope profile this test. The store has what it sent.
func TestSDK(t *testing.T) {
	effort.Long(t)
	store, err := columnstore.Open(columnstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	s, err := New(store, Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := &recording{Handler: s}
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	r := &receiver{t: t, s: s, store: store, url: srv.URL, http: srv.Client()}

	defer runtime.SetMutexProfileFraction(runtime.SetMutexProfileFraction(1))
	runtime.SetBlockProfileRate(1)
	defer runtime.SetBlockProfileRate(0)
	p, err := pyroscope.Start(pyroscope.Config{
		ApplicationName: "shop.api", Tags: map[string]string{"region": "eu west"}, ServerAddress: srv.URL,
		HTTPClient: srv.Client(), UploadRate: time.Hour, TenantID: "team-a",
		ProfileTypes: []pyroscope.ProfileType{
			pyroscope.ProfileCPU, pyroscope.ProfileAllocObjects, pyroscope.ProfileAllocSpace,
			pyroscope.ProfileInuseObjects, pyroscope.ProfileInuseSpace, pyroscope.ProfileGoroutines,
			pyroscope.ProfileMutexCount, pyroscope.ProfileMutexDuration, pyroscope.ProfileBlockCount, pyroscope.ProfileBlockDuration,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		busy(400 * time.Millisecond)
		p.Flush(true)
	}
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	want := h.sums(t)
	wantSums(t, r.sums(`{service_name="shop.api", region="eu west"}`), want)
	for _, name := range []string{
		"process_cpu cpu nanoseconds", "memory alloc_space bytes", "memory inuse_space bytes",
		"goroutine goroutine count", "mutex delay nanoseconds", "block delay nanoseconds",
	} {
		if want[name] == 0 {
			t.Errorf("nothing of %s was sent: %v", name, want)
		}
	}
	for _, l := range r.labels() {
		if strings.Contains(l, "session") || !strings.Contains(l, `otel.scope.name="com.grafana.pyroscope/go`) {
			t.Errorf("labels %s", l)
		}
	}
}

var sink [][]byte

// busy computes, allocates, and contends for a lock.
func busy(d time.Duration) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	end := time.Now().Add(d)
	for range 4 {
		wg.Go(func() {
			for n := 0; time.Now().Before(end); n++ {
				mu.Lock()
				sink = append(sink[:n%64], make([]byte, 64<<10))
				for i := range sink[n%64] {
					sink[n%64][i] = byte(i)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}
