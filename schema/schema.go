package schema

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/granarydb/granary/encoding"
)

// Errors that New and Check wrap.
var (
	// ErrSchema reports a definition that contradicts itself.
	ErrSchema = errors.New("invalid schema")
	// ErrBatch reports rows that do not fit the schema.
	ErrBatch = errors.New("invalid batch")
	// ErrLimit reports rows that exceed a limit of limits.go.
	ErrLimit = errors.New("limit exceeded")
)

// Column defines a column of a table.
type Column struct {
	// Name is the column's name, or the family's if Dynamic. It must not contain a dot or a control
	// character.
	Name string
	// Type is the values' type.
	Type encoding.Type
	// Encoding is how values are stored; see Encoding.Fits for the valid combinations.
	Encoding encoding.Encoding
	// Nullable allows rows without a value. Dynamic columns are always nullable.
	Nullable bool
	// Dynamic makes the column a family: "labels" stands for "labels.pod", "labels.job" and
	// all others that appear.
	Dynamic bool
}

// Bucket makes time the first part of the sorting key: rows in different buckets never share a granule. The
// zero Bucket turns it off.
type Bucket struct {
	// Column names a non-null Int64 column: Unix time in nanoseconds.
	Column string
	// Width is a bucket's length in nanoseconds. A store can begin further buckets within a width
	// (columnstore.Options.BucketRows).
	Width int64
}

// Definition is the input of New.
type Definition struct {
	// Columns lists the columns, in the order in which scans return them.
	Columns []Column
	// SortingKey names the columns by which rows are sorted. It may be empty.
	SortingKey []string
	// Bucket is the time bucket that leads the key.
	Bucket Bucket
	// Header names fixed-type columns that are not null and whose values occur together: a profile's
	// rows have one time and one duration. A rewrite stores each combination once for a series, and an
	// ordinal in each row. It may be empty; it changes the storage of rows, not their contents.
	Header []string
}

// Schema is a checked Definition. It is immutable.
type Schema struct {
	columns []Column
	index   map[string]int
	series  []int // columns of the series tuple, in key order
	suffix  []int // key columns after them
	header  []int
	bucket  int // column of the time bucket, -1 without
	width   int64
}

// New checks a definition. Errors wrap ErrSchema and name the column.
func New(def Definition) (*Schema, error) {
	s := &Schema{columns: append([]Column(nil), def.Columns...), index: map[string]int{}, bucket: -1}
	if len(s.columns) == 0 || len(s.columns) > MaxColumns {
		return nil, fmt.Errorf("%w: %d columns, want 1 to %d", ErrSchema, len(s.columns), MaxColumns)
	}
	for i, c := range s.columns {
		if err := c.check(); err != nil {
			return nil, err
		}
		if _, twice := s.index[c.Name]; twice {
			return nil, fmt.Errorf("%w: column %q is defined twice", ErrSchema, c.Name)
		}
		s.index[c.Name] = i
	}
	if err := s.setKey(def.SortingKey); err != nil {
		return nil, err
	}
	if err := s.setBucket(def.Bucket); err != nil {
		return nil, err
	}
	if err := s.setHeader(def.Header); err != nil {
		return nil, err
	}
	return s, nil
}

func (c Column) check() error {
	switch {
	case c.Name == "" || strings.Contains(c.Name, ".") || !ValidName(c.Name):
		return fmt.Errorf("%w: column name %q: want 1 to %d bytes of printable UTF-8 without a dot", ErrSchema, c.Name, MaxName)
	case !c.Type.Known():
		return fmt.Errorf("%w: column %q: unknown %v", ErrSchema, c.Name, c.Type)
	case !c.Encoding.Fits(c.Type):
		return fmt.Errorf("%w: column %q: %v cannot hold %v", ErrSchema, c.Name, c.Encoding, c.Type)
	case c.Dynamic && c.Type == encoding.UUIDList:
		return fmt.Errorf("%w: column %q: a dynamic column cannot be a %v", ErrSchema, c.Name, c.Type)
	}
	return nil
}

