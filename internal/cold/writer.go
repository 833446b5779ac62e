package cold

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"weak"

	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/dictionaries"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/files"
	"github.com/granarydb/granary/txn"
)

// ErrPause ends a run amid its files (Writer.Steps).
var ErrPause = errors.New("files are written in steps")

// Writer writes a root's buckets that have got rows since their files were written, and the new dictionary
// entries. It belongs to one goroutine and one run.
type Writer struct {
	Dir     *files.Dir
	Commit  uint64        // the root's
	Partial Partial       // files of earlier, unfinished runs
	Limit   granule.Limit // limit of a granule
	Small   int64         // bytes of a bucket, up to which it shares a file
	Image   int64         // bytes of a dictionary image, about
	Steps   bool          // Table ends with ErrPause rather than sync files
	// Reserve reserves memory for the bytes being written, and Release gives it back.
	Reserve func(bytes int64) error
	Release func(bytes int64)
	Yield   func(point string)

	Bytes  int64 // bytes of the files of rows that were written
	marks  []mark
	shared *files.RowsWriter // file of small buckets; nil if none is begun
	within []int             // the buckets in it, by their place in the manifest
}

// Partial is the bucket files of unfinished runs. The next run uses them, so that no bucket is written twice.
type Partial map[partialFile]files.BucketFile

// partialFile names a bucket.
type partialFile struct {
	table int
	start int64
}

// mark is the end of a generation's entries in files. The pointer is weak, so that a mark keeps nothing in memory.
type mark struct {
	set *dictionaries.Generations
	of  weak.Pointer[dictionaries.DurableGeneration]
	at  granule.Watermark
}

// Table writes a table's bucket files and adds them to out, its part of the manifest. It returns ErrPause,
// expiry of the root, and errors from Reserve, the disk, reading cold rows, and ctx.
func (w *Writer) Table(ctx context.Context, t *Files, ordinal int, use txn.Use[*catalog.Database], before, out *files.TableFiles) (err error) {
	defer func() {
		if err != nil {
			w.abandonShared()
		}
	}()
	state, sparse := use.State.Table(ordinal), before.Sparse()
	for _, b := range state.Buckets.All() {
		file, ok := w.Partial[partialFile{ordinal, b.Start}]
		if !ok || file.Through < b.Born {
			file, ok = before.FileOf(b)
		}
		if !ok || sparse[file.File] || unfiledRows(state.HotGranules(b), file.Through) > 0 {
			if w.Steps && w.Dir.IsFull() {
				return cmp.Or(w.closeShared(ordinal, out), ErrPause)
			}
			if file, err = w.rows(ctx, t, use, state, b); err != nil {
				return err
			}
			if file.Place != (catalog.Place{}) {
				w.within = append(w.within, len(out.Buckets))
			} else {
				w.Partial[partialFile{ordinal, b.Start}] = file
			}
		}
		file.Latest, file.Unit, file.Late = b.Latest, b.Unit, b.Late
		out.Buckets = append(out.Buckets, file)
		if w.shared != nil && w.shared.Bytes() >= sharedBytes {
			if err = w.closeShared(ordinal, out); err != nil {
				return err
			}
		}
		w.Yield("file/bucket")
	}
	return w.closeShared(ordinal, out)
}

// sharedBytes is the size from which on a file takes no further small bucket.
const sharedBytes = 1 << 20

// closeShared ends the file of small buckets, if one is begun.
func (w *Writer) closeShared(ordinal int, out *files.TableFiles) error {
	if w.shared == nil {
		return nil
	}
	rows := w.shared
	w.shared = nil
	if err := rows.Close(); err != nil {
		return err
	}
	for _, i := range w.within {
		b := &out.Buckets[i]
		b.Shared = len(w.within)
		w.Partial[partialFile{ordinal, b.Start}] = *b
	}
	return nil
}

// abandonShared removes the file of small buckets, if one is begun.
func (w *Writer) abandonShared() {
	if w.shared != nil {
		w.shared.Abandon()
		w.shared = nil
	}
}

// create returns the file for a bucket, and whether it is the file of small buckets.
func (w *Writer) create(t *Files, state *catalog.TableState, b *catalog.BucketState) (rows *files.RowsWriter, shared bool, err error) {
	size := int64(0)
	if b.Cold != nil {
		size = b.Cold.Bytes
	}
	for _, g := range state.HotGranules(b) {
		size += int64(g.Size())
	}
	if shared = size <= w.Small; shared && w.shared != nil {
		return w.shared, true, nil
	}
	if rows, err = w.Dir.CreateRows(t.Schema, w.Commit); err == nil && shared {
		w.shared, w.within = rows, w.within[:0]
	}
	return rows, shared, err
}

