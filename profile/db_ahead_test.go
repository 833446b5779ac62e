package profile

import (
	"context"
	"errors"
	"testing"

	"github.com/granarydb/granary/columnstore"
)

// TestReadAhead reads a directory ahead: the stacks' dictionary comes into memory, with the frames of its locations beside it. A store
// without profiles has none.
func TestReadAhead(t *testing.T) {
	dir := t.TempDir()
	opened := func() *DB { return openDBIn(t, columnstore.Options{Dir: dir, Manual: true}, Options{}) }
	ahead := func(ctx context.Context, db *DB) error {
		return db.store.View(t.Context(), func(snap *columnstore.Snapshot) error { return db.ReadAhead(ctx, snap) })
	}
	db := opened()
	if err := ahead(t.Context(), db); err != nil {
		t.Fatalf("without profiles: %v", err)
	}
	insert(t, db, makeProfile(start, "n:count", stack{frames: "main f", values: []int64{1}}, stack{frames: "main g", values: []int64{2}}))
	insert(t, db, makeProfile(start+int64(newestProfiles)*9, "m:count", stack{frames: "main g", values: []int64{2}}))
	if err := errors.Join(db.store.Compact(t.Context()), db.store.Close()); err != nil {
		t.Fatal(err)
	}
	db = opened()
	defer func() { _ = db.store.Close() }()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := ahead(over, db); !errors.Is(err, context.Canceled) || db.store.Stats().CacheBytes > 0 {
		t.Fatalf("over: %v, %d bytes are read", err, db.store.Stats().CacheBytes)
	}
	if err := ahead(t.Context(), db); err != nil || db.store.Stats().CacheBytes == 0 {
		t.Fatalf("%v, %d bytes are read", err, db.store.Stats().CacheBytes)
	}
	_ = db.store.View(t.Context(), func(snap *columnstore.Snapshot) error {
		groups, err := db.table.Aggregate(t.Context(), snap, columnstore.AggregateOptions{By: []string{ColumnStacktrace}})
		if err != nil {
			t.Fatal(err)
		}
		if d := groups.Columns[0].Lists.Only(); d == nil || d.Beside().Load() == nil {
			t.Error("nothing is beside the dictionary")
		}
		return nil
	})
}
