package iceberg

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// CompactOptions configure Lake.Compact.
type CompactOptions struct {
	// Before bounds the days: days that ended at or before it. Rows of later days still come.
	Before time.Time
	// Files is the least number of small files that a day must have, at least 2.
	Files int
	// Small is the size in bytes below which a file is small.
	Small int64
	// Bytes bounds the sizes of the files that one call reads. 0 is no bound.
	Bytes int64
	// Name is the process's name, by which the catalog elects the one of several that compacts. It has no spaces. Empty means that this one
	// does.
	Name string
	// Progress, if not nil, is called after each rewrite.
	Progress func(r Rewrite)
	// Left, if not nil, is called for each small file that is left alone: one with values that this package cannot write as they are.
	Left func(why error)

	memory int              // bytes; 0 is rewriteMemory
	now    func() time.Time // nil means time.Now
}

// Rewrite is a replacement of data files, one commit.
type Rewrite struct {
	Table    string
	Day      time.Time // the first one of the rows
	Files    []string  // that left the table
	New      []string  // a file for each day with rows, none if none is left
	Rows     int64     // in the new files
	Deleted  int64     // rows that Lake.Delete chose
	Repeated int64     // rows of symbols that others equal
	Before   int64     // bytes of the files that left
	After    int64     // bytes of the new ones
}

// Compacted is the work of a call of Lake.Compact.
type Compacted struct {
	Files, New    int
	Rows          int64  // in new files
	Repeated      int64  // rows of symbols that others equalled
	Before, After int64  // bytes
	Left          int    // files that were left alone
	Later         int    // files that a further call will read
	Other         string // the process that is elected, if it is another one; then nothing more is done
}

// rewriteRows is about the number of rows in a full file, some 60 MB. A file with half of them is never small, so that no file is written
// again and again.
const rewriteRows = 4 << 20

// Compact joins the small files of ended days, each day's into one or several, in the store's order: the table has the same rows
// afterwards, with their nodes and seals, as if one large unit had them. Of symbols, which units repeat, each stack and location
// stays once, with the node and the seal of one of its units.
//
// Each replacement is one commit, which succeeds only if all of the files that it replaces are still there with the rows that
// were read. So nodes can add units, and others can maintain the table, meanwhile: of two that compact the same files one has
// worked in vain. It can be killed at any time, and leaves orphans at most. Readers of snapshots from before are not disturbed.
// Columns of other engines stay, if they have texts, bytes, times with a zone or long numbers; a file with values in others is left
// alone.
//
// It costs about 15 us a row, most of it to read, and memory for 192 MiB of rows as codes, one row group being written, and the names of
// all files of the table. The errors are ErrOptions, ErrTable, ErrNode, ErrRecord for a file whose rows are not what the table says, and
// any from the catalog and the files. After the error of one file the others are compacted.
func (l *Lake) Compact(ctx context.Context, opts CompactOptions) (Compacted, error) {
	if opts.Files < 2 || opts.Small < 1 || opts.Bytes < 0 {
		return Compacted{}, fmt.Errorf("%w: at least %d files of up to %d bytes, and %d in all", ErrOptions, opts.Files, opts.Small, opts.Bytes)
	}
	if strings.ContainsAny(opts.Name, " \t\n") {
		return Compacted{}, fmt.Errorf("%w: name %q", ErrOptions, opts.Name)
	}
	if opts.now == nil {
		opts.now = time.Now
	}
	c := &compacting{lake: l, opts: opts}
	err := l.eachRewriter(ctx, func(r *rewriter) error {
		if opts.memory > 0 {
			r.memory = opts.memory
		}
		return c.compact(ctx, r)
	})
	if c.elected {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resignWithin)
		defer cancel()
		_ = l.resign(ctx, opts.Name) // else it loses the place in time
	}
	return c.done, err
}

// resignWithin bounds the end of a call.
const resignWithin = 5 * time.Second

// elect makes this process the one that compacts, or renews that. ok is false if another one is.
func (c *compacting) elect(ctx context.Context) (ok bool, err error) {
	if c.opts.Name == "" {
		return true, nil
	}
	if c.done.Other, ok, err = c.lake.elect(ctx, c.opts.Name, c.opts.now()); ok {
		c.elected, c.done.Other = true, ""
	}
	return ok, err
}

// eachRewriter calls do for a state of the table of samples, then for the states of the tables of symbols that were there before.
func (l *Lake) eachRewriter(ctx context.Context, do func(r *rewriter) error) error {
	t, err := l.load(ctx)
	if err != nil {
		return err
	}
	beside, err := l.loadSides(ctx, t)
	if err != nil {
		return err
	}
	if t, err = l.load(ctx); err != nil { // after the symbols, so that all nodes with symbols are there
		return err
	}
	places, err := placesOf(t)
	if err != nil {
		return err
	}
	own, err := newSchema(nil)
	if err != nil {
		return err
	}
	r, err := l.newRewriter(ctx, t, own)
	if err == nil {
		err = do(r)
	}
	for side, of := range beside {
		if of == nil || ctx.Err() != nil {
			continue
		}
		r, sideErr := l.beside(side).newRewriter(ctx, of, sideSchema(side))
		if sideErr == nil {
			r.distinct, r.places = true, places
			sideErr = do(r)
		}
		err = errors.Join(err, sideErr)
	}
	return err
}

