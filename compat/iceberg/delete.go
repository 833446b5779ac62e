package iceberg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// DeleteOptions choose the rows that Lake.Delete deletes.
type DeleteOptions struct {
	// From and To bound the rows' times: [From, To) in Unix nanoseconds.
	From, To int64
	// Labels are profile labels that all rows have, with these values, which are not empty.
	Labels map[string]string
	// Progress, if not nil, is called after each rewrite.
	Progress func(r Rewrite)
}

// mostRounds bounds the attempts of a deletion beside others that change the same files.
const mostRounds = 5

// Delete deletes rows: it writes the files that have such rows again without them, and drops files that have no others. From the tables of
// symbols it deletes the stacks that no sample of their day has any more, and the locations that no stack of their day has; of the days of the
// range, whether this call deleted samples there or an earlier one. Snapshots from before have the rows until Expire.
//
// A node's rows that the table lacks come with their unit: delete them there first. Each rewrite is one commit, as of Compact. It
// can be killed and repeated. It costs a read of the labels of all files of these days, with symbols also of all stack ids, and about 15 us for
// each row of a file that has such rows; and memory as Compact, and for a day's stack ids. It returns the rewrites that were made. The
// errors are those of Compact; ErrRecord, after all others were written again, for a file that has such rows and values that this package
// cannot write.
func (l *Lake) Delete(ctx context.Context, opts DeleteOptions) ([]Rewrite, error) {
	if err := opts.check(); err != nil {
		return nil, err
	}
	e := &erasing{lake: l, opts: opts}
	for range mostRounds {
		e.again = false
		err := l.eachRewriter(ctx, func(r *rewriter) error {
			if e.again { // the samples are not all deleted
				return nil
			}
			if r.places == nil {
				choose, fields := opts.chooser()
				return e.erase(ctx, r, func(*oldFile) (chooser, []string, error) { return choose, fields, nil })
			}
			return e.erase(ctx, r, e.unused(ctx, r))
		})
		if err == nil && !e.again {
			err = l.each(ctx, func(l *Lake) error { return l.forgetRemoved(ctx) })
		}
		if err != nil || !e.again {
			return e.done, err
		}
	}
	return e.done, fmt.Errorf("table %s: others changed the same files %d times: try again", l.Name(), mostRounds)
}

// forgetRemoved writes the manifests again that list files which are no longer in the table, with the bounds of their labels.
func (l *Lake) forgetRemoved(ctx context.Context) error {
	err := l.change(ctx, func(t *table.Table) (*table.Transaction, error) {
		tx := t.NewTransaction()
		did, err := tx.RewriteManifests(ctx, table.WithRewriteManifestPredicate(func(m iceberg.ManifestFile) bool { return m.DeletedDataFiles() != 0 }),
			table.WithRewriteManifestClusterBy(func(f iceberg.DataFile) any { return f.SpecID() })) // with a key also those of the right size are written
		if err != nil || did.IsNoOp() {
			return nil, err
		}
		return tx, tx.AssertRefSnapshotID("")
	})
	if err != nil {
		err = fmt.Errorf("manifests of table %s: %w", l.Name(), err)
	}
	return err
}

func (o *DeleteOptions) check() error {
	if o.From >= o.To {
		return fmt.Errorf("%w: rows from %d to %d", ErrOptions, o.From, o.To)
	}
	for name, value := range o.Labels {
		if name == "" || value == "" {
			return fmt.Errorf("%w: label %q with the value %q", ErrOptions, name, value)
		}
	}
	return nil
}

// chooser returns which samples are deleted, by which columns.
func (o *DeleteOptions) chooser() (chooser, []string) {
	return func(rec arrow.RecordBatch) (func(row int) bool, error) {
		c := recordColumns{rec: rec}
		times, labels := c.numbers(columnTimeNanos), c.family("labels", true, isText)
		return func(row int) bool {
			if at := times(row); at < o.From || at >= o.To {
				return false
			}
			has := 0
			labels.each(row, func(name string, values arrow.Array, at int) {
				if want, asked := o.Labels[name]; asked && values.(*array.String).Value(at) == want {
					has++
				}
			})
			return has == len(o.Labels)
		}, c.err
	}, []string{columnTimeNanos, "labels"}
}

// reaches reports whether a file can have rows on days of the deletion.
func (o *DeleteOptions) reaches(f *oldFile) bool {
	return f.last >= min(nextDay(o.From)-day, o.From) && f.first < o.To
}

// erasing is a Delete in progress.
type erasing struct {
	lake  *Lake // the table of samples
	opts  DeleteOptions
	again bool // others changed the same files
	done  []Rewrite
}

// dirtyFile is a file with rows that are deleted.
type dirtyFile struct {
	*oldFile
	days   []int64 // of all of its rows, in order
	choose chooser // the rows that stay
}

// erase deletes rows of one of the tables. of returns which rows of a file are deleted, by which columns.
func (e *erasing) erase(ctx context.Context, r *rewriter, of func(f *oldFile) (chooser, []string, error)) error {
	files, err := oldFiles(ctx, r.table)
	if err != nil {
		return err
	}
	byDay := map[int64][]dirtyFile{}
	var failed error
	for _, f := range slices.SortedFunc(maps.Values(files), func(a, b *oldFile) int { // so that of reads each day once
		return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.FilePath(), b.FilePath()))
	}) {
		if !e.opts.reaches(f) {
			continue
		}
		d, err := r.findDirty(ctx, f, of)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			failed = errors.Join(failed, fmt.Errorf("table %s: file %s: %w", r.lake.Name(), f.FilePath(), err))
		case d == nil:
		case len(d.days) == 1 && f.first == f.last:
			byDay[f.first] = append(byDay[f.first], *d)
		default:
			failed = errors.Join(failed, e.rewrite(ctx, r, []*oldFile{f}, *d))
		}
	}
	for _, at := range slices.Sorted(maps.Keys(byDay)) {
		var of []*oldFile
		for _, d := range byDay[at] {
			of = append(of, d.oldFile)
		}
		for _, bin := range binsOf(of) { // whose files have one day, so the same rows of all are chosen
			failed = errors.Join(failed, e.rewrite(ctx, r, bin, byDay[at][0]))
		}
	}
	return failed
}

