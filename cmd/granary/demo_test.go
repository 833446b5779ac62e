package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	neturl "net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/cmd/granary/internal/replay"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/profile"
)

// TestDemo runs the whole demo at a smaller size.
func TestDemo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made by the demo")
	var out, progress bytes.Buffer
	if err := demo(t.Context(), &out, &progress, dir, columnstore.Options{}, 3); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"pods of 5 programs", "rows a second", "series", "distinct stacks", "granules", "splits", "compactions",
		"bytes a row", "function", "CPU cores", "nats-server", filepath.Join(dir, "flamegraph.svg"),
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report does not say %q", want)
		}
	}
	if !strings.Contains(progress.String(), "replaying: 100%") {
		t.Errorf("progress was %q", progress.String())
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Error("the report has colours although it is no terminal")
	}
	svg, err := os.Open(filepath.Join(dir, "flamegraph.svg"))
	if err != nil {
		t.Fatal(err)
	}
	defer svg.Close()
	decoder := xml.NewDecoder(svg)
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("flamegraph.svg is not well-formed: %v", err)
		}
	}
	if t.Failed() {
		t.Log(out.String())
	}
}

func TestDemoFlags(t *testing.T) {
	trace := filepath.Join(t.TempDir(), "trace")
	err := withTrace(trace, func() error { return nil })
	info, statErr := os.Stat(trace)
	if err != nil || statErr != nil || info.Size() == 0 {
		t.Errorf("trace: %v, %v", err, statErr)
	}
	failed := errors.New("failed")
	if err := withTrace(trace, func() error { return failed }); !errors.Is(err, failed) {
		t.Errorf("an error inside of a trace became %v", err)
	}
	var stdout, stderr bytes.Buffer
	in := filepath.Join(trace, "x") // a file with this name exists
	if code := run(t.Context(), []string{"demo", "-o", in}, &stdout, &stderr); code != cli.ExitFailed || stdout.Len() > 0 || strings.Count(stderr.String(), "\n") != 1 {
		t.Errorf("demo with a folder that cannot be made: exit code %d\n%s%s", code, stdout.String(), stderr.String())
	}
	if code := run(t.Context(), []string{"demo", "extra"}, &stdout, &stderr); code != cli.ExitUsage {
		t.Errorf("demo with an argument exits %d", code)
	}
}

