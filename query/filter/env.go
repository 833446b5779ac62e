package filter

import (
	"iter"

	"github.com/granarydb/granary/catalog"
	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/schema"
)

// Env is a table as queries see it, independent of the commit. It is safe for concurrent
// use if its functions are.
type Env struct {
	Schema *schema.Schema
	Seed   uint64 // seed of the hashes in the query's own dictionaries
	// SeriesColumns returns the series of a generation by column.
	SeriesColumns func(*granule.Generation) *granule.SeriesColumns
	// Dictionaries returns the dictionaries of a bucket that has rows.
	Dictionaries func(*catalog.TableState, *catalog.BucketState) (*granule.Generation, error)
	// Cold yields the granules of a bucket with cold rows that overlap some ranges of keys, which are
	// disjoint and ascending; nil means all. gen is its Dictionaries.
	Cold func(state *catalog.TableState, b *catalog.BucketState, gen *granule.Generation, ranges [][2]string) iter.Seq2[*granule.Granule, error]
	// Yield is called at the points where a simulator may switch tasks, never under a lock.
	Yield func(point string)
}

// bucketsOf yields the buckets of a state that can have rows for which where holds, in time
// order.
func bucketsOf(state *catalog.TableState, where Expr) iter.Seq[*catalog.BucketState] {
	return state.BucketsOf(timeBounds(state.Schema, where))
}
