package cold

import (
	"testing"

	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/files"
	"github.com/granarydb/granary/txn"
)

// A file is noted under the commit lock, which the question for readers takes: so one can be noted while
// the question is asked. It is not forgotten.
func TestObsolete_NotedMeanwhile(t *testing.T) {
	var l Obsolete
	l.Rows(3, 1)
	l.Rows(5, 2)
	names := l.Needed(&catalog.Database{}, func(before txn.Version) bool {
		if before == 3 {
			l.Rows(7, 3)
		}
		return before > 4
	})
	if len(names) != 1 || !names[disk.FileName(files.RowsKind, 2)] {
		t.Errorf("a read of root 4 needs %v", names)
	}
	names = l.Needed(&catalog.Database{}, func(txn.Version) bool { return true })
	if len(names) != 2 || !names[disk.FileName(files.RowsKind, 2)] || !names[disk.FileName(files.RowsKind, 3)] {
		t.Errorf("files %v are left, of 2 and 3", names)
	}
}
