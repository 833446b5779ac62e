package filter

import (
	"iter"

	"github.com/google/uuid"

	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/schema"
)

// Env is a table as queries see it, independent of the commit. It is safe for concurrent use if its
// functions are.
type Env struct {
	Schema *schema.Schema
	Seed   uint64 // seed of the hashes in the query's own dictionaries
	// SeriesColumns returns a generation's series by column.
	SeriesColumns func(*granule.Generation) *granule.SeriesColumns
	// Dictionaries returns the dictionaries of a bucket that has rows.
	Dictionaries func(*catalog.TableState, *catalog.BucketState) (*granule.Generation, error)
	// Cold yields the granules that a read needs from a bucket with cold rows. gen is the bucket's
	// Dictionaries.
	Cold func(state *catalog.TableState, b *catalog.BucketState, gen *granule.Generation, read catalog.ColdRead) iter.Seq2[*granule.Granule, error]
	// FindID returns the granules in the file of a bucket with cold rows that can have id in a concrete
	// column, and whether any row of the bucket can. It needs no Dictionaries.
	FindID func(state *catalog.TableState, b *catalog.BucketState, column string, id uuid.UUID) (granules catalog.Bitset, some bool, err error)
	// Yield is called at the points where a simulator may switch tasks, never under a lock.
	Yield func(point string)
}

// IsWide reports whether a column is one of the wide columns of parts (granule.IsWide).
func (s *Env) IsWide(column int) bool {
	return granule.IsWide(s.Schema.Columns()[column]) && !s.Schema.IsSeries(column)
}
