package columnstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/entries"
	"github.com/granarydb/granary/txn"
)

// The log of a store with a directory has the commits ordered by id. Before a commit it has the
// dictionary entries that the commit's codes stand for. Recovery replays both (recover.go).
//
// A commit is logged in three steps. Before the commit lock it logs new dictionary entries, makes its own
// entry, and waits for room in the log's queue. Under the lock, where the root is published, it only
// appends the entry, because entries must be in commit order. After the lock it waits as the policy
// demands (disk.SyncPolicy).

// errCrowded is returned if the directory has no space for an entry, because other entries, or earlier
// ones of the same transaction, took it.
var errCrowded = errors.New("directory is crowded")

// prepare returns an entry that has room in the log. It waits for that room. An entry that makes space on
// the disk is urgent. The errors are ErrClosed, errCrowded, and the errors of disk.Log.Reserve.
func (s *Store) prepare(kind uint32, body []byte, urgent bool) (disk.Prepared, error) {
	p, err := s.log.Prepare(kind, body, urgent, &s.flusher.logged)
	if errors.Is(err, disk.ErrClosed) {
		err = ErrClosed
	}
	if full := s.flusher.space.Full(refuseAt); full != nil && err == nil && !urgent {
		p.Done()
		err = fmt.Errorf("%w: %w", errCrowded, full)
	}
	if err != nil {
		err = fmt.Errorf("log: %w", err)
	}
	return p, err
}

// Sync returns when everything committed before the call is durable, whatever Options.Sync is. It returns
// at once without a directory. The errors are ctx's error, ErrNotDurable, and disk.ErrClosed after a
// Close that lost commits. Concurrent calls share a sync of the log.
func (s *Store) Sync(ctx context.Context) error {
	if s.log == nil {
		return nil
	}
	return s.log.Sync(ctx, math.MaxUint64)
}

// prepareNew returns the entry e of a new table or history.
func (s *Store) prepareNew(kind uint32, name string, e any) (disk.Prepared, error) {
	if !utf8.ValidString(name) {
		return disk.Prepared{}, fmt.Errorf("%w: name %q is not UTF-8", ErrTable, name)
	}
	if s.opts.ReadOnly {
		return disk.Prepared{}, ErrReadOnly
	}
	if s.log == nil {
		return disk.Prepared{}, nil
	}
	body, err := json.Marshal(e)
	if err == nil {
		err = s.flusher.awaitSpace(nil)
	}
	if err != nil {
		return disk.Prepared{}, fmt.Errorf("create %q: %w", name, err)
	}
	return s.prepare(kind, body, false)
}

// prepareLog makes the commit's entry, without its decisions, after it logged the dictionary entries that
// must be in the log before. The tables are in the order of the transaction's pieces, notes and trimmed
// table. The writes to histories have ended.
func (tx *Tx) prepareLog() error {
	if tx.store.log == nil {
		return nil
	}
	for {
		if tx.trimmed == nil { // otherwise it makes space
			if err := tx.store.flusher.awaitSpace(tx); err != nil {
				return err
			}
		}
		if err := tx.logEntries(); !errors.Is(err, errCrowded) {
			return err
		}
	}
}

// logEntries is prepareLog without the wait for space.
func (tx *Tx) logEntries() (err error) {
	writes := make([]entries.TableWrites, 0, 2)
	of := func(t *Table) *entries.TableWrites {
		i := slices.IndexFunc(writes, func(w entries.TableWrites) bool { return w.Ordinal == t.ordinal })
		if i < 0 {
			i, writes = len(writes), append(writes, entries.TableWrites{Ordinal: t.ordinal, Schema: t.schema})
		}
		return &writes[i]
	}
	for i := range tx.pieces {
		p := &tx.pieces[i]
		if err := p.table.logDicts(p.table.generationOf(p.Bucket)); err != nil {
			return err
		}
		w := of(p.table)
		w.Parts = append(w.Parts, p.Part)
	}
	for _, n := range tx.notes {
		w := of(n.table)
		w.Notes = append(w.Notes, n.text)
	}
	if tx.trimmed != nil {
		of(tx.trimmed)
	}
	var states []entries.StatesWrites
	for i := range tx.histories {
		if journal := tx.histories[i].tx.Journal(); journal != nil {
			states = append(states, entries.StatesWrites{Ordinal: tx.histories[i].history.ordinal, Journal: journal})
		}
	}
	tx.log, err = tx.store.prepare(entries.EntryCommit, entries.NewCommit(writes, states), tx.trimmed != nil)
	return err
}

// logDicts logs the new dictionary entries of generation number, in images of about Options.imageBytes.
// It does nothing for a dropped generation, because no commit has codes of it any more.
func (t *Table) logDicts(number int64) error {
	g := t.generations.Find(number)
	if g == nil {
		return nil
	}
	return g.LogImages(t.ordinal, int(t.store.opts.imageBytes), func(body []byte) error {
		w, err := t.store.prepare(entries.EntryDicts, body, false)
		if err == nil {
			w.Append(0, 0)
		}
		return err
	})
}

// awaitCommit waits for the commit or rewrite that is being published, if any.
func (s *Store) awaitCommit() {
	s.roots.Rewrite(func(*txn.Root[*catalog.Database]) (next txn.Next[*catalog.Database], ok bool) { return next, false })
}
