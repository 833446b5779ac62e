package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"

	pprof "github.com/google/pprof/profile"
)

var enginesPython = flag.String("engines.python", "", "TestServe asks what sql prints of engines of this Python, which has what ../requirements.txt names")

// command runs the command and returns what it printed.
func command(t *testing.T, want int, args ...string) (out, notes string) {
	t.Helper()
	var o, n bytes.Buffer
	if code := run(context.Background(), args, &o, &n); code != want {
		t.Errorf("%q: exit code %d, want %d: %s", args, code, want, n.String())
	}
	return o.String(), n.String()
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{
		{"freeze"},
		{"sql", "--catalog", "ftp:x"},
		{"sql", "x"},
		{"seal", "--every", "7m"},
		{"seal", "--nodes", "a"},
		{"seal", "--node", "a", "--db", "x", "--every", "7m"},
		{"seal", "--node", "a", "--db", "x", "--before", "noon"},
		{"expire", "--days", "-1"},
		{"maintain", "--days", "-1"},
		{"maintain", "--small", "-1"},
		{"maintain", "--files", "1"},
		{"maintain", "--every", "1ms"},
		{"maintain", "--name", "a b"},
		{"delete"},
		{"delete", "--expire"},
		{"delete", "--from", "noon"},
		{"delete", "--from", "-1h", "--to", "-2h"},
		{"delete", "--tenant", "team"},
		{"forget"},
		{"load"},
		{"load", "--db", "x", "--from", "noon"},
		{"load", "--db", "x", "--from", "-1h", "--to", "-2h"},
		{"load", "--db", "x", "--from", "latest-1h"},
		{"load", "--db", "x", "--from", "now-1d", "--to", "1w"},
		{"serve", "--node", "n"},
		{"serve", "--node", "n", "--db", "x", "--every", "0s"},
		{"serve", "--node", "n", "--db", "x", "--sync", "often"},
		{"serve", "--node", "n", "--db", "x", "--older-rows", "0"},
		{"serve", "--node", "n", "--db", "x", "--ack", "often"},
		{"serve", "--node", "n", "--db", "x", "--ack", "lake", "--sync", "never"},
		{"serve", "--node", "n", "--db", "x", "--ack-every", "1s"},
		{"serve", "--node", "n", "--db", "x", "--address", "db-1:4040"},
		{"serve", "--node", "n", "--db", "x", "--in-memory"},
		{"serve", "--node", "n", "--db", "x", "--read-tokens", "none"},
		{"load", "--db", "x", "--query-token-file", os.DevNull},
	} {
		if _, notes := command(t, exitUsage, args...); !strings.Contains(notes, "--help") {
			t.Errorf("%q: %s", args, notes)
		}
	}
	if out, _ := command(t, 0, "--help"); !strings.Contains(out, "exit codes") {
		t.Error(out)
	}
	command(t, exitFailed, "sql", "--catalog", "sqlite:"+filepath.Join(t.TempDir(), "x"))
}

// notebook is what a command noted so far.
type notebook struct {
	mu   sync.Mutex
	text strings.Builder
}

func (n *notebook) Write(b []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.Write(b)
}

func (n *notebook) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.String()
}

// await returns the first group of a pattern once there is a match.
func await(t *testing.T, text func() string, pattern string) string {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if m := regexp.MustCompile(pattern).FindStringSubmatch(text()); m != nil {
			return m[len(m)-1]
		}
	}
	t.Fatalf("never %s: %s", pattern, text())
	return ""
}

var restCatalog = flag.String("rest.catalog", "", "the `URL` of a REST catalog for tables, instead of files of SQLite")

var s3Endpoint = flag.String("s3.endpoint", "", "the `URL` of an S3 with a bucket named granary, for tables; AWS_ACCESS_KEY_ID and so on are of the environment")

// catalogIn returns the flags of a table in a folder, or in a namespace of its own.
func catalogIn(dir string) []string {
	if *restCatalog != "" {
		args := []string{"--catalog", *restCatalog, "--table", fmt.Sprintf("t%x.samples", xxh3.HashString(dir))}
		if *s3Endpoint != "" { // where the catalog puts tables
			args = append(args, s3Properties(*s3Endpoint)...)
		}
		return args
	}
	if *s3Endpoint != "" {
		return s3Catalog(dir, *s3Endpoint)
	}
	return []string{"--catalog", "sqlite:" + filepath.Join(dir, "lake.db"), "--warehouse", dir}
}

