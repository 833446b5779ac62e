package schema

import (
	"cmp"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
)

// Batch is rows for a table, in columns of plain values. A column holds one value per row, or a single
// value for all rows. Missing columns are null. A function that takes a Batch reads it during the call and
// retains nothing from it.
type Batch struct {
	// Rows is the number of rows.
	Rows int
	// Columns maps concrete names ("timestamp", "labels.pod") to values.
	Columns map[string]encoding.Vector
	// Series, if not 0, is the series code for all rows, in place of the columns that lead the sorting
	// key. Like list codes, it refers to the dictionaries of the insert.
	Series uint32
	// Records is the records to store beside new list elements: for a stack, its locations' symbols.
	Records map[uuid.UUID][]byte
}

// Concrete is a concrete column of checked rows. Values has one element, or one per row.
type Concrete struct {
	Column int // index in Schema.Columns
	Name   string
	Values encoding.Vector
}

// At returns the index in Values of row i's value.
func (c *Concrete) At(i int) int {
	if c.Values.Len() == 1 {
		return 0
	}
	return i
}

// Null reports whether row i has no value. In a dynamic column the empty string is null (invariant S4).
func (c *Concrete) Null(i int, dynamic bool) bool {
	i = c.At(i)
	return c.Values.Null(i) || dynamic && c.Values.Type == encoding.String && c.Values.Strings[i] == ""
}

// Check returns a batch's columns in schema order, concrete dynamic columns by name. Errors wrap ErrBatch
// or ErrLimit and name the column and the row. Check reads every string once; the result shares the batch's
// slices.
func (s *Schema) Check(b *Batch) ([]Concrete, error) { return s.CheckInto(nil, new(Order), b) }

// CheckInto is Check that appends to an empty slice. If the column names match one of the last two sets of
// names in order, as they do for profiles from one source, they are neither resolved nor sorted again.
func (s *Schema) CheckInto(columns []Concrete, order *Order, b *Batch) ([]Concrete, error) {
	if b.Rows < 0 || b.Rows > MaxRows {
		return nil, fmt.Errorf("%w: %d rows, at most %d", ErrLimit, b.Rows, MaxRows)
	}
	columns, err := s.concrete(columns, order, b)
	if err != nil {
		return nil, err
	}
	dynamic, expanded := 0, 0
	for i := range columns {
		c := &columns[i]
		def, series := &s.columns[c.Column], s.IsSeries(c.Column)
		if def.Dynamic {
			dynamic++
		}
		if b.Series != 0 && series {
			return nil, fmt.Errorf("%w: column %q is given, and the code of a series", ErrBatch, c.Name)
		}
		if err := def.checkValues(c.Name, &c.Values, b.Rows); err != nil {
			return nil, err
		}
		if !series {
			expanded += textBytes(&c.Values, b.Rows)
		}
	}
	if dynamic > MaxDynamic {
		return nil, fmt.Errorf("%w: %d dynamic columns, at most %d", ErrLimit, dynamic, MaxDynamic)
	}
	if expanded > MaxExpanded {
		return nil, fmt.Errorf("%w: strings of all rows have %d bytes, at most %d", ErrLimit, expanded, MaxExpanded)
	}
	for id, record := range b.Records {
		if len(record) > MaxRecord {
			return nil, fmt.Errorf("%w: record of %v: %d bytes, at most %d", ErrLimit, id, len(record), MaxRecord)
		}
	}
	if err := s.checkRequired(b, columns); err != nil {
		return nil, err
	}
	return columns, nil
}

// CheckSeries is Check for only the columns of the series.
func (s *Schema) CheckSeries(b *Batch) ([]Concrete, error) {
	columns := make([]Concrete, 0, len(b.Columns))
	for name, values := range b.Columns {
		i, ok := s.Resolve(name)
		if !ok || !s.IsSeries(i) {
			return nil, fmt.Errorf("%w: column %q is not one that leads the sorting key", ErrBatch, name)
		}
		if err := s.columns[i].checkValues(name, &values, b.Rows); err != nil {
			return nil, err
		}
		columns = append(columns, Concrete{Column: i, Name: name, Values: values})
	}
	if len(columns) > MaxDynamic {
		return nil, fmt.Errorf("%w: %d columns, at most %d", ErrLimit, len(columns), MaxDynamic)
	}
	sortColumns(columns)
	for _, i := range s.series {
		c := &s.columns[i]
		if _, ok := b.Columns[c.Name]; !ok && !c.Nullable && !c.Dynamic {
			return nil, fmt.Errorf("%w: column %q is missing and not nullable", ErrBatch, c.Name)
		}
	}
	return columns, nil
}

