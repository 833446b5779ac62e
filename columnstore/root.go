package columnstore

import (
	"maps"
	"slices"

	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/index"
	"github.com/granarydb/granary/schema"
)

// root is the whole database as a value. It never changes once published.
type root struct {
	tables []*tableState // by Table.ordinal
}

// with returns a root in which one table has another state.
func (r *root) with(ordinal int, state *tableState) *root {
	next := &root{tables: slices.Clone(r.tables)}
	next.tables[ordinal] = state
	return next
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
	granules *index.Version[*granule.Granule] // by lower bound
	buckets  *index.Version[*bucket]          // by lowest key
	columns  map[string]bool                  // concrete dynamic columns that have a value
	notes    []string                         // distinct, in the order of their commits
	rows     int64
}

// bucket is what a table knows of one time bucket without looking at rows.
type bucket struct {
	start  int64
	gen    *granule.Generation
	series bitset // codes of the series with committed rows
}

func newTableState() *tableState {
	return &tableState{
		granules: index.New[*granule.Granule](),
		buckets:  index.New[*bucket](),
		columns:  map[string]bool{},
	}
}

// tableEdit is a table's next state in the making, under the commit lock.
type tableEdit struct {
	schema   *schema.Schema
	granules *index.Edit[*granule.Granule]
	buckets  *index.Edit[*bucket]
	columns  map[string]bool
	shared   bool // columns is still the old state's
	notes    []string
	rows     int64
	due      []string // bounds of granules that grew
}

func (t *tableState) edit(s *schema.Schema) *tableEdit {
	return &tableEdit{
		schema: s, granules: t.granules.Edit(), buckets: t.buckets.Edit(),
		columns: t.columns, shared: true, notes: t.notes, rows: t.rows,
	}
}

func (e *tableEdit) done() *tableState {
	return &tableState{granules: e.granules.Done(), buckets: e.buckets.Done(), columns: e.columns, notes: e.notes, rows: e.rows}
}

// add routes a part to the granules that cover its rows now. Mostly that is
// the one that it was cut for; where that was split since, its children get
// sub-ranges.
func (e *tableEdit) add(p piece) {
	rest := granule.Slice{Part: p.part, Lo: 0, Hi: p.part.Rows()}
	key := p.key
	for {
		g := e.covering(p, key)
		lo, hi := g.Bounds()
		mine := rest
		if hi != p.hi {
			mine = rest.Within(e.schema, lo, hi)
		}
		if mine.Rows() > 0 {
			e.granules.Set(lo, g.With(mine))
			e.due = append(e.due, lo)
		}
		if mine.Hi == rest.Hi {
			break
		}
		// The next row's key is the next granule's bound or above it.
		rest.Lo, key = mine.Hi, hi
	}
	e.rows += int64(p.part.Rows())
	e.addSeries(p)
}

// covering returns the granule that key belongs to: the bucket's first one, if
// the bucket has none yet (C6).
func (e *tableEdit) covering(p piece, key string) *granule.Granule {
	if _, g, ok := e.granules.Floor(key); ok {
		if _, hi := g.Bounds(); hi == "" || key < hi {
			return g
		}
	}
	return granule.New(e.schema.BucketBounds(p.bucket))
}

func (e *tableEdit) addSeries(p piece) {
	lo, _ := e.schema.BucketBounds(p.bucket)
	bound, b, ok := e.buckets.Floor(lo)
	if !ok || bound != lo {
		b = &bucket{start: p.bucket, gen: p.part.Generation()}
		e.buckets.Set(lo, b)
	}
	if grown, changed := b.series.with(p.series); changed {
		e.buckets.Set(lo, &bucket{start: b.start, gen: b.gen, series: grown})
	}
	for _, name := range p.columns {
		if e.columns[name] {
			continue
		}
		if e.shared {
			e.columns, e.shared = maps.Clone(e.columns), false
		}
		e.columns[name] = true
	}
}

// bitset is an immutable set of small integers.
type bitset []uint64

func (b bitset) has(i uint32) bool {
	return int(i/64) < len(b) && b[i/64]>>(i%64)&1 == 1
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

// all calls f with each member in order.
func (b bitset) all(f func(i uint32)) {
	for i := range uint32(len(b) * 64) {
		if b.has(i) {
			f(i)
		}
	}
}
