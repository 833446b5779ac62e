package columnstore

import (
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"
	"sync"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/index"
	"github.com/granarydb/granary/schema"
	"github.com/granarydb/granary/txn"
)

// root is the whole database as a value. It never changes once published.
type root struct {
	tables    []*tableState   // by Table.ordinal
	histories []*history.View // by History.ordinal
	bytes     int64           // of all tables
	newest    int64           // start of the newest bucket of all tables
	turned    [2]txn.Version  // when the one before it became the newest, and when it did
}

// single is the state of a table, with room for the root of a store with that one table:
// one allocation a commit. In a store of more tables, or with histories, the room stays
// empty: a state that the next root has too would keep alive the root that it came with, and
// so the other tables' states and the views of histories in that.
type single struct {
	state tableState
	at    txn.Root[*root]
	root  root
	list  [1]*tableState
}

// put makes the next root one in which a table has another state.
func (s *single) put(next *txn.Next[*root], ordinal int) {
	r := next.State
	bytes := r.bytes + s.state.bytes - r.tables[ordinal].bytes
	if len(r.tables) == 1 && len(r.histories) == 0 {
		s.root, s.list[0] = *r, &s.state
		s.root.tables, s.root.bytes = s.list[:], bytes
		next.State, next.Room = &s.root, &s.at
		return
	}
	more := *r
	more.tables, more.bytes = slices.Clone(r.tables), bytes
	more.tables[ordinal] = &s.state
	next.State, next.Room = &more, nil
}

// table returns the state of a table, nil if the root is older than it.
func (r *root) table(ordinal int) *tableState {
	if ordinal >= len(r.tables) {
		return nil
	}
	return r.tables[ordinal]
}

// tableState is one table in a root.
type tableState struct {
	granules index.Version[*granule.Granule] // by lower bound
	buckets  *index.Version[*bucket]         // by lowest key
	notes    []string                        // distinct, in the order of their commits
	rows     int64
	bytes    int64 // on the heap: parts, granules, buckets, notes; not dictionaries
	newest   int64 // the latest time of a committed row, with buckets
	last     int64 // start of the newest bucket
	filled   int64 // rows that came for its time range since that, or the last bucket in it, began
	series   int   // that it has
	open     int64 // start of the first time range that is not closed
	floor    int64 // start of the first time range that rows are taken for
	dropped  int64 // rows that retention dropped
	evicted  int64 // rows that were evicted
}

// bucket is what a table knows of one time bucket without looking at rows.
//
// Time is divided into ranges of the schema's width. A range is one bucket, which begins
// with it, until it is cut (tableEdit.cutBucket): then a bucket begins amid it, at any time.
// A row goes to the last bucket of its range that begins at or before its time; if that was
// not there yet when the row was prepared, it goes to the one before. So a bucket has rows
// from its start to the end of its range. What is dropped is whole ranges.
type bucket struct {
	start   int64
	latest  int64 // no row is later; the greatest int64 unless it was cut
	gen     *granule.Generation
	series  bitset          // codes of the series with committed rows
	columns map[string]bool // concrete dynamic columns that a row here has a value in
}

// Bytes of what is kept beside parts, each with its place in an index.
const (
	granuleSize = 320
	bucketSize  = 360
	columnSize  = 48 // a name in a bucket
	noteSize    = 32
)

// size returns the bytes that the bucket holds on the heap.
func (b *bucket) size() int64 {
	return bucketSize + 8*int64(len(b.series)) + columnSize*int64(len(b.columns))
}

// hasSeries says that all series of some rows are in the bucket. That stays so: a
// bucket only grows until it is dropped, and then takes no rows.
func (b *bucket) hasSeries(series *encoding.Words) bool {
	cursor := series.Cursor()
	for {
		code, rows := cursor.Next()
		if rows == 0 || !b.series.has(uint32(code)) {
			return rows == 0
		}
	}
}

