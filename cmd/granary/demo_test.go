package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"
)

// TestDemo runs the whole demo, smaller.
func TestDemo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made by the demo")
	var out, progress bytes.Buffer
	if err := demo(t.Context(), &out, &progress, dir, 50_000); err != nil {
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
	if code := run(t.Context(), []string{"demo", "extra"}, &stdout, &stderr); code != exitUsage {
		t.Errorf("demo with an argument exits %d", code)
	}
}

// TestFleet holds the embedded profiles to what the demo says of them, and the
// replay to being the same each time.
func TestFleet(t *testing.T) {
	f, err := newFleet(time.Unix(1_800_000_000, 0), 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	stacks := map[string]bool{}
	kinds := map[string]bool{}
	for _, template := range f.templates {
		kinds[template.kind] = true
		for _, s := range template.profile.Sample {
			stacks[frames(s)] = true
		}
	}
	if programs := f.programs(); len(programs) < 3 || len(stacks) < 2000 {
		t.Errorf("%d programs and %d distinct stacks, want 3 and 2000", len(programs), len(stacks))
	}
	for _, kind := range []string{"cpu", "heap", "goroutine", "block", "mutex"} {
		if !kinds[kind] {
			t.Errorf("there is no %s profile", kind)
		}
	}
	for s := range f.scrapes(3) {
		a, b := f.make(s), f.make(s)
		if !slices.EqualFunc(a.Sample, b.Sample, func(x, y *pprof.Sample) bool { return slices.Equal(x.Value, y.Value) }) {
			t.Fatalf("scrape of %v is not the same twice", s.labels())
		}
		if len(s.template.profile.Sample) >= 10 && len(a.Sample) < 10 {
			t.Errorf("scrape of %v has %d samples", s.labels(), len(a.Sample))
		}
	}
	t.Logf("%d distinct stacks in %d profiles; %d scrapes of %d pods make a million rows", len(stacks), len(f.templates), f.steps, len(f.pods))
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
