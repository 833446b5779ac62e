package columnstore

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/txn"
)

// fewSeries is how many series are looked for in the index. Beyond it, all granules of a
// bucket are looked at.
const fewSeries = 64

// granules returns the granules that can have rows for which the condition holds, in key
// order, good until the next call.
func (c *chooser) granules(state *tableState, where Expr) []*granule.Granule {
	found := c.work.granules[:0]
	for _, b := range c.buckets(state, where) {
		found = c.granulesOf(found, state, b)
	}
	c.work.granules = found
	return found
}

// granulesOf appends those of a bucket.
func (c *chooser) granulesOf(dst []*granule.Granule, state *tableState, b *bucket) []*granule.Granule {
	codes, few := b.series.few(c.setOf(b.gen).some, fewSeries)
	lo, hi := c.table.schema.BucketBounds(b.start)
	ranges := [][2]string{{lo, hi}}
	if few {
		ranges = c.table.rangesOf(b, codes)
	}
	n := len(dst)
	dst = appendGranules(dst, state, ranges)
	if id := c.filter.onlyID(); id != nil {
		dst = dst[:n+len(id.among(dst[n:]))]
	}
	return dst
}

// reads yields the granules, those of a bucket when it is reached: who reads need not read
// all. Whether the read must stop is asked before each bucket and each granule.
func (c *chooser) reads(ctx context.Context, state *tableState, use txn.Use[*root], where Expr) iter.Seq2[*granule.Granule, error] {
	return func(yield func(*granule.Granule, error) bool) {
		for _, b := range c.buckets(state, where) {
			if err := cmp.Or(ctx.Err(), use.Err()); err != nil {
				yield(nil, err)
				return
			}
			c.work.granules = c.granulesOf(c.work.granules[:0], state, b)
			for _, g := range c.work.granules {
				c.table.store.opts.Yield("read/granule")
				if !yield(g, cmp.Or(ctx.Err(), use.Err())) {
					return
				}
			}
		}
	}
}

// rangesOf returns the keys that rows of series of a bucket can have, in order.
func (t *Table) rangesOf(b *bucket, codes []uint32) [][2]string {
	keys := make([]string, len(codes))
	bucket := t.schema.AppendBucket(nil, b.start)
	for i, code := range codes {
		tuple := b.gen.Series.Value(code)
		var key strings.Builder
		key.Grow(len(bucket) + len(tuple))
		key.Write(bucket)
		key.Write(tuple)
		keys[i] = key.String()
	}
	slices.Sort(keys)
	ranges := make([][2]string, len(keys))
	for i, key := range keys {
		ranges[i] = [2]string{key, after(key)}
	}
	return ranges
}

// after returns the lowest key above all that begin with prefix; empty if there is none.
func after(prefix string) string {
	for n := len(prefix) - 1; n >= 0; n-- {
		if last := prefix[n]; last < 0xff {
			return prefix[:n] + string([]byte{last + 1})
		}
	}
	return ""
}

// appendGranules appends the granules that ranges of keys, in order and apart from each
// other, are in, each once.
func appendGranules(dst []*granule.Granule, state *tableState, ranges [][2]string) []*granule.Granule {
	for _, r := range ranges {
		n := len(dst)
		dst = state.granules.AppendOverlapping(dst, r[0], r[1])
		if n == len(dst) {
			continue
		}
		// All but the first begin in the range. That may be the last one's, or of another bucket.
		if _, hi := dst[n].Bounds(); n > 0 && dst[n-1] == dst[n] || hi != "" && hi <= r[0] {
			dst = slices.Delete(dst, n, n+1)
		}
	}
	return dst
}
