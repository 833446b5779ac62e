package columnstore

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/entries"
	"github.com/granarydb/granary/internal/files"
	"github.com/granarydb/granary/txn"
)

// recovery replays an earlier run's log into a store that is not in use yet. It is the visitor of an
// entries.Walk.
//
// It repeats the decisions of that run: buckets are cut and dropped where they were, whatever the
// options, the clock and the memory are now. The granules can differ, because their limits are options,
// so recovery routes parts by key.
type recovery struct {
	store     *Store
	tables    []*Table             // by ordinal
	edits     []*catalog.TableEdit // by ordinal; nil if the batch does not change the table
	histories []*History           // by ordinal
	views     []*history.View      // by ordinal; nil if the batch does not change the history
	batch     struct {
		commits, bytes int
	}
	parts  granule.PartReader
	commit txn.ID // the last one
}

// A batch of commits is published as one root, because a root for each commit would take half of the
// time.
const (
	batchCommits = 1000
	batchBytes   = 4 << 20
)

// load loads a manifest's files.
func (r *recovery) load(files *files.Dir, m *files.Manifest) error {
	for ordinal := range m.Tables {
		if err := r.loadTable(&m.Tables[ordinal], ordinal); err != nil {
			return fmt.Errorf("table %q: %w", m.Tables[ordinal].Name, err)
		}
	}
	for ordinal, f := range m.Histories {
		image, err := files.ReadStates(f.File)
		if err == nil {
			err = r.addHistory(entries.HistoryEntry{Ordinal: ordinal, Name: f.Name, MaxAttributes: f.MaxAttributes}, image)
		}
		if err != nil {
			return fmt.Errorf("history %q: %w", f.Name, err)
		}
	}
	r.commit = txn.ID(m.Commit)
	r.publishAs(r.commit)
	return nil
}

// loadTable loads a table. Its rows and dictionaries stay in their files.
func (r *recovery) loadTable(f *files.TableFiles, ordinal int) error {
	t, err := r.addTable(entries.TableEntry{Ordinal: ordinal, Name: f.Name, Ranges: f.Ranges, Definition: f.Definition})
	if err != nil {
		return fmt.Errorf("%w: %w", files.ErrFile, err)
	}
	if err := r.edit(t).Resume(f.State); err != nil {
		return err
	}
	t.setFiles(f)
	edit := r.edit(t)
	for _, b := range f.Buckets {
		state, err := t.stored.OpenBucket(b, t.generationOf(b.Start))
		if err != nil {
			return err
		}
		edit.LoadCold(state)
	}
	r.publishAs(0)
	return nil
}

// edit returns the batch's edit of a table.
func (r *recovery) edit(t *Table) *catalog.TableEdit {
	if r.edits[t.ordinal] == nil {
		r.edits[t.ordinal] = t.state().Edit(t.ordinal)
	}
	return r.edits[t.ordinal]
}

// repeatLog replays a log to its end.
func (r *recovery) repeatLog(w *entries.Walk, log *disk.Reader) error {
	for {
		_, err := w.Next(log)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("recover after commit %d: %w", r.commit, err)
		}
	}
	r.publish()
	for _, t := range r.tables {
		for _, g := range t.generations.All() {
			g.Prepare() // queries search them, and cannot reserve memory
			t.generations.Count(g)
		}
	}
	for _, h := range r.histories {
		h.replays = false
	}
	r.store.memory.fit()
	return nil
}

// AddTable creates a table.
func (r *recovery) AddTable(e entries.TableEntry) error {
	r.publish() // an older edit would remove the new table
	_, err := r.addTable(e)
	return err
}

func (r *recovery) addTable(e entries.TableEntry) (*Table, error) {
	t, err := r.store.addTable(e, &disk.Prepared{})
	if err == nil {
		r.tables, r.edits = append(r.tables, t), append(r.edits, nil)
	}
	return t, err
}

// AddHistory creates a history.
func (r *recovery) AddHistory(e entries.HistoryEntry) error { return r.addHistory(e, nil) }

// addHistory adds a history, from image unless that is nil.
func (r *recovery) addHistory(e entries.HistoryEntry, image []byte) error {
	h, err := r.store.addHistory(e, image, &disk.Prepared{})
	if err == nil {
		r.histories, r.views = append(r.histories, h), append(r.views, nil)
	}
	return err
}

