package columnstore

import (
	"errors"
	"strings"
	"testing"

	"github.com/granarydb/granary/schema"
)

// A note that is too long, or on a table of another store, fails its transaction, with the other notes of it.
func TestNotes_Errors(t *testing.T) {
	store, table := open(t, Options{}, samples(0))
	elsewhere, stranger := open(t, Options{}, samples(0))
	for name, test := range map[string]struct {
		store *Store
		text  string
		want  error
	}{
		"too long":         {store, strings.Repeat("x", schema.MaxString+1), ErrLimit},
		"of another store": {elsewhere, "text", ErrTable},
	} {
		tx := test.store.Begin()
		own := map[*Store]*Table{store: table, elsewhere: stranger}[test.store]
		tx.Note(own, "before")
		tx.Note(table, test.text)
		if _, err := tx.Commit(); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
		if notes, err := own.Notes(snapshot(t, test.store)); len(notes) > 0 || err != nil {
			t.Errorf("%s: notes %q, %v", name, notes, err)
		}
	}
}
