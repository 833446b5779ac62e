package columnstore

import (
	"context"
	"errors"
	"weak"

	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/cold"
	"github.com/granarydb/granary/internal/files"
	"github.com/granarydb/granary/txn"
)

// flush is one run of the flusher. It writes the buckets that got rows since the last run and the new
// entries of dictionaries, then a manifest that names these files and the older files that are still
// good. All files belong to one root. The log is then needed only from the segment that was newest before
// the flush took this root.
type flush struct {
	store *Store
	next  *files.Manifest
	to    *cold.Writer
	views []*history.View // by ordinal; nil for a history that was not written
}

// flush writes everything committed into files, and removes segments and files that are not needed any
// more. The caller holds flusher.flushing. The errors are ErrDisk, ErrMemory, ErrSnapshotExpired, and
// ctx's error. After an error the files are as before.
func (fl *flusher) flush(ctx context.Context) error { return fl.flushInSteps(ctx, false) }

// flushInSteps is flush. If inSteps is true, it ends with cold.ErrPause after many files: they become
// durable while no root is held, and the next call goes on.
func (fl *flusher) flushInSteps(ctx context.Context, inSteps bool) (err error) {
	defer func() {
		if !errors.Is(err, cold.ErrPause) && (!inSteps || !errors.Is(err, ErrSnapshotExpired)) { // the next run goes on
			fl.failing.Store(&err)
		}
	}()
	if fl.space != nil && fl.partial == nil {
		_ = fl.makeSpace(nil, true) // otherwise the files may find no space
	}
	logged, erased := fl.logged.Load(), fl.erased.Load()
	if err := fl.begin(); err != nil {
		return err
	}
	f := fl.newFlush(inSteps)
	switch err := f.write(ctx); {
	case errors.Is(err, ErrSnapshotExpired), errors.Is(err, cold.ErrPause):
		fl.begun = 0
		return err // the next run goes on with the files of whole buckets
	case err != nil:
		fl.discard()
		return err
	}
	fl.store.opts.Yield("file/manifest")
	if err := fl.dir.WriteManifest(f.next); err != nil {
		fl.partial = nil
		return err // the manifest can be durable despite the error; then its files stay
	}
	fl.manifest, fl.partial, fl.begun = f.next, nil, 0
	f.publish()
	for i, h := range fl.store.Histories()[:len(f.views)] {
		if f.views[i] != nil {
			h.filed = weak.Make(f.views[i])
		}
	}
	fl.logged.Add(-logged)
	fl.erased.Add(-erased)
	fl.bindLog(max(fl.store.opts.LogBytes, f.to.Bytes))
	fl.store.memory.cool()
	fl.store.opts.Yield("file/clean")
	if err := fl.clean(); err != nil {
		return err
	}
	return fl.trimTables()
}

// bindLog sets the bound of the log, which is at most a quarter of the disk budget.
func (fl *flusher) bindLog(bytes int64) {
	if most := fl.space.Most(); most > 0 {
		bytes = min(bytes, most/4)
	}
	fl.bound.Store(bytes)
}

// toWrite estimates the bytes that a flush would write: rows that no file has, at perRow bytes each, and
// everything else.
func (fl *flusher) toWrite(perRow float64) (rowBytes, other int64) {
	root := fl.store.roots.Root().State
	rows, other := cold.Unfiled(root, fl.manifest)
	for i, h := range fl.store.Histories()[:len(root.Histories)] {
		if h.filed.Value() != root.Histories[i] {
			other += h.states.Size()
		}
	}
	return int64(perRow * float64(rows)), other
}

// newFlush returns a run. If steps is true, the run ends with cold.ErrPause after many files.
func (fl *flusher) newFlush(steps bool) *flush {
	if fl.partial == nil {
		fl.partial = cold.Partial{}
	}
	f := &flush{store: fl.store, next: &files.Manifest{Segment: fl.begun}}
	f.to = &cold.Writer{
		Dir: fl.dir, Partial: fl.partial, Small: fl.store.opts.smallBucket, Image: fl.store.opts.imageBytes, Steps: steps,
		Limit:   granule.Limit{Rows: fl.store.opts.GranuleRows, Bytes: fl.store.opts.GranuleBytes},
		Reserve: f.reserve, Release: f.release, Yield: fl.store.opts.Yield,
	}
	return f
}

