package columnstore

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/entries"
	"github.com/granarydb/granary/txn"
)

// Commit makes the rows visible and returns the commit id. After an error no row is visible. It costs 1
// to 3 us for each granule that gets rows (go test -bench Commit), and copies the set of series or of
// column names if one is new. When the maintainer falls behind or memory gets short, Commit also does one
// due rewrite after the rows are visible. That takes some milliseconds.
//
// The errors are ErrTxDone; ErrClosed; ErrReadOnly; ErrTooOld if a bucket was dropped since its rows were
// inserted; ErrLimit and ErrMemory for notes. With a directory Commit also returns ErrDisk while the disk
// refuses to write, and with SyncEach ErrNotDurable. Only after ErrNotDurable are the rows visible, and
// the id is returned with it: the disk failed after the commit. The commit becomes durable when the disk
// works again, and must not be repeated.
func (tx *Tx) Commit() (txn.ID, error) {
	s := tx.store
	if s.opts.ReadOnly {
		tx.Abort()
		return 0, ErrReadOnly
	}
	s.opts.Yield("commit/start")
	notes, err := tx.reserveNotes()
	if err != nil {
		tx.Abort()
		return 0, err
	}
	defer s.memory.release(notes)
	for i := range tx.histories {
		tx.histories[i].trim()
	}
	defer tx.log.Done()
	id, due, err := tx.try()
	for errors.Is(err, errChanged) {
		tx.log.Done()
		if err = tx.reroute(); err == nil {
			id, due, err = tx.try()
		}
	}
	tx.ticket.Abort()
	tx.end()
	if err != nil {
		tx.endHistories()
		return 0, err
	}
	s.opts.Yield("commit/published")
	tx.endHistories()
	s.flusher.look(s.memory.isTight())
	s.maintainer.queue.add(due)
	if s.memory.isTight() || slices.ContainsFunc(due, func(d dueGranule) bool { return d.pressing }) {
		s.maintainer.help()
	}
	return id, tx.log.Wait()
}

// try logs and publishes the transaction. The error is errChanged if a piece's bucket is sealed.
func (tx *Tx) try() (id txn.ID, due []dueGranule, err error) {
	s := tx.store
	tx.latest = tx.latestRetained()
	if err := tx.prepareLog(); err != nil {
		return 0, nil, err
	}
	id, err = tx.ticket.Commit(func(commit txn.ID, current *txn.Root[*catalog.Database]) (next txn.Next[*catalog.Database], err error) {
		if s.closed.Load() {
			return next, ErrClosed
		}
		next, due, err = tx.publish(commit, current)
		for i := 0; i < len(tx.histories) && err == nil; i++ {
			err = tx.histories[i].publish(&next)
		}
		if err == nil { // nothing can fail any more
			tx.log.Append(uint64(tx.ticket.Begin()), uint64(commit))
		}
		return next, err
	})
	return id, due, err
}

// reserveNotes reserves the bytes of the new notes.
func (tx *Tx) reserveNotes() (bytes int64, err error) {
	for _, n := range tx.notes {
		if n.table.store == tx.store && !slices.Contains(n.table.state().Notes, n.text) {
			bytes += int64(len(n.text)) + catalog.NoteSize
		}
	}
	if bytes == 0 {
		return 0, nil
	}
	return bytes, tx.store.memory.reserve(bytes, incoming{})
}

// tableWrite is the edit of a table in a commit.
type tableWrite struct {
	table *Table
	edit  *catalog.TableEdit
}

