package iceberg

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/compat/iceberg/mirror"
	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/profile"
)

// sealPattern is the number of a row's unit.
var sealPattern = regexp.MustCompile(`"granary_seal":\d+,`)

// withoutSeals returns rows without the number of their unit, in order.
func withoutSeals(rows []string) (out []string) {
	for _, r := range rows {
		out = append(out, sealPattern.ReplaceAllString(r, ""))
	}
	slices.Sort(out)
	return out
}

// Invariant L7 with a copy of the directory. A node whose disk is lost amid its work makes the directory again: each row is in the
// table or in the node, once. The command for orphans leaves the copy, and Forget removes it.
func TestSegments(t *testing.T) {
	ctx := context.Background()
	l := openLake(t)
	if err := l.Register(ctx, "n", ""); err != nil {
		t.Fatal(err)
	}
	objects, err := l.Segments(ctx, "n")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Segments(ctx, "../n"); !errors.Is(err, ErrOptions) {
		t.Error(err)
	}
	open := func() (*profile.DB, *Sealer, func()) {
		m, err := mirror.Open(ctx, crashfs.New(crashfs.Options{}), objects, mirror.Options{})
		if err != nil {
			t.Fatal(err)
		}
		store, err := columnstore.Open(columnstore.Options{FS: m, Sync: columnstore.SyncEach, FutureLimit: -1, PastLimit: -1})
		if err != nil {
			t.Fatal(err)
		}
		db, err := profile.Open(store, profile.Options{Bucket: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		s := &Sealer{Lake: l, Node: "n", Store: store, Table: db.Table(), Grace: time.Hour}
		if err := s.Check(ctx); err != nil {
			t.Fatal(err)
		}
		return db, s, func() {
			m.Finish(0)
			_ = store.Close() // an error is that of the end
		}
	}
	db, sealer, lose := open()
	insert(t, db, 3, 9, 5) // three minutes
	want := wantRows(t, unit(t, db, "n", 1))
	if did, err := sealer.Seal(ctx, time.Unix(0, start+2*int64(time.Minute))); err != nil || did.Units != 2 {
		t.Fatal(did, err)
	}
	if _, err := db.Table().Seal(ctx, start+3*int64(time.Minute)); err != nil { // and it is lost before it is in the table
		t.Fatal(err)
	}
	lose()
	db, sealer, lose = open()
	defer func() { lose() }()
	same(t, want, wantRows(t, unit(t, db, "n", 1))) // the grace of the units has not ended
	if did, err := sealer.Seal(ctx, time.Unix(0, start+9*int64(time.Minute))); err != nil || did.Units == 0 {
		t.Fatal(did, err)
	}
	lose()
	same(t, withoutSeals(want), withoutSeals(gotRows(t, l)))
	if _, err := l.RemoveOrphans(ctx, time.Hour, false); err != nil {
		t.Fatal(err)
	}
	db, sealer, lose = open()
	same(t, want, wantRows(t, unit(t, db, "n", 1)))
	if did, err := sealer.Seal(ctx, time.Unix(0, start+9*int64(time.Minute))); err != nil || did.Units != 0 {
		t.Error(did, err)
	}
	if err := l.Forget(ctx, "n"); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"journal/", "files/", "whole/", "claims/"} {
		if names, err := objects.List(ctx, folder); err != nil || len(names) > 0 {
			t.Error(names, err)
		}
	}
}
