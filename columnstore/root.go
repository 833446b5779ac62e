package columnstore

import (
	"maps"
	"math"
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
	notes    []string                         // distinct, in the order of their commits
	rows     int64
	newest   int64 // the latest time of a committed row, with buckets
	floor    int64 // start of the first bucket that rows are taken for
	dropped  int64 // rows that retention dropped
}

// bucket is what a table knows of one time bucket without looking at rows.
type bucket struct {
	start   int64
	gen     *granule.Generation
	series  bitset          // codes of the series with committed rows
	columns map[string]bool // concrete dynamic columns that a row here has a value in
	rows    int64
}

func newTableState() *tableState {
	return &tableState{
		granules: index.New[*granule.Granule](),
		buckets:  index.New[*bucket](),
		newest:   math.MinInt64,
		floor:    math.MinInt64,
	}
}

// tableEdit is a table's next state in the making, under the commit lock.
type tableEdit struct {
	schema   *schema.Schema
	granules *index.Edit[*granule.Granule]
	buckets  *index.Edit[*bucket]
	state    tableState // what else it has
	due      []string   // bounds of granules that grew
}

func (t *tableState) edit(s *schema.Schema) *tableEdit {
	return &tableEdit{
		schema: s, granules: t.granules.Edit(), buckets: t.buckets.Edit(), state: *t,
	}
}

func (e *tableEdit) done() *tableState {
	e.state.granules, e.state.buckets = e.granules.Done(), e.buckets.Done()
	return &e.state
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
	e.state.rows += int64(p.part.Rows())
	if _, newest := p.part.TimeRange(); e.schema.BucketColumn() >= 0 {
		e.state.newest = max(e.state.newest, newest)
	}
	e.addToBucket(p)
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

// addToBucket notes what the bucket has now. Sets are copied if they grow.
func (e *tableEdit) addToBucket(p piece) {
	lo, _ := e.schema.BucketBounds(p.bucket)
	next := &bucket{start: p.bucket, gen: p.part.Generation()}
	if bound, b, ok := e.buckets.Floor(lo); ok && bound == lo {
		*next = *b
	}
	next.rows += int64(p.part.Rows())
	next.series, _ = next.series.with(p.series)
	shared := true
	for _, name := range p.columns {
		if next.columns[name] {
			continue
		}
		if shared {
			next.columns, shared = maps.Clone(next.columns), false
		}
		if next.columns == nil {
			next.columns = map[string]bool{}
		}
		next.columns[name] = true
	}
	e.buckets.Set(lo, next)
}

// retain drops the buckets that lie wholly before the newest row by more than
// the retention, and raises the floor. Whole granules go; no row is looked at.
func (e *tableEdit) retain(retention int64) {
	if retention <= 0 || e.schema.BucketColumn() < 0 || e.state.newest < math.MinInt64+retention {
		return
	}
	floor := e.schema.BucketStart(e.state.newest - retention)
	if floor <= e.state.floor {
		return
	}
	e.state.floor = floor
	first, _ := e.schema.BucketBounds(floor)
	for {
		bound, b, ok := e.buckets.First()
		if !ok || bound >= first {
			break
		}
		e.buckets.Delete(bound)
		e.state.rows -= b.rows
		e.state.dropped += b.rows
	}
	for {
		bound, _, ok := e.granules.First()
		if !ok || bound >= first {
			return
		}
		e.granules.Delete(bound)
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
