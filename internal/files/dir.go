package files

import (
	"errors"
	"fmt"
	"slices"

	"github.com/granarydb/granary/internal/disk"
)

// ErrFile reports a whole file with contents that no store writes.
var ErrFile = errors.New("malformed file")

// Kinds of files. The log's kind is disk.LogKind.
const (
	ManifestKind = "manifest"
	RowsKind     = "rows"
	DictsKind    = "dicts"
	StatesKind   = "states"
)

// VersionOf returns the version in which files of a kind are written. Older versions are read.
//
//	rows      3  buckets can share a file, and a part can store strings that the schema has in a dictionary
//	rows      2  a granule is two pieces, and a page of ids can be read alone
//	rows      1  a granule is one piece
//	dicts     4  texts of locations are apart
//	dicts     3  texts of records are apart, whatever they mean
//	dicts     2  generations can share a file
//	dicts     1  a file is of one generation
//	manifest  3  buckets can share a file
//	manifest  2  buckets can be units, and late
//	manifest  1  no bucket is a unit, or late
func VersionOf(kind string) uint32 {
	switch kind {
	case DictsKind:
		return 4
	case RowsKind, ManifestKind:
		return 3
	case disk.LogKind:
		return disk.SegmentVersion
	}
	return 1
}

// Dir is a store's files. It belongs to one goroutine.
type Dir struct {
	fs        disk.FS
	store     disk.StoreID
	next      uint64               // number of the next file of any kind
	manifests []string             // copies of the current manifest
	unnamed   []string             // other files written since the manifest
	found     string               // a file that OpenDir found beside manifests
	damaged   []*disk.DamagedError // manifests that OpenDir could not use, newest first
	ended     []*disk.FileWriter   // files of unnamed that are not durable
}

// mostEnded bounds the number of open files.
const mostEnded = 64

// end ends a file. It stays open until it is durable.
func (d *Dir) end(w *disk.FileWriter, directory []byte) error {
	if err := w.End(directory); err != nil {
		return err
	}
	if d.ended = append(d.ended, w); len(d.ended) >= mostEnded {
		return d.Sync()
	}
	return nil
}

// IsFull reports whether the end of the next file makes all open files durable, which takes long. Callers use
// Sync to do this at a better time.
func (d *Dir) IsFull() bool { return len(d.ended) >= mostEnded-1 }

// Sync makes the written files and their names durable. The error comes from the disk.
func (d *Dir) Sync() error {
	for len(d.ended) > 0 {
		w := d.ended[0]
		d.ended = d.ended[1:]
		if err := w.Sync(); err != nil {
			return err
		}
	}
	d.ended = nil
	return failed(d.fs.SyncDir())
}

// OpenDir returns the files of a store and its manifest, which is nil if none was written. The errors are
// disk.ErrFormat, ErrFile, errors from the FS, and a *disk.DamagedError for an unfinished backup.
func OpenDir(fs disk.FS, store disk.StoreID) (*Dir, *Manifest, error) {
	names, err := fs.List()
	if err != nil {
		return nil, nil, err
	}
	d := &Dir{fs: fs, store: store, next: 1}
	var manifests []uint64
	for _, name := range names {
		kind, number, ok := disk.ParseName(name)
		if ok && kind == backupKind {
			return nil, nil, &disk.DamagedError{File: name, Reason: "a backup was written here and did not end"}
		}
		if !ok || !isOurs(kind) {
			continue
		}
		d.next = max(d.next, number+1)
		if kind == ManifestKind {
			manifests = append(manifests, number)
		} else {
			d.found = name
		}
	}
	slices.Sort(manifests)
	m, err := d.readManifest(manifests)
	return d, m, err
}

// Found returns the name of a rows file, dictionaries or states that OpenDir found, or "".
func (d *Dir) Found() string { return d.found }

func isOurs(kind string) bool {
	return slices.Contains([]string{ManifestKind, RowsKind, DictsKind, StatesKind}, kind)
}

// open opens a file. The errors are those of disk.OpenFile, such as disk.ErrFormat for a version that is too
// new.
func (d *Dir) open(kind string, number uint64) (*disk.FileReader, error) {
	return disk.OpenFile(d.fs, d.store, kind, number, VersionOf(kind))
}

// mostSpace is the share of a disk.Space, in 32nds, up to which files begin. Meanwhile the log can begin
// two segments.
const mostSpace = 31

// create creates a file with the next number. A full disk.Space refuses all files except a manifest, because
// a manifest lets files be removed.
func (d *Dir) create(kind string) (*disk.FileWriter, error) {
	if space, ok := d.fs.(*disk.Space); ok && kind != ManifestKind {
		if err := space.Full(mostSpace); err != nil {
			return nil, err
		}
	}
	number := d.next
	d.next++
	w, err := disk.CreateFile(d.fs, d.store, kind, number, VersionOf(kind))
	if err != nil {
		return nil, err
	}
	if kind != ManifestKind {
		d.unnamed = append(d.unnamed, disk.FileName(kind, number))
	}
	return w, nil
}

// Discard removes the files that were written since the manifest, because no manifest will name
// them. The next Clean removes a file that cannot be removed now.
func (d *Dir) Discard() {
	for _, w := range d.ended {
		w.Abandon()
	}
	d.ended = nil
	for _, name := range d.unnamed {
		_ = d.fs.Remove(name)
	}
	d.unnamed = nil
}

// Clean removes the files that m does not name, or all files if m is nil. Files in needed stay, because
// reads use them. m is the manifest of the last WriteManifest or OpenDir. After an error some files are
// removed.
func (d *Dir) Clean(m *Manifest, needed map[string]bool) error {
	names, err := d.fs.List()
	if err != nil {
		return failed(err)
	}
	named := m.Names()
	var manifests, files []string
	for _, name := range names {
		kind, _, ok := disk.ParseName(name)
		switch {
		case !ok || !isOurs(kind) || named[name] || needed[name] || slices.Contains(d.manifests, name):
		case kind == ManifestKind:
			manifests = append(manifests, name)
		default:
			files = append(files, name)
		}
	}
	d.unnamed = nil
	if err := d.remove(manifests); err != nil {
		return err
	}
	return d.remove(files)
}

// remove removes files durably.
func (d *Dir) remove(names []string) error {
	if len(names) == 0 {
		return nil
	}
	for _, name := range names {
		if err := d.fs.Remove(name); err != nil {
			return failed(err)
		}
	}
	return failed(d.fs.SyncDir())
}

func failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", disk.ErrDisk, err)
}
