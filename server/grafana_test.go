package server

import (
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"testing"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/server/internal/web"
)

// TestDashboard looks up each metric of Grafana's dashboard among those of a server.
func TestDashboard(t *testing.T) {
	data, err := os.ReadFile("grafana/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(data, &board); err != nil {
		t.Fatal(err)
	}
	store, err := columnstore.Open(columnstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	m := newMetrics(store)
	m.request("/pprof", &web.Recorder{Err: ErrRequest}, 0) // so that vectors have a metric
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, f := range families {
		known[f.GetName()] = true
		known[f.GetName()+"_bucket"] = f.GetType().String() == "HISTOGRAM"
	}
	shown := map[string]bool{}
	for _, p := range board.Panels {
		if len(p.Targets) == 0 {
			t.Errorf("panel %s shows nothing", p.Title)
		}
		for _, target := range p.Targets {
			for _, name := range regexp.MustCompile(`\b(granary|process|go)_\w+`).FindAllString(target.Expr, -1) {
				if shown[name] = true; !known[name] {
					t.Errorf("panel %s: no metric %s", p.Title, name)
				}
			}
		}
	}
	if len(shown) < 20 {
		t.Errorf("the panels show %d metrics", len(shown))
	}
}

// TestMetrics_Log has the waits of pushes for the log, its writes and its syncs.
func TestMetrics_Log(t *testing.T) {
	r := newReceiver(t, Options{}, columnstore.Options{Dir: t.TempDir(), Sync: disk.SyncEach, FutureLimit: -1})
	r.want(http.StatusOK, "2 rows", r.request(http.MethodPost, "/pprof", small(t, 1)))
	_, text := r.send(r.request(http.MethodGet, "/metrics", nil))
	for _, name := range []string{
		"log_entries_total", "log_written_bytes_total", "log_wait_seconds_count", "log_write_seconds_count", "log_sync_seconds_count",
		`log_sync_seconds_bucket{le="+Inf"}`, `log_sync_seconds_bucket{le="3.2768"}`, "log_sync_seconds_sum", "log_sync_longest_seconds",
	} {
		value := regexp.MustCompile(`(?m)^granary_store_` + regexp.QuoteMeta(name) + ` (\S+)$`).FindStringSubmatch(text)
		if value == nil || value[1] == "0" {
			t.Errorf("%s: %q, want more than 0", name, value)
		}
	}
}
