package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"

	pprof "github.com/google/pprof/profile"
)

// sealHours adds rows of a number of hours to a table, an hour a unit, of two jobs, and returns the flags of the table.
func sealHours(t *testing.T, hours int) []string {
	t.Helper()
	dir := t.TempDir()
	db := filepath.Join(dir, "db")
	store, err := columnstore.Open(columnstore.Options{Dir: db, FutureLimit: -1, PastLimit: -1})
	if err != nil {
		t.Fatal(err)
	}
	profiles, err := profile.Open(store, profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	first := time.Date(2026, 3, 1, 1, 0, 0, 0, time.UTC)
	f := &pprof.Function{ID: 1, Name: "main"}
	for i := range 2 * hours {
		l := &pprof.Location{ID: 1, Address: 1, Line: []pprof.Line{{Function: f, Line: int64(i % 2)}}}
		p := &pprof.Profile{
			TimeNanos: first.Add(time.Duration(i) * 30 * time.Minute).UnixNano(), SampleType: []*pprof.ValueType{{Type: "cpu", Unit: "nanoseconds"}},
			Function: []*pprof.Function{f}, Location: []*pprof.Location{l},
			Sample: []*pprof.Sample{{Value: []int64{int64(i) + 1}, Location: []*pprof.Location{l}}},
		}
		if _, err := profiles.Insert(context.Background(), p, profile.InsertOptions{Labels: map[string]string{"job": fmt.Sprint("job", i%2)}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	catalog := catalogIn(dir)
	command(t, 0, append([]string{"init", "--label", "job", "--symbols"}, catalog...)...)
	seal := append([]string{"seal", "--node", "n", "--db", db, "--address", "http://db-1:4040", "--before", "2026-03-02T00:00:00Z"}, catalog...)
	command(t, 0, seal...)
	return catalog
}

// Small files become one, which the outcome says; with --every passes go on until the command ends.
func TestMaintain(t *testing.T) {
	catalog := sealHours(t, 6)
	with := func(args ...string) []string { return append(args, catalog...) }
	if out, _ := command(t, 0, with("maintain", "--dry-run")...); out != "0 orphans\n" {
		t.Errorf("dry run: %q", out)
	}
	out, notes := command(t, 0, with("maintain", "--age", "0s", "--keep", "2")...)
	if !strings.HasPrefix(out, "18 files joined to 3, ") || !strings.Contains(out, "snapshots expired, 0 orphans removed\n") || strings.Count(out, "\n") != 1 {
		t.Errorf("%q", out)
	}
	if !strings.Contains(notes, "profiles.samples, 2026-03-01: 6 files to 1") || !strings.Contains(notes, "repeated ones left out") {
		t.Error(notes)
	}
	if out, _ := command(t, 0, with("maintain")...); !strings.HasPrefix(out, "0 files joined to 0, ") {
		t.Errorf("again: %q", out)
	}
	if out, _ := command(t, 0, with("maintain", "--small", "0")...); out != "0 snapshots expired, 0 orphans removed\n" {
		t.Errorf("without joining: %q", out)
	}

	ctx, cancel := context.WithCancel(t.Context())
	var passes, failures notebook
	ended := make(chan int)
	go func() { ended <- run(ctx, with("maintain", "--every", "1s"), &passes, &failures) }()
	await(t, passes.String, `(?s)joined.*\n.*joined.*\n`)
	cancel()
	if code := <-ended; code != 0 || failures.String() != "" {
		t.Errorf("exit code %d: %s", code, failures.String())
	}
}

// A pass that fails is named, and the next one is made.
func TestMaintain_Every(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	var passes, failures notebook
	ended := make(chan int)
	go func() {
		ended <- run(ctx, []string{"maintain", "--every", "1s", "--catalog", "sqlite:" + filepath.Join(dir, "x")}, &passes, &failures)
	}()
	await(t, failures.String, `(?s)granary-lake: .*granary-lake: `)
	cancel()
	if code := <-ended; code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// The rows with a label go, with what --expire finds, and the output proves it.
func TestDelete(t *testing.T) {
	catalog := sealHours(t, 6)
	with := func(args ...string) []string { return append(args, catalog...) }
	out, notes := command(t, 0, with("delete", "--label", "job=job1", "--to", "2026-03-01T03:00:00Z")...)
	for _, want := range []string{
		"replaced: ", "by: ", "deleted: 2 rows of profiles.samples\n", "counted: no such row in the newest snapshot\n",
		"not deleted: rows that node n has and the table lacks: curl -X POST -G --data-urlencode 'selector={job=\"job1\"}' -d to=2026-03-01T03:00:00Z http://db-1:4040/delete\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %s", want, out)
		}
	}
	if !strings.Contains(notes, "2 rows, 2 deleted") {
		t.Error(notes)
	}
	out, _ = command(t, 0, with("delete", "--label", "job=job1", "--expire")...)
	for _, want := range []string{"deleted: 4 rows of profiles.samples\n", "deleted: 6 rows of profiles.samples_locations\n", " snapshots\nremoved: ", "counted: no such row in any snapshot\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %s", want, out)
		}
	}
	for line := range strings.Lines(out) {
		file, ok := strings.CutPrefix(strings.TrimSpace(line), "replaced: file://")
		if _, err := os.Stat(file); ok && err == nil {
			t.Errorf("%s is there still", file)
		}
	}
	if out, _ := command(t, 0, with("delete", "--label", "job=job1", "--expire")...); !strings.Contains(out, "deleted: no row\n") {
		t.Error(out)
	}
	if out, _ := command(t, 0, with("delete", "--from", "2026-02-28", "--to", "2026-03-03")...); !strings.Contains(out, "deleted: 6 rows of profiles.samples\n") {
		t.Error(out)
	}
}
