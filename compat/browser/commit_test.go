package browser

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// commits is a server that writes down the commits of its answers, by the address of the question.
type commits struct {
	http.Handler
	mu  sync.Mutex
	all map[string]uint64
}

func (c *commits) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	if !strings.HasPrefix(path, "/api/v1/") || path == "/api/v1/store" || strings.HasPrefix(path, "/api/v1/histories") {
		c.Handler.ServeHTTP(w, r)
		return
	}
	r.Header.Del("Accept-Encoding")
	rec := httptest.NewRecorder()
	c.Handler.ServeHTTP(rec, r)
	for name, of := range rec.Header() {
		w.Header()[name] = of
	}
	w.WriteHeader(rec.Code)
	_, _ = w.Write(rec.Body.Bytes())
	var head struct{ Commit uint64 }
	if rec.Code == http.StatusOK && json.Unmarshal(rec.Body.Bytes(), &head) == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.all[path] = head.Commit
	}
}

// take returns the commits of the answers since the last call.
func (c *commits) take() map[string]uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.all
	c.all = map[string]uint64{}
	return out
}

// TestOneCommitBesideWriter: the panels of one load answer from one commit while profiles are inserted all the time, and the
// next load from a later one.
func TestOneCommitBesideWriter(t *testing.T) {
	s := newServer(t)
	insert := func(i int) error { return pushed(s, named("f", int64(1+i)), url.Values{"service_name": {"shop"}}) }
	if err := insert(0); err != nil {
		t.Fatal(err)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 1; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(2 * time.Millisecond):
				if err := insert(i); err != nil {
					t.Error(err)
					return
				}
			}
		}
	}()
	t.Cleanup(func() { close(stop); <-stopped }) // before the store is closed
	c := &commits{Handler: s, all: map[string]uint64{}}
	b := open(t, c, "/")
	b.ready()
	last := uint64(0)
	for range 3 {
		all := c.take()
		delete(all, "/api/v1/annotations") // which no commit has
		commit := all["/api/v1/top"]
		b.mu.Lock()
		isGone := b.gone > 0 // a machine so slow that a snapshot is not held long enough for one load
		b.mu.Unlock()
		for path, other := range all {
			if other != commit && !isGone {
				t.Errorf("top is of commit %d, %s of %d", commit, path, other)
			}
		}
		if len(all) < 2 || commit <= last {
			t.Errorf("answers %v after commit %d", all, last)
		}
		last = commit
		// The total of the tree is that of the table: both count what was inserted until then.
		if got := eval[string](b, "document.querySelector('table.top tbody td.n small').textContent"); got != "100 %" {
			t.Errorf("the only function has %s of the total", got)
		}
		b.press("↻")
		b.ready()
	}
}
