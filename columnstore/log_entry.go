package columnstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/granarydb/granary/catalog"
	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/fields"
	"github.com/granarydb/granary/schema"
)

// Kinds of the entries of the log. docs/format/log.md draws their bodies.
const (
	entryTable   uint32 = iota + 1 // creates a table: a tableEntry in JSON
	entryDicts                     // extends the dictionaries of a generation
	entryCommit                    // is a commit
	entryHistory                   // creates a history: a historyEntry in JSON
)

// errEntry reports an entry that is whole and has contents that no store writes.
var errEntry = errors.New("malformed entry")

// tableEntry is the body of an entryTable.
type tableEntry struct {
	Ordinal    int // among the tables of the store
	Name       string
	Ranges     int64 // time ranges of a generation
	Definition schema.Definition
}

// historyEntry is the body of an entryHistory.
type historyEntry struct {
	Ordinal       int // among the histories of the store
	Name          string
	Start         int64
	MaxAttributes int
}

// The body of an entryDicts is a header of dictsHead bytes and the image of the entries that the
// dictionaries have got since the entry before:
//
//	u64  ordinal of the table
//	i64  number of the generation
//	u64  number of the entry, among those of the generation, from 1 on
const dictsHead = 24

// appendDictsHead appends the header of an entryDicts.
func appendDictsHead(dst []byte, table int, generation int64, number uint64) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, uint64(table))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(generation))
	return binary.LittleEndian.AppendUint64(dst, number)
}

// cutDictsHead cuts the header of an entryDicts from its body.
func cutDictsHead(body []byte) (table uint64, generation int64, number uint64, image []byte, ok bool) {
	if len(body) < dictsHead {
		return 0, 0, 0, nil, false
	}
	u64 := func(at int) uint64 { return binary.LittleEndian.Uint64(body[at:]) }
	return u64(0), int64(u64(8)), u64(16), body[dictsHead:], true
}

// commitEntry is the body of an entryCommit:
//
//	u32  tables                  u32  bytes of the images
//	     of each table: i64 floor, i64 cut    (catalog.Decisions)
//	     images of parts, one after the other, each a multiple of 8 bytes
//	     descriptor: fields
//
// What the commit decides about its tables comes first and has a fixed size, so that the commit
// writes it under its lock, into a body that was made before. The descriptor has of each table
// the ordinal, its notes, and of each of its parts the bucket and the bytes of the image; then, up
// to its end, of each history the ordinal and the journal.
type commitEntry struct{ body []byte }

const (
	commitHead   = 8
	decisionSize = 16
)

// tableWrites is what a commit adds to one table.
type tableWrites struct {
	table *Table
	notes []string
	parts []*granule.Part
}

// newCommitEntry returns the entry of writes to tables, without decisions, and to histories, with
// the drops that were decided.
func newCommitEntry(tables []tableWrites, histories []historyWrite) commitEntry {
	start := commitHead + decisionSize*len(tables)
	size := start
	for _, t := range tables {
		for _, p := range t.parts {
			size += p.Size() // an image is smaller
		}
	}
	body := make([]byte, start, size)
	var w fields.Writer
	for _, t := range tables {
		w.Uint(uint64(t.table.ordinal))
		w.Uint(uint64(len(t.notes)))
		for _, note := range t.notes {
			w.Text(note)
		}
		w.Uint(uint64(len(t.parts)))
		for _, p := range t.parts {
			before := len(body)
			body, _ = p.AppendImage(t.table.schema, body)
			w.Int(uint64(p.Bucket()))
			w.Uint(uint64(len(body) - before))
		}
	}
	for i := range histories {
		if journal := histories[i].tx.Journal(); journal != nil {
			w.Uint(uint64(histories[i].history.ordinal))
			w.Uint(uint64(len(journal)))
			w.Raw(journal)
		}
	}
	binary.LittleEndian.PutUint32(body, uint32(len(tables)))
	binary.LittleEndian.PutUint32(body[4:], uint32(len(body)-start))
	return commitEntry{append(body, w.Data...)}
}

// decide sets what the commit decided about the i-th table.
func (e commitEntry) decide(i int, d catalog.Decisions) {
	at := e.body[commitHead+decisionSize*i:]
	binary.LittleEndian.PutUint64(at, uint64(d.Floor))
	binary.LittleEndian.PutUint64(at[8:], uint64(d.Cut))
}

// decisions returns what the commit decided about the i-th table.
func (e commitEntry) decisions(i int) catalog.Decisions {
	at := e.body[commitHead+decisionSize*i:]
	return catalog.Decisions{Floor: int64(binary.LittleEndian.Uint64(at)), Cut: int64(binary.LittleEndian.Uint64(at[8:]))}
}

// readCommit is the contents of a commit entry.
type readCommit struct {
	tables    []readTable
	histories []readJournal
}

// readJournal is what a commit entry has about one history, in the memory of the body.
type readJournal struct {
	ordinal int
	journal []byte
}

// readTable is what a commit entry has about one table.
type readTable struct {
	ordinal int
	notes   []string
	parts   []readPart
	decided catalog.Decisions
}

// readPart is an image of a part, in the memory of the body.
type readPart struct {
	bucket int64
	image  []byte
}

// read returns the contents of an entry. The error is errEntry.
func (e commitEntry) read() (out readCommit, err error) {
	if len(e.body) < commitHead {
		return out, fmt.Errorf("%w: a commit of %d bytes", errEntry, len(e.body))
	}
	tables, images := uint64(binary.LittleEndian.Uint32(e.body)), uint64(binary.LittleEndian.Uint32(e.body[4:]))
	start := commitHead + decisionSize*tables
	if start+images > uint64(len(e.body)) {
		return out, fmt.Errorf("%w: %d tables and %d bytes of images in a commit of %d bytes", errEntry, tables, images, len(e.body))
	}
	rest := e.body[start : start+images]
	r := fields.NewReader(e.body[start+images:], errEntry)
	out.tables = make([]readTable, tables)
	for i := range out.tables {
		t := &out.tables[i]
		r.In("table")
		t.ordinal = int(r.Uint("ordinal", math.MaxInt32))
		t.notes = make([]string, r.Count("notes", 1))
		for k := range t.notes {
			t.notes[k] = string(r.Text("note", schema.MaxString))
		}
		t.parts = make([]readPart, r.Count("parts", 2))
		for k := range t.parts {
			p := &t.parts[k]
			p.bucket = int64(r.Int("bucket"))
			n := r.Uint("image", uint64(len(rest)))
			p.image, rest = rest[:n:n], rest[n:]
		}
		t.decided = e.decisions(i)
	}
	for r.In("history"); r.Left() > 0; {
		ordinal := int(r.Uint("ordinal", math.MaxInt32))
		out.histories = append(out.histories, readJournal{ordinal, r.Text("journal", math.MaxInt32)})
	}
	if len(rest) > 0 {
		r.Failf("%d bytes of images are left", len(rest))
	}
	return out, r.Err()
}