// placesOf returns the nodes in a state of the table by their ids.
func placesOf(t *table.Table) (map[string]Node, error) {
	nodes, err := nodesOf(t.Properties())
	places := map[string]Node{}
	for _, n := range nodes {
		places[n.ID] = n
	}
	return places, err
}

// compacting is a Compact in progress.
type compacting struct {
	lake    *Lake // the table of samples
	opts    CompactOptions
	read    int64 // bytes
	elected bool
	done    Compacted
}

// compact compacts one of the tables.
func (c *compacting) compact(ctx context.Context, r *rewriter) error {
	files, err := oldFiles(ctx, r.table)
	if err != nil {
		return err
	}
	days := c.smallFiles(files)
	var failed error
	for _, day := range slices.Sorted(maps.Keys(days)) {
		for _, bin := range binsOf(days[day]) {
			if len(bin) < 2 {
				continue
			}
			if c.opts.Bytes > 0 && c.read >= c.opts.Bytes {
				c.done.Later += len(bin)
				continue
			}
			if ok, err := c.elect(ctx); err != nil || !ok {
				return errors.Join(failed, err)
			}
			failed = errors.Join(failed, c.compactBin(ctx, r, bin, day))
			if ctx.Err() != nil {
				return errors.Join(failed, context.Cause(ctx))
			}
		}
	}
	return failed
}

// smallFiles returns the small files of ended days by day, in an order.
func (c *compacting) smallFiles(files map[string]*oldFile) map[int64][]*oldFile {
	days := map[int64][]*oldFile{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f := files[name]
		if f.first != f.last || f.FileSizeBytes() >= c.opts.Small || f.Count() >= rewriteRows/2 {
			continue
		}
		if end := time.Unix(0, f.first).Add(24 * time.Hour); !end.After(c.opts.Before) {
			days[f.first] = append(days[f.first], f)
		}
	}
	maps.DeleteFunc(days, func(_ int64, of []*oldFile) bool { return len(of) < c.opts.Files })
	return days
}

// binsOf cuts files into those of a new file each, of at least one.
func binsOf(files []*oldFile) (bins [][]*oldFile) {
	from, rows := 0, int64(0)
	for i, f := range files {
		if i > from && rows+f.Count() > rewriteRows {
			bins, from, rows = append(bins, files[from:i]), i, 0
		}
		rows += f.Count()
	}
	return append(bins, files[from:])
}

// compactBin replaces files by one, without the files that must be left alone.
func (c *compacting) compactBin(ctx context.Context, r *rewriter, bin []*oldFile, day int64) error {
	var kept []*oldFile
	for _, f := range bin {
		c.read += f.FileSizeBytes()
		if err := r.check(ctx, f); err == nil {
			kept = append(kept, f)
		} else if !c.leave(err) {
			return err
		}
	}
	for len(kept) > 1 {
		w, err := r.write(ctx, kept, day)
		var left *errLeft
		switch {
		case err == nil && w.other > 0:
			return fmt.Errorf("%w: %d rows of %s and others are of another day than the table says", ErrRecord, w.other, kept[0].FilePath())
		case err == nil:
			return c.commit(ctx, r, kept, w, day)
		case !errors.As(err, &left) || !c.leave(err):
			return err
		}
		kept = slices.DeleteFunc(kept, func(f *oldFile) bool { return f.FilePath() == left.file })
	}
	return nil
}

// leave reports whether an error says that a file is left alone, and counts it.
func (c *compacting) leave(err error) bool {
	if _, ok := errors.AsType[*errLeft](err); !ok {
		return false
	}
	if errors.Is(err, errUnderWay) {
		return true // it is taken the next time
	}
	if c.done.Left++; c.opts.Left != nil {
		c.opts.Left(err)
	}
	return true
}

// commit replaces files by the one that was written.
func (c *compacting) commit(ctx context.Context, r *rewriter, old []*oldFile, w written, day int64) error {
	did, done, err := r.commit(ctx, old, []written{w}, day, true)
	if err != nil || !done {
		return err
	}
	c.done.Files += len(did.Files)
	c.done.New += len(did.New)
	c.done.Rows += did.Rows
	c.done.Repeated += did.Repeated
	c.done.Before += did.Before
	c.done.After += did.After
	if c.opts.Progress != nil {
		c.opts.Progress(did)
	}
	return nil
}

// commit replaces files by new ones, and returns what that did. keepsRows and done are those of replace.
func (r *rewriter) commit(ctx context.Context, old []*oldFile, all []written, day int64, keepsRows bool) (did Rewrite, done bool, err error) {
	did = Rewrite{Table: r.lake.Name(), Day: time.Unix(0, day).UTC()}
	for _, f := range old {
		did.Files, did.Before = append(did.Files, f.FilePath()), did.Before+f.FileSizeBytes()
	}
	var add []iceberg.DataFile
	for _, w := range all {
		did.Rows, did.Deleted, did.Repeated = did.Rows+w.rows, did.Deleted+w.out, did.Repeated+w.repeated
		if w.file != nil {
			add = append(add, w.file)
			did.New, did.After = append(did.New, w.file.FilePath()), did.After+w.file.FileSizeBytes()
		}
	}
	done, err = r.lake.replace(ctx, old, add, keepsRows)
	return did, done, err
}
