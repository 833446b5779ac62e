package catalog

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/index"
	"github.com/granarydb/granary/internal/invariants"
	"github.com/granarydb/granary/schema"
	"github.com/granarydb/granary/txn"
)

// TableEdit is the next state of a table while it is built. It belongs to the holder of the commit lock.
type TableEdit struct {
	ordinal  int
	schema   *schema.Schema
	granules index.Edit[*granule.Granule]
	buckets  *index.Edit[*BucketState] // nil until a bucket changes
	next     *single
	State    *TableState        // of the next database
	Latest   int64              // latest time of the added rows
	commit   uint64             // commit of the last added rows
	Due      []*granule.Granule // new and grown granules
	Closing  []*granule.Granule // granules with fresh parts in closed or cut buckets
	Files    []uint64           // files of cold rows that the next state lacks

	own           map[*granule.Granule]bool // granules that this edit made and may still change
	entered, left []granule.Section         // sections added to and removed from the table
}

var tableEdits = sync.Pool{New: func() any { return &TableEdit{own: map[*granule.Granule]bool{}} }}

// Edit returns an edit that starts with the current state. The caller must Release it, after publication
// or if it is given up.
func (t *TableState) Edit(ordinal int) *TableEdit {
	e := tableEdits.Get().(*TableEdit)
	e.ordinal, e.schema, e.next = ordinal, t.Schema, &single{state: *t}
	e.State, e.Latest = &e.next.state, math.MinInt64
	e.granules = index.EditOf(&e.State.Granules)
	return e
}

// Release returns the edit to the pool. The published root shares nothing with the edit.
func (e *TableEdit) Release() {
	clear(e.Due)
	clear(e.Closing)
	clear(e.own)
	clear(e.entered)
	clear(e.left)
	*e = TableEdit{Due: e.Due[:0], Closing: e.Closing[:0], Files: e.Files[:0], own: e.own, entered: e.entered[:0], left: e.left[:0]}
	tableEdits.Put(e)
}

// Floor returns the start of the first time range that takes rows in the next state.
func (e *TableEdit) Floor() int64 { return e.State.Floor }

// editBuckets returns the edit of the buckets. The first call begins it, because few commits change a
// bucket.
func (e *TableEdit) editBuckets() *index.Edit[*BucketState] {
	if e.buckets == nil {
		e.buckets = e.State.Buckets.Edit()
	}
	return e.buckets
}

// Done puts the state into the next root, which has the given version, and appends parts that only the
// current root reaches to its garbage. It reports whether the floor rose. Dictionaries below the floor
// are then garbage too. Publication must not fail after Done.
func (e *TableEdit) Done(version txn.Version, next *txn.Next[*Database]) (rose bool) {
	if invariants.Enabled {
		e.check(next.State.Tables[e.ordinal])
	}
	for _, s := range e.entered { // before left, because a part that moves between granules stays
		s.Part.Generation().Enter(uint64(version))
		if s.Part.Enter(uint64(version)) {
			e.State.Bytes += int64(s.Part.Size())
		}
	}
	for _, s := range e.left {
		if s.Part.Leave() {
			e.State.Bytes -= int64(s.Part.Size())
			next.Garbage = append(next.Garbage, txn.Garbage{Since: txn.Version(s.Part.Since()), Bytes: int64(s.Part.Size())})
		}
	}
	before := next.State.Tables[e.ordinal]
	e.granules.Done() // in place
	if e.buckets != nil {
		e.State.Buckets = e.buckets.Done()
	}
	e.next.put(next, e.ordinal)
	if newest := e.schema.BucketStart(e.State.Newest); newest > next.State.Newest && e.State.Newest > before.Newest {
		next.State.Newest = newest
		next.State.Turned = [2]txn.Version{next.State.Turned[1], version}
	}
	return e.State.Floor > before.Floor
}

// Add routes a part to the granules that cover its rows now. Usually that is the granule that the part
// was built for. If it was split meanwhile, its children get sub-ranges of the rows.
func (e *TableEdit) Add(a *Placement) {
	rest := granule.Section{Part: a.Part, Lo: 0, Hi: a.Part.Rows()}
	bound := a.Bound
	for {
		g := e.covering(a, bound)
		lo, hi := g.Bounds()
		mine := rest
		if hi != a.Hi {
			mine = rest.Within(e.schema, lo, hi)
		}
		if mine.Rows() > 0 {
			e.grow(g, lo, mine)
			e.entered = append(e.entered, mine)
		}
		if mine.Hi == rest.Hi {
			break
		}
		rest.Lo, bound = mine.Hi, hi // the next granule begins where this granule ends
	}
	e.State.Rows += int64(a.Part.Rows())
	e.commit = a.Part.Commit()
	if _, newest := a.Part.TimeRange(); e.schema.BucketColumn() >= 0 {
		e.State.Newest = max(e.State.Newest, newest)
		e.fill(a.Bucket, int64(a.Part.Rows()))
		e.Latest = max(e.Latest, newest)
	}
	if !a.Known {
		e.addToBucket(a)
	}
	if a.Bucket < e.State.last {
		e.noteLate(a)
	}
}

// grow adds rows to a granule: in place if this edit made the granule, otherwise in a copy.
func (e *TableEdit) grow(g *granule.Granule, bound string, rows granule.Section) {
	if e.own[g] {
		g.Add(rows)
		return
	}
	grown := g.With(rows)
	e.granules.Amend(bound, grown)
	e.Due = append(e.Due, grown)
	e.own[grown] = true
}

