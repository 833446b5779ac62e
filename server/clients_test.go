package server

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// clientRequest is a request of a client in testdata/clients, made from its API's documentation: a POST with a body, or a
// GET with a query.
type clientRequest struct {
	Name    string
	Path    string
	Query   map[string]string
	Body    json.RawMessage
	Headers map[string]string
	Status  int
	Want    string // in the answer, without spaces
}

// TestClients replays what Grafana's data source, its Profiles Drilldown and scripts ask. Each has its answer, or is refused with a
// reason, from a store, from older profiles and from nodes.
func TestClients(t *testing.T) {
	files, err := filepath.Glob("testdata/clients/*.json")
	if err != nil || len(files) != 3 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	urls := everywhere(t)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var all []clientRequest
		if err := json.Unmarshal(data, &all); err != nil || len(all) < 5 {
			t.Fatalf("%s: %d requests, %v", file, len(all), err)
		}
		for _, r := range all {
			for where, at := range urls {
				if status, text := r.send(t, at); status != r.Status || !strings.Contains(strings.ReplaceAll(text, " ", ""), strings.ReplaceAll(r.Want, " ", "")) {
					t.Errorf("%s, %s: %s: status %d: %.500s, want %d and %s", filepath.Base(file), where, r.Name, status, text, r.Status, r.Want)
				}
			}
		}
	}
}

// send sends a request to a server, with the headers that Grafana's proxy passes on.
func (r *clientRequest) send(t *testing.T, at string) (int, string) {
	t.Helper()
	method := http.MethodPost
	if r.Body == nil {
		method = http.MethodGet
	}
	query := url.Values{}
	for name, value := range r.Query {
		query.Set(name, value)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, at+r.Path+"?"+query.Encode(), bytes.NewReader(r.Body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Grafana-Org-Id", "1")
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	for name, value := range r.Headers {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}
