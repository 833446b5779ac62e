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
// together, or not at all (C1). It belongs to one goroutine.
type Tx struct {
	store  *Store
	tx     *txn.Tx[*root]
	pieces []piece
	notes  []tableNote
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
	// maxNotes bounds the notes of a table.
	maxNotes = 1 << 10
)

// piece is a part on its way into a granule.
type piece struct {
	table   *Table
	part    *granule.Part
	bucket  int64
	key     string   // of the first row
	hi      string   // upper bound of the granule that it was cut for
	series  []uint32 // distinct codes
	columns []string // concrete dynamic columns with a value
}

// Insert builds the parts of a batch. Nothing of them can be seen before
// Commit. After an error the transaction is as it was before the call and can
// go on. The batch is the caller's again when Insert returns.
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
	var pieces []piece
	for _, start := range slices.Sorted(maps.Keys(buckets)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		rows, err := granule.Code(t.schema, t.generation(start), start, columns, buckets[start], b.Records)
		if err != nil {
			return fmt.Errorf("table %q: %w", t.name, err)
		}
		pieces = append(pieces, t.cut(start, rows, dynamicNames(t.schema, columns, buckets[start]))...)
	}
	tx.pieces = append(tx.pieces, pieces...)
	tx.store.opts.Yield("insert/built")
	return nil
}

// Commit makes the rows visible and returns the commit id. An error means that
// none are. It costs 2 to 10 us for each granule that gets rows (go test -bench
// Commit), and copies the set of series, or of column names, if one is new.
func (tx *Tx) Commit() (txn.ID, error) {
	s := tx.store
	s.opts.Yield("commit/start")
	var due []dueGranule
	id, err := tx.tx.Commit(func(commit txn.ID, current *root) (*root, error) {
		if s.closed.Load() {
			return nil, ErrClosed
		}
		next, granules, err := tx.publish(commit, current)
		if err != nil {
			return nil, err
		}
		due = granules
		return tx.addNotes(next)
	})
	if err != nil {
		return 0, err
	}
	tx.dropGenerations()
	tx.pieces = nil
	s.opts.Yield("commit/published")
	s.queue.add(due)
	return id, nil
}

// Note adds text to the notes of a table with the transaction: what a layer
// above wants to know of a table at a snapshot that rows do not say. A text that
// is there already is not added again. Commit fails with ErrLimit for a text of
// over 64 KiB, or if the table would have more than 1,024.
func (tx *Tx) Note(t *Table, text string) { tx.notes = append(tx.notes, tableNote{t, text}) }

// Abort drops the rows. They were never visible. It may be called after Commit
// and then does nothing.
func (tx *Tx) Abort() {
	tx.tx.Abort()
	tx.pieces, tx.notes = nil, nil
}

// publish derives the root that has the transaction's rows. It runs under the
// commit lock.
func (tx *Tx) publish(commit txn.ID, current *root) (*root, []dueGranule, error) {
	var due []dueGranule
	next := current
	slices.SortStableFunc(tx.pieces, func(a, b piece) int { return a.table.ordinal - b.table.ordinal })
	for lo := 0; lo < len(tx.pieces); {
		t := tx.pieces[lo].table
		edit := next.tables[t.ordinal].edit(t.schema)
		for ; lo < len(tx.pieces) && tx.pieces[lo].table == t; lo++ {
			if start := tx.pieces[lo].bucket; start < edit.state.floor {
				return nil, nil, fmt.Errorf("table %q: %w: rows of %s, kept from %s", t.name, ErrTooOld, timeText(start), timeText(edit.state.floor))
			}
			tx.pieces[lo].part.Stamp(uint64(tx.tx.Begin()), uint64(commit))
			edit.add(tx.pieces[lo])
		}
		edit.retain(int64(tx.store.opts.Retention))
		for _, bound := range edit.due {
			if at, g, ok := edit.granules.Floor(bound); ok && at == bound && tx.store.isDue(g) {
				due = append(due, dueGranule{t, bound})
			}
		}
		next = next.with(t.ordinal, edit.done())
	}
	return next, due, nil
}

// dropGenerations lets go of the dictionaries of buckets that retention has
// dropped. Snapshots that still see rows of them keep them.
func (tx *Tx) dropGenerations() {
	if tx.store.opts.Retention == 0 {
		return
	}
	state := tx.store.log.Root().State
	for _, p := range tx.pieces {
		p.table.dropGenerations(state.table(p.table.ordinal).floor)
	}
}

func timeText(at int64) string { return time.Unix(0, at).UTC().Format(time.RFC3339Nano) }

// addNotes derives the root that has the transaction's notes. It runs under the
// commit lock.
func (tx *Tx) addNotes(next *root) (*root, error) {
	for _, n := range tx.notes {
		if n.table.store != tx.store {
			return nil, fmt.Errorf("%w: transaction and table %q are of different stores", ErrTable, n.table.name)
		}
		state := next.tables[n.table.ordinal]
		if slices.Contains(state.notes, n.text) {
			continue
		}
		if len(n.text) > schema.MaxString || len(state.notes) >= maxNotes {
			return nil, fmt.Errorf("%w: note %d of table %q has %d bytes: at most %d notes of %d bytes", ErrLimit,
				len(state.notes)+1, n.table.name, len(n.text), maxNotes, schema.MaxString)
		}
		noted := *state
		noted.notes = append(slices.Clip(state.notes), n.text)
		next = next.with(n.table.ordinal, &noted)
	}
	return next, nil
}

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
	latest, floor := t.store.latestTime(), t.store.log.Root().State.table(t.ordinal).floor
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
	var pieces []piece
	for lo := 0; lo < rows.Len(); {
		p := piece{table: t, bucket: start, key: string(rows.Key(lo)), hi: bucketHi, columns: columns}
		if bound, g, ok := state.granules.Floor(p.key); ok && bound >= bucketLo {
			_, p.hi = g.Bounds()
		}
		hi := rows.Len()
		if p.hi != "" {
			hi = rows.Search(lo, p.hi)
		}
		p.part = rows.Part(lo, hi)
		p.series = p.part.SeriesSet()
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
