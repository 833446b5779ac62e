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

// recovery repeats the log of an earlier run in a store that nobody uses yet. It decides nothing
// that the run decided: buckets are cut and dropped where they were, whatever the options, the
// clock and the memory are now. Granules are those of now, so parts are routed by key.
type recovery struct {
	store     *Store
	tables    []*Table             // by ordinal
	edits     []*catalog.TableEdit // by ordinal; nil for tables that the batch leaves as they are
	histories []*History           // by ordinal
	views     []*history.View      // by ordinal; nil for histories that the batch leaves as they are
	batch     struct {
		commits, bytes int
	}
	parts  granule.PartReader
	commit txn.ID // the last one
	filed  uint64 // commits up to this one are in files
}

// A batch of commits is published as one root: a root for each would cost half of the time.
const (
	batchCommits = 1000
	batchBytes   = 4 << 20
)

// load brings back the files of a manifest.
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
	r.commit, r.filed = txn.ID(m.Commit), m.Commit
	r.publishAs(r.commit)
	return nil
}

// loadTable brings back a table. Its rows and dictionaries stay in their files.
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

// edit returns the edit of a table in the batch.
func (r *recovery) edit(t *Table) *catalog.TableEdit {
	if r.edits[t.ordinal] == nil {
		r.edits[t.ordinal] = t.state().Edit(t.ordinal)
	}
	return r.edits[t.ordinal]
}

// repeatLog repeats a log up to its end.
func (r *recovery) repeatLog(log *disk.Reader) error {
	for {
		e, err := log.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = r.repeat(e)
		}
		if err != nil {
			return fmt.Errorf("recover after commit %d: %w", r.commit, err)
		}
	}
	r.publish()
	for _, t := range r.tables {
		for _, g := range t.generations.All() {
			g.Prepare() // queries search them, and have no account
			t.generations.Count(g)
		}
	}
	for _, h := range r.histories {
		h.replays = false
	}
	r.store.fit()
	return nil
}

// repeat repeats an entry.
func (r *recovery) repeat(e disk.Entry) error {
	switch e.Kind {
	case entries.EntryTable:
		return r.createTable(e.Body)
	case entries.EntryDicts:
		return r.extend(e.Body)
	case entries.EntryCommit:
		return r.again(e, r.repeatCommit)
	case entries.EntryHistory:
		return r.createHistory(e.Body)
	case entries.EntryUnits:
		return r.again(e, r.repeatUnits)
	}
	return fmt.Errorf("%w: kind %d", entries.ErrEntry, e.Kind)
}

// createTable creates a table.
func (r *recovery) createTable(body []byte) error {
	e, known, err := entries.ReadTable(body, len(r.tables), func(i int) string { return r.tables[i].name })
	if known || err != nil {
		return err
	}
	r.publish() // an edit would put back the tables of before
	if _, err := r.addTable(e); err != nil {
		return fmt.Errorf("%w: %w", entries.ErrEntry, err)
	}
	return nil
}

// addTable adds a table.
func (r *recovery) addTable(e entries.TableEntry) (*Table, error) {
	t, err := r.store.addTable(e, &disk.Prepared{})
	if err == nil {
		r.tables, r.edits = append(r.tables, t), append(r.edits, nil)
	}
	return t, err
}

// createHistory creates a history.
func (r *recovery) createHistory(body []byte) error {
	e, known, err := entries.ReadHistory(body, len(r.histories), func(i int) string { return r.histories[i].name })
	if known || err != nil {
		return err
	}
	if err := r.addHistory(e, nil); err != nil {
		return fmt.Errorf("%w: %w", entries.ErrEntry, err)
	}
	return nil
}

// addHistory adds a history, of an image if there is one.
func (r *recovery) addHistory(e entries.HistoryEntry, image []byte) error {
	h, err := r.store.addHistory(e, image, &disk.Prepared{})
	if err == nil {
		r.histories, r.views = append(r.histories, h), append(r.views, nil)
	}
	return err
}

// extend adds entries to the dictionaries of a generation, unless it was dropped later in the
// earlier run and is dropped already.
func (r *recovery) extend(body []byte) error {
	table, number, entry, image, ok := entries.CutDictsHead(body)
	if !ok || table >= uint64(len(r.tables)) {
		return fmt.Errorf("%w: %d bytes for dictionaries of table %d of %d", entries.ErrEntry, len(body), table, len(r.tables))
	}
	t := r.tables[table]
	if entry <= t.generations.Files(number).Entries { // the files have it
		return nil
	}
	g, kept, err := t.generations.Acquire(number)
	if err != nil || !kept {
		return err
	}
	defer t.generations.Count(g)
	if err := g.Repeat(t.schema, entry, image); err != nil {
		return fmt.Errorf("table %q, generation %d: %w", t.name, number, err)
	}
	return nil
}

