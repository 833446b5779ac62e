package columnstore

import (
	"errors"
	"io/fs"

	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/files"
)

// coldSeen is what earlier steps have seen of cold rows.
type coldSeen struct {
	buckets, mixed map[int]int       // by table: cold buckets, and cold buckets with other rows
	hot            map[dictsKey]bool // whether dictionaries in files were also in memory
}

type dictsKey struct {
	table  int
	number int64
}

func newColdSeen() coldSeen {
	return coldSeen{map[int]int{}, map[int]int{}, map[dictsKey]bool{}}
}

// checkCold checks the rows that are in files: the files are there, and the table counts their rows.
func (h *simRun) checkCold(t *Table, state *catalog.TableState) {
	rows, cold, mixed := int64(0), 0, 0
	for _, g := range state.Granules.All() {
		rows += int64(g.Rows())
	}
	for _, b := range state.Buckets.All() {
		if b.Cold == nil {
			continue
		}
		rows += b.Cold.Rows
		cold++
		if len(state.HotGranules(b)) > 0 {
			mixed++
		}
		if _, err := h.store.opts.FS.Open(disk.FileName(files.RowsKind, b.Cold.File)); errors.Is(err, fs.ErrNotExist) {
			h.fail("table %q: the file %d of a bucket is gone", t.name, b.Cold.File)
		}
	}
	if rows != state.Rows {
		h.fail("table %q counts %d rows, and has %d", t.name, state.Rows, rows)
	}
	h.noteCold(t, cold, mixed)
}

// noteCold records which buckets and dictionaries became cold, and which ceased to be.
func (h *simRun) noteCold(t *Table, cold, mixed int) {
	seen, of := h.cold, t.ordinal
	switch {
	case seen.buckets[of] < cold:
		h.note("bucket unloaded")
	case seen.mixed[of] < mixed:
		h.note("row of a cold bucket")
	case seen.mixed[of] > mixed && seen.buckets[of] == cold:
		h.note("file of a cold bucket replaced")
	}
	seen.buckets[of], seen.mixed[of] = cold, mixed
	for _, files := range t.filedDicts() {
		number := files.Number
		key := dictsKey{of, number}
		before, known := seen.hot[key]
		hot := t.generations.Find(number) != nil
		switch seen.hot[key] = hot; {
		case known && before && !hot && number >= t.generations.First():
			h.note("dictionaries unloaded")
		case known && !before && hot:
			h.note("dictionaries read for rows")
		}
	}
}

// filedDicts returns the dictionaries in files.
func (t *Table) filedDicts() []files.GenerationFiles {
	if files := t.files.Load(); files != nil {
		return files.Generations
	}
	return nil
}
