package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/server"
)

// TestDoctor_Directory tells a whole directory from one with a damaged file.
func TestDoctor_Directory(t *testing.T) {
	dir := stored(t, services(t, time.Minute))
	r := granary(t, "doctor", "--db", dir)
	if r.code != cli.ExitOK || !strings.Contains(r.stdout, "tenant anonymous: 40 rows") || !strings.HasSuffix(r.stdout, "Nothing is wrong\n") {
		t.Errorf("%+v", r)
	}
	rows, err := filepath.Glob(filepath.Join(dir, "rows-*"))
	if err != nil || len(rows) == 0 {
		t.Fatalf("no files: %v", err)
	}
	data, err := os.ReadFile(rows[0])
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(rows[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := granary(t, "doctor", "--db", dir); r.code != cli.ExitFailed || !strings.Contains(r.stdout, "wrong: "+filepath.Base(rows[0])+" is damaged") || !strings.Contains(r.stderr, "something is wrong") {
		t.Errorf("%+v", r)
	}
	var found struct{ Findings []struct{ Wrong bool } }
	if r := granary(t, "doctor", "--json", "--db", dir); json.Unmarshal([]byte(r.stdout), &found) != nil || len(found.Findings) != 1 || !found.Findings[0].Wrong {
		t.Errorf("%+v", r)
	}
}

// TestDoctor_Server reads the metrics of a server, and what is wrong from made ones.
func TestDoctor_Server(t *testing.T) {
	s := newServer(t, columnstore.Options{}, server.Options{})
	var more string
	isReady := true
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/readyz" && !isReady {
			http.Error(w, "files cannot be written", http.StatusServiceUnavailable)
			return
		}
		if r.URL.Path == "/metrics" && more != "" {
			fmt.Fprintln(w, more)
			return
		}
		s.ServeHTTP(w, r)
	}))
	defer web.Close()
	if r := granary(t, "doctor", web.URL); r.code != cli.ExitOK || !strings.Contains(r.stdout, "tenant anonymous: 0 rows") || !strings.HasSuffix(r.stdout, "Nothing is wrong\n") {
		t.Errorf("%+v", r)
	}
	for _, c := range []struct{ metrics, says string }{
		{"granary_store_filing_failed 1", "wrong: files cannot be written"},
		{`granary_http_failures_total{cause="disk",handler="push"} 3` + "\n" + `granary_http_failures_total{cause="limit",handler="push"} 3`, "wrong: 3 requests failed for the cause disk"},
		{"granary_panics_total 2", "wrong: 2 panics"},
		{"# TYPE granary_store_log_sync_seconds histogram\n" + `granary_store_log_sync_seconds_bucket{le="0.4"} 90` + "\n" + `granary_store_log_sync_seconds_bucket{le="0.6"} 95` + "\n" + `granary_store_log_sync_seconds_bucket{le="+Inf"} 100` + "\ngranary_store_log_sync_seconds_sum 9\ngranary_store_log_sync_seconds_count 100", "wrong: 5 % of the syncs of the log take half a second or more"},
		{"process_open_fds 990\nprocess_max_fds 1024", "wrong: 990 of 1024 files are open"},
	} {
		more = c.metrics
		if !strings.Contains(more, "granary_panics_total") {
			more += "\ngranary_panics_total 0"
		}
		if r := granary(t, "doctor", web.URL); r.code != cli.ExitFailed || !strings.Contains(r.stdout, c.says) || strings.Contains(r.stdout, "Nothing is wrong") {
			t.Errorf("%q: %+v", c.metrics, r)
		}
	}
	more, isReady = "granary_panics_total 0\ngranary_store_disk_dropped_rows_total 7", false
	if r := granary(t, "doctor", web.URL); r.code != cli.ExitFailed || !strings.Contains(r.stdout, "wrong: it is not ready: files cannot be written") || !strings.Contains(r.stdout, "note:  7 rows were dropped for the disk budget") {
		t.Errorf("%+v", r)
	}
	more = "<html>"
	for _, args := range [][]string{{web.URL}, {"localhost:1"}, {}, {"--db", t.TempDir()}, {"--db", t.TempDir(), web.URL}} {
		if r := granary(t, append([]string{"doctor"}, args...)...); r.code == cli.ExitOK || r.stderr == "" {
			t.Errorf("%q: %+v", args, r)
		}
	}
}
