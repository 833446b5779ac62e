package columnstore

import (
	"context"

	"github.com/granarydb/granary/schema"
	"github.com/granarydb/granary/txn"
)

// Insert is Table.Insert for a batch with codes: Batch.Series replaces the columns that lead
// the sorting key, and Vector.Codes replaces lists. Either may be omitted. Batch.Records
// belongs to lists and not to their codes. The errors are those of Table.Insert. ErrBatch is
// also returned for codes that these Codes did not give, and for rows outside of Range.
func (c *Codes) Insert(ctx context.Context, b schema.Batch) (txn.ID, error) {
	return c.table.insert(ctx, c, b)
}
