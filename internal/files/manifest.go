package files

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/schema"
)

// Manifest is a database at one commit, without the contents of the files that it names. A file is named
// by its number.
type Manifest struct {
	Commit  uint64 // the commit
	Segment uint64 // first segment of the log with entries that the files lack
	Tables  []TableFiles

	Histories []HistoryFiles
}

// TableFiles names a table's files. Its index in Manifest.Tables is the table's ordinal.
type TableFiles struct {
	Name        string
	Ranges      int64 // number of time ranges of a generation
	Definition  schema.Definition
	State       catalog.Saved
	Generations []GenerationFiles
	Buckets     []BucketFile // in order of time
}

// GenerationFiles names the files of a generation's dictionaries.
type GenerationFiles struct {
	Number  int64
	Entries uint64   // number of log entries that the files have
	Files   []uint64 // each continues the previous file
}

// BucketFile names a time bucket's file.
type BucketFile struct {
	Start, Latest int64  // as in catalog.BucketState
	Unit          uint64 `json:",omitempty"` // as in catalog.BucketState
	Late          bool   `json:",omitempty"`
	Through       uint64 // no row has a later commit
	File          uint64
	Place         catalog.Place `json:",omitzero"`  // in a file that buckets share
	Shared        int           `json:",omitempty"` // number of buckets that were written into the file; 0 in a file of its own
	Rows          int64
	Bytes         int64 // in the file
}

// Bucket returns the bucket that begins at start.
func (t *TableFiles) Bucket(start int64) (b BucketFile, ok bool) {
	if t == nil {
		return b, false
	}
	i, ok := slices.BinarySearchFunc(t.Buckets, start, func(b BucketFile, start int64) int { return cmp.Compare(b.Start, start) })
	if ok {
		b = t.Buckets[i]
	}
	return b, ok
}

// FileOf returns a bucket's file. The file of an earlier bucket that began at the same time and was
// dropped does not count.
func (t *TableFiles) FileOf(b *catalog.BucketState) (f BucketFile, ok bool) {
	if f, ok = t.Bucket(b.Start); ok && f.Through < b.Born {
		return BucketFile{}, false
	}
	return f, ok
}

// Sparse returns the files that fewer than half of their buckets still use, which take space for nothing.
func (t *TableFiles) Sparse() map[uint64]bool {
	if t == nil {
		return nil
	}
	uses := map[uint64]int{}
	for _, b := range t.Buckets {
		if b.Shared > 0 {
			uses[b.File]++
		}
	}
	sparse := map[uint64]bool{}
	for _, b := range t.Buckets {
		if b.Shared > 0 && 2*uses[b.File] < b.Shared {
			sparse[b.File] = true
		}
	}
	return sparse
}

// Generation returns the generation with a number. It has no files if the manifest lacks it.
func (t *TableFiles) Generation(number int64) GenerationFiles {
	if t != nil {
		for _, g := range t.Generations {
			if g.Number == number {
				return g
			}
		}
	}
	return GenerationFiles{Number: number}
}

// Table returns the table with an ordinal, or nil. A nil manifest has no tables.
func (m *Manifest) Table(ordinal int) *TableFiles {
	if m == nil || ordinal >= len(m.Tables) {
		return nil
	}
	return &m.Tables[ordinal]
}

// Names returns the names of all files that the manifest needs. A nil manifest needs none.
func (m *Manifest) Names() map[string]bool {
	names := map[string]bool{}
	if m == nil {
		return names
	}
	for i := range m.Tables {
		for _, g := range m.Tables[i].Generations {
			for _, number := range g.Files {
				names[disk.FileName(DictsKind, number)] = true
			}
		}
		for _, b := range m.Tables[i].Buckets {
			names[disk.FileName(RowsKind, b.File)] = true
		}
	}
	for _, h := range m.Histories {
		names[disk.FileName(StatesKind, h.File)] = true
	}
	return names
}

// copies is the number of files that have the same manifest.
const copies = 2

