package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/compat/iceberg"
	"github.com/granarydb/granary/profile"
)

// A node is not ready once attempts have failed for the limit, and ready again after one that succeeds. An attempt that fails
// after some units counts them.
func TestWatch(t *testing.T) {
	store, err := columnstore.Open(columnstore.Options{Manual: true})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	db, err := profile.Open(store, profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := newWatch(store, time.Hour)
	w.sealer = &iceberg.Sealer{Store: store, Table: db.Table()}
	begin := w.last.Caught
	ready := func(after time.Duration, want string) {
		t.Helper()
		err := w.stateAt(begin.Add(after)).Err
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("after %v: %v, want %q", after, err, want)
		}
	}
	w.sealed(iceberg.Sealed{Units: 2, Rows: 30}, errors.New("the catalog is away"), begin.Add(time.Minute))
	ready(time.Hour, "")
	ready(time.Hour+time.Second, "the catalog is away")
	w.limit = 0
	ready(time.Hour+time.Second, "")
	w.limit = time.Hour
	w.sealed(iceberg.Sealed{}, nil, begin.Add(2*time.Hour))
	ready(3*time.Hour, "")
	s := w.stateAt(begin.Add(3 * time.Hour))
	if s.Units != 2 || s.Rows != 30 || s.Failures != 1 || !s.Committed.Equal(begin.Add(time.Minute)) || !s.Caught.Equal(begin.Add(2*time.Hour)) || !s.Oldest.IsZero() {
		t.Errorf("%+v", s)
	}
	ready(3*time.Hour+time.Second, "(--seal-limit 1h0m0s)") // a call that hangs
}
