package columnstore

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/schema"
	"github.com/granarydb/granary/txn"
)

// Tx is a transaction: inserts into any tables of a store that become visible
// together, or not at all (C1). It belongs to one goroutine. What it has inserted
// counts in the memory budget until Commit or Abort ends it.
type Tx struct {
	store  *Store
	tx     *txn.Tx[*root]
	pieces []piece
	notes  []tableNote
	bytes  int64 // of the pieces: pending until the transaction ends
}

// tableNote is text on its way into a table's notes.
type tableNote struct {
	table *Table
	text  string
}

const (
	// maxBuckets bounds the time buckets of one batch: each takes a part, and
	// every sixteenth dictionaries of its own. A day has 96.
	maxBuckets = 1 << 10
	// maxNotes and maxNoteBytes bound the notes of a table.
	maxNotes     = 1 << 10
	maxNoteBytes = 1 << 20
)

// piece is a part on its way into a granule.
type piece struct {
	table     *Table
	part      *granule.Part
	bucket    int64
	bucketKey string   // its lowest key
	key       string   // of the first row
	hi        string   // upper bound of the granule that it was cut for
	series    []uint32 // distinct codes
	columns   []string // concrete dynamic columns with a value
	known     bool     // the bucket has all of them already
}

// Insert builds the parts of a batch. Nothing of them can be seen before
// Commit. After an error the transaction is as it was before the call and can
// go on. The batch is the caller's again when Insert returns. The errors are those
// of Table.Insert, and ErrTxDone.
func (tx *Tx) Insert(ctx context.Context, t *Table, b schema.Batch) error {
	switch {
	case tx.tx.Done():
		return ErrTxDone
	case t.store != tx.store:
		return fmt.Errorf("%w: transaction and table %q are of different stores", ErrTable, t.name)
	case tx.store.closed.Load():
		return ErrClosed
	}
	columns, err := t.schema.Check(&b)
	if err != nil {
		return fmt.Errorf("table %q: %w", t.name, err)
	}
	buckets, err := t.groupByBucket(columns, b.Rows)
	if err != nil {
		return fmt.Errorf("table %q: %w", t.name, err)
	}
	if len(buckets) == 0 {
		return nil
	}
	bytes, err := t.reserveFor(&b, columns, buckets)
	if err != nil {
		return fmt.Errorf("table %q: %w", t.name, err)
	}
	pieces, err := t.build(ctx, &b, columns, buckets)
	tx.store.release(bytes)
	if err != nil {
		return fmt.Errorf("table %q: %w", t.name, err)
	}
	// What the parts really take: they may be many, if the rows meet many granules.
	var size int64
	for i := range pieces {
		size += pieces[i].size()
	}
	if err := tx.store.reserve(size, incoming{t, pieces[len(pieces)-1].bucket}); err != nil {
		return fmt.Errorf("table %q: %w", t.name, err)
	}
	tx.pieces = append(tx.pieces, pieces...)
	tx.bytes += size
	tx.store.opts.Yield("insert/built")
	return nil
}

// build codes the rows and makes parts of them, those of the oldest bucket first.
func (t *Table) build(ctx context.Context, b *schema.Batch, columns []schema.Concrete, buckets map[int64][]int32) ([]piece, error) {
	var pieces []piece
	for _, start := range slices.Sorted(maps.Keys(buckets)) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if floor := t.floor(); start < floor { // making room may have raised it
			return nil, tooOld(start, floor)
		}
		gen := t.generation(start)
		rows, err := granule.Code(t.schema, gen.Generation, start, b, columns, buckets[start])
		t.count(gen)
		if err != nil {
			return nil, err
		}
		pieces = append(pieces, t.cut(start, rows, dynamicNames(t.schema, columns, buckets[start]))...)
		rows.Done()
	}
	return pieces, nil
}

// size returns the bytes that the piece takes at most in a root: it may be the
// first of its granule and of its bucket.
func (p *piece) size() int64 {
	size := int64(p.part.Size())
	if !p.known {
		last := p.series[len(p.series)-1]
		size += granuleSize + bucketSize + columnSize*int64(len(p.columns)) + 8*int64(last/64+1)
	}
	return size
}

