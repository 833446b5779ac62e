package query

import (
	"encoding/hex"
	"strings"
	"time"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/schema"
	"github.com/granarydb/granary/txn"
)

// GranuleInfo describes a granule: all rows with Lower <= key < Upper. It is a copy that the caller owns.
// Its JSON field names are stable.
type GranuleInfo struct {
	Lower      Bound      `json:"lower"`
	Upper      Bound      `json:"upper"`
	Rows       int        `json:"rows"`
	Bytes      int        `json:"bytes"` // heap bytes, with a share of parts that a split divided
	FreshParts int        `json:"fresh_parts"`
	Parts      []PartInfo `json:"parts"` // the base part, if any, then fresh parts, oldest first
}

// Bound is a readable bound of a granule.
type Bound struct {
	// Key is the bound in hex, which sorts like its bytes. Empty means no bound.
	Key string `json:"key"`
	// Values is the decoded key, a value for each element, in key order: the time bucket's start, then
	// `name="value"`, `name=12`, `name=null`, or `name=#7` for a list with code 7. Missing labels are
	// omitted. A bound can be a prefix of a key: "…" marks a truncated value or name, and a truncated
	// number is shown as bytes. Without a bound the value is "-inf" or "+inf". The keys of a bucket end
	// where a bucket that begins a nanosecond later would begin.
	Values []string `json:"values"`
}

// String returns the values separated by spaces.
func (b Bound) String() string { return strings.Join(b.Values, " ") }

// PartInfo describes the rows of a part that are in a granule.
type PartInfo struct {
	// Base reports that a rewrite made the part. Otherwise it is fresh, as inserted.
	Base bool `json:"base"`
	// Begin and Commit are the ids of the transaction that inserted the rows. A base part can have rows
	// of several transactions. Begin is then their lowest begin id, and Commit their highest commit id.
	Begin  txn.ID `json:"begin"`
	Commit txn.ID `json:"commit"`
	// Lo and Hi bound the rows [Lo, Hi) of the part that are in the granule. They are [0,
	// PartRows) unless a split divided the part.
	Lo int `json:"lo"`
	Hi int `json:"hi"`
	// Series is the number of distinct series in rows [Lo, Hi).
	Series int `json:"series"`
	// Bytes is the share of PartBytes for rows [Lo, Hi).
	Bytes int `json:"bytes"`

	// The fields below describe the whole part. Its other rows are in other granules.

	PartRows  int `json:"part_rows"`
	PartBytes int `json:"part_bytes"` // heap bytes without dictionaries
	// MinTime and MaxTime are the range of the time bucket's column, in UTC. They are zero in
	// tables without buckets.
	MinTime time.Time `json:"min_time,omitzero"`
	MaxTime time.Time `json:"max_time,omitzero"`
	// Columns lists the columns that have a value, in schema order. The first is "(series)":
	// the codes of the rows' series, which replace all columns that lead the sorting key.
	Columns []ColumnInfo `json:"columns"`
}

// ColumnInfo describes a concrete column of a part.
type ColumnInfo struct {
	Name     string `json:"name"`     // "timestamp", "pprof_labels.thread"
	Type     string `json:"type"`     // name of the encoding.Type, or "series"
	Encoding string `json:"encoding"` // the declared encoding: name of the encoding.Encoding
	Layout   string `json:"layout"`   // the chosen layout, one of encoding.LayoutNames
	Bytes    int    `json:"bytes"`    // heap bytes without dictionaries
	Nulls    int    `json:"nulls"`    // rows without a value
}

// DescribeGranule describes a granule of a table with the schema. It costs O(columns) for each part,
// and O(rows) for its series and for each nullable column.
func DescribeGranule(s *schema.Schema, g *granule.Granule) GranuleInfo {
	lo, hi := g.Bounds()
	info := GranuleInfo{
		Lower: BoundOf(s, lo, "-inf"), Upper: BoundOf(s, hi, "+inf"),
		Rows: g.Rows(), Bytes: g.Size(), FreshParts: g.FreshParts(),
		Parts: []PartInfo{}, // not null in JSON: a granule of a new bucket can be empty
	}
	for i, section := range g.Sections() {
		part := describeSection(s, section)
		part.Base = i == 0 && g.Parts() > g.FreshParts()
		info.Parts = append(info.Parts, part)
	}
	return info
}

func describeSection(s *schema.Schema, section granule.Section) PartInfo {
	p := section.Part
	info := PartInfo{
		Begin: txn.ID(p.Begin()), Commit: txn.ID(p.Commit()),
		Lo: section.Lo, Hi: section.Hi, Series: countRuns(p.Series(), section.Lo, section.Hi), Bytes: section.Size(),
		PartRows: p.Rows(), PartBytes: p.Size(),
	}
	if s.BucketColumn() >= 0 {
		lo, hi := p.TimeRange()
		info.MinTime, info.MaxTime = time.Unix(0, lo).UTC(), time.Unix(0, hi).UTC()
	}
	info.Columns = append(info.Columns, ColumnInfo{
		Name: "(series)", Type: "series", Encoding: encoding.DictionaryRLE.String(),
		Layout: p.Series().Layout(), Bytes: p.Series().Size(),
	})
	for i := range p.Columns() {
		c := &p.Columns()[i]
		def := s.Columns()[c.Index]
		column := ColumnInfo{
			Name: c.Name, Type: def.Type.String(), Encoding: def.Encoding.String(),
			Layout: c.Words().Layout(), Bytes: c.Size(),
		}
		if def.Nullable || def.Dynamic {
			column.Nulls = countNulls(&c.Column)
		}
		info.Columns = append(info.Columns, column)
	}
	return info
}

// countRuns returns the number of runs of equal words in rows [lo, hi). For series codes this is the
// number of distinct series, because rows are sorted by series.
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

// BoundOf describes a bound. none is the value for an empty bound.
func BoundOf(s *schema.Schema, key, none string) Bound {
	if key == "" {
		return Bound{Values: []string{none}}
	}
	return Bound{Key: hex.EncodeToString([]byte(key)), Values: s.KeyText(key)}
}
