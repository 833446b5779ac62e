package iceberg

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/apache/iceberg-go/table/compaction"
	"github.com/google/uuid"
)

// rewriteKey is the key of a snapshot's property that names the rewrite that made it.
const rewriteKey = "granary.rewrite"

// replace replaces exactly these files by others, in one snapshot. It reports false, and does nothing, if one of them is no longer in the
// table, or if another engine has deleted other rows of it since they were read. Then the others are orphans. keepsRows says that the rows
// are the same ones, which readers of changes pass over.
func (l *Lake) replace(ctx context.Context, old []*oldFile, add []iceberg.DataFile, keepsRows bool) (done bool, err error) {
	id := uuid.New().String()
	err = l.change(ctx, func(t *table.Table) (*table.Transaction, error) {
		if done = isDone(t, id); done { // an answer got lost
			return nil, nil
		}
		now, err := oldFiles(ctx, t)
		if err != nil || !sameFiles(old, now) {
			return nil, err
		}
		done = true
		tx := t.NewTransaction()
		if err := stage(ctx, t, tx, old, add, keepsRows, iceberg.Properties{rewriteKey: id}); err != nil {
			return nil, err
		}
		return tx, tx.AssertRefSnapshotID("")
	})
	if err != nil {
		return false, fmt.Errorf("rewrite of %d files of table %s: %w", len(old), l.Name(), err)
	}
	return done, nil
}

// isDone reports whether a snapshot is that of a rewrite.
func isDone(t *table.Table, id string) bool {
	return slices.ContainsFunc(t.Metadata().Snapshots(), func(s table.Snapshot) bool {
		return s.Summary != nil && s.Summary.Properties[rewriteKey] == id
	})
}

// sameFiles reports whether files are in a later state of the table with the rows that they had.
func sameFiles(old []*oldFile, now map[string]*oldFile) bool {
	for _, f := range old {
		has := now[f.FilePath()]
		if has == nil || !slices.Equal(f.deletes(), has.deletes()) {
			return false
		}
	}
	return true
}

// stage stages the replacement of files. Delete files that no other file needs go with them.
func stage(ctx context.Context, t *table.Table, tx *table.Transaction, old []*oldFile, add []iceberg.DataFile, keepsRows bool, props iceberg.Properties) error {
	dead, err := deadDeletes(ctx, t, old)
	if err != nil {
		return err
	}
	if !keepsRows {
		var files []iceberg.DataFile
		for _, f := range old {
			files = append(files, f.DataFile)
		}
		return tx.ReplaceFiles(ctx, files, add, dead, props, table.WithoutAutoNameMapping())
	}
	rewrite := tx.NewRewrite(props)
	for _, f := range old {
		rewrite.DeleteFile(f.DataFile)
	}
	for _, f := range dead {
		rewrite.DeleteFile(f)
	}
	for _, f := range add {
		rewrite.AddDataFile(f)
	}
	if err := rewrite.Commit(ctx); err != nil {
		return err
	}
	if _, has := t.Properties()[table.DefaultNameMappingKey]; !has { // the library sets it, and no file needs it
		return tx.RemoveProperties([]string{table.DefaultNameMappingKey})
	}
	return nil
}

// deadDeletes returns the delete files that take rows away from the given files alone.
func deadDeletes(ctx context.Context, t *table.Table, old []*oldFile) ([]iceberg.DataFile, error) {
	names, has := map[string]struct{}{}, false
	for _, f := range old {
		names[f.FilePath()] = struct{}{}
		has = has || len(f.deletes()) > 0
	}
	if !has {
		return nil, nil
	}
	fs, err := t.FS(ctx)
	if err != nil {
		return nil, err
	}
	dead, err := table.CollectDeadPositionDeletes(ctx, fs, t.CurrentSnapshot(), names)
	if err != nil {
		return nil, err
	}
	byValue, err := compaction.CollectDeadEqualityDeletesWithSpecs(ctx, fs, t.Metadata(), t.CurrentSnapshot(), names)
	return append(dead, byValue...), err
}