// hasColumns says that all dynamic columns of rows of a batch, nil for all, are in the
// bucket. Those of a series are if the series is.
func (b *bucket) hasColumns(s *schema.Schema, columns []schema.Concrete, rows []int32) bool {
	for i := range columns {
		c := &columns[i]
		if s.Columns()[c.Column].Dynamic && !s.IsSeries(c.Column) && !b.columns[c.Name] && hasValue(c, rows) {
			return false
		}
	}
	return true
}

func newTableState() *tableState {
	return &tableState{
		granules: *index.New[*granule.Granule](),
		buckets:  index.New[*bucket](),
		newest:   math.MinInt64,
		last:     math.MinInt64,
		open:     math.MinInt64,
		floor:    math.MinInt64,
	}
}

// oldest returns the oldest bucket.
func (t *tableState) oldest() (b *bucket, ok bool) {
	for _, b := range t.buckets.All() {
		return b, true
	}
	return nil, false
}

// tableEdit is a table's next state in the making, under the commit lock.
type tableEdit struct {
	table    *Table
	schema   *schema.Schema
	granules index.Edit[*granule.Granule]
	buckets  *index.Edit[*bucket]
	next     *single
	state    *tableState        // of next
	latest   int64              // the newest time of the rows that came
	due      []*granule.Granule // that grew, or are new
	closing  []*granule.Granule // of buckets that were closed

	own           map[*granule.Granule]bool // made by add: nobody else has seen them
	entered, left []granule.Slice           // what the next root has more and less
}

var tableEdits = sync.Pool{New: func() any { return &tableEdit{own: map[*granule.Granule]bool{}} }}

// edit returns the next state of a table, to be changed until it is published. Release
// gives it back then, or where it is not.
func (t *tableState) edit(table *Table) *tableEdit {
	e := tableEdits.Get().(*tableEdit)
	e.table, e.schema, e.next = table, table.schema, &single{state: *t}
	e.state, e.latest = &e.next.state, math.MinInt64
	e.granules = index.EditOf(&e.state.granules)
	return e
}

// release gives the edit back. Nothing of it is used by what was published.
func (e *tableEdit) release() {
	clear(e.due)
	clear(e.closing)
	clear(e.own)
	clear(e.entered)
	clear(e.left)
	*e = tableEdit{due: e.due[:0], closing: e.closing[:0], own: e.own, entered: e.entered[:0], left: e.left[:0]}
	tableEdits.Put(e)
}

// editBuckets returns the buckets to change: few commits do.
func (e *tableEdit) editBuckets() *index.Edit[*bucket] {
	if e.buckets == nil {
		e.buckets = e.state.buckets.Edit()
	}
	return e.buckets
}

// done puts the table's next state, and what that has no more, into the next
// root, which is of the given version. Nothing may prevent its publication any
// more.
func (e *tableEdit) done(version txn.Version, next *txn.Next[*root]) {
	for _, s := range e.entered { // first: what comes and goes does not leave
		s.Part.Generation().Enter(uint64(version))
		if s.Part.Enter(uint64(version)) {
			e.state.bytes += int64(s.Part.Size())
		}
	}
	for _, s := range e.left {
		if s.Part.Leave() {
			e.state.bytes -= int64(s.Part.Size())
			next.Garbage = append(next.Garbage, txn.Garbage{Since: txn.Version(s.Part.Since()), Bytes: int64(s.Part.Size())})
		}
	}
	before := next.State.tables[e.table.ordinal]
	e.granules.Done() // in place
	if e.buckets != nil {
		e.state.buckets = e.buckets.Done()
	}
	e.next.put(next, e.table.ordinal)
	if e.state.floor > before.floor {
		next.Garbage = append(next.Garbage, e.table.dropGenerations(e.state.floor)...)
	}
	if newest := e.schema.BucketStart(e.state.newest); newest > next.State.newest && e.state.newest > before.newest {
		next.State.newest = newest
		next.State.turned = [2]txn.Version{next.State.turned[1], version}
	}
}