// Extend adds entries to a generation's dictionaries, unless the files have them or the generation is
// dropped.
func (r *recovery) Extend(e entries.Extension) error {
	t := r.tables[e.Table]
	if e.Number <= t.generations.Files(e.Generation).Entries { // the files have it
		return nil
	}
	g, kept, err := t.generations.Acquire(e.Generation)
	if err != nil || !kept {
		return err
	}
	defer t.generations.Count(g)
	return g.Repeat(t.schema, e.Number, e.Image, e.Version)
}

// Rows adds the rows of a commit to one table, and repeats the decisions about its buckets.
func (r *recovery) Rows(e disk.Entry, w *entries.TableContents) error {
	t := r.tables[w.Ordinal]
	edit := r.edit(t)
	for _, p := range w.Parts {
		if err := r.addPart(t, edit, p, e); err != nil {
			return err
		}
	}
	for _, note := range w.Notes {
		if err := edit.Note(note, 0); err != nil {
			return err
		}
	}
	edit.Follow(w.Decided, r.store.opts.GranuleRows)
	return nil
}

// States replays the writes of a commit to one history, including drops.
func (r *recovery) States(w entries.StatesWrites) error {
	view, err := r.histories[w.Ordinal].states.Replay(w.Journal)
	if err == nil {
		r.views[w.Ordinal] = view
	}
	return err
}

// Units seals and drops a commit's units.
func (r *recovery) Units(w entries.UnitsContents) error {
	r.edit(r.tables[w.Table]).ChangeUnits(w.Change)
	return nil
}

// Committed counts a commit, and publishes the batch when it is large.
func (r *recovery) Committed(e disk.Entry) {
	r.commit = txn.ID(e.Commit)
	r.batch.bytes += len(e.Body)
	if r.batch.commits++; r.batch.commits >= batchCommits || r.batch.bytes >= batchBytes {
		r.publish()
	}
}

// addPart adds a part, unless its time range was dropped by a later commit whose floor the manifest has.
func (r *recovery) addPart(t *Table, edit *catalog.TableEdit, p entries.PartImage, e disk.Entry) error {
	if p.Bucket < edit.Floor() {
		return nil
	}
	g, kept, err := t.generations.Acquire(t.generationOf(p.Bucket))
	if err != nil || !kept {
		return err
	}
	r.parts.Schema, r.parts.Generation, r.parts.Codes, r.parts.Late = t.schema, g.Generation, g.Watermark(), edit.IsLate(p.Bucket)
	// Clone the image, because a part keeps its bytes alive, and the reader's buffer has a whole segment.
	part, err := r.parts.Read(p.Bucket, bytes.Clone(p.Image))
	if err != nil {
		return err
	}
	part.Stamp(e.Begin, e.Commit)
	edit.Restore(part)
	return nil
}

// publish publishes the batch, and runs maintenance as far as memory requires it.
func (r *recovery) publish() { r.publishAs(r.commit) }

// publishAs publishes the batch as the root of commit.
func (r *recovery) publishAs(commit txn.ID) {
	s := r.store
	var due []dueGranule
	if slices.ContainsFunc(r.edits, func(e *catalog.TableEdit) bool { return e != nil }) || commit > s.roots.Root().Commit {
		s.roots.Replay(commit, func(current *txn.Root[*catalog.Database]) txn.Next[*catalog.Database] {
			next := txn.Next[*catalog.Database]{State: current.State}
			for ordinal, edit := range r.edits {
				if edit == nil {
					continue
				}
				due = s.maintainer.appendDue(due, r.tables[ordinal], edit)
				r.tables[ordinal].finish(edit, current.Version+1, &next)
				edit.Release()
				r.edits[ordinal] = nil
			}
			for ordinal, view := range r.views {
				if view != nil {
					next.State = next.State.ReplaceHistory(ordinal, view)
					r.histories[ordinal].count()
					r.views[ordinal] = nil
				}
			}
			return next
		})
	}
	r.batch.commits, r.batch.bytes = 0, 0
	s.maintainer.queue.add(due)
	s.memory.fit()
}

// fit brings the store within its budget as far as possible. Rows of the log are in no file yet, they can
// take more memory in granules of another size, and the budget may be smaller than in the earlier run.
// The store is open afterwards in any case: inserts wait for files, or return ErrMemory.
func (a *account) fit() {
	for a.isTight() && a.store.maintainer.step() {
	}
	_ = a.reserve(0, incoming{})
}