// s3Catalog returns the flags of a table whose files are in an S3.
func s3Catalog(dir, endpoint string) []string {
	return append([]string{"--catalog", "sqlite:" + filepath.Join(dir, "lake.db"), "--warehouse", "s3://granary" + filepath.ToSlash(dir)}, s3Properties(endpoint)...)
}

func s3Properties(endpoint string) []string {
	return []string{"--property", "s3.endpoint=" + endpoint, "--property", "s3.region=us-east-1"}
}

// A node takes a profile, which is in the table and then not in the node any more; what is younger is in the node alone.
func TestServe(t *testing.T) {
	dir := t.TempDir()
	catalog := catalogIn(dir)
	command(t, 0, append([]string{"init", "--label", "job", "--symbols"}, catalog...)...)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var notes notebook
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, append([]string{"serve", "--node", "n", "--db", filepath.Join(dir, "db"), "--listen", "127.0.0.1:0", "--every", "50ms", "--seal-after", "0s", "--grace", "0s"}, catalog...), io.Discard, &notes)
	}()
	url := await(t, notes.String, `msg=listening url=(http://\S+)`)
	push := func(ago time.Duration, functions map[string]int64) {
		t.Helper()
		p := &pprof.Profile{TimeNanos: time.Now().Add(-ago).UnixNano(), SampleType: []*pprof.ValueType{{Type: "cpu", Unit: "nanoseconds"}}}
		for name, value := range functions {
			f := &pprof.Function{ID: uint64(len(p.Function)) + 1, Name: name}
			l := &pprof.Location{ID: f.ID, Line: []pprof.Line{{Function: f}}}
			p.Function, p.Location = append(p.Function, f), append(p.Location, l)
			p.Sample = append(p.Sample, &pprof.Sample{Location: []*pprof.Location{l}, Value: []int64{value}})
		}
		var body bytes.Buffer
		if err := p.Write(&body); err != nil {
			t.Fatal(err)
		}
		if code, text := fetch(t, http.MethodPost, url+"/ingest?name=app", &body); code != http.StatusOK {
			t.Fatalf("push: %d %s", code, text)
		}
	}
	push(time.Hour, map[string]int64{"main.old": 3, "main.both": 7})
	sql := func() string { out, _ := command(t, 0, append([]string{"sql"}, catalog...)...); return out }
	await(t, sql, "node n: rows up to seal 1")
	await(t, notes.String, "msg=sealed units=1 rows=2 bytes=[0-9]+ dropped_units=1")
	if _, text := command(t, exitFailed, append([]string{"seal", "--node", "n", "--db", filepath.Join(dir, "db")}, catalog...)...); text == "" {
		t.Error("a directory that is open was sealed")
	}
	push(0, map[string]int64{"main.new": 2, "main.both": 5})
	if code, text := fetch(t, http.MethodGet, await(t, sql, "url\\('([^']+after=1)'"), nil); code != http.StatusOK || !strings.Contains(text, "cpu") {
		t.Errorf("hot: %d %q", code, text)
	}
	both := filepath.Join(dir, "both")
	load := append([]string{"load", "--db", both, "--from", "now-1d"}, catalog...)
	if _, text := command(t, 0, load...); !strings.Contains(text, "4 rows in "+both) {
		t.Errorf("load: %s", text)
	}
	if _, text := command(t, exitUsage, load...); !strings.Contains(text, "has 4 rows already") {
		t.Errorf("load again: %s", text)
	}
	older := fmt.Sprintf("%s/older/%s--%s", url, time.Now().Add(-2*time.Hour).UTC().Format(time.RFC3339), time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	if code, text := fetch(t, http.MethodPost, older+"/read", nil); code != http.StatusOK || !strings.Contains(text, `"done":true`) {
		t.Errorf("older rows: %d %s", code, text)
	}
	for of, want := range map[string]string{url: `"total":[7]`, older: `"total":[17]`} { // the directory has the new ones
		if code, text := fetch(t, http.MethodGet, of+"/api/v1/flame?t=cpu", nil); code != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s", of, code, text)
		}
	}
	if *enginesPython != "" {
		engines := exec.Command(*enginesPython, "../union.py", "printed", `{"main.old": 3, "main.both": 12, "main.new": 2}`)
		engines.Env, engines.Stdin = append(engines.Environ(), "POLARS_ICEBERG_PLANNER=pyiceberg", "PYTHONDONTWRITEBYTECODE=1"), strings.NewReader(sql())
		if text, err := engines.CombinedOutput(); err != nil {
			t.Errorf("the printed queries: %v: %s", err, text)
		}
	}
	if code, text := fetch(t, http.MethodGet, url+"/arrow?after=0", nil); code != http.StatusGone {
		t.Errorf("hot, of a unit that is dropped: %d %q", code, text)
	}
	stop()
	if code := <-ended; code != 0 {
		t.Errorf("exit code %d: %s", code, notes.String())
	}
	if _, text := command(t, exitFailed, append([]string{"seal", "--node", "n", "--db", filepath.Join(dir, "db")}, catalog...)...); !strings.Contains(text, "sealed by serve, up to unit 1") {
		t.Errorf("seal after serve: %s", text)
	}
	empty := append([]string{"serve", "--node", "n", "--db", filepath.Join(dir, "empty"), "--listen", "127.0.0.1:0"}, catalog...)
	if _, text := command(t, exitFailed, empty...); !strings.Contains(text, `"n" has seal 1 in table`) || !strings.Contains(text, "granary-lake forget --node n") {
		t.Errorf("serve with an empty directory: %s", text)
	}
	if _, text := command(t, exitFailed, append(empty, "--ack", "lake")...); !strings.Contains(text, `"n" has seal 1 in table`) {
		t.Errorf("serve with an empty directory that is to be copied: %s", text)
	}
	if entries, err := os.ReadDir(filepath.Join(dir, "empty")); err == nil && len(entries) > 0 {
		t.Errorf("a start that was refused has made %q", entries)
	}
	ctx, stop = context.WithCancel(t.Context())
	defer stop()
	var again notebook // the refused start has left no copy that follows the directory
	go func() {
		ended <- run(ctx, append([]string{"serve", "--ack", "lake", "--node", "n", "--db", filepath.Join(dir, "db"), "--listen", "127.0.0.1:0"}, catalog...), io.Discard, &again)
	}()
	url = await(t, again.String, `msg=listening url=(http://\S+)`)
	stop()
	if code := <-ended; code != 0 {
		t.Errorf("exit code %d: %s", code, again.String())
	}
	if out := sql(); !strings.Contains(out, url+"/") {
		t.Errorf("the refused node has another address: %s", out)
	}
}

