package repair

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"syscall"

	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/dictionaries"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/files"
	"github.com/granarydb/granary/schema"
)

// Verify reads all files that the newest whole manifest names, and the log, and checks each checksum and
// each image as Open does. It changes nothing. It needs memory for the dictionaries and one bucket.
// Damage is in the report, and is not an error. progress, unless nil, is called with the bytes read so
// far and the bytes in total.
//
// The errors are disk.ErrLocked while a process has the directory open for writing; disk.ErrFormat;
// fs.ErrNotExist for a directory without a store; ctx's error; and errors from the FS except syscall.EIO,
// which is damage.
func Verify(ctx context.Context, fsys disk.FS, progress func(done, total int64)) (*Report, error) {
	c, err := open(fsys, true)
	if err != nil {
		return nil, err
	}
	defer c.close()
	c.progress = progress
	return c.report, c.check(ctx)
}

// checker reads a directory.
type checker struct {
	fs       disk.FS
	id       disk.StoreID
	lock     interface{ Close() error }
	dir      *files.Dir
	manifest *files.Manifest // nil if no copy is whole
	sound    *files.Manifest // without damaged files
	report   *Report
	aside    []string // files that are damaged, or useless without a damaged file

	tables    []*table    // by ordinal
	histories []*recorded // by ordinal
	entries   int         // log entries before the first damage
	rows      int64       // of the current commit
	rewrite   bool        // the log has entries that a repair must leave out

	progress    func(done, total int64)
	done, total int64
}

// table is a table and its dictionaries.
type table struct {
	name        string
	schema      *schema.Schema
	ranges      dictionaries.Ranges
	first       int64          // earlier generations are dropped
	plain       map[int64]bool // starts of buckets that cuts began; other buckets inside a range are late
	units       bool           // the table has had units, so it can have late buckets
	generations map[int64]*generation
}

// generation is a generation's dictionaries, as far as they are read.
type generation struct {
	*granule.Generation
	entries uint64 // number of log entries
	lost    bool
}

// recorded is a history.
type recorded struct {
	name   string
	states *history.History // nil if it is lost
}

func open(fsys disk.FS, shared bool) (*checker, error) {
	if _, err := fsys.List(); err != nil {
		return nil, err // checked first, because a lock creates the directory
	}
	lock, err := fsys.Lock(shared)
	if err != nil {
		return nil, err
	}
	c := &checker{fs: fsys, lock: lock, report: &Report{Damages: []Damage{}}}
	ok := false
	if c.id, ok, err = disk.Identify(fsys); err == nil && !ok {
		err = fmt.Errorf("directory without a store: %w", fs.ErrNotExist)
	}
	if err == nil {
		c.dir, c.manifest, err = files.OpenDir(fsys, c.id)
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *checker) close() { _ = c.lock.Close() }

// isDamage reports whether an error is about a file's bytes, and not about the system or the user.
func isDamage(err error) bool {
	_, damaged := errors.AsType[*disk.DamagedError](err)
	return damaged || errors.Is(err, files.ErrFile) || errors.Is(err, granule.ErrImage) || errors.Is(err, history.ErrImage) ||
		errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EIO)
}

// check reads all files and the log.
func (c *checker) check(ctx context.Context) error {
	if err := c.measure(); err != nil {
		return err
	}
	if err := c.manifests(); err != nil {
		return err
	}
	if c.manifest != nil {
		sound := *c.manifest
		c.sound = &sound
		c.sound.Tables, c.sound.Histories = slices.Clone(sound.Tables), slices.Clone(sound.Histories)
		c.report.Commit = sound.Commit
		for i := range c.sound.Tables {
			if err := c.table(ctx, &c.sound.Tables[i]); err != nil {
				return err
			}
		}
		for i := range c.sound.Histories {
			if err := c.history(&c.sound.Histories[i]); err != nil {
				return err
			}
		}
	}
	return c.log(ctx)
}

