package columnstore

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"runtime"
	"slices"
	"weak"

	"github.com/granarydb/granary/catalog"
	"github.com/granarydb/granary/catalog/dicts"
	"github.com/granarydb/granary/catalog/filed"
	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/txn"
)

// filing is one run of the keeper. It writes the buckets that have got rows since the last one, and
// what dictionaries have new, then a manifest that names these files and those that are still good.
// All are of one root, so the log is needed only from the segment on that was begun before this root
// was taken.
type filing struct {
	store *Store
	dir   *filed.Dir
	next  *filed.Manifest
	bytes int64 // of the files of rows
	marks []mark
	views []*history.View // of histories that were written, by ordinal; else nil
	steps bool            // it ends with errPause rather than sync files while the root is held
}

// mark is how far dictionaries are in the files. It does not keep them in memory.
type mark struct {
	table *Table
	of    weak.Pointer[dicts.Numbered]
	at    granule.Watermark
}

// file files all that is committed, and removes the segments and files that nobody needs any more.
// The caller holds keeper.filing. The errors are disk.ErrDisk, ErrMemory,
// ErrSnapshotExpired, and the error of ctx. After an error the files are as before.
func (s *Store) file(ctx context.Context) error { return s.fileInSteps(ctx, false) }

// fileInSteps is file. In steps, it ends with errPause when many files have been written: they become
// durable while no root is held, and the next call goes on.
func (s *Store) fileInSteps(ctx context.Context, inSteps bool) (err error) {
	k := &s.keeper
	defer func() {
		if !errors.Is(err, errPause) {
			k.failing.Store(&err)
		}
	}()
	logged := k.logged.Load()
	if err := k.begin(s); err != nil {
		return err
	}
	f := filing{store: s, dir: k.dir, next: &filed.Manifest{Segment: k.begun}, steps: inSteps}
	switch err := f.write(ctx); {
	case errors.Is(err, ErrSnapshotExpired), errors.Is(err, errPause):
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
	k.bound.Store(max(s.opts.LogBytes, f.bytes))
	s.cool()
	s.opts.Yield("file/clean")
	return k.clean(s)
}

// publish makes the files known to reads, and to those who make room.
func (f *filing) publish() {
	for i, t := range f.store.tablesInOrder()[:len(f.next.Tables)] {
		t.setFiles(&f.next.Tables[i])
	}
	for _, m := range f.marks {
		m.table.generations.SetFiled(m.of.Value(), m.at)
	}
	f.store.awaitCommit() // who unloads by the files of before
}

// setFiles makes the files of a manifest known.
func (t *Table) setFiles(files *filed.TableFiles) {
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
		if err := f.dictionaries(t, &f.next.Tables[i]); err != nil {
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
		f.raiseFloor(t, &f.next.Tables[i], last.State.Tables[i].Floor)
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
	s.opts.Yield("file/root")
	for _, t := range s.tablesInOrder()[:len(use.State.Tables)] {
		if err := f.table(ctx, t, use); err != nil {
			return err
		}
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
	next := filed.HistoryFiles{Name: h.name, MaxAttributes: h.most}
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
	if next.File, err = f.dir.WriteStates(image); err != nil {
		return err
	}
	f.next.Histories, f.views = append(f.next.Histories, next), append(f.views, view)
	f.bytes += int64(len(image))
	s.opts.Yield("file/states")
	return nil
}

// table writes the files of a table.
func (f *filing) table(ctx context.Context, t *Table, use txn.Use[*catalog.Database]) error {
	state := use.State.Table(t.ordinal)
	before := f.store.keeper.manifest.Table(t.ordinal)
	next := filed.TableFiles{Name: t.name, Ranges: t.ranges, Definition: t.definition, State: state.Save()}
	for _, b := range state.Buckets.All() {
		file, ok := f.bucket(t, before, b)
		if !ok || !isFiled(state, b, file.Through) {
			if f.steps && f.dir.IsFull() {
				return errPause
			}
			var err error
			if file, err = f.rows(ctx, t, use, b); err != nil {
				return err
			}
		}
		file.Latest = b.Latest
		next.Buckets = append(next.Buckets, file)
		f.store.opts.Yield("file/bucket")
	}
	f.next.Tables = append(f.next.Tables, next)
	return nil
}

// dictionaries writes what the dictionaries of a table have new in the log. Those of the root have
// it: an entry with the codes of a commit is before that of the commit. It takes memory for an image and
// its compressed bytes.
func (f *filing) dictionaries(t *Table, out *filed.TableFiles) error {
	bytes := 2 * f.store.opts.imageBytes
	if err := f.reserve(bytes); err != nil {
		return err
	}
	defer f.store.release(bytes)
	before := f.store.keeper.manifest.Table(t.ordinal)
	hot := map[int64]bool{}
	for _, g := range t.generations.All() {
		hot[g.Number] = true
		if err := t.logDicts(g.Number); err != nil { // also what no commit has: then it can leave memory
			return err
		}
		given := g.Files()
		if given.Entries == 0 {
			continue // nothing was ever added
		}
		given.Piece = int(f.store.opts.imageBytes)
		next, err := f.dir.WriteDicts(given, before.Generation(g.Number))
		if err != nil {
			return err
		}
		f.marks = append(f.marks, mark{t, weak.Make(g), given.Logged})
		out.Generations = append(out.Generations, next)
		f.store.opts.Yield("file/dictionaries")
	}
	if before != nil {
		for _, g := range before.Generations { // the others stay as they are
			if !hot[g.Number] && g.Number >= t.generations.First() {
				out.Generations = append(out.Generations, g)
			}
		}
		slices.SortFunc(out.Generations, func(a, b filed.GenerationFiles) int { return cmp.Compare(a.Number, b.Number) })
	}
	return nil
}

// isFiled reports whether the rows of a bucket that are in memory are of commits up to one.
func isFiled(state *catalog.TableState, b *catalog.BucketState, through uint64) bool {
	for _, g := range state.HotGranules(b) {
		for _, section := range g.Sections() {
			if section.Part.Commit() > through {
				return false
			}
		}
	}
	return true
}

// granulesOf yields the granules of a bucket, cold ones included.
func (t *Table) granulesOf(state *catalog.TableState, b *catalog.BucketState) iter.Seq2[*granule.Granule, error] {
	if b.Cold != nil {
		return t.coldGranules(state, b, nil)
	}
	return func(yield func(*granule.Granule, error) bool) {
		for _, g := range state.HotGranules(b) {
			if !yield(g, nil) {
				return
			}
		}
	}
}

// rows writes the file of a bucket.
func (f *filing) rows(ctx context.Context, t *Table, use txn.Use[*catalog.Database], b *catalog.BucketState) (out filed.BucketFile, err error) {
	w, err := f.dir.CreateRows(t.schema, b.Start, f.next.Commit)
	if err != nil {
		return out, err
	}
	for g, err := range t.granulesOf(use.State.Table(t.ordinal), b) {
		err = cmp.Or(err, ctx.Err(), use.Err())
		if err == nil {
			err = f.granule(t, w, g)
		}
		if err != nil {
			w.Abandon()
			return out, err
		}
		f.store.opts.Yield("file/granule")
	}
	if out, err = w.Finish(b); err != nil {
		return out, err
	}
	f.bytes += out.Bytes
	k := &f.store.keeper
	if k.partial == nil {
		k.partial = map[partialFile]filed.BucketFile{}
	}
	k.partial[partialFile{t.ordinal, b.Start}] = out
	return out, nil
}

// bucket returns the newest file of a bucket: of a run whose root expired, or of the manifest.
func (f *filing) bucket(t *Table, before *filed.TableFiles, b *catalog.BucketState) (filed.BucketFile, bool) {
	if file, ok := f.store.keeper.partial[partialFile{t.ordinal, b.Start}]; ok {
		return file, true
	}
	return before.Bucket(b.Start)
}

// reserve reserves memory for what is written, up to the whole budget: files make room.
func (f *filing) reserve(bytes int64) error {
	err := f.store.reserve(bytes, incoming{later: true})
	if err != nil && f.store.reserveAtOnce(bytes) {
		return nil
	}
	return err
}

// granule writes a granule, merged if it has fresh parts.
func (f *filing) granule(t *Table, w *filed.RowsWriter, g *granule.Granule) error {
	s := f.store
	bytes := int64(g.Size())
	if g.FreshParts() > 0 {
		bytes = int64(g.RewriteSize())
	}
	if err := f.reserve(bytes); err != nil {
		return err
	}
	defer s.release(bytes)
	if g.FreshParts() == 0 {
		return w.Write(g)
	}
	limit := granule.Limit{Rows: s.opts.GranuleRows, Bytes: s.opts.GranuleBytes, Pause: runtime.Gosched}
	for _, merged := range granule.Rewrite(t.schema, g, limit) {
		if err := w.Write(merged); err != nil {
			return err
		}
	}
	return nil
}

// raiseFloor takes the ranges out of a table that were dropped since its root. The commit that
// dropped them is durable; an eviction has none, and has happened.
func (f *filing) raiseFloor(t *Table, out *filed.TableFiles, floor int64) {
	if floor <= out.State.Floor {
		return
	}
	out.State.Floor = floor
	kept := out.Buckets[:0]
	for _, b := range out.Buckets {
		if b.Start >= floor {
			kept = append(kept, b)
		} else {
			out.State.Evicted += b.Rows
		}
	}
	out.Buckets = kept
	first, generations := t.generationOf(floor), out.Generations[:0]
	for _, g := range out.Generations {
		if g.Number >= first {
			generations = append(generations, g)
		}
	}
	out.Generations = generations
}
