package repair

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/entries"
	"github.com/granarydb/granary/internal/files"
)

// Listing describes a directory by its manifest and its file names. Its JSON field names are stable.
type Listing struct {
	Store   string `json:"store"`   // the id of the store, in hex
	Commit  uint64 `json:"commit"`  // commit of the files
	Segment uint64 `json:"segment"` // first needed segment of the log; 0 without a manifest
	// Files are the store's files, ordered by name.
	Files []ListedFile `json:"files"`
}

// ListedFile is a file of a directory.
type ListedFile struct {
	Name  string `json:"name"`
	Kind  string `json:"kind"`
	Bytes int64  `json:"bytes"`
	// IsNamed is set if the manifest names the file, or needs it as a segment of the log. Otherwise the
	// file is a copy of the manifest, or is not needed.
	IsNamed bool `json:"named"`

	// The fields below are set for files that the manifest names.

	Table      string `json:"table,omitempty"`
	History    string `json:"history,omitempty"`
	Generation *int64 `json:"generation,omitempty"` // for a file of rows or dictionaries: one of them
	From       int64  `json:"from,omitempty"`       // for rows: the range of their times, as in Loss
	To         int64  `json:"to,omitempty"`
	Rows       int64  `json:"rows,omitempty"`
	Through    uint64 `json:"through,omitempty"` // no row has a later commit
}

// List lists a directory. It reads only the manifest. The errors are as for Verify.
func List(fsys disk.FS) (*Listing, error) {
	c, err := open(fsys, true)
	if err != nil {
		return nil, err
	}
	defer c.close()
	out := &Listing{Store: fmt.Sprintf("%x", c.id), Files: []ListedFile{}}
	named := map[string]ListedFile{}
	if m := c.manifest; m != nil {
		out.Commit, out.Segment = m.Commit, m.Segment
		if named, err = namedFiles(m); err != nil {
			return nil, err
		}
	}
	names, err := fsys.List()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		kind, number, ok := disk.ParseName(name)
		if !ok {
			continue
		}
		f, isNamed := named[name]
		f.Name, f.Kind, f.Bytes = name, kind, c.size(name)
		f.IsNamed = isNamed || kind == disk.LogKind && number >= out.Segment
		out.Files = append(out.Files, f)
	}
	return out, nil
}

// namedFiles returns the files that a manifest names, by name.
func namedFiles(m *files.Manifest) (map[string]ListedFile, error) {
	out := map[string]ListedFile{}
	for i := range m.Tables {
		f := &m.Tables[i]
		t, err := newTable(f)
		if err != nil {
			return nil, err
		}
		for _, g := range f.Generations {
			for _, number := range g.Files {
				out[disk.FileName(files.DictsKind, number)] = ListedFile{Table: t.name, Generation: &g.Number}
			}
		}
		for _, b := range f.Buckets {
			loss, generation := t.lossOf(b), t.ranges.Of(b.Start)
			listed := ListedFile{Table: t.name, Generation: &generation, From: loss.From, To: loss.To, Rows: b.Rows, Through: b.Through}
			name := disk.FileName(files.RowsKind, b.File)
			if others, ok := out[name]; ok { // buckets in order
				listed.Generation, listed.From, listed.To = others.Generation, min(others.From, loss.From), max(others.To, loss.To)
				listed.Rows += others.Rows
				listed.Through = max(listed.Through, others.Through)
			}
			out[name] = listed
		}
	}
	for _, h := range m.Histories {
		out[disk.FileName(files.StatesKind, h.File)] = ListedFile{History: h.Name}
	}
	return out, nil
}

// ListedEntry is an entry of the log.
type ListedEntry struct {
	Kind   string `json:"kind"` // table, history, dictionaries, commit or units
	Bytes  int    `json:"bytes"`
	Commit uint64 `json:"commit,omitempty"`
	Begin  uint64 `json:"begin,omitempty"` // begin id of the transaction
	// For a commit: the parts and notes by table, and the ordinals of histories with states.
	Tables    []ListedWrites `json:"tables,omitempty"`
	Histories []int          `json:"histories,omitempty"`
	// For dictionaries: the table's ordinal, the generation, and the number of the entry within it.
	Table      *uint64 `json:"table,omitempty"`
	Generation *int64  `json:"generation,omitempty"`
	Number     uint64  `json:"number,omitempty"`
}

// ListedWrites is what a commit adds to a table.
type ListedWrites struct {
	Ordinal    int `json:"ordinal"`
	Parts      int `json:"parts"`
	ImageBytes int `json:"image_bytes"`
	Notes      int `json:"notes,omitempty"`
}