// publish makes the new files visible to queries and to eviction.
func (f *flush) publish() {
	for i, t := range f.store.Tables()[:len(f.next.Tables)] {
		t.setFiles(&f.next.Tables[i])
	}
	f.to.Publish()
	f.store.awaitCommit() // a commit in progress can unload by the earlier files
}

// setFiles makes the files of a manifest visible to queries.
func (t *Table) setFiles(files *files.TableFiles) {
	t.generations.SetFiles(files.Generations)
	t.files.Store(files)
}

// write writes the files of the manifest and completes the manifest.
func (f *flush) write(ctx context.Context) error {
	s := f.store
	if err := f.files(ctx); err != nil {
		return err
	}
	for i, t := range s.Tables()[:len(f.next.Tables)] { // the root is closed by now: the dictionaries have all of its codes
		if err := f.to.Dictionaries(ctx, t.stored, s.flusher.manifest.Table(t.ordinal), &f.next.Tables[i]); err != nil {
			return err
		}
	}
	// The log first (D3): after a crash the log must have all earlier commits than the files. An eviction
	// or a retention drops dictionaries before it publishes the floor.
	s.awaitCommit()
	last := s.roots.Root()
	if err := s.log.Sync(ctx, uint64(last.Commit)); err != nil {
		return err
	}
	for i, t := range s.Tables()[:len(f.next.Tables)] {
		floor := last.State.Tables[i].Floor
		cold.RaiseFloor(&f.next.Tables[i], floor, t.generationOf(floor))
	}
	return nil
}

// files writes the files of the current root.
func (f *flush) files(ctx context.Context) error {
	s := f.store
	var root txn.Handle[*catalog.Database]
	root.Take(s.roots)
	defer root.Close()
	use, err := root.Use()
	if err != nil {
		return err
	}
	defer use.Done()
	f.next.Commit = uint64(root.Commit())
	f.to.Commit = f.next.Commit
	s.opts.Yield("file/root")
	for _, t := range s.Tables()[:len(use.State.Tables)] {
		out := files.TableFiles{Name: t.name, Ranges: t.ranges.Count, Definition: t.definition, State: use.State.Table(t.ordinal).Save()}
		if err := f.to.Table(ctx, t.stored, t.ordinal, use, s.flusher.manifest.Table(t.ordinal), &out); err != nil {
			return err
		}
		f.next.Tables = append(f.next.Tables, out)
	}
	for i, h := range s.Histories()[:len(use.State.Histories)] {
		if err := f.history(h, use.State.Histories[i]); err != nil {
			return err
		}
	}
	return nil
}

// history writes a history's file, unless the file of the last run has the same view.
func (f *flush) history(h *History, view *history.View) error {
	s := f.store
	next := files.HistoryFiles{Name: h.name, MaxAttributes: h.most}
	if before := s.flusher.manifest.History(h.ordinal); before != nil && h.filed.Value() == view {
		f.next.Histories, f.views = append(f.next.Histories, *before), append(f.views, nil)
		return nil
	}
	bytes := h.states.Size() // an image copies the texts
	if err := f.reserve(bytes); err != nil {
		return err
	}
	defer f.release(bytes)
	var size int64
	var err error
	if next.File, size, err = f.to.Dir.WriteStates(view.WriteImage); err != nil {
		return err
	}
	f.next.Histories, f.views = append(f.next.Histories, next), append(f.views, view)
	f.to.Bytes += size
	s.opts.Yield("file/states")
	return nil
}

// filingShare is the share of the memory budget that is kept for the piece that a flush is writing. Without it
// inserts could take the last bytes, and files, which make room, could never be written.
const filingShare = 16

// reserve reserves memory for a piece of a file. The room for filing is used first, and counted at all times.
// A larger piece may use the whole budget, because files make room. A flush has one piece at a time.
func (f *flush) reserve(bytes int64) error {
	bytes -= f.store.memory.filing.Load()
	if bytes <= 0 {
		return nil
	}
	err := f.store.memory.reserve(bytes, incoming{later: true})
	if err != nil && f.store.memory.reserveAtOnce(bytes) {
		return nil
	}
	return err
}

// release gives back the bytes of reserve.
func (f *flush) release(bytes int64) {
	f.store.memory.release(max(0, bytes-f.store.memory.filing.Load()))
}
