package iceberg

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// nodesOf returns the nodes in the table's properties.
func nodesOf(props iceberg.Properties) ([]Node, error) {
	var nodes []Node
	for _, key := range slices.Sorted(maps.Keys(props)) {
		id, ok := strings.CutPrefix(key, nodePrefix)
		if !ok || strings.HasSuffix(id, addressSuffix) {
			continue
		}
		n, _, err := nodeOf(props, id)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}

// DropBefore drops the rows on days that ended before a time, as whole files: it reads no row. Readers of
// older snapshots still find them until these expire. The errors come from the catalog and the files.
// DropBefore, Expire and RemoveOrphans include the tables of symbols.
func (l *Lake) DropBefore(ctx context.Context, at time.Time) error {
	return l.each(ctx, func(l *Lake) error { return l.dropBefore(ctx, at) })
}

func (l *Lake) dropBefore(ctx context.Context, at time.Time) error {
	midnight := at.UTC().Truncate(24 * time.Hour)
	before := iceberg.LessThan(iceberg.Reference(columnTime), iceberg.Timestamp(midnight.UnixMicro()))
	err := l.change(ctx, func(t *table.Table) (*table.Transaction, error) {
		if t.CurrentSnapshot() == nil {
			return nil, nil
		}
		tx := t.NewTransaction()
		return tx, tx.Delete(ctx, before, nil)
	})
	if err != nil {
		return fmt.Errorf("drop of days before %s: %w", midnight.Format(time.DateOnly), err)
	}
	return nil
}

// ExpireOptions configure Lake.Expire.
type ExpireOptions struct {
	// Keep is the number of snapshots to keep, at least 1. Each commit writes the list of snapshots
	// again, so a commit to a table with many takes longer.
	Keep int
	// Age is the age up to which more than Keep are kept. It must be longer than the longest query.
	Age time.Duration
}

// Expire forgets old snapshots, and removes the files that no other snapshot needs. Nodes' seals are
// properties and stay. It returns the number of removed snapshots. The errors are ErrOptions and any from
// the catalog and the files.
func (l *Lake) Expire(ctx context.Context, opts ExpireOptions) (int, error) {
	if opts.Keep < 1 || opts.Age < 0 {
		return 0, fmt.Errorf("%w: keep %d snapshots, and those of %v", ErrOptions, opts.Keep, opts.Age)
	}
	all := 0
	err := l.each(ctx, func(l *Lake) error {
		gone, err := l.expire(ctx, opts)
		all += gone
		return err
	})
	return all, err
}

func (l *Lake) expire(ctx context.Context, opts ExpireOptions) (int, error) {
	had, kept := map[int64]bool{}, 0
	err := l.change(ctx, func(t *table.Table) (*table.Transaction, error) {
		tx := t.NewTransaction()
		err := tx.ExpireSnapshots(table.WithRetainLast(opts.Keep), table.WithOlderThan(opts.Age))
		if err != nil {
			return nil, err
		}
		staged, err := tx.StagedTable()
		if err != nil {
			return nil, err
		}
		for _, s := range t.Metadata().Snapshots() { // of all attempts: one that removed snapshots, and not all of their files, is an error
			had[s.SnapshotID] = true
		}
		if kept = len(staged.Metadata().Snapshots()); kept == len(t.Metadata().Snapshots()) {
			return nil, nil
		}
		return tx, nil
	})
	if err != nil {
		return 0, fmt.Errorf("expiry of snapshots: %w", err)
	}
	return len(had) - kept, nil
}

// leastOrphanAge is the age below which a file can belong to a commit under way.
const leastOrphanAge = time.Hour

// RemoveOrphans removes files below the table's location that no snapshot needs and that are older than
// age: files from attempts that lost or died. The age must be above the longest time from the start of a
// unit's first file to its commit, at least an hour: 3 days is usual. It returns the names of the files. If
// dry is set, it removes none. The errors are ErrOptions and any from the catalog and the files.
func (l *Lake) RemoveOrphans(ctx context.Context, age time.Duration, dry bool) ([]string, error) {
	if age < leastOrphanAge {
		return nil, fmt.Errorf("%w: orphans from an age of %v on: want at least %v", ErrOptions, age, leastOrphanAge)
	}
	var all []string
	err := l.each(ctx, func(l *Lake) error {
		files, err := l.removeOrphans(ctx, age, dry)
		all = append(all, files...)
		return err
	})
	return all, err
}

func (l *Lake) removeOrphans(ctx context.Context, age time.Duration, dry bool) ([]string, error) {
	t, err := l.load(ctx)
	if err != nil {
		return nil, err
	}
	found, err := t.DeleteOrphanFiles(ctx, table.WithFilesOlderThan(age), table.WithDryRun(dry))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("orphans of table %s", l.Name()), err)
	}
	return found.OrphanFileLocations, nil
}