// measure sums the bytes of all files, and finds files that were set aside.
func (c *checker) measure() error {
	names, err := c.fs.List()
	for _, name := range names {
		if _, _, ours := disk.ParseName(name); ours {
			c.total += c.size(name)
		} else if strings.HasSuffix(name, Suffix) {
			c.report.Aside = append(c.report.Aside, name)
		}
	}
	return err
}

// size returns a file's bytes, or 0 if it cannot be opened.
func (c *checker) size(name string) int64 {
	f, err := c.fs.Open(name)
	if err != nil {
		return 0
	}
	defer f.Close()
	size, _ := f.Size()
	return size
}

// read counts a file after an attempt to read it.
func (c *checker) read(name string) {
	size := c.size(name)
	c.report.Files++
	c.report.FileBytes += size
	c.advance(size)
}

func (c *checker) advance(bytes int64) {
	c.done += bytes
	if c.progress != nil {
		c.progress(c.done, max(c.done, c.total))
	}
}

// lose records damage, and that the file must be set aside. It returns err if it is not damage.
func (c *checker) lose(file string, err error, loss Loss) error {
	if !isDamage(err) {
		return err
	}
	c.report.add(file, err, loss)
	c.aside = append(c.aside, file)
	return nil
}

// manifests reads all copies. If none is whole, all files are lost.
func (c *checker) manifests() error {
	names, err := c.fs.List()
	if err != nil {
		return err
	}
	for _, name := range names {
		kind, number, ok := disk.ParseName(name)
		if !ok || kind != files.ManifestKind {
			continue
		}
		r, err := disk.OpenFile(c.fs, c.id, kind, number, files.VersionOf(kind))
		if err == nil {
			err = r.Close()
		}
		c.read(name)
		if err != nil {
			if err := c.lose(name, err, Loss{All: c.manifest == nil}); err != nil {
				return err
			}
		}
	}
	if found := c.dir.Found(); c.manifest == nil && found != "" && c.report.IsWhole() {
		return c.lose(found, &disk.DamagedError{File: found, Reason: "no manifest names it"}, Loss{All: true})
	}
	return nil
}

// table reads a table's files, and removes damaged files from the manifest.
func (c *checker) table(ctx context.Context, f *files.TableFiles) error {
	t, err := newTable(f)
	if err != nil {
		return err
	}
	c.tables = append(c.tables, t)
	kept := []files.GenerationFiles{}
	for _, g := range f.Generations {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := c.dictionaries(t, f, g); err != nil {
			return err
		}
		if !t.generations[g.Number].lost {
			kept = append(kept, g)
		}
	}
	f.Generations = kept
	buckets := []files.BucketFile{}
	for _, b := range f.Buckets {
		if err := ctx.Err(); err != nil {
			return err
		}
		name := disk.FileName(files.RowsKind, b.File)
		g := t.generation(b.Start)
		if g.lost { // the damage of the dictionaries counts these rows
			c.aside = append(c.aside, name)
			continue
		}
		_, err := c.granules(t, g, b)
		c.read(name)
		if err == nil {
			buckets = append(buckets, b)
			c.report.Rows += b.Rows
			continue
		}
		if err := c.lose(name, err, t.lossOf(b)); err != nil {
			return err
		}
	}
	f.Buckets = buckets
	return nil
}

// newTable returns a table without dictionaries.
func newTable(f *files.TableFiles) (*table, error) {
	s, err := schema.New(f.Definition)
	if err != nil {
		return nil, fmt.Errorf("%w: table %q: %w", files.ErrFile, f.Name, err)
	}
	t := emptyTable(f.Name, s, f.Ranges)
	t.units = f.State.LastUnit > 0
	for _, b := range f.Buckets {
		t.plain[b.Start] = !b.Late
	}
	if f.State.Floor > math.MinInt64 {
		t.first = t.ranges.Of(f.State.Floor)
	}
	return t, nil
}

