package columnstore

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/schema"
	"github.com/granarydb/granary/txn"
)

// GranuleInfo describes a granule: all rows with Lower <= key < Upper. Like what
// is in it, it is a copy that belongs to the receiver; its field names in JSON
// are stable.
type GranuleInfo struct {
	Lower      Bound      `json:"lower"`
	Upper      Bound      `json:"upper"`
	Rows       int        `json:"rows"`
	Bytes      int        `json:"bytes"` // on the heap, of a part that a split divided the share
	FreshParts int        `json:"fresh_parts"`
	Parts      []PartInfo `json:"parts"` // the base part, if there is one, then fresh ones, oldest first
}

// Bound is a bound between granules for people to read.
type Bound struct {
	// Key is the bound's bytes in hex, which sort as they do. Empty: no bound.
	Key string `json:"key"`
	// Values is what the bytes say, in key order, one value an element: the
	// start of the time bucket, then `name="value"`, `name=12`, `name=null`, and
	// `name=#7` for a list, by its code. Labels that are not there are left out.
	// A bound can be only the front of a key: "…" marks a value, or a name, that
	// was cut, and of a number that was, there are the bytes. Without a bound it is
	// "-inf" or "+inf". The keys of a bucket end where those of one would begin that begins
	// a nanosecond later.
	Values []string `json:"values"`
}

// String returns the values, with blanks between them.
func (b Bound) String() string { return strings.Join(b.Values, " ") }

// PartInfo describes the rows that a granule has of a part.
type PartInfo struct {
	// Base says that a rewrite made the part; else it is fresh: as inserted.
	Base bool `json:"base"`
	// Begin and Commit are the ids of the transaction that inserted the rows: of
	// several, which a base part can be of, the lowest and the highest.
	Begin  txn.ID `json:"begin"`
	Commit txn.ID `json:"commit"`
	// Lo and Hi say which rows of the part are in the granule: [Lo, Hi). They
	// are all, [0, PartRows), unless a split divided the part.
	Lo int `json:"lo"`
	Hi int `json:"hi"`
	// Series is the number of distinct series of those rows.
	Series int `json:"series"`
	// Bytes is those rows' share of PartBytes.
	Bytes int `json:"bytes"`

	// What follows is about the whole part, of which there can be other rows in
	// other granules.

	PartRows  int `json:"part_rows"`
	PartBytes int `json:"part_bytes"` // on the heap, without dictionaries
	// MinTime and MaxTime are the least and the greatest value of the column of
	// the time bucket, in UTC; zero in tables without buckets.
	MinTime time.Time `json:"min_time,omitzero"`
	MaxTime time.Time `json:"max_time,omitzero"`
	// Columns lists the columns that have a value, in schema order, after one that
	// is called "(series)": the codes of the rows' series, which stand for all of
	// the columns that lead the sorting key.
	Columns []ColumnInfo `json:"columns"`
}

// ColumnInfo describes a concrete column of a part.
type ColumnInfo struct {
	Name     string `json:"name"`     // "timestamp", "pprof_labels.thread"
	Type     string `json:"type"`     // as encoding.Type names it; "series"
	Encoding string `json:"encoding"` // that the schema declares, as encoding.Encoding names it
	Layout   string `json:"layout"`   // that was chosen, as encoding.Layout names it
	Bytes    int    `json:"bytes"`    // on the heap, without dictionaries
	Nulls    int    `json:"nulls"`    // rows without a value
}

// Inspect yields a description of each granule of the table in a snapshot, in
// key order: the sparse index, for people and for tools.
//
// One granule is described at a time, so a caller who stops early pays for what
// was taken only: O(columns) for each part, and O(rows) for its series and for
// each column that can be null. It is safe for concurrent use, and delays no
// writer.
//
// An error is the last element: ErrSnapshotClosed, ErrSnapshotExpired, ErrTable
// for a snapshot of another store, or the error of ctx. A table that is newer
// than the snapshot has no granules.
func (t *Table) Inspect(ctx context.Context, snap *Snapshot) iter.Seq2[GranuleInfo, error] {
	return func(yield func(GranuleInfo, error) bool) {
		state, use, err := snap.read(t)
		if err != nil {
			yield(GranuleInfo{}, err)
			return
		}
		defer use.Done()
		if state == nil {
			return
		}
		for _, g := range state.granules.All() {
			if err := cmp.Or(ctx.Err(), use.Err()); err != nil {
				yield(GranuleInfo{}, err)
				return
			}
			if !yield(inspectGranule(t.schema, g), nil) {
				return
			}
		}
	}
}

