//go:build unix

package serve

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/internal/effort"
)

// TestServe_Self asks a server for its own goroutines: the store of pushed profiles has none, nothing can be
// pushed to its own, and tokens are the same.
func TestServe_Self(t *testing.T) {
	tokens := filepath.Join(t.TempDir(), "read.txt")
	write(t, tokens, "secret\n")
	run := start(t, "--in-memory", "--self", "--self-states", "--read-tokens", tokens)
	const ask = "/pprof?type=goroutine"
	for end := time.Now().Add(effort.Patience); ; time.Sleep(20 * time.Millisecond) {
		code, body := get(t, new(http.Client), run.url+"/self"+ask, "secret")
		if code == http.StatusOK && strings.HasPrefix(body, "\x1f\x8b") {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d %s", code, body)
		}
	}
	for path, want := range map[string]int{
		ask: http.StatusNotFound, "/self" + ask: http.StatusOK, "/self/healthz": http.StatusOK, "/selfish": http.StatusNotFound,
	} {
		if code, body := get(t, new(http.Client), run.url+path, "secret"); code != want {
			t.Errorf("%s: %d %.100s, want %d", path, code, body, want)
		}
	}
	if code, body := get(t, new(http.Client), run.url+"/api/v1/store", "secret"); code != http.StatusOK || !strings.Contains(body, `"self":"self/"`) {
		t.Errorf("the page has no link to /self/: %d %s", code, body)
	}
	if code, body := get(t, new(http.Client), run.url+"/self/api/v1/store", "secret"); code != http.StatusOK || strings.Contains(body, `"self":`) {
		t.Errorf("the page of /self/ has a link to itself: %d %s", code, body)
	}
	if code, _ := get(t, new(http.Client), run.url+"/self"+ask, ""); code != http.StatusUnauthorized {
		t.Errorf("without a token: %d", code)
	}
	resp, err := http.Post(run.url+"/self/ingest?name=x", "", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusMethodNotAllowed && resp.StatusCode != http.StatusNotFound {
		t.Errorf("a push to /self: %s", resp.Status)
	}
	http.DefaultClient.CloseIdleConnections()
	if code := run.end(); code != cli.ExitOK {
		t.Errorf("exit code %d", code)
	}
}
