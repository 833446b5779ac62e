package columnstore

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/schema"
	"github.com/granarydb/granary/txn"
)

// Tx is a transaction: inserts into any tables of a store, and states of any
// histories, that become visible together, or not at all (C1). It belongs to one goroutine. What it has inserted
// counts in the memory budget until Commit or Abort ends it.
type Tx struct {
	store     *Store
	tx        txn.Tx[*root]
	pieces    []piece
	one       [1]piece      // room for them: most transactions have one
	due       [1]dueGranule // and for what the commit makes due
	notes     []tableNote
	bytes     int64 // of the pieces and of new buckets: pending until the transaction ends
	histories []historyWrite
}

// tableNote is text on its way into a table's notes.
type tableNote struct {
	table *Table
	text  string
}

const (
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
	bound, hi string   // bounds of the granule that it was cut for
	known     bool     // the bucket has its series and columns already
	series    []uint32 // if not: distinct codes
	columns   []string // if not: concrete dynamic columns with a value that it lacks
}

// Insert builds the parts of a batch. Nothing of them can be seen before
// Commit. After an error the transaction is as it was before the call and can
// go on. The batch is the caller's again when Insert returns. The errors are those
// of Table.Insert, and ErrTxDone.
func (tx *Tx) Insert(ctx context.Context, t *Table, b schema.Batch) error {
	return tx.insert(ctx, t, nil, b)
}

// insertScratch is what an insert works with.
type insertScratch struct {
	batch   schema.Batch
	columns []schema.Concrete
	order   schema.Order
	buckets []bucketRows
}

var insertWork = sync.Pool{New: func() any { return new(insertScratch) }}

// done gives the scratch back: nothing of the caller's stays in it.
func (w *insertScratch) done() {
	w.batch = schema.Batch{}
	clear(w.columns[:cap(w.columns)]) // a check that failed may have left some behind
	clear(w.buckets)
	insertWork.Put(w)
}

// insert inserts a batch, with codes unless there are none.
func (tx *Tx) insert(ctx context.Context, t *Table, codes *Codes, b schema.Batch) error {
	switch {
	case tx.tx.Done():
		return ErrTxDone
	case t.store != tx.store:
		return fmt.Errorf("%w: transaction and table %q are of different stores", ErrTable, t.name)
	case tx.store.closed.Load():
		return ErrClosed
	}
	w := insertWork.Get().(*insertScratch)
	defer w.done()
	w.batch = b // here, so that it is not allocated anew
	columns, err := t.schema.CheckInto(w.columns[:0], &w.order, &w.batch)
	if err != nil {
		return fmt.Errorf("table %q: %w", t.name, err)
	}
	w.columns = columns
	w.buckets, err = t.groupByBucket(w.buckets[:0], columns, w.batch.Rows)
	buckets := w.buckets
	if err == nil && codes != nil {
		err = codes.check(t, buckets)
	}
	if err == nil {
		var gen *generation
		if codes != nil {
			gen = codes.gen
		}
		err = checkCodes(&w.batch, columns, gen)
	}
	if err != nil {
		return fmt.Errorf("table %q: %w", t.name, err)
	}
	if len(buckets) == 0 {
		return nil
	}
	bytes, err := t.reserveFor(codes, &w.batch, columns, buckets)
	if err != nil {
		return fmt.Errorf("table %q: %w", t.name, err)
	}
	before := len(tx.pieces)
	err = tx.build(ctx, t, codes, &w.batch, columns, buckets)
	tx.store.release(bytes)
	// What the parts really take: they may be many, if the rows meet many granules.
	size := int64(bucketSize) // the commit may begin one
	for i := range tx.pieces[before:] {
		size += tx.pieces[before+i].size()
	}
	if err == nil {
		err = tx.store.reserve(size, t.incoming(buckets))
	}
	if err != nil {
		clear(tx.pieces[before:])
		tx.pieces = tx.pieces[:before]
		return fmt.Errorf("table %q: %w", t.name, err)
	}
	tx.bytes += size
	tx.store.opts.Yield("insert/built")
	return nil
}