// rows writes a bucket.
func (w *Writer) rows(ctx context.Context, t *Files, use txn.Use[*catalog.Database], state *catalog.TableState, b *catalog.BucketState) (out files.BucketFile, err error) {
	rows, shared, err := w.create(t, state, b)
	if err != nil {
		return out, err
	}
	rows.Begin(b.Start)
	for g, err := range t.All(state, b) {
		if err = cmp.Or(err, ctx.Err(), use.Err()); err == nil {
			err = w.granule(t, rows, g)
		}
		if err != nil {
			if !shared { // otherwise Table abandons it
				rows.Abandon()
			}
			return out, err
		}
		w.Yield("file/granule")
	}
	if shared {
		out, err = rows.End(b)
	} else {
		out, err = rows.Finish(b)
	}
	if err == nil {
		w.Bytes += out.Bytes
	}
	return out, err
}

// granule writes a granule, merged if it has fresh parts. If memory is short it writes one half after the
// other, because memory stays short until there are files.
func (w *Writer) granule(t *Files, rows *files.RowsWriter, g *granule.Granule) error {
	bytes := int64(g.Size())
	if g.FreshParts() > 0 {
		bytes = int64(g.RewriteSize())
	}
	if err := w.Reserve(bytes); err != nil {
		low, high, ok := g.Halve(t.Schema)
		if !ok {
			return err
		}
		return cmp.Or(w.granule(t, rows, low), w.granule(t, rows, high))
	}
	defer w.Release(bytes)
	if g.FreshParts() == 0 {
		return rows.Write(g)
	}
	limit := w.Limit
	limit.Pause = runtime.Gosched
	for _, merged := range granule.Rewrite(t.Schema, g, limit) {
		if err := rows.Write(merged); err != nil {
			return err
		}
	}
	return nil
}

// leastImage is the least size of a dictionary image, because smaller images do not compress.
const leastImage = 1 << 10

// Dictionaries writes a table's new dictionary entries and adds their files to out, its part of the
// manifest. All of the root's codes are among them, because the log entry with a commit's codes precedes
// the commit. It takes memory for an image and its compressed bytes. It returns errors from Files.Log,
// Reserve, the disk and ctx.
func (w *Writer) Dictionaries(ctx context.Context, t *Files, before, out *files.TableFiles) (err error) {
	image := w.Image
	for { // halve the image while memory is short, because memory stays short until there are files
		err := w.Reserve(2 * image)
		if err == nil {
			break
		}
		if image /= 2; image < leastImage {
			return err
		}
	}
	defer w.Release(2 * image)
	to := w.Dir.WriteDicts()
	defer func() {
		if err != nil {
			to.Abandon()
		}
	}()
	hot := map[int64]bool{}
	for _, g := range t.Dicts.All() {
		if err := ctx.Err(); err != nil {
			return err
		}
		hot[g.Number] = true
		// Entries without a commit too, because a generation leaves memory only when all are filed. A full disk
		// is not a failure.
		if err := t.Log(g.Number); err != nil && !errors.Is(err, disk.ErrDisk) {
			return err
		}
		given := g.Files()
		if given.Entries == 0 {
			continue // nothing was ever added
		}
		given.Piece = int(image)
		next, err := to.Write(given, before.Generation(g.Number))
		if err != nil {
			return err
		}
		w.marks = append(w.marks, mark{t.Dicts, weak.Make(g), given.Logged})
		out.Generations = append(out.Generations, next)
		w.Yield("file/dictionaries")
	}
	if err := to.Close(); err != nil {
		return err
	}
	if before != nil {
		for _, g := range before.Generations { // the others stay as they are
			if !hot[g.Number] && g.Number >= t.Dicts.First() {
				out.Generations = append(out.Generations, g)
			}
		}
		slices.SortFunc(out.Generations, func(a, b files.GenerationFiles) int { return cmp.Compare(a.Number, b.Number) })
	}
	return nil
}

// Publish tells the dictionaries which entries files have. A durable manifest names the files now.
func (w *Writer) Publish() {
	for _, m := range w.marks {
		m.set.SetFiled(m.of.Value(), m.at)
	}
}

// RaiseFloor removes from out the ranges that were dropped since its root, and the generations
// before first. The commit that dropped them is durable, and a restart does not repeat it.
func RaiseFloor(out *files.TableFiles, floor, first int64) {
	if floor <= out.State.Floor {
		return
	}
	out.State.Floor = floor
	kept := out.Buckets[:0]
	for _, b := range out.Buckets {
		if b.Start >= floor {
			kept = append(kept, b)
		} else {
			out.State.Dropped += b.Rows
			if b.Unit != 0 {
				out.State.Lost += b.Rows
			}
		}
	}
	out.Buckets = kept
	out.Generations = slices.DeleteFunc(out.Generations, func(g files.GenerationFiles) bool { return g.Number < first })
}