func inspectGranule(s *schema.Schema, g *granule.Granule) GranuleInfo {
	lo, hi := g.Bounds()
	info := GranuleInfo{
		Lower: boundOf(s, lo, "-inf"), Upper: boundOf(s, hi, "+inf"),
		Rows: g.Rows(), Bytes: g.Size(), FreshParts: g.FreshParts(),
		Parts: []PartInfo{}, // none in a granule of a new bucket that no rows came for yet
	}
	for i, slice := range g.Slices() {
		part := inspectSlice(s, slice)
		part.Base = i == 0 && g.Parts() > g.FreshParts()
		info.Parts = append(info.Parts, part)
	}
	return info
}

func inspectSlice(s *schema.Schema, slice granule.Slice) PartInfo {
	p := slice.Part
	info := PartInfo{
		Begin: txn.ID(p.Begin()), Commit: txn.ID(p.Commit()),
		Lo: slice.Lo, Hi: slice.Hi, Series: countRuns(p.Series(), slice.Lo, slice.Hi), Bytes: slice.Size(),
		PartRows: p.Rows(), PartBytes: p.Size(),
	}
	if s.BucketColumn() >= 0 {
		lo, hi := p.TimeRange()
		info.MinTime, info.MaxTime = time.Unix(0, lo).UTC(), time.Unix(0, hi).UTC()
	}
	info.Columns = append(info.Columns, ColumnInfo{
		Name: "(series)", Type: "series", Encoding: encoding.DictionaryRLE.String(),
		Layout: p.Series().Layout().String(), Bytes: p.Series().Size(),
	})
	for i := range p.Columns() {
		c := &p.Columns()[i]
		def := s.Columns()[c.Index]
		column := ColumnInfo{
			Name: c.Name, Type: def.Type.String(), Encoding: def.Encoding.String(),
			Layout: c.Words().Layout().String(), Bytes: c.Size(),
		}
		if def.Nullable || def.Dynamic {
			column.Nulls = countNulls(&c.Column)
		}
		info.Columns = append(info.Columns, column)
	}
	return info
}

// countRuns returns how many runs of equal words rows [lo, hi) have: of series,
// by which rows are sorted, that is how many there are.
func countRuns(words *encoding.Words, lo, hi int) (runs int) {
	cursor := words.Cursor()
	var last uint64
	for row := 0; row < hi; {
		word, rows := cursor.Next()
		if row += rows; row > lo && (runs == 0 || word != last) {
			runs++
			last = word
		}
	}
	return runs
}

func countNulls(c *encoding.Column) (nulls int) {
	if c.Type().Fixed() && !c.Nulls() {
		return 0
	}
	for _, valid := range c.AppendValid(nil, 0, c.Len()) {
		if !valid {
			nulls++
		}
	}
	return nulls
}

// boundOf describes a bound; none is what an empty one stands for.
func boundOf(s *schema.Schema, key, none string) Bound {
	if key == "" {
		return Bound{Values: []string{none}}
	}
	r := keyReader{key: []byte(key)}
	if s.BucketColumn() >= 0 {
		r.bucket()
	}
	for _, columns := range [][]int{s.Series(), s.Suffix()} {
		for _, i := range columns {
			r.column(s.Columns()[i], i == s.BucketColumn())
		}
	}
	r.rest()
	return Bound{Key: hex.EncodeToString([]byte(key)), Values: r.values}
}

// What opens a part of a key (package schema draws keys). A test holds these
// to what the schema writes.
const (
	keyNull  = 0x00 // a null, or the end of a dynamic family
	keyValue = 0x01
	keyName  = 0xff // ends a name
)

// cutMark follows what was cut.
const cutMark = "…"

// keyReader reads a key, or the front of one cut anywhere, for people. What it
// cannot read it shows in hex: it never fails.
type keyReader struct {
	key    []byte // what is left
	values []string
}