// build codes the rows and makes parts of them, those of the oldest bucket first.
func (tx *Tx) build(ctx context.Context, t *Table, codes *Codes, b *schema.Batch, columns []schema.Concrete, buckets []bucketRows) error {
	for _, in := range buckets {
		if err := ctx.Err(); err != nil {
			return err
		}
		if floor := t.floor(); in.start < floor { // making room may have raised it
			return tooOld(in.start, floor)
		}
		gen := t.dictionaries(codes, in.start)
		rows, err := granule.Code(t.schema, gen.Generation, in.start, b, columns, in.rows)
		t.count(gen)
		if err != nil {
			return err
		}
		tx.cut(t, in, b, columns, rows)
		rows.Done()
	}
	return nil
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

// dictionaries returns those that rows of a bucket are coded with. Codes stay with
// theirs, even if they are dropped meanwhile: the commit will refuse the rows.
func (t *Table) dictionaries(codes *Codes, bucket int64) *generation {
	if codes != nil {
		return codes.gen
	}
	return t.generation(bucket)
}

// reserveFor reserves what inserting a batch may take.
func (t *Table) reserveFor(codes *Codes, b *schema.Batch, columns []schema.Concrete, buckets []bucketRows) (int64, error) {
	if t.store.memory.budget == 0 {
		return 0, nil
	}
	needs := map[*generation]*bucketRows{} // with the number of buckets as start
	for _, in := range buckets {
		gen := t.dictionaries(codes, in.start)
		if n := needs[gen]; n != nil {
			n.rows, n.start = append(slices.Clip(n.rows), in.rows...), n.start+1
			continue
		}
		needs[gen] = &bucketRows{1, in.rows}
	}
	need := func(lookUp bool) (bytes int) {
		for gen, n := range needs {
			bytes += granule.Need(t.schema, gen.Generation, lookUp, b, columns, n.rows, int(n.start))
		}
		return bytes
	}
	return t.store.reserveNeed(need, t.incoming(buckets))
}

// incoming says what comes with the rows of some buckets, the oldest first.
func (t *Table) incoming(buckets []bucketRows) incoming {
	return incoming{t, t.schema.BucketStart(buckets[len(buckets)-1].start)}
}

// reserveNeed reserves what need says: a bound that is cheap to have, or if that is
// more than there is, what is known when every value has been looked up.
func (s *Store) reserveNeed(need func(lookUp bool) int, in incoming) (int64, error) {
	if s.memory.budget == 0 {
		return 0, nil
	}
	bytes := int64(need(false))
	if s.used()+bytes > s.share(evictAt) {
		bytes = int64(need(true))
	}
	return bytes, s.reserve(bytes, in)
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
	for i := range tx.histories {
		tx.histories[i].trim()
	}
	var due []dueGranule
	id, err := tx.tx.Commit(func(commit txn.ID, current *txn.Root[*root]) (next txn.Next[*root], err error) {
		if s.closed.Load() {
			return next, ErrClosed
		}
		next, due, err = tx.publish(commit, current)
		for i := 0; i < len(tx.histories) && err == nil; i++ {
			err = tx.histories[i].publish(&next)
		}
		return next, err
	})
	tx.end()
	if err != nil {
		tx.endHistories()
		return 0, err
	}
	s.opts.Yield("commit/published")
	tx.endHistories()
	s.queue.add(due)
	if s.isTight() || slices.ContainsFunc(due, func(d dueGranule) bool { return d.pressing }) {
		s.help()
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
	tx.pieces, tx.one[0], tx.notes, tx.bytes = nil, piece{}, nil, 0
}

// endHistories lets go of the histories: others can write them.
func (tx *Tx) endHistories() {
	for i := range tx.histories {
		tx.histories[i].end()
	}
	tx.histories = nil
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
	tx.endHistories()
}

// publish derives the root that has the transaction's rows and notes. It runs
// under the commit lock.
func (tx *Tx) publish(commit txn.ID, current *txn.Root[*root]) (next txn.Next[*root], due []dueGranule, err error) {
	var few [4]*tableEdit
	edits := few[:0] // one a table: few
	defer func() {
		for _, e := range edits {
			e.release()
		}
	}()
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
	next.State, due = current.State, tx.due[:0]
	for _, e := range edits {
		e.retain(int64(tx.store.opts.Retention))
		e.closeBuckets()
		tx.bytes += e.cutBucket(tx.store.opts.BucketRows)
		due = tx.store.appendDue(due, e)
		e.done(current.Version+1, &next)
	}
	return next, due, nil
}

// cut builds one part for each granule of the current root that the rows meet.
func (tx *Tx) cut(t *Table, in bucketRows, b *schema.Batch, columns []schema.Concrete, rows *granule.Rows) {
	state := t.store.log.Root().State.table(t.ordinal)
	bucketLo, bucketHi := t.bucketBounds(in.start)
	if tx.pieces == nil {
		tx.pieces = tx.one[:0]
	}
	_, known, ok := state.buckets.Floor(bucketLo)
	if !ok || known.start != in.start {
		known = &bucket{}
	}
	knowsColumns := known.hasColumns(t.schema, columns, in.rows)
	var names []string
	named := false
	for lo := 0; lo < rows.Len(); {
		p := piece{table: t, bucket: in.start, bucketKey: bucketLo, bound: bucketLo, hi: bucketHi}
		if bound, g, ok := state.granules.FloorBytes(rows.Key(lo)); ok && bound >= bucketLo {
			p.bound, p.hi = g.Bounds()
		}
		hi := rows.Len()
		if p.hi != "" && string(rows.Key(hi-1)) >= p.hi {
			hi = rows.Search(lo, p.hi)
		}
		p.part = rows.Part(lo, hi)
		if p.known = knowsColumns && known.hasSeries(p.part.Series()); !p.known {
			if !named { // once: names are those of the batch, whatever the piece
				names, named = p.newNames(known, b, columns, in.rows), true
			}
			p.series, p.columns = p.part.SeriesSet(), names
		}
		tx.pieces = append(tx.pieces, p)
		lo = hi
	}
}

// hasValue says whether one of the rows, nil for all, has a value in a dynamic column.
func hasValue(c *schema.Concrete, rows []int32) bool {
	switch {
	case c.Values.Len() == 1:
		return !c.Null(0, true)
	case rows == nil:
		for row := range c.Values.Len() {
			if !c.Null(row, true) {
				return true
			}
		}
		return false
	}
	return slices.ContainsFunc(rows, func(row int32) bool { return !c.Null(int(row), true) })
}

// newNames returns the concrete dynamic columns that a row of the piece can have a
// value in and that the bucket does not know: of the batch, and of the series that
// stands for columns.
func (p *piece) newNames(known *bucket, b *schema.Batch, columns []schema.Concrete, rows []int32) []string {
	var names []string
	s := p.table.schema
	for i := range columns {
		if c := &columns[i]; s.Columns()[c.Column].Dynamic && !known.columns[c.Name] && hasValue(c, rows) {
			names = append(names, c.Name)
		}
	}
	if b.Series != 0 {
		s.EachLabel(p.part.Generation().Series.Value(b.Series), func(column int, name []byte) {
			if s.Columns()[column].Dynamic && !known.columns[string(name)] {
				names = append(names, string(name))
			}
		})
	}
	return names
}
