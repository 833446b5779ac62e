package workloads

import (
	"context"
	"testing"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// TestStacks inserts a few new stacks: each row has its own, and all functions have names.
func TestStacks(t *testing.T) {
	db, err := openStacks("")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Store().Close()
	r := stacksReport{Rows: stacksProfile}
	if _, err := r.insert(db); err != nil {
		t.Fatal(err)
	}
	if stats := db.Store().Stats(); stats.Stacks != r.Rows || r.Locations < 5*r.Rows || r.Locations > 49*r.Rows {
		t.Errorf("%d stacks of %d locations, want %d", stats.Stacks, r.Locations, r.Rows)
	}
	err = db.Store().View(context.Background(), func(snap *columnstore.Snapshot) error {
		cpu, err := db.FindType(context.Background(), snap, "cpu")
		if err != nil {
			return err
		}
		stacks, err := db.Merge(context.Background(), snap, cpu, profile.Query{})
		if err == nil && len(stacks.Top()) != 1000 {
			t.Errorf("%d functions, want 1000", len(stacks.Top()))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
