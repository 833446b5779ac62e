// Package entries encodes the entries of a store's log: new tables and histories, new dictionary entries,
// and commits. It depends on neither the log nor the store. Readers trust nothing: the error is ErrEntry
// for malformed bytes. docs/format/log.md draws the bytes.
package entries

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/fields"
	"github.com/granarydb/granary/schema"
)

// Kinds of log entries. docs/format/log.md draws their bodies.
const (
	EntryTable       uint32 = iota + 1 // creates a table: a TableEntry in JSON
	EntryWholeDicts                    // an EntryDicts with an image in version granule.WholeRecords
	EntryCommit                        // a commit
	EntryHistory                       // creates a history: a HistoryEntry in JSON
	EntryUnits                         // a commit that seals and drops units of a table
	EntrySharedDicts                   // an EntryDicts with an image in version granule.SharedTexts
	EntryDicts                         // extends the dictionaries of a generation
)

// ErrEntry reports a whole entry with contents that no store writes.
var ErrEntry = errors.New("malformed entry")

// TableEntry is the body of an EntryTable.
type TableEntry struct {
	Ordinal    int // number among the store's tables
	Name       string
	Ranges     int64 // number of time ranges of a generation
	Definition schema.Definition
}

// HistoryEntry is the body of an EntryHistory.
type HistoryEntry struct {
	Ordinal       int // number among the store's histories
	Name          string
	Start         int64
	MaxAttributes int
}

// dictsHead is the bytes of the header of an EntryDicts.
const dictsHead = 24

// DictsHead returns the header of an EntryDicts, with capacity for `room` more bytes. The body is the
// header and the image of the new dictionary entries since the previous EntryDicts:
//
//	u64  ordinal of the table
//	i64  number of the generation
//	u64  number of the entry within the generation, from 1 on
func DictsHead(table int, generation int64, number uint64, room int) []byte {
	head := binary.LittleEndian.AppendUint64(make([]byte, 0, dictsHead+room), uint64(table))
	head = binary.LittleEndian.AppendUint64(head, uint64(generation))
	return binary.LittleEndian.AppendUint64(head, number)
}

// CommitEntry is the body of an EntryCommit:
//
//	u32  tables                  u32  bytes of the images
//	     for each table: i64 floor, i64 cut   (catalog.Decisions)
//	     images of parts, one after the other, each a multiple of 8 bytes
//	     descriptor: fields
//
// The decisions about tables come first and have a fixed size, because the commit writes them under its
// lock into a body that was made before. For each table, the descriptor has the ordinal, the notes, and
// for each part the bucket and the image's size. Then, up to its end, it has each history's ordinal and
// journal.
type CommitEntry []byte

const (
	commitHead   = 8
	decisionSize = 16
)

// TableWrites is the rows and notes that a commit adds to a table.
type TableWrites struct {
	Ordinal int
	Schema  *schema.Schema
	Notes   []string
	Parts   []*granule.Part
}

// StatesWrites is the journal of a commit's writes to a history. A journal that was read lies in the
// entry's memory.
type StatesWrites struct {
	Ordinal int
	Journal []byte
}

// NewCommit returns the entry for writes to tables, without decisions, and to histories, including drops. It copies
// the images and the journals.
func NewCommit(tables []TableWrites, histories []StatesWrites) CommitEntry {
	size := 0
	for _, t := range tables {
		for _, p := range t.Parts {
			size += p.Size() // an image is smaller
		}
	}
	w := newCommitWriter(len(tables), size)
	for _, t := range tables {
		w.table(t.Ordinal, t.Notes, len(t.Parts))
		for _, p := range t.Parts {
			before := len(w.body)
			w.body, _ = p.AppendImage(t.Schema, w.body)
			w.part(p.Bucket(), len(w.body)-before)
		}
	}
	return w.end(histories)
}

// commitWriter writes a commit entry.
type commitWriter struct {
	tables     int
	body       []byte
	descriptor fields.Writer
}

// newCommitWriter begins an entry of `tables` tables with about `images` bytes of images.
func newCommitWriter(tables, images int) commitWriter {
	start := commitHead + decisionSize*tables
	return commitWriter{tables: tables, body: make([]byte, start, start+images)}
}

// table begins a table.
func (w *commitWriter) table(ordinal int, notes []string, parts int) {
	w.descriptor.Uint(uint64(ordinal))
	w.descriptor.Uint(uint64(len(notes)))
	for _, note := range notes {
		w.descriptor.Text(note)
	}
	w.descriptor.Uint(uint64(parts))
}

// part adds a part. Its image is the last `image` bytes of the body.
func (w *commitWriter) part(bucket int64, image int) {
	w.descriptor.Int(uint64(bucket))
	w.descriptor.Uint(uint64(image))
}

// end adds histories, and returns the entry.
func (w *commitWriter) end(histories []StatesWrites) CommitEntry {
	binary.LittleEndian.PutUint32(w.body, uint32(w.tables))
	binary.LittleEndian.PutUint32(w.body[4:], uint32(len(w.body)-commitHead-decisionSize*w.tables))
	size := len(w.descriptor.Data)
	for _, h := range histories {
		size += 2*binary.MaxVarintLen64 + len(h.Journal)
	}
	body := fields.Writer{Data: append(slices.Grow(w.body, size), w.descriptor.Data...)}
	for _, h := range histories {
		body.Uint(uint64(h.Ordinal))
		body.Uint(uint64(len(h.Journal)))
		body.Raw(h.Journal)
	}
	return body.Data
}

