package fleet

import (
	"reflect"
	"testing"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// TestFleet checks the shape of a million rows, which the targets assume.
func TestFleet(t *testing.T) {
	f := New(1)
	m := f.Describe(1_000_000)
	t.Logf("%+v", m)
	for _, c := range []struct {
		what             string
		got, least, most float64
	}{
		{"rows of a profile, mean", m.Mean, 490, 530},
		{"least", float64(m.Least), 160, 160},
		{"most", float64(m.Most), 1800, 2144},
		{"distinct stacks", float64(m.Stacks), 225_000, 250_000},
		{"depth", m.Depth, 20, 25},
		{"nodes of the tree per stack", m.NodesPerStack, 4, 5.5},
		{"columns", float64(m.Columns), 36, 44},
		{"series", float64(m.Series), 800, 800},
		{"seconds of the fleet", m.Seconds, 22, 27},
	} {
		if c.got < c.least || c.got > c.most {
			t.Errorf("%s: %v, want %v to %v", c.what, c.got, c.least, c.most)
		}
	}
}

// A profile depends on its number and the seed alone, and the store accepts it.
func TestFleet_Profiles(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	f, again, other := New(1), New(1), New(2)
	again.Profile(3, at)
	if !reflect.DeepEqual(f.Profile(7, at), again.Profile(7, at)) {
		t.Error("two runs differ")
	}
	if reflect.DeepEqual(f.Profile(7, at), other.Profile(7, at)) {
		t.Error("another seed makes the same")
	}
	store, err := columnstore.Open(columnstore.Options{FutureLimit: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	table, err := store.CreateTable("profiles", profile.Schema(15*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for n := range 50 {
		b := f.Profile(n, at)
		rows += b.Rows
		if _, err := table.Insert(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	if got := store.Stats().Rows; got != int64(rows) {
		t.Errorf("%d rows, want %d", got, rows)
	}
}