// A profile of two minutes ago is in the table within seconds with --try, without other flags about time.
func TestServe_Try(t *testing.T) {
	dir := t.TempDir()
	catalog := catalogIn(dir)
	command(t, 0, append([]string{"init"}, catalog...)...)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var notes notebook
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, append([]string{"serve", "--try", "--node", "n", "--db", filepath.Join(dir, "db"), "--listen", "127.0.0.1:0"}, catalog...), io.Discard, &notes)
	}()
	url := await(t, notes.String, `msg=listening url=(http://\S+)`)
	var body bytes.Buffer
	p := &pprof.Profile{
		TimeNanos: time.Now().Add(-2 * time.Minute).UnixNano(), SampleType: []*pprof.ValueType{{Type: "cpu", Unit: "nanoseconds"}},
		Sample: []*pprof.Sample{{Value: []int64{1}}},
	}
	if err := p.Write(&body); err != nil {
		t.Fatal(err)
	}
	if code, text := fetch(t, http.MethodPost, url+"/pprof?job=try", &body); code != http.StatusOK {
		t.Fatalf("push: %d %s", code, text)
	}
	await(t, notes.String, "msg=sealed units=1 rows=1 ")
	_, text := fetch(t, http.MethodGet, url+"/metrics", nil)
	for _, want := range []string{"granary_lake_units_total 1", "granary_lake_rows_total 1", "granary_lake_oldest_unsealed_seconds 0"} {
		if !strings.Contains(text, "\n"+want+"\n") {
			t.Errorf("/metrics lacks %s", want)
		}
	}
	if code, text := fetch(t, http.MethodGet, url+"/readyz", nil); code != http.StatusOK {
		t.Errorf("/readyz: %d %s", code, text)
	}
	stop()
	if code := <-ended; code != 0 {
		t.Errorf("exit code %d: %s", code, notes.String())
	}
}

