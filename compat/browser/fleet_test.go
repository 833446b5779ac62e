package browser

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/server"
)

// newServer returns a server with an empty store in memory.
func newServer(t testing.TB) *server.Server {
	t.Helper()
	return newServerOf(t, server.Options{})
}

func newServerOf(t testing.TB, opts server.Options) *server.Server {
	t.Helper()
	s, store := openServer(t, opts)
	t.Cleanup(func() { _ = s.Wait(context.Background()); _ = store.Close() })
	return s
}

func openServer(t testing.TB, opts server.Options) (*server.Server, *columnstore.Store) {
	t.Helper()
	store, err := columnstore.Open(columnstore.Options{MemoryBudget: 256 << 20})
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(store, opts)
	if err != nil {
		t.Fatal(err)
	}
	return s, store
}

// push stores a profile.
func push(t testing.TB, s http.Handler, p *profile.Profile, labels url.Values) {
	t.Helper()
	if err := pushed(s, p, labels); err != nil {
		t.Fatal(err)
	}
}

// pushed is push for any goroutine.
func pushed(s http.Handler, p *profile.Profile, labels url.Values) error {
	var body bytes.Buffer
	if err := p.Write(&body); err != nil {
		return err
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("POST", "http://localhost/pprof?"+labels.Encode(), &body))
	if w.Code/100 != 2 {
		return fmt.Errorf("push: %d %s", w.Code, w.Body)
	}
	return nil
}

// last is the time of the newest profile of the fleet.
var last = time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)

// fleet returns a server with profiles of real programs: CPU and heaps of three pods each, every six minutes for two
// hours. All tests share it: they only ask.
func fleet(t testing.TB) *server.Server {
	t.Helper()
	shared.Do(func() { shared.server = newFleet(t) })
	if shared.server == nil {
		t.Fatal("there is no fleet")
	}
	return shared.server
}

var shared struct {
	sync.Once
	server *server.Server
}

func newFleet(t testing.TB) *server.Server {
	t.Helper()
	s, _ := openServer(t, server.Options{})
	for job, names := range map[string][]string{"etcd": {"cpu-1", "cpu-2", "cpu-3", "heap-1"}, "compile": {"cpu-1", "cpu-2", "heap"}} {
		for _, name := range names {
			p := read(t, job, name)
			for i := range 20 {
				q := p.Copy()
				q.TimeNanos = last.Add(-time.Duration(i) * 6 * time.Minute).UnixNano()
				for at, sample := range q.Sample {
					percent := int64(60 + (i*37+len(job)*i*i)%50 + at%10)
					if i < 5 && has(sample, "raft") { // a change in the last half an hour
						percent *= 3
					}
					for v := range sample.Value {
						sample.Value[v] = sample.Value[v] * percent / 100
					}
				}
				push(t, s, q, url.Values{"service_name": {job}, "pod": {fmt.Sprintf("%s-%d", job, i%3)}})
			}
		}
	}
	return s
}

// has reports whether a sample has a function with a text in its name.
func has(s *profile.Sample, text string) bool {
	for _, l := range s.Location {
		for _, line := range l.Line {
			if strings.Contains(line.Function.Name, text) {
				return true
			}
		}
	}
	return false
}

func read(t testing.TB, job, name string) *profile.Profile {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../../testdata/profiles", job, name+".pb.gz"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := profile.ParseData(data)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
