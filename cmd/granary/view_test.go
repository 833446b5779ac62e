package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"runtime/trace"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
)

// viewing runs view with arguments until stop is called, and returns the URL of its page. stop returns the exit code
// and standard error.
func viewing(t *testing.T, args ...string) (url string, stop func() (int, string)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	var stderr strings.Builder
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, append([]string{"view"}, args...), w, &stderr)
		_ = w.Close()
	}()
	line := make([]byte, 1000)
	n, _ := r.Read(line)
	url, told := strings.CutPrefix(strings.TrimSuffix(string(line[:n]), " until it is interrupted\n"), "Serving ")
	if !told {
		cancel()
		t.Fatalf("view says %q, exit code %d, %s", line[:n], <-code, stderr.String())
	}
	return url, func() (int, string) {
		cancel()
		return <-code, stderr.String()
	}
}

// origin returns the URL of a page's server.
func origin(page string) string {
	before, _, _ := strings.Cut(page, "/?")
	return before
}

// TestView_Range begins the page with the time of all inputs: profiles a week apart, of which the newest takes ten
// seconds, and states after them.
func TestView_Range(t *testing.T) {
	at := time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC)
	of := func(name string, start time.Time, lasts time.Duration) string {
		p := service()
		p.TimeNanos, p.DurationNanos = start.UnixNano(), int64(lasts)
		return file(t, name, p)
	}
	old, cpu := of("old.pb.gz", at, 0), of("cpu.pb.gz", at.Add(7*24*time.Hour), 10*time.Second)
	csv := write(t, "states.csv", []byte("time,attribute,value\n2026-02-07T09:00:09Z,CPUs/0,run\n2026-02-07T09:00:11.5Z,CPUs/0,idle\n"))
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{old}, "?from=2026-01-31T08:59:59Z&to=2026-01-31T09:00:00.001Z"},
		{[]string{old, cpu}, "?from=2026-01-31T09:00:00Z&to=2026-02-07T09:00:10.001Z"},
		{[]string{old, csv, cpu}, "?from=2026-01-31T09:00:00Z&to=2026-02-07T09:00:11.501Z"},
		{[]string{csv}, "?from=2026-02-07T09:00:09Z&to=2026-02-07T09:00:11.501Z"},
	} {
		url, stop := viewing(t, append([]string{"--no-open"}, test.args...)...)
		if got := strings.TrimPrefix(url, origin(url)+"/"); got != test.want {
			t.Errorf("%v: %s, want %s", test.args, got, test.want)
		}
		if code, stderr := stop(); code != cli.ExitOK {
			t.Errorf("exit code %d: %s", code, stderr)
		}
	}
}

func fetched(t *testing.T, url string) string {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v, %s", url, resp.Status, err, body)
	}
	return string(body)
}