// CheckLists checks lists as values of the first column of lists.
func (s *Schema) CheckLists(lists [][]uuid.UUID) ([]Concrete, error) {
	i := slices.IndexFunc(s.columns, func(c Column) bool { return c.Type == encoding.UUIDList })
	if i < 0 {
		return nil, fmt.Errorf("%w: no column of type %v", ErrBatch, encoding.UUIDList)
	}
	c := Concrete{Column: i, Name: s.columns[i].Name, Values: encoding.UUIDLists(lists...)}
	return []Concrete{c}, checkElements(c.Name, &c.Values)
}

// fewColumns is the number of columns up to which they are sorted by insertion, which compares them in
// place, because a Concrete is large, and passing two to a comparison function copies both.
const fewColumns = 12

func sortColumns(columns []Concrete) {
	if len(columns) > fewColumns {
		slices.SortFunc(columns, func(a, b Concrete) int { return a.compare(&b) })
		return
	}
	for i := 1; i < len(columns); i++ {
		for k := i; k > 0 && columns[k].compare(&columns[k-1]) < 0; k-- {
			columns[k], columns[k-1] = columns[k-1], columns[k]
		}
	}
}

// compare orders columns as the schema does, concrete dynamic columns by name.
func (c *Concrete) compare(other *Concrete) int {
	return cmp.Or(cmp.Compare(c.Column, other.Column), cmp.Compare(c.Name, other.Name))
}

// textBytes returns the bytes of a column's strings over all rows.
func textBytes(v *encoding.Vector, rows int) int {
	n := 0
	for _, text := range v.Strings {
		n += len(text)
	}
	if len(v.Strings) == 1 {
		n *= rows
	}
	return n
}

// checkRequired checks that a batch's columns, which are sorted, include all that must have values.
func (s *Schema) checkRequired(b *Batch, columns []Concrete) error {
	for i := range s.columns {
		for len(columns) > 0 && columns[0].Column < i {
			columns = columns[1:]
		}
		c := &s.columns[i]
		if c.Nullable || c.Dynamic || len(columns) > 0 && columns[0].Column == i || b.Series != 0 && s.IsSeries(i) {
			continue
		}
		return fmt.Errorf("%w: column %q is missing and not nullable", ErrBatch, c.Name)
	}
	return nil
}

func (c *Column) checkValues(name string, v *encoding.Vector, rows int) error {
	n := v.Len()
	switch {
	case v.Type != c.Type:
		return fmt.Errorf("%w: column %q is %v, not %v", ErrBatch, name, c.Type, v.Type)
	case n != rows && n != 1:
		return fmt.Errorf("%w: column %q has %d values for %d rows", ErrBatch, name, n, rows)
	case v.Valid != nil && len(v.Valid) != n:
		return fmt.Errorf("%w: column %q has %d values and %d valid flags", ErrBatch, name, n, len(v.Valid))
	case c.Dynamic && !ValidName(name):
		return fmt.Errorf("%w: column name %.100q: want at most %d bytes of printable UTF-8", ErrBatch, name, MaxName)
	}
	if i := slices.Index(v.Valid, false); i >= 0 && !c.Nullable && !c.Dynamic {
		return fmt.Errorf("%w: column %q row %d is null and not nullable", ErrBatch, name, i)
	}
	if i := slices.Index(v.Codes, 0); i >= 0 && !c.Nullable {
		return fmt.Errorf("%w: column %q row %d is null and not nullable", ErrBatch, name, i)
	}
	if v.Codes != nil && v.Type != encoding.UUIDList {
		return fmt.Errorf("%w: column %q is %v and has codes of lists", ErrBatch, name, v.Type)
	}
	if v.Codes != nil && (v.UUIDLists != nil || v.Offsets != nil) {
		return fmt.Errorf("%w: column %q has lists and codes of lists", ErrBatch, name)
	}
	if v.Offsets != nil {
		if err := checkOffsets(name, v); err != nil {
			return err
		}
	}
	return checkElements(name, v)
}