// ListEntries returns the entries of a segment of the log, up to its end or to an error: a
// *disk.DamagedError with the place, entries.ErrEntry, or an error of List. The entries before the error
// are returned with it. A segment that no log needs is an error.
func ListEntries(fsys disk.FS, segment uint64) ([]ListedEntry, error) {
	c, err := open(fsys, true)
	if err != nil {
		return nil, err
	}
	defer c.close()
	out := []ListedEntry{}
	r, err := disk.SalvageLog(fsys, c.id, segment)
	if err != nil {
		return out, err
	}
	defer r.Close()
	for {
		e, err := r.Next()
		read := r.Segments()
		if len(read) == 0 || read[0].Number != segment {
			return out, fmt.Errorf("%s: it is no segment of the log: %w", disk.FileName(disk.LogKind, segment), fs.ErrNotExist)
		}
		if errors.Is(err, io.EOF) || len(read) > 1 {
			return out, nil
		}
		if err == nil {
			var listed ListedEntry
			listed, err = listEntry(e)
			out = append(out, listed)
		}
		if err != nil {
			return out, err
		}
	}
}

// kindNames are the names of entry kinds in a list.
var kindNames = map[uint32]string{
	entries.EntryTable: "table", entries.EntryDicts: "dictionaries", entries.EntryWholeDicts: "dictionaries", entries.EntrySharedDicts: "dictionaries", entries.EntryCommit: "commit",
	entries.EntryHistory: "history", entries.EntryUnits: "units",
}

func listEntry(e disk.Entry) (ListedEntry, error) {
	out := ListedEntry{Kind: kindNames[e.Kind], Bytes: len(e.Body), Commit: e.Commit, Begin: e.Begin}
	contents, err := entries.Read(e)
	if err != nil {
		return out, err
	}
	switch c := contents.(type) {
	case entries.Extension:
		table := uint64(c.Table)
		out.Table, out.Generation, out.Number = &table, &c.Generation, c.Number
	case entries.UnitsContents:
		table := uint64(c.Table)
		out.Table = &table
	case entries.CommitContents:
		for _, t := range c.Tables {
			writes := ListedWrites{Ordinal: t.Ordinal, Parts: len(t.Parts), Notes: len(t.Notes)}
			for _, p := range t.Parts {
				writes.ImageBytes += len(p.Image)
			}
			out.Tables = append(out.Tables, writes)
		}
		for _, h := range c.Histories {
			out.Histories = append(out.Histories, h.Ordinal)
		}
	}
	return out, nil
}

// ListedGranule is a granule of a rows file.
type ListedGranule struct {
	Lower  []string `json:"lower"` // lower bound in the form of schema.Schema.KeyText
	Rows   int      `json:"rows"`
	Begin  uint64   `json:"begin,omitempty"`  // lowest begin id of its transactions
	Commit uint64   `json:"commit,omitempty"` // greatest commit id of its transactions
	Bytes  int      `json:"bytes"`            // in memory
}

// ListGranules returns the granules in a rows file that the manifest names. It reads the file's
// dictionaries, and all the file. The errors are as for List, and for damage. The error is fs.ErrNotExist
// for a file that no manifest names.
func ListGranules(fsys disk.FS, file uint64) ([]ListedGranule, error) {
	c, err := open(fsys, true)
	if err != nil {
		return nil, err
	}
	defer c.close()
	f, buckets, err := c.bucketsOf(file)
	if err != nil {
		return nil, err
	}
	t, err := newTable(f)
	if err != nil {
		return nil, err
	}
	var granules []*granule.Granule
	for _, b := range buckets {
		_, known := t.generations[t.ranges.Of(b.Start)]
		g := t.generation(b.Start)
		if !known {
			if err := c.dir.ReadDicts(t.schema, f.Generation(t.ranges.Of(b.Start)), g.Generation); err != nil {
				return nil, err
			}
		}
		its, err := c.granules(t, g, b)
		if err != nil {
			return nil, err
		}
		granules = append(granules, its...)
	}
	out := make([]ListedGranule, 0, len(granules))
	for _, g := range granules {
		lower, _ := g.Bounds()
		listed := ListedGranule{Lower: t.schema.KeyText(lower), Rows: g.Rows(), Bytes: g.Size()}
		if base, ok := g.Base(); ok {
			listed.Begin, listed.Commit = base.Part.Begin(), base.Part.Commit()
		}
		out = append(out, listed)
	}
	return out, nil
}

// bucketsOf returns the table and the buckets of a rows file.
func (c *checker) bucketsOf(file uint64) (*files.TableFiles, []files.BucketFile, error) {
	for i := 0; c.manifest != nil && i < len(c.manifest.Tables); i++ {
		f := &c.manifest.Tables[i]
		if k := slices.IndexFunc(f.Buckets, func(b files.BucketFile) bool { return b.File == file }); k >= 0 {
			return f, slices.DeleteFunc(slices.Clone(f.Buckets), func(b files.BucketFile) bool { return b.File != file }), nil
		}
	}
	return nil, nil, fmt.Errorf("%s: no manifest names it: %w", disk.FileName(files.RowsKind, file), fs.ErrNotExist)
}
