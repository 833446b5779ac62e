package columnstore

import (
	"os"
	"runtime/debug"
	"testing"

	"go.uber.org/goleak"

	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/schema"
)

func TestMain(m *testing.M) {
	if env := os.Getenv(killedDir); env != "" {
		writeUntilKilled(env)
	}
	effort.CollectRarely()
	goleak.VerifyTestMain(m)
}

// collectRarely makes garbage collections rare until the test ends, with the race detector too. Random
// tests have small heaps and much garbage: collections took a third of their time. Tests of memory
// call collectAsUsual instead.
func collectRarely(t *testing.T) {
	t.Helper()
	setCollections(t, 400)
}

// collectAsUsual gives the test the collections that a program has by default. Only collections remove
// the contents of pools from the heap, so a heap with rare collections is not typical for a program.
func collectAsUsual(t *testing.T) {
	t.Helper()
	setCollections(t, 100)
}

func setCollections(t *testing.T, percent int) {
	t.Helper()
	before := debug.SetGCPercent(percent)
	t.Cleanup(func() { debug.SetGCPercent(before) })
}

// open starts a store with one table; the test closes it. Times of tests are mostly no dates, so
// there is no PastLimit unless the test sets one.
func open(t testing.TB, opts Options, def schema.Definition) (*Store, *Table) {
	t.Helper()
	if opts.PastLimit == 0 {
		opts.PastLimit = -1
	}
	store, err := Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	table, err := store.CreateTable("samples", def)
	if err != nil {
		t.Fatal(err)
	}
	return store, table
}
