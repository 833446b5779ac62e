package server

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/columnstore"
)

// startPrometheus starts a Prometheus that scrapes a server each second, and has an alert on a rule. It returns its URL.
func startPrometheus(t *testing.T, scraped string) string {
	t.Helper()
	program, err := exec.LookPath("prometheus")
	if err != nil {
		if os.Getenv("GRANARY_NEED_PROMETHEUS") != "" {
			t.Fatal(err)
		}
		t.Skip("there is no prometheus")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"prometheus.yml": fmt.Sprintf(`
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [alerts.yml]
scrape_configs:
- job_name: granary
  static_configs: [{targets: [%q]}]
`, strings.TrimPrefix(scraped, "http://")),
		"alerts.yml": `
groups:
- name: profiles
  rules:
  - alert: ParseIsHot
    expr: sum by (service_name) (rate(parse_seconds_total{job="granary"}[10s])) > 0
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(program, "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+address, "--web.enable-remote-write-receiver", "--enable-feature=exemplar-storage")
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if text, err := os.ReadFile(log.Name()); t.Failed() && err == nil {
			t.Logf("%s", text)
		}
	})
	return "http://" + address
}

// apiData returns the data of an answer of Prometheus' API, or "".
func apiData(t *testing.T, address string) string {
	t.Helper()
	resp, err := http.Get(address)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	var answer struct{ Data json.RawMessage }
	if err != nil || json.Unmarshal(text, &answer) != nil {
		return ""
	}
	return string(answer.Data)
}

// TestRules_Prometheus: a rule fires an alert in a real Prometheus that scrapes it, which has the exemplars' pages, and takes the same
// values by remote write.
func TestRules_Prometheus(t *testing.T) {
	r := newReceiver(t, Options{}, columnstore.Options{})
	at := startPrometheus(t, r.url)
	r.s.rules.writer = newRuleSets(RuleOptions{WriteURL: at + "/api/v1/write"}, Limits{}).writer
	ended := make(chan struct{})
	go func() {
		r.s.RunRules(t.Context())
		close(ended)
	}()
	t.Cleanup(func() { <-ended })
	r.want(http.StatusOK, "", r.request(http.MethodPost, "/rules", []byte("interval: 1s\nrules: [{name: parse_seconds_total, type: cpu, function: parse, by: [service_name]}]")))

	now := time.Now()
	query := func(expr string) string { return at + "/api/v1/query?query=" + url.QueryEscape(expr) }
	wanted := map[string][]string{
		at + "/api/v1/alerts":                                {"ParseIsHot", `"firing"`, `"shop"`},
		query(`parse_seconds_total{job="granary"}`):          {`"shop"`},
		query(`parse_seconds_total{job="",instance=""} > 0`): {`"shop"`},
		at + "/api/v1/query_exemplars?query=parse_seconds_total&start=" + now.UTC().Add(-time.Hour).Format(time.RFC3339) + "&end=2040-01-01T00:00:00Z": {"page", "t=cpu"},
	}
	for deadline := now.Add(2 * time.Minute); len(wanted) > 0; time.Sleep(200 * time.Millisecond) {
		pushRuled(t, r, time.Now().UTC(), "service_name=shop")
		for address, texts := range wanted {
			data := apiData(t, address)
			has := data != ""
			for _, text := range texts {
				has = has && strings.Contains(data, text)
			}
			if has {
				delete(wanted, address)
			} else if time.Now().After(deadline) {
				t.Fatalf("%s: %s, want %q", address, data, texts)
			}
		}
	}
}