// add routes a part to the granules that cover its rows now. Mostly that is
// the one that it was cut for; where that was split since, its children get
// sub-ranges.
func (e *tableEdit) add(p piece) {
	rest := granule.Slice{Part: p.part, Lo: 0, Hi: p.part.Rows()}
	bound := p.bound
	for {
		g := e.covering(p, bound)
		lo, hi := g.Bounds()
		mine := rest
		if hi != p.hi {
			mine = rest.Within(e.schema, lo, hi)
		}
		if mine.Rows() > 0 {
			e.grow(g, lo, mine)
			e.entered = append(e.entered, mine)
		}
		if mine.Hi == rest.Hi {
			break
		}
		rest.Lo, bound = mine.Hi, hi // the next granule begins where this one ends
	}
	e.state.rows += int64(p.part.Rows())
	if _, newest := p.part.TimeRange(); e.schema.BucketColumn() >= 0 {
		e.state.newest = max(e.state.newest, newest)
		e.fill(p.bucket, int64(p.part.Rows()))
		e.latest = max(e.latest, newest)
	}
	if !p.known {
		e.addToBucket(p)
	}
	if p.bucket < e.state.last {
		e.noteLate(p)
	}
}

// grow adds rows to a granule: in place, if this edit made it.
func (e *tableEdit) grow(g *granule.Granule, bound string, rows granule.Slice) {
	if e.own[g] {
		g.Add(rows)
		return
	}
	grown := g.With(rows)
	e.granules.Amend(bound, grown)
	e.due = append(e.due, grown)
	e.own[grown] = true
}

// covering returns the granule that begins at a bound, at which one did when the
// piece was cut: a split leaves its first child there. If there was none, it is the
// bucket's first one (C6).
func (e *tableEdit) covering(p piece, bound string) *granule.Granule {
	if g, ok := e.granules.Get(bound); ok {
		return g
	}
	e.state.bytes += granuleSize
	return granule.New(e.schema.BucketBounds(p.bucket))
}

// addToBucket notes what the bucket has now. Most commits bring nothing new; what
// grows is copied.
func (e *tableEdit) addToBucket(p piece) {
	buckets := e.editBuckets()
	bound, b, ok := buckets.Floor(p.bucketKey)
	if !ok || bound != p.bucketKey {
		b = &bucket{start: p.bucket, latest: math.MaxInt64, gen: p.part.Generation()}
		e.state.bytes += b.size()
	}
	next := *b
	var more bool
	next.series, more = b.series.with(p.series)
	for _, name := range p.columns {
		if next.columns[name] {
			continue
		}
		if len(next.columns) == len(b.columns) {
			next.columns = maps.Clone(b.columns)
		}
		if next.columns == nil {
			next.columns = map[string]bool{}
		}
		next.columns[name] = true
	}
	if more && p.bucket == e.state.last {
		e.state.series = next.series.len()
	}
	named := len(next.columns) > len(b.columns)
	if !ok || bound != p.bucketKey || more || named {
		e.state.bytes += next.size() - b.size()
		if named || len(next.series) > smallSet {
			buckets.Set(p.bucketKey, &next) // so that the columns or series before are not kept
		} else {
			buckets.Amend(p.bucketKey, &next)
		}
	}
}

// smallSet is how many words a set of series may have of which the one before may stay alive
// too: no more than what an entry of the index takes.
const smallSet = 8

// replace puts the successors of a granule in its place. Of a closed bucket, those
// that have parts which came meanwhile are listed again.
func (e *tableEdit) replace(old *granule.Granule, successors []*granule.Granule) {
	open, _ := e.schema.BucketBounds(e.state.open)
	e.left = append(e.left, old.Slices()...)
	e.state.bytes += granuleSize * int64(len(successors)-1)
	for _, g := range successors {
		lo, _ := g.Bounds()
		e.granules.Set(lo, g)
		e.entered = append(e.entered, g.Slices()...)
		e.due = append(e.due, g)
		if lo < open && g.FreshParts() > 0 {
			e.closing = append(e.closing, g)
		}
	}
}

// retain drops the buckets that lie wholly before the newest row by more than
// the retention.
func (e *tableEdit) retain(retention int64) {
	if retention <= 0 || e.schema.BucketColumn() < 0 || e.state.newest < math.MinInt64+retention {
		return
	}
	e.state.dropped += e.dropBefore(e.schema.BucketStart(e.state.newest - retention))
}