// again repeats a commit by do, unless the files have it. It is an error if the commit is not behind the last.
func (r *recovery) again(e disk.Entry, do func(disk.Entry) error) error {
	switch {
	case e.Commit <= r.filed:
		return nil
	case txn.ID(e.Commit) <= r.commit:
		return fmt.Errorf("%w: commit %d", entries.ErrEntry, e.Commit)
	}
	if err := do(e); err != nil {
		return err
	}
	r.commit = txn.ID(e.Commit)
	r.batch.bytes += len(e.Body)
	if r.batch.commits++; r.batch.commits >= batchCommits || r.batch.bytes >= batchBytes {
		r.publish()
	}
	return nil
}

// repeatCommit adds the rows of a commit, and does what it decided.
func (r *recovery) repeatCommit(e disk.Entry) error {
	w, err := entries.CommitEntry(e.Body).Read()
	if err != nil {
		return err
	}
	for i := range w.Tables {
		if err := r.repeatTable(&w.Tables[i], e); err != nil {
			return err
		}
	}
	for _, j := range w.Histories {
		if err := r.repeatStates(j); err != nil {
			return err
		}
	}
	return nil
}

// repeatUnits seals and drops the units of a commit.
func (r *recovery) repeatUnits(e disk.Entry) error {
	table, change, err := entries.ReadUnits(e.Body)
	if err == nil && (table >= len(r.tables) || r.tables[table].schema.BucketWidth() == 0) {
		err = fmt.Errorf("%w: units of table %d of %d", entries.ErrEntry, table, len(r.tables))
	}
	if err != nil {
		return err
	}
	r.edit(r.tables[table]).ChangeUnits(change)
	return nil
}

// repeatTable repeats the part of a commit in one table.
func (r *recovery) repeatTable(w *entries.TableContents, e disk.Entry) error {
	if w.Ordinal >= len(r.tables) {
		return fmt.Errorf("%w: table %d of %d", entries.ErrEntry, w.Ordinal, len(r.tables))
	}
	t := r.tables[w.Ordinal]
	edit := r.edit(t)
	for _, p := range w.Parts {
		if err := r.addPart(t, edit, p, e); err != nil {
			return fmt.Errorf("table %q: %w", t.name, err)
		}
	}
	for _, note := range w.Notes {
		if err := edit.Note(note, 0); err != nil {
			return fmt.Errorf("table %q: %w", t.name, err)
		}
	}
	edit.Follow(w.Decided, r.store.opts.GranuleRows)
	return nil
}

// repeatStates repeats the part of a commit in one history, drops included.
func (r *recovery) repeatStates(j entries.StatesWrites) error {
	if j.Ordinal >= len(r.histories) {
		return fmt.Errorf("%w: history %d of %d", entries.ErrEntry, j.Ordinal, len(r.histories))
	}
	h := r.histories[j.Ordinal]
	view, err := h.states.Replay(j.Journal)
	if err != nil {
		return fmt.Errorf("history %q: %w", h.name, err)
	}
	r.views[j.Ordinal] = view
	return nil
}

// addPart adds a part, unless it is of a time range that a later commit dropped: the manifest can
// have the floor of that commit.
func (r *recovery) addPart(t *Table, edit *catalog.TableEdit, p entries.PartImage, e disk.Entry) error {
	if p.Bucket < edit.Floor() {
		return nil
	}
	g, kept, err := t.generations.Acquire(t.generationOf(p.Bucket))
	if err != nil || !kept {
		return err
	}
	r.parts.Schema, r.parts.Generation, r.parts.Codes, r.parts.Late = t.schema, g.Generation, g.Watermark(), edit.IsLate(p.Bucket)
	// The part keeps its bytes alive. In those of the reader it would keep all of a segment.
	part, err := r.parts.Read(p.Bucket, bytes.Clone(p.Image))
	if err != nil {
		return err
	}
	part.Stamp(e.Begin, e.Commit)
	edit.Restore(part)
	return nil
}

// publish publishes the batch, and lets maintenance catch up as far as memory requires it.
func (r *recovery) publish() { r.publishAs(r.commit) }

// publishAs publishes the batch as the root of a commit.
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
				due = s.appendDue(due, r.tables[ordinal], edit)
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
	s.queue.Add(due)
	s.fit()
}

// fit brings the store within its budget, as far as it can: rows of the log are in no file yet. In
// granules of another size they can take more than in those of the earlier run, and the budget may be
// smaller now. The store is open then, and inserts wait for files, or get ErrMemory.
func (s *Store) fit() {
	for s.isTight() && s.maintainOnce() {
	}
	_ = s.reserve(0, incoming{})
}