// reserveFor reserves what inserting a batch may take: by a bound that is cheap to
// have, or if that is more than there is, by looking every value up.
func (t *Table) reserveFor(b *schema.Batch, columns []schema.Concrete, buckets map[int64][]int32) (int64, error) {
	if t.store.memory.budget == 0 {
		return 0, nil
	}
	starts := slices.Sorted(maps.Keys(buckets))
	needs := map[*generation]*struct {
		rows  []int32
		parts int
	}{}
	for _, start := range starts {
		gen := t.generation(start)
		n := needs[gen]
		if n == nil {
			needs[gen] = &struct {
				rows  []int32
				parts int
			}{buckets[start], 1}
			continue
		}
		n.rows, n.parts = append(slices.Clip(n.rows), buckets[start]...), n.parts+1
	}
	var bytes int64
	for _, lookUp := range []bool{false, true} {
		bytes = 0
		for gen, n := range needs {
			bytes += int64(granule.Need(t.schema, gen.Generation, lookUp, b, columns, n.rows, n.parts))
		}
		if t.store.used()+bytes <= t.store.share(evictAt) {
			break
		}
	}
	return bytes, t.store.reserve(bytes, incoming{t, starts[len(starts)-1]})
}

// Commit makes the rows visible and returns the commit id. An error means that
// none are. It costs 1 to 3 us for each granule that gets rows (go test -bench
// Commit), and copies the set of series, or of column names, if one is new. When the
// maintainer does not keep up, or memory gets short, it also does one rewrite that is
// due: some milliseconds, after the rows are visible.
//
// The errors are ErrTxDone; ErrClosed; ErrTooOld if a bucket was dropped since its
// rows were inserted; ErrLimit and ErrMemory for notes.
func (tx *Tx) Commit() (txn.ID, error) {
	s := tx.store
	s.opts.Yield("commit/start")
	notes, err := tx.reserveNotes()
	if err != nil {
		tx.Abort()
		return 0, err
	}
	defer s.release(notes)
	var due []dueGranule
	id, err := tx.tx.Commit(func(commit txn.ID, current *txn.Root[*root]) (next txn.Next[*root], err error) {
		if s.closed.Load() {
			return next, ErrClosed
		}
		next, due, err = tx.publish(commit, current)
		return next, err
	})
	tx.end()
	if err != nil {
		return 0, err
	}
	s.opts.Yield("commit/published")
	s.queue.add(due)
	if s.isTight() || slices.ContainsFunc(due, func(d dueGranule) bool { return d.pressing }) {
		s.maintainOnce()
	}
	return id, nil
}

// reserveNotes reserves what the notes take that are not there yet.
func (tx *Tx) reserveNotes() (bytes int64, err error) {
	root := tx.store.log.Root().State
	for _, n := range tx.notes {
		if n.table.store == tx.store && !slices.Contains(root.tables[n.table.ordinal].notes, n.text) {
			bytes += int64(len(n.text)) + noteSize
		}
	}
	if bytes == 0 {
		return 0, nil
	}
	return bytes, tx.store.reserve(bytes, incoming{})
}

// end lets go of what the transaction built; what was committed is counted in the
// root by now.
func (tx *Tx) end() {
	tx.store.release(tx.bytes)
	tx.pieces, tx.notes, tx.bytes = nil, nil, 0
}

// Note adds text to the notes of a table with the transaction: what a layer
// above wants to know of a table at a snapshot that rows do not say. A text that
// is there already is not added again. Notes are never evicted. Commit fails with
// ErrLimit for a text of over 64 KiB, or if the table would have more than 1,024 or
// more than 1 MiB of them, a sixteenth of the memory budget if that is less.
func (tx *Tx) Note(t *Table, text string) { tx.notes = append(tx.notes, tableNote{t, text}) }

// Abort drops the rows. They were never visible. It may be called after Commit
// and then does nothing.
func (tx *Tx) Abort() {
	tx.tx.Abort()
	tx.end()
}

// publish derives the root that has the transaction's rows and notes. It runs
// under the commit lock.
func (tx *Tx) publish(commit txn.ID, current *txn.Root[*root]) (next txn.Next[*root], due []dueGranule, err error) {
	var edits []*tableEdit // one a table: few
	edit := func(t *Table) *tableEdit {
		for _, e := range edits {
			if e.table == t {
				return e
			}
		}
		e := current.State.tables[t.ordinal].edit(t)
		edits = append(edits, e)
		return e
	}
	for _, p := range tx.pieces {
		e := edit(p.table)
		if p.bucket < e.state.floor {
			return next, nil, fmt.Errorf("table %q: %w", p.table.name, tooOld(p.bucket, e.state.floor))
		}
		p.part.Stamp(uint64(tx.tx.Begin()), uint64(commit))
		e.add(p)
	}
	for _, n := range tx.notes {
		if n.table.store != tx.store {
			return next, nil, fmt.Errorf("%w: transaction and table %q are of different stores", ErrTable, n.table.name)
		}
		if err := edit(n.table).note(n.text); err != nil {
			return next, nil, err
		}
	}
	next.State = current.State
	for _, e := range edits {
		e.retain(int64(tx.store.opts.Retention))
		e.closeBuckets()
		due = append(due, tx.store.dueOf(e)...)
		e.done(current.Version+1, &next)
	}
	return next, due, nil
}