func (r *keyReader) add(format string, args ...any) {
	r.values = append(r.values, fmt.Sprintf(format, args...))
}

// rest shows what is left of a key that reading stopped in.
func (r *keyReader) rest() {
	if len(r.key) > 0 {
		r.add("%#x", r.key)
		r.key = nil
	}
}

func (r *keyReader) bucket() {
	if word, ok := r.word(8); ok {
		r.add("%s", timeText(int64(word^1<<63)))
		return
	}
	r.add("%#x"+cutMark, r.key)
	r.key = nil
}

// column reads the value of a fixed column, or all of a family.
func (r *keyReader) column(c schema.Column, isTime bool) {
	for len(r.key) > 0 {
		switch {
		case r.key[0] == keyNull:
			if !c.Dynamic {
				r.add("%s=null", c.Name)
			}
			r.key = r.key[1:]
			return
		case r.key[0] != keyValue:
			r.rest()
			return
		}
		r.key = r.key[1:]
		name := c.Name
		if c.Dynamic {
			var whole bool
			if name, whole = r.name(); !whole {
				r.add("%s"+cutMark, cmp.Or(name, c.Name+"."))
				return
			}
		}
		r.value(name, c.Type, isTime)
		if !c.Dynamic {
			return
		}
	}
}

// value reads what stands behind a column's tag or name.
func (r *keyReader) value(name string, t encoding.Type, isTime bool) {
	if len(r.key) == 0 {
		r.add("%s="+cutMark, name)
		return
	}
	if t == encoding.String || t == encoding.UUID {
		value, mark := r.bytes()
		if t == encoding.String {
			r.add("%s=%q%s", name, value, mark)
		} else if id, err := uuid.FromBytes(value); err == nil {
			r.add("%s=%v%s", name, id, mark)
		} else {
			r.add("%s=%#x%s", name, value, mark)
		}
		return
	}
	width := 8
	if t == encoding.UUIDList {
		width = 4
	}
	word, ok := r.word(width)
	if !ok {
		r.add("%s=%#x"+cutMark, name, r.key)
		r.key = nil
		return
	}
	r.add("%s=%s", name, wordText(word, t, isTime))
}

// word reads a big-endian integer, unless it is cut.
func (r *keyReader) word(width int) (word uint64, ok bool) {
	if len(r.key) < width {
		return 0, false
	}
	var buf [8]byte
	copy(buf[8-width:], r.key)
	r.key = r.key[width:]
	return binary.BigEndian.Uint64(buf[:]), true
}

// name reads the name of a concrete dynamic column, of which bits are flipped.
func (r *keyReader) name() (name string, whole bool) {
	flipped, rest, whole := bytes.Cut(r.key, []byte{keyName})
	r.key = rest
	out := make([]byte, len(flipped))
	for i, b := range flipped {
		out[i] = ^b
	}
	return strings.ToValidUTF8(string(out), "\ufffd"), whole
}

// bytes reads a string or a UUID, in which 0 is escaped, and the mark of a cut.
func (r *keyReader) bytes() (value []byte, mark string) {
	for {
		i := bytes.IndexByte(r.key, 0)
		if i < 0 || i+1 == len(r.key) {
			value = append(value, bytes.TrimSuffix(r.key, []byte{0})...)
			r.key = nil
			return value, cutMark
		}
		value = append(value, r.key[:i]...)
		escape := r.key[i+1]
		r.key = r.key[i+2:]
		if escape == 0 {
			return value, ""
		}
		value = append(value, 0)
	}
}

// wordText is the inverse of schema.AppendWord, as text.
func wordText(word uint64, t encoding.Type, isTime bool) string {
	switch {
	case isTime:
		return timeText(int64(word ^ 1<<63))
	case t == encoding.Int64:
		return strconv.FormatInt(int64(word^1<<63), 10)
	case t == encoding.Float64:
		if word>>63 == 1 {
			word &^= 1 << 63
		} else {
			word = ^word
		}
		return strconv.FormatFloat(math.Float64frombits(word), 'g', -1, 64)
	case t == encoding.Bool:
		return strconv.FormatBool(word != 0)
	case t == encoding.UUIDList:
		return "#" + strconv.FormatUint(word, 10)
	default:
		return strconv.FormatUint(word, 10)
	}
}
