package columnstore

import (
	"cmp"
	"fmt"
	"time"

	"github.com/granarydb/granary/internal/cold"
	"github.com/granarydb/granary/internal/disk"
)

// TableLimits bounds the rows of one table, such as those of a tenant. The zero value bounds nothing.
type TableLimits struct {
	// Retention replaces Options.Retention for the table. At least 0. 0 leaves that of the options.
	Retention time.Duration
	// FileBytes is the number of bytes that the table's files may take. When files have been written and
	// exceed it, the oldest whole time ranges of the table are dropped as by Table.DropBefore, except the
	// newest one. Rows that only the log has do not count; Options.LogBytes bounds them. At least 0. 0
	// means no limit. It has no effect without Options.Dir or FS.
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
	return cmp.Or(own, t.store.opts.Retention)
}

// trimTables drops the oldest ranges of tables whose files exceed their limits. The caller holds flusher.flushing.
func (fl *flusher) trimTables() error {
	var sizes map[string]int64
	for _, t := range fl.store.tablesInOrder() {
		l := t.limits.Load()
		for l != nil && l.FileBytes > 0 {
			if sizes == nil {
				sizes, _ = disk.Sizes(fl.store.opts.FS) // a file that cannot be asked has no bytes
			}
			over := -l.FileBytes
			for name := range t.files.Load().Names() {
				over += sizes[name]
			}
			floors := cold.OldestRanges(fl.store.roots.Root().State, fl.manifest, cold.Only(t.ordinal), nil, over, 0)
			if len(floors) == 0 {
				break
			}
			if err := fl.drop(floors); err != nil {
				return err
			}
			if err := fl.trim(); err != nil {
				return err
			}
		}
	}
	return nil
}