// findDirty returns a file if it has rows that are deleted.
func (r *rewriter) findDirty(ctx context.Context, f *oldFile, of func(f *oldFile) (chooser, []string, error)) (*dirtyFile, error) {
	choose, fields, err := of(f)
	if err != nil {
		return nil, err
	}
	has, days := false, map[int64]bool{}
	err = r.scan(ctx, f, append([]string{columnTime}, fields...), func(rec arrow.RecordBatch) error {
		c := recordColumns{rec: rec}
		times := column[*array.Timestamp](&c, columnTime)
		is, err := choose(rec)
		if err = errors.Join(c.err, err); err != nil {
			return err
		}
		for row := range int(rec.NumRows()) {
			days[dayOfMicros(int64(times.Value(row)))] = true
			has = has || is(row)
		}
		return nil
	})
	if err != nil || !has {
		return nil, err
	}
	all := *r
	all.places = nil // those of units under way are not deleted
	if err := all.check(ctx, f); err != nil {
		return nil, err
	}
	return &dirtyFile{f, slices.Sorted(maps.Keys(days)), func(rec arrow.RecordBatch) (func(row int) bool, error) {
		is, err := choose(rec)
		return func(row int) bool { return !is(row) }, err
	}}, nil
}

// rewrite replaces files, by one for each of their days.
func (e *erasing) rewrite(ctx context.Context, r *rewriter, old []*oldFile, d dirtyFile) error {
	to := *r
	to.choose, to.distinct = d.choose, false // because rows of units under way can be among them
	var all []written
	rows := int64(0)
	for _, at := range d.days {
		w, err := to.write(ctx, old, at)
		if err != nil {
			return err // files of earlier days become orphans
		}
		all, rows = append(all, w), rows+w.rows+w.out
	}
	if read := all[0].rows + all[0].out + all[0].other; rows != read {
		return fmt.Errorf("%w: file %s and others have %d rows, and %d of them on their days", ErrRecord, old[0].FilePath(), read, rows)
	}
	did, done, err := to.commit(ctx, old, all, d.days[0], false)
	if err != nil {
		return err
	}
	if !done {
		e.again = true
		return nil
	}
	e.done = append(e.done, did)
	if e.opts.Progress != nil {
		e.opts.Progress(did)
	}
	return nil
}

// Remains are rows in a snapshot that a deletion would choose.
type Remains struct {
	Snapshot int64
	Refs     []string // the branches and tags that keep it
	Rows     int64
}

// Remaining returns the samples that Delete would choose in the current snapshot, or in all that the table has. It reads their labels.
// The errors are ErrOptions, ErrRecord and any from the catalog and the files.
func (l *Lake) Remaining(ctx context.Context, opts DeleteOptions, all bool) ([]Remains, error) {
	if err := opts.check(); err != nil {
		return nil, err
	}
	t, err := l.load(ctx)
	if err != nil || t.CurrentSnapshot() == nil {
		return nil, err
	}
	snapshots := []table.Snapshot{*t.CurrentSnapshot()}
	if all {
		snapshots = t.Metadata().Snapshots()
	}
	var remains []Remains
	for _, s := range snapshots {
		rows, err := count(ctx, t, s.SnapshotID, opts)
		if err != nil {
			return remains, fmt.Errorf("snapshot %d: %w", s.SnapshotID, err)
		}
		if rows == 0 {
			continue
		}
		at := Remains{Snapshot: s.SnapshotID, Rows: rows}
		for name, ref := range t.Metadata().Refs() {
			if ref.SnapshotID == s.SnapshotID {
				at.Refs = append(at.Refs, name)
			}
		}
		slices.Sort(at.Refs)
		remains = append(remains, at)
	}
	return remains, nil
}

// count returns the number of rows in a snapshot that a deletion chooses.
func count(ctx context.Context, t *table.Table, snapshot int64, opts DeleteOptions) (n int64, err error) {
	choose, fields := opts.chooser()
	scan := t.Scan(table.WithSnapshotID(snapshot), table.WithMaxConcurrency(1), table.WithArrowBatchSize(recordRows),
		table.WithSelectedFields(append(fields, columnTime)...), table.WithRowFilter(between(opts.From, opts.To)))
	_, records, err := scan.ToArrowRecords(ctx)
	if err != nil {
		return 0, err
	}
	err = eachRecord(records, func(rec arrow.RecordBatch) error {
		is, err := choose(rec)
		for row := 0; err == nil && row < int(rec.NumRows()); row++ {
			n += int64(bit(is(row)))
		}
		return err
	})
	return n, err
}

// Existing returns the files that exist. The error is that of the file system.
func (l *Lake) Existing(ctx context.Context, files []string) (exist []string, err error) {
	t, err := l.load(ctx)
	if err != nil {
		return nil, err
	}
	of, err := t.FS(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		f, err := of.Open(name)
		if err == nil {
			exist = append(exist, name)
			err = f.Close()
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return exist, err
		}
	}
	return exist, nil
}
