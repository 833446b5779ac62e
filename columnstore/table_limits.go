package columnstore

import (
	"cmp"
	"fmt"
	"time"

	"github.com/granarydb/granary/internal/cold"
)

// TableLimits bounds the rows of one table, such as those of a tenant. The zero value bounds nothing.
type TableLimits struct {
	// Retention replaces Options.Retention for the table's rows. It counts from the newest row of the table. At
	// least 0. 0 leaves that of the options.
	Retention time.Duration
	// FileBytes is the number of bytes that the table's rows may take in files. Dictionaries, the log and what was dropped
	// from a file that others still use do not count. When files were written and exceed it, the oldest whole time ranges of the table are dropped as by
	// Table.DropBefore. The newest range stays. It has no effect without Options.Dir or FS. At least 0. 0 means
	// no limit.
	FileBytes int64
}

// SetLimits replaces the limits of the table. They hold from the next commit, and the next files, on. They are not
// stored: set them after each Open. The error is ErrOptions for a negative limit.
func (t *Table) SetLimits(l TableLimits) error {
	if l.Retention < 0 || l.FileBytes < 0 {
		return fmt.Errorf("%w: limits of table %q: Retention is %v, FileBytes is %d, want at least 0", ErrOptions, t.name, l.Retention, l.FileBytes)
	}
	t.limits.Store(&l)
	return nil
}

// retention returns how long the table's rows are kept. 0 keeps all.
func (t *Table) retention() time.Duration {
	own := time.Duration(0)
	if l := t.limits.Load(); l != nil {
		own = l.Retention
	}
	return cmp.Or(own, time.Duration(t.store.retention.Load()))
}

// trimTables drops the oldest ranges of tables whose files exceed their limits. The caller holds flusher.flushing.
func (fl *flusher) trimTables() error {
	for _, t := range fl.store.Tables() {
		for l := t.limits.Load(); l != nil && l.FileBytes > 0 && !fl.store.closed.Load(); {
			_, bytes := t.rowFiles()
			if bytes <= l.FileBytes {
				break
			}
			floors := cold.OldestRanges(fl.store.roots.Root().State, fl.manifest, t.ordinal, nil, bytes-l.FileBytes, 0)
			if len(floors) == 0 {
				break // the newest range is left
			}
			if err := fl.drop(floors, false); err != nil {
				return err
			}
			if err := fl.trim(); err != nil {
				return err
			}
		}
	}
	return nil
}