// TestView shows a file, a folder, a URL and an execution trace: the page is there, and so are a flame
// graph and states. Nothing is written.
func TestView(t *testing.T) {
	t.Chdir(t.TempDir())
	server := serveProfile(t, newProfile("inuse_space:bytes", sample{"cache main", []int64{5}, nil}))
	goTrace := filepath.Join(t.TempDir(), "trace.out")
	f, err := os.Create(goTrace)
	if err != nil {
		t.Fatal(err)
	}
	if err := trace.Start(f); err != nil {
		t.Skip("the tests are traced: ", err)
	}
	runtime.Gosched()
	trace.Stop()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	url, stop := viewing(t, "--no-open", file(t, "cpu.pb.gz", service()), goDir(t, "goroutine"), server, goTrace)
	for path, want := range map[string]string{
		"/": "<title>", "/api/v1/flame?t=cpu": "compress", "/api/v1/flame?t=inuse_space": "cache", "/api/v1/top?t=goroutine": `"main"`,
		"/api/v1/histories": `"name":"trace.out"`,
	} {
		if body := fetched(t, origin(url)+path); !strings.Contains(body, want) {
			t.Errorf("%s: %.300s, want %s", path, body, want)
		}
	}
	if code, stderr := stop(); code != cli.ExitOK || stderr != "" {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if entries, err := os.ReadDir("."); err != nil || len(entries) > 0 {
		t.Errorf("view left %v, %v", entries, err)
	}
}

// serveProfile serves a profile, and returns its URL.
func serveProfile(t *testing.T, p interface{ Write(io.Writer) error }) string {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if err := p.Write(w); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(web.Close)
	return web.URL + "/heap"
}

// TestView_Gauges compares the page with granary top: a gauge is a mean over the times of all files with the same other
// labels.
func TestView_Gauges(t *testing.T) {
	dir := gaugeDir(t)
	want := granaryTop(t, dir)
	url, stop := viewing(t, "--no-open", dir)
	for _, question := range []string{"flame", "top"} {
		var got asked
		if err := json.Unmarshal([]byte(fetched(t, origin(url)+"/api/v1/"+question+"?t=inuse_space")), &got); err != nil {
			t.Fatal(err)
		}
		if !got.Mean || !slices.Equal(got.Total, []int64{want.Total}) {
			t.Errorf("%s: %+v, want the mean %d", question, got, want.Total)
		}
	}
	lines := `{"profileTypeID":"profile:inuse_space:bytes:alloc_space:bytes","labelSelector":"{}","start":"1","end":"4102444800000","step":3600}`
	resp, err := http.Post(origin(url)+"/querier.v1.QuerierService/SelectSeries", "application/json", strings.NewReader(lines))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	if point := fmt.Sprintf(`"value":%d`, want.Total); err != nil || strings.Count(string(body), point) != 1 {
		t.Errorf("the chart has %s, %v, want %s", body, err, point)
	}
	if code, stderr := stop(); code != cli.ExitOK {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// TestView_Base begins with a difference: each side has its own profiles, and a label that says so. Both sides must have some.
func TestView_Base(t *testing.T) {
	before, after := service(), service()
	for _, s := range after.Sample {
		for i := range s.Value {
			s.Value[i] *= 3
		}
	}
	old, now := file(t, "old.pb.gz", before), file(t, "new.pb.gz", after)
	page, stop := viewing(t, "--no-open", "--base", old, "--base", old, now)
	address, err := url.Parse(page)
	if err != nil {
		t.Fatal(err)
	}
	of := address.Query()
	if of.Get("v") != "difference" || of.Get("q") != `{side="after"}` || of.Get("bq") != `{side="before"}` {
		t.Errorf("the page begins with %s", page)
	}
	of.Del("v")
	of.Set("t", "cpu")
	var got asked
	if err := json.Unmarshal([]byte(fetched(t, origin(page)+"/api/v1/flame?"+of.Encode())), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Total) != 2 || got.Total[0] == 0 || 3*got.Total[0] != 2*got.Total[1] {
		t.Errorf("totals %d, want two profiles before, and one of three times the values", got.Total)
	}
	if code, stderr := stop(); code != cli.ExitOK || stderr != "" {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	bad := write(t, "bad.pb.gz", []byte("no profile"))
	for _, test := range []struct {
		args []string
		code int
		text string
	}{
		{[]string{"--base", bad, now}, cli.ExitFailed, "--base: "},
		{[]string{"--base", old, bad}, cli.ExitFailed, "bad.pb.gz"},
		{[]string{"--base", old}, cli.ExitUsage, "name at least one profile"},
		{[]string{"--base", "-", "-"}, cli.ExitUsage, "standard input can be read once"},
		{[]string{"--base", old, "--label", "side=x", now}, cli.ExitUsage, "before and after"},
		{[]string{"--for", "-1s", now}, cli.ExitUsage, "--for"},
	} {
		if r := granary(t, append([]string{"view", "--no-open"}, test.args...)...); r.code != test.code || !strings.Contains(r.stderr, test.text) || r.stdout != "" {
			t.Errorf("%v: %+v, want %q", test.args, r, test.text)
		}
	}
}

// TestView_For ends by itself, as after Ctrl-C.
func TestView_For(t *testing.T) {
	if r := granary(t, "view", "--no-open", "--for", "300ms", file(t, "cpu.pb.gz", service())); r.code != cli.ExitOK || !strings.HasSuffix(r.stdout, " until it is interrupted, or for 300ms\n") || r.stderr != "" {
		t.Errorf("%+v", r)
	}
}

// TestView_Stdin shows a profile of standard input.
func TestView_Stdin(t *testing.T) {
	in, err := os.Open(file(t, "cpu.pb.gz", service()))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	before := os.Stdin
	os.Stdin = in
	t.Cleanup(func() { os.Stdin = before })
	page, stop := viewing(t, "--no-open", "-")
	if body := fetched(t, origin(page)+"/api/v1/top?t=cpu"); !strings.Contains(body, "compress") {
		t.Errorf("%.300s", body)
	}
	if code, stderr := stop(); code != cli.ExitOK || stderr != "" {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// TestListen_PortInUse names another port at once, and makes no directory.
func TestListen_PortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	t.Chdir(t.TempDir())
	for _, args := range [][]string{{"serve"}, {"serve", "--db", "other.db"}, {"demo", "--serve", "--db", "demo.db"}, {"view", "--no-open", "none.pb.gz"}} {
		r := granary(t, append(args, "--listen", l.Addr().String())...)
		if r.code != cli.ExitFailed || !strings.Contains(r.stderr, "the port is in use: name another, or --listen 127.0.0.1:0 for a free one") {
			t.Errorf("%v: %+v", args, r)
		}
	}
	if entries, err := os.ReadDir("."); err != nil || len(entries) > 0 {
		t.Errorf("left %v, %v", entries, err)
	}
}

// TestView_SomeInputs shows what can be read, and fails at the end.
func TestView_SomeInputs(t *testing.T) {
	bad := write(t, "bad.pb.gz", []byte("memray\x00"))
	url, stop := viewing(t, "--no-open", bad, file(t, "cpu.pb.gz", service()))
	if body := fetched(t, origin(url)+"/api/v1/top?t=cpu"); !strings.Contains(body, "compress") {
		t.Errorf("%.300s", body)
	}
	if code, stderr := stop(); code == cli.ExitOK || !strings.Contains(stderr, "bad.pb.gz: not a valid pprof profile: it is a recording of Python") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	for _, args := range [][]string{{"view", "--no-open", bad}, {"view", "--no-open", "--listen", "nowhere", file(t, "cpu.pb.gz", service())}} {
		if r := granary(t, args...); r.code != cli.ExitFailed || r.stdout != "" {
			t.Errorf("%v: %+v", args, r)
		}
	}
	if r := granary(t, "view"); r.code != cli.ExitUsage {
		t.Errorf("%+v", r)
	}
}

// TestView_Browser starts the browser of the environment with the URL, or says that there is none.
func TestView_Browser(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the browser of this test is a script for a shell")
	}
	got := filepath.Join(t.TempDir(), "got")
	script := write(t, "browser", []byte("#!/bin/sh\necho \"$@\" > "+got+".part; mv "+got+".part "+got+"\n"))
	if err := os.Chmod(script, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("BROWSER", "/does/not/exist"+string(os.PathListSeparator)+script+" --new %s#x")
	url, stop := viewing(t, file(t, "cpu.pb.gz", service()))
	for until := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if data, err := os.ReadFile(got); err == nil {
			if want := "--new " + url + "#x\n"; string(data) != want {
				t.Errorf("the browser got %q, want %q", data, want)
			}
			break
		}
		if time.Now().After(until) {
			t.Fatal("no browser was started")
		}
	}
	if code, stderr := stop(); code != cli.ExitOK || stderr != "" {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	t.Setenv("DISPLAY", "")
	t.Setenv("WAYLAND_DISPLAY", "")
	for _, browser := range []string{"/does/not/exist", ""} {
		if browser == "" && runtime.GOOS == "darwin" {
			continue // it has a screen without these variables
		}
		t.Setenv("BROWSER", browser)
		url, stop = viewing(t, file(t, "cpu.pb.gz", service()))
		fetched(t, url)
		if code, stderr := stop(); code != cli.ExitOK || !strings.Contains(stderr, "open the URL in one, or set BROWSER") {
			t.Errorf("BROWSER=%s: exit code %d: %s", browser, code, stderr)
		}
	}
}

func TestBrowserCommand(t *testing.T) {
	for text, want := range map[string][]string{
		"firefox": {"firefox", "URL"}, "chromium --app=%s": {"chromium", "--app=URL"}, " ": {}, "x %s y": {"x", "URL", "y"},
	} {
		if got := browserCommand(text, "URL"); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
