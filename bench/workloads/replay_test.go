package workloads

import (
	"context"
	"testing"

	"github.com/granarydb/granary/bench/replay"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// TestReplay inserts a few rows and runs every query once.
func TestReplay(t *testing.T) {
	ctx := context.Background()
	templates, err := replay.Project()
	if err != nil || len(templates) == 0 {
		t.Fatalf("%d profiles: %v", len(templates), err)
	}
	store, err := columnstore.Open(columnstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	db, err := profile.Open(store, profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const rows = 20_000
	if err := replay.Insert(ctx, db, templates, rows); err != nil {
		t.Fatal(err)
	}
	if got := store.Stats().Rows; got < rows {
		t.Errorf("%d rows, want at least %d", got, rows)
	}
	ms, err := replayQueries(ctx, db, 1)
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range ms {
		if v < 0 {
			t.Errorf("%s took %v ms", name, v)
		}
	}
}
