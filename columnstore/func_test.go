package columnstore

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/granarydb/granary/schema"
)

// Notes come with their transaction, once each, and stay in its snapshots.
func TestNotes(t *testing.T) {
	store, table := open(t, Options{}, samples(0))
	note := func(texts ...string) error {
		tx := store.Begin()
		for _, text := range texts {
			tx.Note(table, text)
		}
		_, err := tx.Commit()
		return err
	}
	notes := func(snap *Snapshot) []string {
		out, err := table.Notes(snap)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if err := note("b", "a", "b"); err != nil {
		t.Fatal(err)
	}
	old, err := store.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	aborted := store.Begin()
	aborted.Note(table, "never")
	aborted.Abort()
	if err := note("a", "c"); err != nil {
		t.Fatal(err)
	}
	if err := note("d", strings.Repeat("x", schema.MaxString+1)); !errors.Is(err, ErrLimit) {
		t.Errorf("a long note: %v", err)
	}
	now, err := store.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer now.Close()
	if got := notes(old); !slices.Equal(got, []string{"b", "a"}) {
		t.Errorf("the old snapshot has notes %v", got)
	}
	if got := notes(now); !slices.Equal(got, []string{"b", "a", "c"}) {
		t.Errorf("the new snapshot has notes %v", got)
	}
	elsewhere, _ := open(t, Options{}, samples(0))
	foreign := elsewhere.Begin()
	foreign.Note(table, "of another store")
	if _, err := foreign.Commit(); !errors.Is(err, ErrTable) {
		t.Errorf("a note on a table of another store: %v", err)
	}
	for i := range 1024 - 3 {
		if err := note(fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := note("one too many"); !errors.Is(err, ErrLimit) {
		t.Errorf("note %d: %v", 1024+1, err)
	}
}
