package entries

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/damaged"
)

// example returns a commit of two tables without rows, and two histories, and what is read of it.
func example() (CommitEntry, CommitContents) {
	e := NewCommit([]TableWrites{{Ordinal: 3, Notes: []string{"a", ""}}, {Ordinal: 0}},
		[]StatesWrites{{Ordinal: 1, Journal: []byte{1, 2, 3}}, {Ordinal: 300, Journal: []byte{}}})
	e.Decide(0, catalog.Decisions{Floor: 7, Cut: catalog.NoCut})
	e.Decide(1, catalog.Decisions{Floor: -7, Cut: 9})
	return e, CommitContents{
		Tables: []TableContents{
			{Ordinal: 3, Notes: []string{"a", ""}, Parts: []PartImage{}, Decided: catalog.Decisions{Floor: 7, Cut: catalog.NoCut}},
			{Ordinal: 0, Notes: []string{}, Parts: []PartImage{}, Decided: catalog.Decisions{Floor: -7, Cut: 9}},
		},
		Histories: []StatesWrites{{Ordinal: 1, Journal: []byte{1, 2, 3}}, {Ordinal: 300, Journal: []byte{}}},
	}
}

func TestCommit(t *testing.T) {
	e, want := example()
	got, err := e.Read()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if again := got.Entry(); !slices.Equal(again, e) {
		t.Errorf("what was read is the entry %x, it was %x", again, e)
	}
	w := TableWrites{Ordinal: 1}
	if n, err := NewCommit([]TableWrites{w}, nil).Read(); err != nil || len(n.Tables) != 1 || n.Histories != nil {
		t.Errorf("a commit of a table: %+v, %v", n, err)
	}
}

func TestExtension(t *testing.T) {
	body := append(DictsHead(1, -2, 3, 1), 4)
	if got, err := readExtension(body, granule.LocationCodes); err != nil || !cmp.Equal(got, Extension{1, -2, 3, []byte{4}, granule.LocationCodes}) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := readExtension(body[:dictsHead-1], granule.LocationCodes); !errors.Is(err, ErrEntry) {
		t.Errorf("a header of 23 bytes: %v", err)
	}
	if _, err := readExtension(DictsHead(-1, 0, 1, 0), granule.LocationCodes); !errors.Is(err, ErrEntry) {
		t.Errorf("table -1: %v", err)
	}
}

// TestCommit_RandomChanges reads changed entries, and bytes that never were one.
func TestCommit_RandomChanges(t *testing.T) {
	e, _ := example()
	images := []damaged.Image{{
		Name: "commit", Bytes: e, Bad: ErrEntry,
		Open: func(image []byte) (any, error) { return CommitEntry(image).Read() },
		Use:  func(*testing.T, any) {},
	}}
	damaged.RandomChanges(t, images)
	r := rand.New(rand.NewPCG(1, 1))
	for range 10_000 {
		b := make([]byte, r.IntN(40))
		for i := range b {
			b[i] = byte(r.Uint32() >> r.IntN(8))
		}
		if err := images[0].Try(t, b); err != nil && !errors.Is(err, ErrEntry) {
			t.Fatal(err)
		}
	}
}
