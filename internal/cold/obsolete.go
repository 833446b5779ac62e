package cold

import (
	"sync"

	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/files"
	"github.com/granarydb/granary/txn"
)

// Obsolete lists files that the current root does not need. Reads of older roots can need them. It is safe
// for concurrent use.
type Obsolete struct {
	mu    sync.Mutex
	files []left
}

// left is a file of cold rows, or the files of a generation, that the root of a version no longer needs.
type left struct {
	version    txn.Version
	rows       uint64
	table      *Files // the generation's table; nil for rows
	generation int64
}

// Rows notes a file of rows that the root of a version no longer needs.
func (l *Obsolete) Rows(version txn.Version, file uint64) { l.add(left{version: version, rows: file}) }

// Dicts notes dictionaries that the root of a version no longer needs.
func (l *Obsolete) Dicts(version txn.Version, t *Files, generation int64) {
	l.add(left{version: version, table: t, generation: generation})
}

// Any reports whether there are files that reads of older roots needed at the last call of Needed.
func (l *Obsolete) Any() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.files) > 0
}

func (l *Obsolete) add(f left) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.files = append(l.files, f)
}

// Needed returns the names of files that reads can need, whether or not a manifest names them. isRead reports
// whether a root before a version is read. Needed forgets files that no read can need. One goroutine at a time
// calls it.
//
// Needed does not hold its lock during isRead, because isRead takes the commit lock, and add is called with the
// commit lock held.
func (l *Obsolete) Needed(root *catalog.Database, isRead func(before txn.Version) bool) map[string]bool {
	names := map[string]bool{}
	l.mu.Lock()
	noted := l.files
	l.files = nil
	l.mu.Unlock()
	var kept []left
	for _, f := range noted {
		switch {
		case isRead(f.version):
			kept = append(kept, f)
			f.addNames(names)
		case f.table != nil:
			f.table.Dicts.Forget(f.generation)
		}
	}
	l.mu.Lock()
	l.files = append(kept, l.files...)
	l.mu.Unlock()
	for _, state := range root.Tables {
		for _, b := range state.Buckets.All() {
			if b.Cold != nil {
				names[disk.FileName(files.RowsKind, b.Cold.File)] = true
			}
		}
	}
	return names
}

func (f *left) addNames(names map[string]bool) {
	if f.table == nil {
		names[disk.FileName(files.RowsKind, f.rows)] = true
		return
	}
	for _, number := range f.table.Dicts.Files(f.generation).Files {
		names[disk.FileName(files.DictsKind, number)] = true
	}
}