// publish derives the root that has the transaction's rows and notes. The caller holds the
// commit lock.
func (tx *Tx) publish(commit txn.ID, current *txn.Root[*catalog.Database]) (next txn.Next[*catalog.Database], due []dueGranule, err error) {
	var few [4]tableWrite
	writes := few[:0]
	defer func() {
		for _, w := range writes {
			w.edit.Release()
		}
	}()
	edit := func(t *Table) *catalog.TableEdit {
		for _, w := range writes {
			if w.table == t {
				return w.edit
			}
		}
		e := current.State.Tables[t.ordinal].Edit(t.ordinal)
		writes = append(writes, tableWrite{t, e})
		return e
	}
	for i := range tx.pieces {
		p := &tx.pieces[i]
		e := edit(p.table)
		if !e.Takes(&p.Placement) {
			return next, nil, errChanged
		}
		if p.Bucket < e.Floor() {
			return next, nil, fmt.Errorf("table %q: %w", p.table.name, tooOld(p.Bucket, e.Floor()))
		}
		p.Part.Stamp(uint64(tx.ticket.Begin()), uint64(commit))
		e.Add(&p.Placement)
	}
	for _, n := range tx.notes {
		if n.table.store != tx.store {
			return next, nil, fmt.Errorf("%w: transaction and table %q are of different stores", ErrTable, n.table.name)
		}
		if err := edit(n.table).Note(n.text, tx.store.memory.share(1)); err != nil {
			return next, nil, fmt.Errorf("table %q: %w", n.table.name, err)
		}
	}
	if tx.trimmed != nil {
		e := edit(tx.trimmed)
		before := e.State.Dropped
		if e.DropBefore(tx.trimmedTo); tx.forDisk {
			tx.store.counters.diskDropped.Add(e.State.Dropped - before)
		}
		tx.store.flusher.stuck.Store(0)
	}
	next.State, due = current.State, tx.due[:0]
	for i, w := range writes {
		if d, entry := tx.decide(w), tx.log.Body(); entry != nil {
			entries.CommitEntry(entry).Decide(i, d)
		}
		due = tx.store.maintainer.appendDue(due, w.table, w.edit)
		w.table.finish(w.edit, current.Version+1, &next)
	}
	return next, due, nil
}

// decide drops, closes and cuts buckets in a table after its rows were added, and returns these
// decisions.
func (tx *Tx) decide(w tableWrite) catalog.Decisions {
	s, e := tx.store, w.edit
	e.Retain(int64(w.table.retention()), tx.latest)
	e.CloseBuckets()
	d := catalog.Decisions{Floor: e.Floor(), Cut: catalog.NoCut}
	if cut, ok := e.CutBucket(s.opts.BucketRows, s.opts.GranuleRows); ok {
		d.Cut = cut.Start
		if s.memory.reserveAtOnce(cut.Size()) {
			tx.bytes += cut.Size() // pending until the end of the commit
			e.Divide(&cut)
		}
	}
	return d
}

// latestRetained returns the latest time from which retention counts. It reads the clock before the commit lock is held, and only if
// a table has a retention.
func (tx *Tx) latestRetained() int64 {
	retains := tx.trimmed != nil && tx.trimmed.retention() > 0
	for i := 0; i < len(tx.pieces) && !retains; i++ {
		retains = tx.pieces[i].table.retention() > 0
	}
	for i := 0; i < len(tx.notes) && !retains; i++ {
		retains = tx.notes[i].table.retention() > 0
	}
	if !retains {
		return math.MaxInt64
	}
	limits := catalog.LimitTimes(tx.store.clock.settled().UnixNano(), tx.store.opts.FutureLimit, 0)
	return limits.Latest
}

// Abort drops the rows. They were never visible. After Commit or Abort it does nothing.
func (tx *Tx) Abort() {
	tx.ticket.Abort()
	tx.end()
	tx.endHistories()
}

// end releases the parts' reservation, because the root counts committed parts by now.
func (tx *Tx) end() {
	for _, g := range tx.pins {
		g.Unpin()
	}
	tx.pins, tx.onePin[0] = nil, nil
	tx.store.memory.release(tx.bytes)
	tx.pieces, tx.one[0], tx.notes, tx.bytes = nil, piece{}, nil, 0
}