// dropBefore raises the floor: the buckets before it go, whole granules at a
// time; no row is looked at. It returns how many rows that were.
func (e *tableEdit) dropBefore(floor int64) (rows int64) {
	if floor <= e.state.floor {
		return 0
	}
	e.state.floor = floor
	first, _ := e.schema.BucketBounds(floor)
	buckets := e.editBuckets()
	for {
		bound, b, ok := buckets.First()
		if !ok || bound >= first {
			break
		}
		buckets.Delete(bound)
		e.state.bytes -= b.size()
	}
	for {
		bound, g, ok := e.granules.First()
		if !ok || bound >= first {
			break
		}
		e.granules.Delete(bound)
		e.state.bytes -= granuleSize
		rows += int64(g.Rows())
		e.left = append(e.left, g.Slices()...)
	}
	e.state.rows -= rows
	return rows
}

// note adds text to the table's notes, unless it is there.
func (e *tableEdit) note(text string) error {
	if slices.Contains(e.state.notes, text) {
		return nil
	}
	bytes := len(text)
	for _, n := range e.state.notes {
		bytes += len(n)
	}
	most := maxNoteBytes
	if budget := e.table.store.share(1); budget > 0 {
		most = min(most, int(budget))
	}
	if len(text) > schema.MaxString || len(e.state.notes) >= maxNotes || bytes > most {
		return fmt.Errorf("%w: note %d of table %q has %d bytes, all have %d: at most %d notes of %d bytes, all of %d", ErrLimit,
			len(e.state.notes)+1, e.table.name, len(text), bytes, maxNotes, schema.MaxString, most)
	}
	e.state.notes = append(slices.Clip(e.state.notes), text)
	e.state.bytes += int64(len(text)) + noteSize
	return nil
}

// closeBuckets closes the buckets that the newest row is a whole bucket beyond,
// and lists their granules that have fresh parts: they are compacted once, now
// that few rows are still to come.
func (e *tableEdit) closeBuckets() {
	width := e.schema.BucketWidth()
	if width == 0 || e.state.newest < math.MinInt64+width {
		return
	}
	open := e.schema.BucketStart(e.state.newest - width)
	if open <= e.state.open {
		return
	}
	from, _ := e.schema.BucketBounds(max(e.state.open, e.state.floor))
	to, _ := e.schema.BucketBounds(open)
	e.state.open = open
	for _, g := range e.granules.Between(from, to) {
		if g.FreshParts() > 0 {
			e.closing = append(e.closing, g)
		}
	}
}

// bitset is an immutable set of small integers.
type bitset []uint64

func (b bitset) has(i uint32) bool {
	return int(i/64) < len(b) && b[i/64]>>(i%64)&1 == 1
}

func (b bitset) len() (n int) {
	for _, word := range b {
		n += bits.OnesCount64(word)
	}
	return n
}

// with returns the set with more members; it copies only if one is new.
func (b bitset) with(members []uint32) (grown bitset, changed bool) {
	for _, m := range members {
		if b.has(m) {
			continue
		}
		if !changed {
			b, changed = slices.Clone(b), true
		}
		for int(m/64) >= len(b) {
			b = append(b, 0)
		}
		b[m/64] |= 1 << (m % 64)
	}
	return b, changed
}

// few returns the members that are in others too, in order, unless they are more than most.
func (b bitset) few(others []uint64, most int) (members []uint32, few bool) {
	n := 0
	for i, word := range b {
		if n += bits.OnesCount64(word & others[i]); n > most {
			return nil, false
		}
	}
	members = make([]uint32, 0, n)
	for i, word := range b {
		for word &= others[i]; word != 0; word &= word - 1 {
			members = append(members, uint32(64*i+bits.TrailingZeros64(word)))
		}
	}
	return members, true
}

// all calls f with each member in order.
func (b bitset) all(f func(i uint32)) {
	for i := range uint32(len(b) * 64) {
		if b.has(i) {
			f(i)
		}
	}
}