// setKey divides the sorting key into the series tuple, which is its leading coded strings, and the suffix.
func (s *Schema) setKey(names []string) error {
	seen := map[string]bool{}
	for _, name := range names {
		i, ok := s.index[name]
		if !ok || seen[name] {
			return fmt.Errorf("%w: sorting key: column %q is unknown or named twice", ErrSchema, name)
		}
		seen[name] = true
		c := s.columns[i]
		if len(s.suffix) == 0 && c.Type == encoding.String && c.Encoding.Coded() {
			s.series = append(s.series, i)
		} else {
			s.suffix = append(s.suffix, i)
		}
	}
	return nil
}

func (s *Schema) setBucket(b Bucket) error {
	if b == (Bucket{}) {
		return nil
	}
	i, ok := s.index[b.Column]
	if !ok || s.columns[i].Type != encoding.Int64 || s.columns[i].Nullable || s.columns[i].Dynamic {
		return fmt.Errorf("%w: bucket column %q: want a fixed int64 column that is not nullable", ErrSchema, b.Column)
	}
	if b.Width <= 0 {
		return fmt.Errorf("%w: bucket width %d: want more than 0", ErrSchema, b.Width)
	}
	s.bucket, s.width = i, b.Width
	return nil
}

func (s *Schema) setHeader(names []string) error {
	for _, name := range names {
		i, ok := s.index[name]
		if !ok || slices.Contains(s.header, i) {
			return fmt.Errorf("%w: header: column %q is unknown or named twice", ErrSchema, name)
		}
		if c := s.columns[i]; !c.Type.Fixed() || c.Nullable || c.Dynamic {
			return fmt.Errorf("%w: header: column %q: want a fixed int64, uint64, float64 or bool column that is not nullable", ErrSchema, name)
		}
		s.header = append(s.header, i)
	}
	slices.Sort(s.header)
	return nil
}

// Header returns the columns whose values occur together, in column order. It must not be changed.
func (s *Schema) Header() []int { return s.header }

// Columns returns the columns in definition order. It must not be changed.
func (s *Schema) Columns() []Column { return s.columns }

// Series returns the series tuple's columns: the leading coded string columns of the sorting key. It must
// not be changed.
func (s *Schema) Series() []int { return s.series }

// Suffix returns the sorting key's columns after the series tuple.
func (s *Schema) Suffix() []int { return s.suffix }

// ListsLead reports whether the suffix begins with a column of lists.
func (s *Schema) ListsLead() bool {
	return len(s.suffix) > 0 && s.columns[s.suffix[0]].Type == encoding.UUIDList
}

// BucketColumn returns the time bucket's column, or -1.
func (s *Schema) BucketColumn() int { return s.bucket }

// BucketStart returns the start of the range of the bucket width that contains time t, or the least int64
// if the range begins before it. The bucket of t starts there, unless the store began another bucket within
// the range. Without buckets BucketStart returns 0.
func (s *Schema) BucketStart(t int64) int64 {
	if s.bucket < 0 {
		return 0
	}
	return RoundDown(t, s.width)
}

// RoundDown returns the greatest multiple of step, which must be above 0, that is at most t, or the least
// int64 if the multiple is below it.
func RoundDown(t, step int64) int64 {
	down := t - t%step
	if t%step < 0 {
		if down -= step; down > t {
			return math.MinInt64
		}
	}
	return down
}

// BucketWidth returns a bucket's length in nanoseconds, 0 without buckets.
func (s *Schema) BucketWidth() int64 { return s.width }

// IsSeries reports whether column i is part of the series tuple.
func (s *Schema) IsSeries(i int) bool {
	return slices.Contains(s.series, i)
}

// Resolve finds a concrete name's column: "timestamp", or "labels.pod" for the family "labels".
func (s *Schema) Resolve(name string) (column int, ok bool) {
	if i, ok := s.index[name]; ok && !s.columns[i].Dynamic {
		return i, true
	}
	family, rest, dotted := strings.Cut(name, ".")
	i, ok := s.index[family]
	return i, ok && dotted && rest != "" && s.columns[i].Dynamic
}

// Family returns the index of the dynamic column with the given name.
func (s *Schema) Family(name string) (column int, ok bool) {
	i, ok := s.index[name]
	return i, ok && s.columns[i].Dynamic
}

// ValidName reports whether a column's name is printable UTF-8 of at most MaxName bytes. Keys
// rely on names without control characters.
func ValidName(name string) bool {
	if len(name) > MaxName || !utf8.ValidString(name) {
		return false
	}
	for i := range len(name) {
		if name[i] < 0x20 || name[i] == 0x7f {
			return false
		}
	}
	return true
}