// covering returns the granule that covers a bound. A granule began there when the part was built, and a
// split leaves its first child there, but the bucket can have become cold since. If the bucket has no
// granule, covering makes its first (K1).
func (e *TableEdit) covering(a *Placement, bound string) *granule.Granule {
	if g, ok := e.granules.Get(bound); ok {
		return g
	}
	if at, g, ok := e.granules.Floor(bound); ok && at >= a.BucketKey {
		return g
	}
	e.State.Bytes += GranuleSize
	return granule.New(a.BucketKey, a.BucketEnd)
}

// Replace puts a granule's successors in its place. Successors with fresh parts in a closed bucket are
// added to Closing again.
func (e *TableEdit) Replace(old *granule.Granule, successors []*granule.Granule) {
	open, _ := e.schema.BucketBounds(e.State.Open)
	e.left = append(e.left, old.Sections()...)
	e.State.Bytes += GranuleSize * int64(len(successors)-1)
	for _, g := range successors {
		lo, _ := g.Bounds()
		e.granules.Set(lo, g)
		e.entered = append(e.entered, g.Sections()...)
		e.Due = append(e.Due, g)
		if lo < open && g.FreshParts() > 0 {
			e.Closing = append(e.Closing, g)
		}
	}
}

const (
	// Limits on a table's notes.
	maxNotes     = 1 << 10
	maxNoteBytes = 1 << 20
)

// Note adds a note to the table, unless the table has it. All notes together may have `most` bytes; 0
// means 1 MiB. Errors wrap schema.ErrLimit.
func (e *TableEdit) Note(text string, most int64) error {
	if slices.Contains(e.State.Notes, text) {
		return nil
	}
	if !utf8.ValidString(text) {
		return fmt.Errorf("%w: note %.100q is not UTF-8", schema.ErrLimit, text)
	}
	bytes := len(text)
	for _, n := range e.State.Notes {
		bytes += len(n)
	}
	if most <= 0 || most > maxNoteBytes {
		most = maxNoteBytes
	}
	if len(text) > schema.MaxString || len(e.State.Notes) >= maxNotes || int64(bytes) > most {
		return fmt.Errorf("%w: note %d has %d bytes, all have %d: at most %d notes of %d bytes, all of %d", schema.ErrLimit,
			len(e.State.Notes)+1, len(text), bytes, maxNotes, schema.MaxString, most)
	}
	e.State.Notes = append(slices.Clip(e.State.Notes), text)
	e.State.Bytes += int64(len(text)) + NoteSize
	return nil
}

// check panics if the next state breaks an invariant where the edit changes it. It is called in builds with the tag
// invariants alone. It costs O(rows that were added or rewritten).
func (e *TableEdit) check(before *TableState) {
	invariants.Check(e.State.Floor >= before.Floor, "K4", "the floor falls from %d to %d", before.Floor, e.State.Floor)
	floor, _ := e.schema.BucketBounds(e.State.Floor)
	if lo, _, ok := e.granules.First(); ok && e.schema.BucketColumn() >= 0 {
		invariants.Check(lo >= floor, "K4", "a granule at %x is below the floor at %x", lo, floor)
	}
	for _, s := range e.entered {
		bucket, end := e.schema.BucketBounds(s.Part.Bucket())
		key := string(s.Part.AppendKey(nil, e.schema, s.Lo))
		lo, g, ok := e.granules.Floor(key)
		if !ok || lo < bucket || s.Part.Since() == 0 && slices.Contains(e.left, s) {
			continue // the edit that added the rows dropped their bucket, and may have begun it again
		}
		invariants.Check(slices.Contains(g.Sections(), s), "K2", "rows from %x on are not in the granule at %x", key, lo)
		s.Check(e.schema, g)
		_, hi := g.Bounds()
		_, next := e.granules.Get(hi)
		invariants.Check(next || hi == end, "K1", "no granule begins at %x, where the one at %x ends", hi, lo)
	}
}

// Saved is the state of a table without its buckets and granules, for a manifest.
type Saved struct {
	Notes            []string `json:",omitempty"`
	Newest, Last     int64
	Filled           int64
	Open, Floor      int64
	Dropped, Evicted int64
	SeriesOfNewest   int
	Lost             int64  `json:",omitempty"`
	LastUnit         uint64 `json:",omitempty"`
}

// Save returns the state that Resume needs besides the buckets.
func (t *TableState) Save() Saved {
	return Saved{
		Notes: t.Notes, Newest: t.Newest, Last: t.last, Filled: t.Filled, Open: t.Open, Floor: t.Floor,
		Dropped: t.Dropped, Evicted: t.Evicted, SeriesOfNewest: t.Series,
		Lost: t.Lost, LastUnit: t.LastUnit,
	}
}

// Resume gives an empty table a saved state, except the buckets. The error is schema.ErrLimit, for notes.
func (e *TableEdit) Resume(s Saved) error {
	for _, note := range s.Notes {
		if err := e.Note(note, 0); err != nil {
			return err
		}
	}
	t := e.State
	t.Newest, t.last, t.Filled, t.Open, t.Floor = s.Newest, s.Last, s.Filled, s.Open, s.Floor
	t.Dropped, t.Evicted, t.Series = s.Dropped, s.Evicted, s.SeriesOfNewest
	t.Lost, t.LastUnit = s.Lost, s.LastUnit
	return nil
}