// A node with tokens is asked with one, by load and by the page of a node.
func TestServe_Tokens(t *testing.T) {
	dir := t.TempDir()
	catalog := catalogIn(dir)
	command(t, 0, append([]string{"init"}, catalog...)...)
	token := filepath.Join(dir, "tokens")
	if err := os.WriteFile(token, []byte("sesame\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var notes notebook
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, append([]string{"serve", "--node", "n", "--db", filepath.Join(dir, "db"), "--listen", "127.0.0.1:0", "--read-tokens", token, "--query-token-file", token}, catalog...), io.Discard, &notes)
	}()
	url := await(t, notes.String, `msg=listening url=(http://\S+)`)
	var body bytes.Buffer
	p := &pprof.Profile{TimeNanos: time.Now().UnixNano(), SampleType: []*pprof.ValueType{{Type: "cpu", Unit: "nanoseconds"}}, Sample: []*pprof.Sample{{Value: []int64{1}}}}
	if err := p.Write(&body); err != nil {
		t.Fatal(err)
	}
	if code, text := fetch(t, http.MethodPost, url+"/pprof?job=a", &body); code != http.StatusOK {
		t.Fatalf("push: %d %s", code, text)
	}
	load := append([]string{"load", "--db", filepath.Join(dir, "loaded")}, catalog...)
	if _, text := command(t, exitFailed, load...); !strings.Contains(text, "status 401") {
		t.Errorf("load without a token: %s", text)
	}
	load = append([]string{"load", "--db", filepath.Join(dir, "again"), "--query-token-file", token}, catalog...)
	if _, text := command(t, 0, load...); !strings.Contains(text, "1 rows in ") {
		t.Errorf("load with a token: %s", text)
	}
	older := fmt.Sprintf("%s/older/%s--%s/read", url, time.Now().Add(-time.Hour).UTC().Format(time.RFC3339), time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, older, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer sesame")
	if code, text := answer(t, req); code != http.StatusOK || !strings.Contains(text, `"done":true`) {
		t.Errorf("older rows: %d %s", code, text)
	}
	stop()
	if code := <-ended; code != 0 {
		t.Errorf("exit code %d: %s", code, notes.String())
	}
}

func fetch(t *testing.T, method, url string, body io.Reader) (code int, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	return answer(t, req)
}

// answer returns the status and the text of the answer to a request.
func answer(t *testing.T, req *http.Request) (code int, text string) {
	t.Helper()
	defer http.DefaultClient.CloseIdleConnections()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

// A directory is sealed in units of an hour; again, and nothing is added.
func TestSeal(t *testing.T) {
	dir := t.TempDir()
	db := filepath.Join(dir, "db")
	store, err := columnstore.Open(columnstore.Options{Dir: db, FutureLimit: -1})
	if err != nil {
		t.Fatal(err)
	}
	profiles, err := profile.Open(store, profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	first := time.Date(2026, 3, 1, 22, 50, 0, 0, time.UTC)
	for i := range 4 { // 22:50, 23:20, 23:50, 0:20
		p := &pprof.Profile{
			TimeNanos: first.Add(time.Duration(i) * 30 * time.Minute).UnixNano(), SampleType: []*pprof.ValueType{{Type: "cpu", Unit: "nanoseconds"}},
			Sample: []*pprof.Sample{{Value: []int64{int64(i) + 1}}},
		}
		if _, err := profiles.Insert(context.Background(), p, profile.InsertOptions{Labels: map[string]string{"job": "a"}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	catalog := catalogIn(dir)
	with := func(args ...string) []string { return append(args, catalog...) }
	command(t, 0, with("init", "--label", "job")...)
	seal := with("seal", "--node", "n", "--db", db, "--before", "2026-03-02T00:30:00Z")
	if _, notes := command(t, 0, seal...); strings.Count(notes, "\n") != 2 || !strings.Contains(notes, "n to 2026-03-02T00:00:00Z: 2 rows") {
		t.Error(notes)
	}
	if _, notes := command(t, 0, seal...); notes != "" {
		t.Errorf("sealed again: %s", notes)
	}
	seal[len(seal)-len(catalog)-1] = "2026-03-02T01:00:00Z"
	if _, notes := command(t, 0, seal...); !strings.Contains(notes, "n to 2026-03-02T01:00:00Z: 1 rows") || strings.Count(notes, "\n") != 1 {
		t.Error(notes)
	}
	if out, _ := command(t, 0, with("sql")...); !strings.Contains(out, "node n: rows up to seal 1772413200") || !strings.Contains(out, "icebergLocal") {
		t.Error(out)
	}
	if _, notes := command(t, 0, with("expire", "--keep", "1", "--age", "0s", "--orphans", "3d")...); !strings.Contains(notes, "2 snapshots expired") {
		t.Error(notes)
	}
}
