package columnstore

import (
	"context"
	"fmt"

	"github.com/granarydb/granary/txn"
)

// DropBefore drops the rows in all time ranges that end at or before at, in Unix nanoseconds, and the
// dictionaries that no other range needs. It does so in a commit and returns its id. Rows of these ranges
// are ErrTooOld from then on. Ranges after the newest row are not dropped. Earlier snapshots keep the
// rows. With a directory, the files are removed when the next files are written. It reads no row: the
// cost is proportional to the dropped granules. The errors are ctx's error, ErrTable for a table without
// time ranges, and the errors of Tx.Commit.
func (t *Table) DropBefore(ctx context.Context, at int64) (txn.ID, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if t.schema.BucketWidth() == 0 {
		return 0, fmt.Errorf("%w: table %q has no time ranges", ErrTable, t.name)
	}
	tx := t.store.Begin()
	tx.trimmed, tx.trimmedTo = t, at
	return tx.Commit()
}
