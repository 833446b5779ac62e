package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/format"
)

const goTrace = "../../trace/golang/testdata/small.trace"

// TestGoTrace reads the CPU samples of a Go execution trace as a profile, and loads them together with its states.
func TestGoTrace(t *testing.T) {
	dir := t.TempDir()
	db := filepath.Join(dir, "run.db")
	const total = 6 * 10_000_000
	if got := granaryTop(t, goTrace); got.Total != total || len(got.Functions) == 0 {
		t.Errorf("%+v", got)
	}
	packed := filepath.Join(dir, "packed.trace.zst")
	data, err := os.ReadFile(goTrace)
	if err != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	if err := os.WriteFile(packed, z.EncodeAll(data, nil), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := granaryTop(t, packed, goTrace); got.Total != 2*total {
		t.Errorf("%+v", got)
	}
	for i, want := range []string{"as the history small.trace\n", "as the history small.trace (2)\n", "as the history app\n"} {
		args := []string{"load", "--db", db, goTrace}
		if i == 2 {
			args = append(args, "--name", "app")
		}
		if r := granary(t, args...); r.code != cli.ExitOK || !strings.Contains(r.stdout, want) {
			t.Fatalf("%+v", r)
		}
	}
	for _, args := range [][]string{{"--name", "y", "../../testdata/profiles/etcd/cpu-1.pb.gz"}, {"--name", "app", goTrace}, {"--name", "x", goTrace, packed}, {"--name", "tenants/a/b", goTrace}} {
		if r := granary(t, append([]string{"load", "--db", db}, args...)...); r.code == cli.ExitOK {
			t.Errorf("%q: %+v", args, r)
		}
	}
	if got := granaryTop(t, "--db", db); got.Total != 3*total {
		t.Errorf("%+v", got)
	}
	if r := granary(t, "history", "stats", "--db", db, "app"); r.code != cli.ExitOK || !strings.Contains(r.stdout, "waiting (chan receive)") {
		t.Errorf("%+v", r)
	}
	whileIn(t, db, total)
}

// whileIn asks for the states of the goroutines at the times of their samples.
func whileIn(t *testing.T, dir string, total int64) {
	t.Helper()
	store, err := columnstore.Open(columnstore.Options{Dir: dir, ReadOnly: true, Manual: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	db, err := profile.Open(store, profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = store.View(t.Context(), func(snap *columnstore.Snapshot) error {
		of := profile.States{History: store.History("app"), Path: []string{"Goroutines", "{goid}"}}
		cpu, err := db.FindType(t.Context(), snap, "cpu")
		if err != nil {
			return err
		}
		third, err := profile.ParseSelector(`{file="` + goTrace + ` (3)"}`)
		if err != nil {
			return err
		}
		groups, err := db.MergeByState(context.Background(), snap, cpu, profile.Query{Selector: third}, of)
		if err != nil {
			return err
		}
		sums := map[string]int64{}
		for _, g := range groups {
			sums[g.Status.String()+" "+g.State.Text()] += g.Stacks.Total
		}
		if sums["known running"] < total/2 {
			t.Errorf("%v", sums)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestGoTrace_Bad reads a trace that is cut as far as it goes, and makes no directory for bytes that only begin as one.
func TestGoTrace_Bad(t *testing.T) {
	dir := t.TempDir()
	bad, db := filepath.Join(dir, "bad.trace"), filepath.Join(dir, "bad.db")
	if err := os.WriteFile(bad, []byte("go 1.26 trace\x00\x00\x00and words"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"load", "--db", db, bad}, {"top", bad}} {
		if r := granary(t, args...); r.code == cli.ExitOK || !strings.Contains(r.stderr, "invalid Go execution trace") || !strings.Contains(r.stderr, bad) {
			t.Errorf("%q: %+v", args, r)
		}
	}
	if _, err := os.Stat(db); err == nil {
		t.Error("there is a directory")
	}
	if format.Of([]byte("go 1.26 trace\x00\x00\x00and words")) != format.GoTrace {
		t.Error("the format is another")
	}
}