// emptyTable returns a table without files.
func emptyTable(name string, s *schema.Schema, ranges int64) *table {
	return &table{
		name: name, schema: s, ranges: dictionaries.Ranges{Width: s.BucketWidth(), Count: ranges}, first: math.MinInt64,
		generations: map[int64]*generation{}, plain: map[int64]bool{},
	}
}

// isLate reports whether the bucket that begins at start is late.
func (t *table) isLate(start int64) bool {
	return t.units && start != t.schema.BucketStart(start) && !t.plain[start]
}

// dictionaries reads a generation's files.
func (c *checker) dictionaries(t *table, f *files.TableFiles, dicts files.GenerationFiles) error {
	g := &generation{Generation: granule.NewGeneration(0), entries: dicts.Entries}
	t.generations[dicts.Number] = g
	for _, number := range dicts.Files {
		name := disk.FileName(files.DictsKind, number)
		if g.lost {
			c.aside = append(c.aside, name)
			continue
		}
		err := c.dir.ReadDicts(t.schema, files.GenerationFiles{Number: dicts.Number, Files: []uint64{number}}, g.Generation)
		c.read(name)
		if err == nil {
			continue
		}
		g.lost, c.rewrite = true, true
		if err := c.lose(name, err, t.lossOfGeneration(f, dicts.Number)); err != nil {
			return err
		}
	}
	return nil
}

// granules reads a bucket's file.
func (c *checker) granules(t *table, g *generation, b files.BucketFile) ([]*granule.Granule, error) {
	parts := &granule.PartReader{Schema: t.schema, Generation: g.Generation, Codes: g.Watermark(), MaxRows: math.MaxInt32}
	rows, err := c.dir.OpenRows(t.schema, b)
	if err != nil {
		return nil, err
	}
	return rows.All(parts)
}

// history reads a history's file.
func (c *checker) history(f *files.HistoryFiles) error {
	name := disk.FileName(files.StatesKind, f.File)
	h := &recorded{name: f.Name}
	c.histories = append(c.histories, h)
	image, err := c.dir.ReadStates(f.File)
	if err == nil {
		h.states, _, err = history.OpenImage(history.Options{MaxAttributes: f.MaxAttributes, Journal: true}, image)
	}
	c.read(name)
	if err == nil {
		return nil
	}
	c.rewrite = true
	return c.lose(name, err, Loss{History: f.Name})
}

// generation returns a bucket's generation, or an empty generation if it is new.
func (t *table) generation(bucket int64) *generation {
	return t.generationOf(t.ranges.Of(bucket))
}

func (t *table) generationOf(number int64) *generation {
	g := t.generations[number]
	if g == nil {
		g = &generation{Generation: granule.NewGeneration(0)}
		t.generations[number] = g
	}
	return g
}

// lossOf returns the rows in a bucket as a loss.
func (t *table) lossOf(b files.BucketFile) Loss {
	loss := Loss{Table: t.name, Rows: b.Rows}
	if t.schema.BucketColumn() >= 0 {
		loss.From, loss.To = b.Start, b.Latest // Latest of the newest bucket is the end of time
		if b.Late {
			loss.From = t.schema.BucketStart(b.Start)
		}
		if end := t.schema.BucketEnd(t.schema.BucketStart(b.Start)); end > b.Start {
			loss.To = min(loss.To, end-1)
		}
	}
	return loss
}

// lossOfGeneration returns the rows in a generation as a loss.
func (t *table) lossOfGeneration(f *files.TableFiles, number int64) Loss {
	loss := Loss{Table: t.name, AndLog: true}
	for _, b := range f.Buckets {
		if t.ranges.Of(b.Start) != number {
			continue
		}
		of := t.lossOf(b)
		if loss.Rows == 0 {
			loss.From = of.From
		}
		loss.To = max(loss.To, of.To)
		loss.Rows += of.Rows
	}
	return loss
}
