package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/granarydb/granary/cmd/granary/internal/dbdir"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server"
)

// bearer sends a token with each request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// served starts a server of a directory.
func served(t *testing.T, db string, opts server.Options) string {
	t.Helper()
	store, err := columnstore.Open(columnstore.Options{Dir: db})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	opts.Assist, opts.Profiles = assist, dbdir.Profiles(store, "")
	s, err := server.New(store, opts)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(s)
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		srv.Close()
		if err := s.Wait(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return srv.URL
}

// connected connects the client of the SDK to a URL, with a token unless it is "".
func connected(t *testing.T, url, token string) (*mcp.ClientSession, error) {
	t.Helper()
	to := &mcp.StreamableClientTransport{Endpoint: url, MaxRetries: -1}
	if token != "" {
		to.HTTPClient = &http.Client{Transport: bearer(token)}
	}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), to, nil)
	if err == nil {
		t.Cleanup(func() { _ = client.Close() })
	}
	return client, err
}

// TestMCP_Server asks "what changed?" and each tool of a running server, by the client of the SDK.
func TestMCP_Server(t *testing.T) {
	url := served(t, changedStore(t), server.Options{})
	client, err := connected(t, url+"/mcp", "")
	if err != nil {
		t.Fatal(err)
	}
	changed := map[string]any{"type": "alloc_space", "base_selector": `{version="1"}`, "selector": `{version="2"}`}
	callTools(t, client, []toolCall{
		{"types", nil, `"alloc_space"`},
		{"labels", nil, `"version"`},
		{"labels", map[string]any{"label": "version"}, `"2"`},
		{"top", map[string]any{"type": "alloc_space", "limit": 1}, `"compress"`},
		{"callers", map[string]any{"function": "^parse$"}, `"handle"`},
		{"series", map[string]any{"step": "1m", "by": "version"}, `"version"`},
		{"difference", changed, `"regressed": true`},
	})
	// What changed? parse is first.
	text, _ := callTool(t, client, "difference", changed)
	if first := strings.Index(text, `"name"`); first < 0 || !strings.HasPrefix(text[first:], `"name": "parse"`) {
		t.Errorf("%s", text)
	}
	// No parameter leads to another directory, and a push is seen at once.
	other := changedStore(t)
	for _, args := range []map[string]any{{"type": "--db=" + other}, {"selector": "--db=" + other}} {
		if text, isError := callTool(t, client, "top", args); !isError || strings.Contains(text, "compress") {
			t.Errorf("%v: %s", args, text)
		}
	}
	if text, isError := callTool(t, client, "states", map[string]any{"history": "x"}); !isError || !strings.Contains(text, "no history") {
		t.Errorf("%v: %s", isError, text)
	}
	resp, err := http.Post(url+"/pprof?version=3", "", strings.NewReader("new;stack 5\n"))
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(err, resp)
	}
	_ = resp.Body.Close()
	if text, _ := callTool(t, client, "labels", map[string]any{"label": "version"}); !strings.Contains(text, `"3"`) {
		t.Errorf("%s", text)
	}
}

// TestMCP_ServerTenants: an assistant sees the profiles of its tenant alone, and needs a token to read.
func TestMCP_ServerTenants(t *testing.T) {
	url := served(t, changedStore(t), server.Options{Tokens: server.Tokens{Read: []string{"all", "bound"}, Write: []string{"w"}, Tenants: map[string]string{"bound": "x"}}})
	for path, token := range map[string]string{"/mcp": "", "/mcp?": "w", "/tenants/y/mcp": "bound"} {
		if _, err := connected(t, url+path, token); err == nil {
			t.Errorf("%s with %q is answered", path, token)
		}
	}
	for _, tc := range []struct {
		path, token string
		has         bool
	}{{"/mcp", "all", true}, {"/tenants/x/mcp", "all", false}, {"/mcp", "bound", false}, {"/tenants/anonymous/mcp", "all", true}} {
		client, err := connected(t, url+tc.path, tc.token)
		if err != nil {
			t.Fatalf("%+v: %v", tc, err)
		}
		text, _ := callTool(t, client, "top", map[string]any{"type": "alloc_space"})
		if strings.Contains(text, "compress") != tc.has {
			t.Errorf("%+v: %s", tc, text)
		}
	}
}

// TestMCP_ServerLimits: the limits of queries hold, on time, memory and a request's bytes.
func TestMCP_ServerLimits(t *testing.T) {
	db := changedStore(t)
	for want, l := range map[string]server.Limits{"memory": {QueryBytes: 16}, "limit: ": {QueryTime: time.Nanosecond}} { // before or after it got a place
		client, err := connected(t, served(t, db, server.Options{Limits: l})+"/mcp", "")
		if err != nil {
			t.Fatal(err)
		}
		if text, isError := callTool(t, client, "top", map[string]any{"type": "alloc_space"}); !isError || !strings.Contains(text, want) {
			t.Errorf("%s: %v %s", want, isError, text)
		}
		_ = client.Close()
		db = changedStore(t) // the other is open
	}
	resp, err := http.Post(served(t, changedStore(t), server.Options{})+"/mcp", "application/json", strings.NewReader(strings.Repeat(" ", 2<<20)))
	if err != nil || resp.StatusCode != http.StatusRequestEntityTooLarge && resp.StatusCode != http.StatusBadRequest {
		t.Errorf("%v %v", err, resp)
	}
	if err == nil {
		_ = resp.Body.Close()
	}
}

// TestMCP_ServerAlone: what is served is asked in its own limits and for its own tenant.
func TestMCP_ServerAlone(t *testing.T) {
	store, err := columnstore.Open(columnstore.Options{Manual: true})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	db, err := profile.Open(store, profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	full := errors.New("no place")
	a := assistant{db: []string{"--db=server"}, served: &server.Assisted{DB: db, InTime: func(context.Context, func(context.Context) error) error { return full }}}
	if text, isError := callTool(t, connect(t, &a), "types", nil); !isError || !strings.Contains(text, full.Error()) {
		t.Errorf("%v %s", isError, text)
	}
}
