package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"

	pprof "github.com/google/pprof/profile"
)

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
		{"freeze"}, {"sql", "--catalog", "ftp:x"}, {"sql", "x"}, {"seal", "--every", "7m"}, {"seal", "--nodes", "a"},
		{"seal", "--node", "a", "--db", "x", "--every", "7m"}, {"seal", "--node", "a", "--db", "x", "--before", "noon"}, {"expire", "--days", "-1"}, {"forget"},
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
	catalog := []string{"--catalog", "sqlite:" + filepath.Join(dir, "lake.db"), "--warehouse", dir}
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
	if _, notes := command(t, 0, with("expire", "--keep", "1", "--age", "0s", "--orphans", "72h")...); !strings.Contains(notes, "2 snapshots expired") {
		t.Error(notes)
	}
}
