package columnstore

import (
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/dictionaries"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/txn"
)

// Tx is a transaction. Its inserts into tables and its states of histories become visible together or not
// at all (C1). It belongs to one goroutine. Its rows count in the memory budget until Commit or Abort.
type Tx struct {
	store     *Store
	ticket    txn.Ticket[*catalog.Database]
	pieces    []piece
	one       [1]piece                          // room for pieces: most transactions have one
	pins      []*dictionaries.DurableGeneration // dictionaries of the pieces, which stay in memory
	onePin    [1]*dictionaries.DurableGeneration
	due       [1]dueGranule // room for the granules that the commit makes due
	notes     []tableNote
	trimmed   *Table // the commit drops its rows before trimmedTo; nil for no drop
	trimmedTo int64
	forDisk   bool  // the drop is for the disk budget
	latest    int64 // the latest time from which retention counts
	bytes     int64 // pending bytes of the pieces and of new buckets
	histories []historyWrite
	log       disk.Prepared // during Commit
}

// Begin starts a transaction. It costs one allocation and holds nothing before the first
// Insert. After that, Commit or Abort must end it: until then its rows count in the memory
// budget.
func (s *Store) Begin() *Tx {
	tx := &Tx{store: s}
	s.roots.Start(&tx.ticket)
	return tx
}

// piece is a part on its way into a table.
type piece struct {
	table *Table
	catalog.Placement
}

// tableNote is a text that the commit adds to a table's notes.
type tableNote struct {
	table *Table
	text  string
}

// Note adds a text to the notes of a table with the transaction. A note is a fact about a table that no
// row holds, for the layer above. A text that the table has already is not added again. Notes are never
// evicted. Commit returns ErrLimit for a text over 64 KiB, or if the table would have more than 1,024
// notes or more than 1 MiB of notes, or a sixteenth of the memory budget if that is less.
func (tx *Tx) Note(t *Table, text string) { tx.notes = append(tx.notes, tableNote{t, text}) }
