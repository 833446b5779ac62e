package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// TestRun makes a small directory, which has the rows, and names of functions of both kinds.
func TestRun(t *testing.T) {
	dir, ctx := filepath.Join(t.TempDir(), "db"), context.Background()
	if err := run(ctx, dir, 20_000, ""); err != nil {
		t.Fatal(err)
	}
	if err := run(ctx, dir, 20_000, ""); err == nil {
		t.Error("a directory with a store was taken again")
	}
	rows, stacks := merged(t, dir)
	const most = 20_000 + perTx*2144 // rows of the last transaction
	if rows < 20_000 || rows > most {
		t.Errorf("%d rows", rows)
	}
	kinds := map[string]int{}
	for _, f := range stacks.Top() {
		kinds[f.Name[:7]]++
	}
	if kinds["example"] < 1000 || kinds["runtime"] < 100 || len(kinds) != 2 {
		t.Errorf("functions by the start of their names: %v", kinds)
	}
}

// TestRun_Profile makes a directory that has one profile again and again.
func TestRun_Profile(t *testing.T) {
	f := &pprof.Function{ID: 1, Name: "main"}
	l := &pprof.Location{ID: 1, Line: []pprof.Line{{Function: f}}}
	p := &pprof.Profile{
		SampleType: []*pprof.ValueType{{Type: "cpu", Unit: "nanoseconds"}}, PeriodType: &pprof.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Function: []*pprof.Function{f}, Location: []*pprof.Location{l}, Sample: []*pprof.Sample{{Location: []*pprof.Location{l}, Value: []int64{7}}},
	}
	file, dir := filepath.Join(t.TempDir(), "cpu.pb.gz"), filepath.Join(t.TempDir(), "db")
	w, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Write(w); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), dir, 1000, file); err != nil {
		t.Fatal(err)
	}
	if _, stacks := merged(t, dir); stacks.Total != 7*1000 {
		t.Errorf("a total of %d", stacks.Total)
	}
}

// merged returns the rows of a directory, and the stacks of their CPU time.
func merged(t *testing.T, dir string) (rows int64, stacks *profile.Stacks) {
	t.Helper()
	store, err := columnstore.Open(columnstore.Options{Dir: dir, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	db, err := profile.Open(store, profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = store.View(t.Context(), func(snap *columnstore.Snapshot) error {
		typ, err := db.FindType(t.Context(), snap, "cpu")
		if err == nil {
			stacks, err = db.Merge(t.Context(), snap, typ, profile.Query{})
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return store.Stats().Rows, stacks
}