// Entry encodes contents. Read returns equal contents.
func (c *CommitContents) Entry() CommitEntry {
	size := 0
	for _, t := range c.Tables {
		for _, p := range t.Parts {
			size += len(p.Image)
		}
	}
	w := newCommitWriter(len(c.Tables), size)
	for _, t := range c.Tables {
		w.table(t.Ordinal, t.Notes, len(t.Parts))
		for _, p := range t.Parts {
			w.body = append(w.body, p.Image...)
			w.part(p.Bucket, len(p.Image))
		}
	}
	e := w.end(c.Histories)
	for i, t := range c.Tables {
		e.Decide(i, t.Decided)
	}
	return e
}

// Decide sets the decisions about the i-th table.
func (e CommitEntry) Decide(i int, d catalog.Decisions) {
	at := e[commitHead+decisionSize*i:]
	binary.LittleEndian.PutUint64(at, uint64(d.Floor))
	binary.LittleEndian.PutUint64(at[8:], uint64(d.Cut))
}

// decisions returns the decisions about the i-th table.
func (e CommitEntry) decisions(i int) catalog.Decisions {
	at := e[commitHead+decisionSize*i:]
	return catalog.Decisions{Floor: int64(binary.LittleEndian.Uint64(at)), Cut: int64(binary.LittleEndian.Uint64(at[8:]))}
}

// CommitContents is a commit entry's contents.
type CommitContents struct {
	Tables    []TableContents
	Histories []StatesWrites
}

// TableContents is a commit entry's contents for one table.
type TableContents struct {
	Ordinal int
	Notes   []string
	Parts   []PartImage
	Decided catalog.Decisions
}

// PartImage is a part's image, in the body's memory.
type PartImage struct {
	Bucket int64
	Image  []byte
}

// Read returns an entry's contents, in its memory. It does not read images and journals. The error is
// ErrEntry.
func (e CommitEntry) Read() (out CommitContents, err error) {
	if len(e) < commitHead {
		return out, fmt.Errorf("%w: a commit of %d bytes", ErrEntry, len(e))
	}
	tables, images := uint64(binary.LittleEndian.Uint32(e)), uint64(binary.LittleEndian.Uint32(e[4:]))
	start := commitHead + decisionSize*tables
	if start+images > uint64(len(e)) {
		return out, fmt.Errorf("%w: %d tables and %d bytes of images in a commit of %d bytes", ErrEntry, tables, images, len(e))
	}
	rest := e[start : start+images]
	r := fields.NewReader(e[start+images:], ErrEntry)
	out.Tables = make([]TableContents, tables)
	for i := range out.Tables {
		t := &out.Tables[i]
		r.In("table")
		t.Ordinal = int(r.Uint("ordinal", math.MaxInt32))
		t.Notes = make([]string, r.Count("notes", 1))
		for k := range t.Notes {
			t.Notes[k] = string(r.Text("note", schema.MaxString))
		}
		t.Parts = make([]PartImage, r.Count("parts", 2))
		for k := range t.Parts {
			p := &t.Parts[k]
			p.Bucket = int64(r.Int("bucket"))
			n := r.Uint("image", uint64(len(rest)))
			p.Image, rest = rest[:n:n], rest[n:]
		}
		t.Decided = e.decisions(i)
	}
	for r.In("history"); r.Left() > 0; {
		ordinal := int(r.Uint("ordinal", math.MaxInt32))
		out.Histories = append(out.Histories, StatesWrites{ordinal, r.Text("journal", math.MaxInt32)})
	}
	if len(rest) > 0 {
		r.Failf("%d bytes of images are left", len(rest))
	}
	return out, r.Err()
}

// UnitsEntry returns the body of an EntryUnits.
func UnitsEntry(table int, c catalog.UnitsChange) []byte {
	var w fields.Writer
	w.Uint(uint64(table))
	for _, places := range [][]catalog.UnitPlace{c.Seal, c.Drop} {
		w.Uint(uint64(len(places)))
		for _, u := range places {
			w.Int(uint64(u.Start))
			w.Uint(u.ID)
		}
	}
	return w.Data
}

// readUnits reads the body of an EntryUnits.
func readUnits(body []byte) (c UnitsContents, err error) {
	r := fields.NewReader(body, ErrEntry)
	r.In("units")
	c.Table = int(r.Uint("table", math.MaxInt32))
	for _, places := range []*[]catalog.UnitPlace{&c.Change.Seal, &c.Change.Drop} {
		for range r.Count("units", 2) {
			start := int64(r.Int("start"))
			*places = append(*places, catalog.UnitPlace{Start: start, ID: r.Uint("id", math.MaxInt64)})
		}
	}
	if r.Left() > 0 {
		r.Failf("%d bytes are left", r.Left())
	}
	return c, r.Err()
}
