package server

import (
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/effort"
)

// TestReady_Memory is not ready after a push that the store has no room for, until another is accepted or time has gone.
func TestReady_Memory(t *testing.T) {
	c := newClock()
	r := newReceiver(t, Options{Now: c.now}, columnstore.Options{MemoryBudget: 1 << 20, FutureLimit: -1})
	ready := func(status int, text string) {
		t.Helper()
		r.want(status, text, r.request(http.MethodGet, "/readyz", nil))
	}
	full := func() {
		t.Helper()
		r.want(http.StatusServiceUnavailable, "memory", r.request(http.MethodPost, "/pprof", file(t, "compile/heap.pb.gz")))
		ready(http.StatusServiceUnavailable, "pushes are refused: ")
	}
	ready(http.StatusOK, "ok")
	full()
	r.want(http.StatusBadRequest, "", r.request(http.MethodPost, "/pprof", []byte("none"))) // says nothing about the store
	ready(http.StatusServiceUnavailable, "pushes are refused: ")
	r.want(http.StatusOK, "2 rows", r.request(http.MethodPost, "/pprof", small(t, 1)))
	ready(http.StatusOK, "ok")
	full()
	c.advance(time.Minute)
	ready(http.StatusOK, "ok")
}

// TestReady_Removed is not ready once the directory was removed, and pushes get an error.
func TestReady_Removed(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows does not remove files in use")
	}
	dir := filepath.Join(t.TempDir(), "db")
	r := newReceiver(t, Options{}, columnstore.Options{Dir: dir, FutureLimit: -1, SyncEvery: 10 * time.Millisecond})
	r.want(http.StatusOK, "2 rows", r.request(http.MethodPost, "/pprof", small(t, 1)))
	r.want(http.StatusOK, "ok", r.request(http.MethodGet, "/readyz", nil))
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	r.want(http.StatusServiceUnavailable, "was removed or replaced", r.request(http.MethodGet, "/readyz", nil))
	for start := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		status, text := r.send(r.request(http.MethodPost, "/pprof", small(t, 1)))
		if status == http.StatusServiceUnavailable && strings.Contains(text, "was removed or replaced") {
			break
		}
		if status != http.StatusOK || time.Since(start) > effort.Patience {
			t.Fatalf("a push: status %d: %s", status, text)
		}
	}
	if err := os.Rename(dir+".away", dir); err != nil {
		t.Fatal(err)
	}
	for start := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		if status, _ := r.send(r.request(http.MethodPost, "/pprof", small(t, 1))); status == http.StatusOK {
			break
		}
		if time.Since(start) > effort.Patience {
			t.Fatal("it does not recover")
		}
	}
	r.want(http.StatusOK, "ok", r.request(http.MethodGet, "/readyz", nil))
}