// TestDemoServe asks a demo as a browser does. The first answer is there within seconds of the start.
func TestDemoServe(t *testing.T) {
	effort.Long(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	r, w := io.Pipe()
	code, begin := make(chan int, 1), time.Now()
	go func() {
		code <- run(ctx, []string{"demo", "--serve", "--no-open", "--listen", "127.0.0.1:0", "--span", "1m"}, w, io.Discard)
		_ = w.Close()
	}()
	line, err := bufio.NewReader(r).ReadString('\n')
	url, found := strings.CutPrefix(strings.TrimSuffix(line, " until it is interrupted\n"), "Serving ")
	if err != nil || !found {
		t.Fatalf("%q, %v", line, err)
	}
	for until := begin.Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		resp, err := http.Get(url + "/api/v1/flame?t=cpu&q=" + neturl.QueryEscape(`{job="etcd"}`))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode == http.StatusOK && bytes.Contains(body, []byte("go.etcd.io")) {
			break
		}
		if time.Now().After(until) {
			t.Fatalf("status %d: %.300s", resp.StatusCode, body)
		}
	}
	t.Logf("a flame graph after %v", time.Since(begin))
	for _, typ := range []string{"cpu", "inuse_space", "goroutine"} { // of one kind, with the demo's own
		resp, err := http.Get(url + "/api/v1/flame?t=" + typ)
		if err != nil {
			t.Fatal(err)
		}
		if resp.Body.Close(); resp.StatusCode != http.StatusOK {
			t.Errorf("%s: status %d", typ, resp.StatusCode)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	stop()
	if got := <-code; got != cli.ExitOK {
		t.Errorf("exit code %d", got)
	}
	for _, flags := range []string{"--serve -o x", "--listen 127.0.0.1:0"} {
		if code := run(t.Context(), append([]string{"demo"}, strings.Fields(flags)...), io.Discard, io.Discard); code != cli.ExitUsage {
			t.Errorf("%s: exit code %d", flags, code)
		}
	}
}

// TestFleet checks the embedded profiles against the demo's description. It also checks that
// the replay is an hour of ten million rows, and that it is deterministic.
func TestFleet(t *testing.T) {
	effort.Slow(t)
	now := time.Unix(1_800_000_000, 0)
	f, err := newFleet(now, demoSteps)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{}
	for _, template := range f.templates {
		kinds[template.kind] = true
	}
	for _, kind := range []string{"cpu", "heap", "goroutine", "block", "mutex"} {
		if !kinds[kind] {
			t.Errorf("there is no %s profile", kind)
		}
	}
	if end := f.start.Add(time.Duration(f.steps) * scrapeEvery); len(f.pods) != 50 || f.steps != 360 || end.After(now) {
		t.Errorf("%d scrapes of %d pods, up to %v", f.steps, len(f.pods), end)
	}
	stacks := map[string]bool{}
	rows, steps := 0, 0
	apart := 5*scrapesPerTemplate + 1
	if effort.Race { // one goroutine counts
		apart *= 10
	}
	for step := 0; step < f.steps; step += apart {
		steps++
		for i := range f.pods {
			for kind := range f.pods[i].kinds {
				p := checkScrape(t, f, scrape{step, &f.pods[i]}, kind)
				for _, s := range p.Sample {
					stacks[frames(s)] = true
					for _, v := range s.Value {
						if v != 0 {
							rows++
						}
					}
				}
			}
		}
	}
	if programs := f.programs(); len(programs) < 3 || len(stacks) < 2000 {
		t.Errorf("%d programs and %d distinct stacks, want 3 and 2000", len(programs), len(stacks))
	}
	if all := rows / steps * f.steps; all < 10_200_000 {
		t.Errorf("an hour is about %d rows, want 10,000,000 and a little more", all)
	}
	t.Logf("%d distinct stacks in %d profiles; about %d rows in an hour", len(stacks), len(f.templates), rows/steps*f.steps)
}

// checkScrape builds a profile twice and parses it with google/pprof.
func checkScrape(t *testing.T, f *fleet, s scrape, kind int) *pprof.Profile {
	t.Helper()
	k := &s.pod.kinds[kind]
	data := f.appendProfile(nil, s, kind)
	if !bytes.Equal(data, f.appendProfile(nil, s, kind)) {
		t.Fatalf("scrape %d of %v is not the same twice", s.step, k.labels)
	}
	p, err := pprof.ParseData(data)
	if err != nil {
		t.Fatalf("scrape %d of %v: %v", s.step, k.labels, err)
	}
	if want := f.start.Add(time.Duration(s.step) * scrapeEvery); p.TimeNanos != want.UnixNano() || p.DurationNanos != int64(scrapeEvery) {
		t.Errorf("scrape %d of %v is at %d for %d", s.step, k.labels, p.TimeNanos, p.DurationNanos)
	}
	if k.labels["job"] == "" || k.labels["pod"] == "" || k.labels["__name__"] == "" {
		t.Errorf("labels %v", k.labels)
	}
	return p
}

// A profile that is split and appended without scaling is unchanged.
func TestEncoded(t *testing.T) {
	f, err := newFleet(time.Unix(1_800_000_000, 0), 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range f.templates {
		part := &f.templates[i].parts[i%rareEvery]
		at := time.Unix(int64(i), 5)
		first, err := pprof.ParseData(part.Append(nil, at, scrapeEvery, func(int) float64 { return 1 }))
		if err != nil {
			t.Fatal(err)
		}
		again, err := replay.Encode(first, part.Hot())
		if err != nil {
			t.Fatal(err)
		}
		second, err := pprof.ParseData(again.Append(nil, at, scrapeEvery, func(int) float64 { return 1e-30 })) // a value that is not 0 is kept
		if err != nil {
			t.Fatal(err)
		}
		if first.String() != second.String() || first.TimeNanos != at.UnixNano() || len(first.Sample) != part.Samples() {
			t.Errorf("template %d is not the same again", i)
		}
	}
}

// A replay that cannot continue ends with an error that names the cause.
func TestReplay_Errors(t *testing.T) {
	f, err := newFleet(time.Now(), 2)
	if err != nil {
		t.Fatal(err)
	}
	store, err := columnstore.Open(columnstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	db, err := profile.Open(store, profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	store.Close()
	if n, err := f.replay(t.Context(), db, 2, func(int64, int64) {}); !errors.Is(err, columnstore.ErrClosed) || n != 0 {
		t.Errorf("%d profiles into a closed store: %v", n, err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if n, err := f.replay(cancelled, db, 2, func(int64, int64) {}); !errors.Is(err, context.Canceled) || n != 0 {
		t.Errorf("%d profiles of a replay that was cancelled: %v", n, err)
	}
}

func frames(s *pprof.Sample) string {
	var b strings.Builder
	for _, l := range s.Location {
		for _, line := range l.Line {
			fmt.Fprintf(&b, "%s %s %d\n", line.Function.Name, line.Function.Filename, line.Line)
		}
	}
	return b.String()
}

// TestDemoLeavesTheFolderAlone: the command that README.md tells new users to run in a clone
// leaves no file there.
func TestDemoLeavesTheFolderAlone(t *testing.T) {
	effort.Long(t)
	here, temporary := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temporary)
	t.Setenv("TMP", temporary) // Windows
	t.Chdir(here)
	var out bytes.Buffer
	if err := demo(t.Context(), &out, io.Discard, "", columnstore.Options{}, 2); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Errorf("the demo left %v, %v", left, err)
	}
	if !strings.Contains(out.String(), filepath.Join(temporary, "granary-demo-")) {
		t.Errorf("the report does not name the flame graph below %s:\n%s", temporary, out.String())
	}
}