// floor returns the start of the first bucket that rows are taken for.
func (t *Table) floor() int64 { return t.store.log.Root().State.table(t.ordinal).floor }

func tooOld(bucket, floor int64) error {
	return fmt.Errorf("%w: rows of %s, kept from %s", ErrTooOld, timeText(bucket), timeText(floor))
}

func timeText(at int64) string { return time.Unix(0, at).UTC().Format(time.RFC3339Nano) }

// groupByBucket returns the rows of each time bucket.
func (t *Table) groupByBucket(columns []schema.Concrete, rows int) (map[int64][]int32, error) {
	groups := map[int64][]int32{}
	column := t.schema.BucketColumn()
	var times []int64
	for i := range columns {
		if columns[i].Column == column {
			times = columns[i].Values.Int64s
		}
	}
	latest, floor := t.store.latestTime(), t.floor()
	var start int64
	var group []int32
	for row := range rows {
		if times != nil {
			at := times[min(row, len(times)-1)]
			if at > latest {
				return nil, fmt.Errorf("%w: row %d is at %s, the clock is at %s", ErrFuture, row,
					timeText(at), timeText(t.store.opts.Now().UnixNano()))
			}
			if s := t.schema.BucketStart(at); s != start {
				groups[start] = group
				start, group = s, groups[s]
			}
			if start < floor {
				return nil, fmt.Errorf("%w: row %d is at %s, kept from %s", ErrTooOld, row, timeText(at), timeText(floor))
			}
		}
		group = append(group, int32(row))
	}
	groups[start] = group
	maps.DeleteFunc(groups, func(_ int64, rows []int32) bool { return len(rows) == 0 })
	if len(groups) > maxBuckets {
		return nil, fmt.Errorf("%w: rows of %d time buckets, at most %d", ErrLimit, len(groups), maxBuckets)
	}
	return groups, nil
}

// latestTime returns the latest time that a row may have.
func (s *Store) latestTime() int64 {
	now := s.opts.Now().UnixNano()
	latest := now + int64(s.opts.FutureLimit)
	if s.opts.FutureLimit < 0 || latest < now { // no limit, or one beyond int64
		return math.MaxInt64
	}
	return latest
}

// cut builds one part for each granule of the current root that the rows meet.
func (t *Table) cut(start int64, rows *granule.Rows, columns []string) []piece {
	state := t.store.log.Root().State.table(t.ordinal)
	bucketLo, bucketHi := t.schema.BucketBounds(start)
	_, known, ok := state.buckets.Floor(bucketLo)
	if !ok || known.start != start {
		known = &bucket{}
	}
	var pieces []piece
	for lo := 0; lo < rows.Len(); {
		p := piece{table: t, bucket: start, bucketKey: bucketLo, key: string(rows.Key(lo)), hi: bucketHi, columns: columns}
		if bound, g, ok := state.granules.Floor(p.key); ok && bound >= bucketLo {
			_, p.hi = g.Bounds()
		}
		hi := rows.Len()
		if p.hi != "" {
			hi = rows.Search(lo, p.hi)
		}
		p.part = rows.Part(lo, hi)
		p.series = p.part.SeriesSet()
		p.known = known.has(&p)
		pieces = append(pieces, p)
		lo = hi
	}
	return pieces
}

// dynamicNames returns the concrete dynamic columns that one of the rows has a
// value in.
func dynamicNames(s *schema.Schema, columns []schema.Concrete, rows []int32) []string {
	var names []string
	for i := range columns {
		c := &columns[i]
		if !s.Columns()[c.Column].Dynamic {
			continue
		}
		if slices.ContainsFunc(rows, func(row int32) bool { return !c.Null(int(row), true) }) {
			names = append(names, c.Name)
		}
	}
	return names
}
