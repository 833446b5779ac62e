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

// filing is one run of the keeper. It writes the buckets that have got rows since the last one, and
// what dictionaries have new, then a manifest that names these files and those that are still good.
// All are of one root, so the log is needed only from the segment on that was the newest before
// this root was taken.
type filing struct {
	store *Store
	next  *files.Manifest
	to    *cold.Writer
	views []*history.View // of histories that were written, by ordinal; else nil
}

// file files all that is committed, and removes the segments and files that nobody needs any more.
// The caller holds keeper.filing. The errors are disk.ErrDisk, ErrMemory,
// ErrSnapshotExpired, and the error of ctx. After an error the files are as before.
func (s *Store) file(ctx context.Context) error { return s.fileInSteps(ctx, false) }

// fileInSteps is file. In steps, it ends with cold.ErrPause when many files have been written: they become
// durable while no root is held, and the next call goes on.
func (s *Store) fileInSteps(ctx context.Context, inSteps bool) (err error) {
	k := &s.keeper
	defer func() {
		if !errors.Is(err, cold.ErrPause) {
			k.failing.Store(&err)
		}
	}()
	if k.space != nil && k.partial == nil {
		_ = s.makeSpace(nil, true) // or the files find none
	}
	logged := k.logged.Load()
	if err := k.begin(s); err != nil {
		return err
	}
	f := s.newFiling(inSteps)
	switch err := f.write(ctx); {
	case errors.Is(err, ErrSnapshotExpired), errors.Is(err, cold.ErrPause):
		k.begun = 0
		return err // the next run goes on with the files of whole buckets
	case err != nil:
		k.discard()
		return err
	}
	s.opts.Yield("file/manifest")
	if err := k.dir.WriteManifest(f.next); err != nil {
		k.partial = nil
		return err // it can be durable all the same; then its files stay
	}
	k.manifest, k.partial, k.begun = f.next, nil, 0
	f.publish()
	for i, h := range s.Histories()[:len(f.views)] {
		if f.views[i] != nil {
			h.filed = weak.Make(f.views[i])
		}
	}
	k.logged.Add(-logged)
	k.bound.Store(s.opts.mostLogged(max(s.opts.LogBytes, f.to.Bytes)))
	s.cool()
	s.opts.Yield("file/clean")
	return k.clean(s)
}

// toWrite returns about the bytes of the files that a run would write of rows in no file, of so many bytes each, and of
// all else.
func (s *Store) toWrite(perRow float64) (loose, other int64) {
	root := s.roots.Root().State
	rows, other := cold.Unfiled(root, s.keeper.manifest)
	for i, h := range s.Histories()[:len(root.Histories)] {
		if h.filed.Value() != root.Histories[i] {
			other += h.states.Size()
		}
	}
	return int64(perRow * float64(rows)), other
}

// newFiling returns a run. In steps, it ends with cold.ErrPause when many files have been written.
func (s *Store) newFiling(steps bool) *filing {
	k := &s.keeper
	if k.partial == nil {
		k.partial = cold.Partial{}
	}
	f := &filing{store: s, next: &files.Manifest{Segment: k.begun}}
	f.to = &cold.Writer{
		Dir: k.dir, Partial: k.partial, Image: s.opts.imageBytes, Steps: steps,
		Limit:   granule.Limit{Rows: s.opts.GranuleRows, Bytes: s.opts.GranuleBytes},
		Reserve: f.reserve, Release: s.release, Yield: s.opts.Yield,
	}
	return f
}

// publish makes the files known to reads, and to those who make room.
func (f *filing) publish() {
	for i, t := range f.store.tablesInOrder()[:len(f.next.Tables)] {
		t.setFiles(&f.next.Tables[i])
	}
	f.to.Publish()
	f.store.awaitCommit() // who unloads by the files of before
}

// setFiles makes the files of a manifest known.
func (t *Table) setFiles(files *files.TableFiles) {
	t.generations.SetFiles(files.Generations)
	t.files.Store(files)
}

// discard removes the files of a run that failed.
func (k *keeper) discard() {
	k.partial = nil
	k.dir.Discard()
}

// write writes the files of the manifest, and completes it.
func (f *filing) write(ctx context.Context) error {
	s := f.store
	if err := f.files(ctx); err != nil {
		return err
	}
	for i, t := range s.tablesInOrder()[:len(f.next.Tables)] { // without the root, whose codes they have
		if err := f.to.Dictionaries(t.stored, s.keeper.manifest.Table(t.ordinal), &f.next.Tables[i]); err != nil {
			return err
		}
	}
	// The log first (D3): after a crash there must be all commits before those of the files.
	// An eviction or a retention drops dictionaries before it publishes the floor.
	s.awaitCommit()
	last := s.roots.Root()
	if err := s.log.Sync(ctx, uint64(last.Commit)); err != nil {
		return err
	}
	for i, t := range s.tablesInOrder()[:len(f.next.Tables)] {
		floor := last.State.Tables[i].Floor
		cold.RaiseFloor(&f.next.Tables[i], floor, t.generationOf(floor))
	}
	return nil
}

// files writes the files of the root of now.
func (f *filing) files(ctx context.Context) error {
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
	for _, t := range s.tablesInOrder()[:len(use.State.Tables)] {
		out := files.TableFiles{Name: t.name, Ranges: t.ranges.Count, Definition: t.definition, State: use.State.Table(t.ordinal).Save()}
		if err := f.to.Table(ctx, t.stored, t.ordinal, use, s.keeper.manifest.Table(t.ordinal), &out); err != nil {
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

// history writes the file of a history, unless its view is that of the file before.
func (f *filing) history(h *History, view *history.View) error {
	s := f.store
	next := files.HistoryFiles{Name: h.name, MaxAttributes: h.most}
	if before := s.keeper.manifest.History(h.ordinal); before != nil && h.filed.Value() == view {
		f.next.Histories, f.views = append(f.next.Histories, *before), append(f.views, nil)
		return nil
	}
	bytes := 2 * h.states.Size() // the lanes of an image are copied
	err := f.reserve(bytes)
	if err != nil {
		return err
	}
	defer s.release(bytes)
	image := view.AppendImage(nil)
	if next.File, err = f.to.Dir.WriteStates(image); err != nil {
		return err
	}
	f.next.Histories, f.views = append(f.next.Histories, next), append(f.views, view)
	f.to.Bytes += int64(len(image))
	s.opts.Yield("file/states")
	return nil
}

// reserve reserves memory for what is written, up to the whole budget: files make room.
func (f *filing) reserve(bytes int64) error {
	err := f.store.reserve(bytes, incoming{later: true})
	if err != nil && f.store.reserveAtOnce(bytes) {
		return nil
	}
	return err
}