// checkOffsets checks a vector with list offsets.
func checkOffsets(name string, v *encoding.Vector) error {
	if v.Type != encoding.UUIDList || v.UUIDLists != nil {
		return fmt.Errorf("%w: column %q has offsets of lists, and other values", ErrBatch, name)
	}
	last := int32(0)
	for i, offset := range v.Offsets {
		if offset < last || int(offset) > len(v.UUIDs) {
			return fmt.Errorf("%w: column %q: offset %d is %d, want %d to %d", ErrBatch, name, i, offset, last, len(v.UUIDs))
		}
		last = offset
	}
	return nil
}

// checkElements checks single values against the limits and for UTF-8. A null row's element is ignored, as
// Vector specifies.
func checkElements(name string, v *encoding.Vector) error {
	if v.Type != encoding.String && v.Type != encoding.UUIDList || v.Type == encoding.UUIDList && v.Codes != nil {
		return nil
	}
	if v.Type == encoding.UUIDList {
		for i := range v.Len() {
			if n := len(v.List(i)); n > MaxList && !v.Null(i) {
				return fmt.Errorf("%w: column %q row %d: list of %d, at most %d", ErrLimit, name, i, n, MaxList)
			}
		}
		return nil
	}
	checked := "" // a profile's rows repeat one string
	for i := range v.Len() {
		switch text := v.Strings[i]; {
		case v.Null(i) || text == checked:
		case len(text) > MaxString:
			return fmt.Errorf("%w: column %q row %d: %d bytes, at most %d", ErrLimit, name, i, len(text), MaxString)
		case !utf8.ValidString(text):
			return fmt.Errorf("%w: column %q row %d: not valid UTF-8", ErrBatch, name, i)
		default:
			checked = text
		}
	}
	return nil
}

// CheckCodes returns ErrBatch if a code in the batch is greater than series or lists, the greatest codes
// that were given out, or if coded is false and the batch has list codes. columns is the result of
// CheckInto.
func (b *Batch) CheckCodes(columns []Concrete, coded bool, series, lists uint32) error {
	if b.Series > series {
		return fmt.Errorf("%w: series %d of %d", ErrBatch, b.Series, series)
	}
	for i := range columns {
		values := &columns[i].Values
		if values.Codes != nil && !coded {
			return fmt.Errorf("%w: column %q has codes: use Codes.Insert", ErrBatch, columns[i].Name)
		}
		for row, code := range values.Codes {
			if code > lists && !values.Null(row) {
				return fmt.Errorf("%w: column %q row %d: list %d of %d", ErrBatch, columns[i].Name, row, code, lists)
			}
		}
	}
	return nil
}

// Limits of a batch. Each bounds an allocation that input controls; a batch that exceeds a limit is refused
// whole with ErrLimit.
const (
	// MaxRows bounds the rows in a batch, because sorting takes a few hundred bytes of working memory a
	// row.
	MaxRows = 4 << 20
	// MaxName bounds a column's name, in bytes. Kubernetes allows 63+253.
	MaxName = 1 << 10
	// MaxString bounds a string value, in bytes.
	MaxString = 64 << 10
	// MaxList bounds the elements of a list: ten times the deepest stacks that runtimes report.
	MaxList = 16 << 10
	// MaxExpanded bounds the bytes of strings outside the series tuple. A string for all rows counts
	// once per row, because keys and plain columns hold it row by row.
	MaxExpanded = 512 << 20
	// MaxRecord bounds a list element's record, in bytes: a location's symbols, with the functions
	// inlined there.
	MaxRecord = 1 << 20
	// MaxDynamic bounds the concrete dynamic columns in a batch.
	MaxDynamic = 1 << 10
	// MaxColumns bounds the columns of a schema.
	MaxColumns = 1 << 10
)
