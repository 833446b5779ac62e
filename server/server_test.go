package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/columnstore"
)

// newServer returns a server of a new store in memory.
func newServer(t testing.TB, opts Options) *Server {
	t.Helper()
	store, err := columnstore.Open(columnstore.Options{FutureLimit: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	s, err := New(store, opts)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// answer is the answer of a server to a request.
func answer(s http.Handler, method, path, host, token string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	if r.Host = host; host == "" {
		r.Host = "localhost:4040"
	}
	if token != "" {
		r.Header.Set("Authorization", token)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// TestServer_Host answers under the server's own names alone.
func TestServer_Host(t *testing.T) {
	s := newServer(t, Options{Hosts: []string{"profiles.example.com"}})
	for host, want := range map[string]int{
		"localhost": 200, "localhost:4040": 200, "LOCALHOST.:80": 200, "127.0.0.1:4040": 200, "10.1.2.3": 200, "[::1]:4040": 200, "[::1]": 200,
		"profiles.example.com": 200, "Profiles.Example.com:443": 200,
		"example.com": 421, "evil.localhost": 421, "localhost.evil.com:4040": 421, "127.0.0.1.evil.com": 421, "a b": 421, "*": 421,
	} {
		if w := answer(s, http.MethodGet, "/healthz", host, ""); w.Code != want {
			t.Errorf("host %s: %d %s, want %d", host, w.Code, w.Body, want)
		}
	}
	if w := answer(newServer(t, Options{Hosts: []string{"*"}}), http.MethodGet, "/healthz", "anything.at.all", ""); w.Code != http.StatusOK {
		t.Errorf("any host: %d", w.Code)
	}
}

// TestServer_Tokens asks with and without tokens, before and after they are replaced.
func TestServer_Tokens(t *testing.T) {
	s := newServer(t, Options{Tokens: Tokens{Read: []string{"r1", "r2"}, Write: []string{"w"}}})
	expect := func(token string, want int) {
		t.Helper()
		w := answer(s, http.MethodGet, "/metrics", "", token)
		if w.Code != want {
			t.Errorf("token %q: %d %s, want %d", token, w.Code, w.Body, want)
		}
		if isAsked := w.Header().Get("WWW-Authenticate") != ""; isAsked != (want == http.StatusUnauthorized) {
			t.Errorf("token %q: a token is asked for: %v", token, isAsked)
		}
	}
	for token, want := range map[string]int{"": 401, "Bearer r1": 200, "Bearer r2": 200, "Bearer w": 401, "Bearer ": 401, "r1": 401, "Basic r1": 401, "Bearer r1 ": 401} {
		expect(token, want)
	}
	if err := s.SetTokens(Tokens{Read: []string{"new"}}); err != nil {
		t.Fatal(err)
	}
	expect("Bearer r1", http.StatusUnauthorized)
	expect("Bearer new", http.StatusOK)
	if err := s.SetTokens(Tokens{}); err != nil {
		t.Fatal(err)
	}
	expect("", http.StatusOK)
	for _, path := range []string{"/healthz", "/readyz"} { // what restarts a server has no token
		if w := answer(newServer(t, Options{Tokens: Tokens{Read: []string{"r"}}}), http.MethodGet, path, "", ""); w.Code != http.StatusOK {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

// TestServer_Panic answers 500, counts and logs a panic, and goes on. After a part of an answer the
// connection is cut.
func TestServer_Panic(t *testing.T) {
	var log bytes.Buffer
	s := newServer(t, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	s.mux.HandleFunc("GET /early", func(http.ResponseWriter, *http.Request) { panic("early") })
	s.mux.HandleFunc("GET /late", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(make([]byte, 1<<20))
		panic("late")
	})
	web := httptest.NewServer(s)
	defer web.Close()
	get := func(path string) (int, error) {
		resp, err := web.Client().Get(web.URL + path)
		if err != nil {
			return 0, err
		}
		defer func() { _ = resp.Body.Close() }()
		_, err = io.Copy(io.Discard, resp.Body)
		return resp.StatusCode, err
	}
	if code, err := get("/early"); code != http.StatusInternalServerError || err != nil {
		t.Errorf("an early panic: %d, %v", code, err)
	}
	if _, err := get("/late"); err == nil {
		t.Error("a late panic: the answer looks whole")
	}
	if code, err := get("/healthz"); code != http.StatusOK || err != nil {
		t.Errorf("after panics: %d, %v", code, err)
	}
	if text := answer(s, http.MethodGet, "/metrics", "", "").Body.String(); !strings.Contains(text, "granary_panics_total 2") {
		t.Errorf("the metrics do not count 2 panics")
	}
	if n := strings.Count(log.String(), "msg=panic"); n != 2 || !strings.Contains(log.String(), "server_test.go") {
		t.Errorf("the log has %d panics:\n%s", n, log.String())
	}
}

// TestServer_Drain is not ready while it drains, and answers all the same.
func TestServer_Drain(t *testing.T) {
	s := newServer(t, Options{})
	if w := answer(s, http.MethodGet, "/readyz", "", ""); w.Code != http.StatusOK {
		t.Errorf("ready: %d %s", w.Code, w.Body)
	}
	s.Drain()
	if w := answer(s, http.MethodGet, "/readyz", "", ""); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "shutting down") {
		t.Errorf("draining: %d %s", w.Code, w.Body)
	}
	if w := answer(s, http.MethodGet, "/metrics", "", ""); w.Code != http.StatusOK {
		t.Errorf("metrics: %d", w.Code)
	}
	if err := s.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestServer_Wait waits for a request that does not end, as long as the context lasts.
func TestServer_Wait(t *testing.T) {
	s := newServer(t, Options{})
	isIn, goOn, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	s.mux.HandleFunc("GET /stuck", func(http.ResponseWriter, *http.Request) { close(isIn); <-goOn })
	go func() {
		defer close(ended)
		answer(s, http.MethodGet, "/stuck", "", "")
	}()
	<-isIn
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := s.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "1 requests are still in progress") {
		t.Errorf("%v", err)
	}
	close(goOn)
	if err := s.Wait(t.Context()); err != nil {
		t.Error(err)
	}
	<-ended
}

// TestServer_Mounted answers below a path of a program's own mux.
func TestServer_Mounted(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle("/granary/", http.StripPrefix("/granary", newServer(t, Options{})))
	if w := answer(mux, http.MethodGet, "/granary/readyz", "", ""); w.Code != http.StatusOK {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestLimits_Check refuses each negative limit, and gives each that is 0 its default.
func TestLimits_Check(t *testing.T) {
	if err := (Limits{}).WithDefaults().Check(); err != nil {
		t.Error(err)
	}
	for i, l := range []Limits{{Body: -1}, {Profiles: -1}, {Labels: -1}, {Series: -1}, {Queries: -1}, {QueryTime: -1}, {ResultBytes: -1}, {ReadTime: -1}} {
		err := l.Check()
		if err == nil || !strings.Contains(err.Error(), "-1") {
			t.Errorf("limits %d: %v", i, err)
		}
	}
	if text := fmt.Sprintf("%+v", Limits{}.WithDefaults()); strings.Contains(text, ":0") {
		t.Errorf("a limit has no default: %s", text)
	}
}