// WriteManifest makes the written files durable, and then the manifest, which OpenDir returns from then
// on. The error comes from the disk. The previous manifest counts after an error, unless the new manifest
// became durable despite it.
func (d *Dir) WriteManifest(m *Manifest) error {
	body, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("manifest: %w", err)
	}
	if err := d.Sync(); err != nil { // first, because a manifest can become durable at any time
		d.Discard()
		return err
	}
	written := make([]string, 0, copies)
	for range copies {
		w, err := d.create(ManifestKind)
		if err == nil {
			err = w.End(body)
		}
		if err != nil {
			d.Discard() // it discards nothing after a whole first copy
			return err
		}
		d.unnamed = nil // from here on a manifest may name them
		if err := w.Sync(); err != nil {
			return err
		}
		written = append(written, disk.FileName(ManifestKind, d.next-1))
	}
	if err := d.fs.SyncDir(); err != nil {
		return failed(err)
	}
	d.manifests = written
	return nil
}

// readManifest returns the newest whole manifest, or nil. Its copy stays with it.
func (d *Dir) readManifest(numbers []uint64) (*Manifest, error) {
	for i, number := range slices.Backward(numbers) {
		body, err := d.readCopy(number)
		if damaged, ok := errors.AsType[*disk.DamagedError](err); ok {
			d.damaged = append(d.damaged, damaged)
			continue // a copy of this manifest or the previous one: it is unfinished, or a sector is bad
		}
		if err != nil {
			return nil, err
		}
		m, err := parseManifest(body)
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrFile, disk.FileName(ManifestKind, number), err)
		}
		d.manifests = []string{disk.FileName(ManifestKind, number)}
		if i > 0 {
			if before, err := d.readCopy(numbers[i-1]); err == nil && bytes.Equal(before, body) {
				d.manifests = append(d.manifests, disk.FileName(ManifestKind, numbers[i-1]))
			}
		}
		return m, nil
	}
	return nil, nil
}

// Blame returns the error of a log that lacks entries. If OpenDir found manifests and none is whole, it
// returns a *disk.DamagedError that names them, because the log then lacks the entries that the files of
// a manifest have. Otherwise it returns err.
func (d *Dir) Blame(err error) error {
	_, ok := errors.AsType[*disk.DamagedError](err)
	if !ok || len(d.manifests) > 0 || len(d.damaged) == 0 {
		return err
	}
	first := *d.damaged[0]
	for _, other := range d.damaged[1:] {
		first.Reason += fmt.Sprintf("; %v", other)
	}
	first.Reason += fmt.Sprintf("; no manifest is whole, and the log alone is not enough: %v", err)
	return &first
}

// parseManifest parses a manifest. An unknown field is an error, because the next manifest would lose it.
func parseManifest(body []byte) (*Manifest, error) {
	m := new(Manifest)
	in := json.NewDecoder(bytes.NewReader(body))
	in.DisallowUnknownFields()
	if err := in.Decode(m); err != nil {
		return nil, err
	}
	if m.Commit > math.MaxInt64 {
		return nil, fmt.Errorf("commit %d", m.Commit)
	}
	for i := range m.Tables {
		if err := m.Tables[i].check(m.Commit); err != nil {
			return nil, fmt.Errorf("table %d: %w", i, err)
		}
	}
	return m, nil
}

// check checks the facts that a store relies on.
func (t *TableFiles) check(commit uint64) error {
	if t.Ranges < 1 {
		return fmt.Errorf("generations of %d ranges", t.Ranges)
	}
	for i, b := range t.Buckets {
		if b.Unit > t.State.LastUnit {
			return fmt.Errorf("bucket %d is unit %d of %d", i, b.Unit, t.State.LastUnit)
		}
		if i > 0 && b.Start <= t.Buckets[i-1].Start || b.Through > commit || b.Rows < 0 {
			return fmt.Errorf("bucket %d begins at %d and has %d rows up to commit %d of %d", i, b.Start, b.Rows, b.Through, commit)
		}
	}
	for i, g := range t.Generations {
		if i > 0 && g.Number <= t.Generations[i-1].Number || g.Entries == 0 {
			return fmt.Errorf("generation %d has number %d and %d entries", i, g.Number, g.Entries)
		}
	}
	return nil
}

// readCopy returns the bytes of a copy of a manifest.
func (d *Dir) readCopy(number uint64) ([]byte, error) {
	r, err := d.open(ManifestKind, number)
	if err != nil {
		return nil, err
	}
	body := r.Directory()
	return body, r.Close()
}
