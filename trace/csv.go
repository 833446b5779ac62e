package trace

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"

	"github.com/granarydb/granary/internal/ihs"
	"github.com/granarydb/granary/internal/timetext"
)

// CSVOptions are the settings for CSV. The zero value reads times in nanoseconds and paths with / between
// their names, and infers kinds.
type CSVOptions struct {
	// Separator stands between the names in a path. 0 means PathSeparator.
	Separator rune
	// Unit is the unit of plain numbers, as the number of decimal digits to nanoseconds: 0 for ns, 3
	// for us, 6 for ms, 9 for s.
	Unit int
	// Kind is the kind of all values: int, float or string. "" infers it for each attribute.
	Kind string
	// ExclusiveEnds makes an interval end before its end, as the spans of tracers do.
	ExclusiveEnds bool
	// SkipBad, if not nil, is called with the error of each row that is left out: one that cannot be read, or
	// overlaps another. nil makes it an error of the file.
	SkipBad func(error)
	// Start and End bound the set. nil means the first or the last row's time.
	Start, End *int64
}

// ParseTime reads a cell's time, a number in the unit or a date, which is UTC if it has no zone, and
// returns nanoseconds since 1970.
func (o CSVOptions) ParseTime(text string) (int64, error) {
	text = strings.TrimSpace(text)
	nanos, ok := ParseDecimal(text, o.Unit)
	if !ok {
		if _, isFraction := ParseDecimal(text, 9); o.Unit == 0 && isFraction {
			return 0, fmt.Errorf("time %.40q is no whole number of nanoseconds: granary history import --unit s reads one of seconds", text)
		}
		at, isDate := timetext.Date(text, time.UTC)
		if !isDate || at.Year() <= 1677 || at.Year() >= 2262 {
			return 0, fmt.Errorf("time %.40q: want a number in the unit of the file or a date such as 2026-01-31T09:00:00.5Z", text)
		}
		nanos = at.UnixNano()
	}
	if nanos == math.MinInt64 || nanos == math.MaxInt64 {
		return 0, fmt.Errorf("time %.40q is out of range", text)
	}
	return nanos, nil
}

// ErrTouch is returned for an interval that begins at the end of another, as with exclusive ends.
var ErrTouch = errors.New("intervals touch")

// Limits for CSV. An interval set's limits hold too.
const (
	maxCSVRecord = 1 << 20   // bytes of a row, because an open quote would read the rest of the file
	maxCSVPaths  = 256 << 20 // bytes of all paths together
	maxCSVRows   = 64 << 20  // as many as a set has intervals
	maxCSVKeys   = 16 << 20  // as many as a set has attributes
)

// CSV collects the rows of one or more CSV files and makes an interval set from them. It keeps 38 bytes a
// row in columns, and the distinct texts. It is not safe for concurrent use.
type CSV struct {
	options    CSVOptions
	attributes []ihs.Attribute
	keys       map[ihs.Attribute]uint32
	paths      map[string]uint32 // keys by path as written
	pathBytes  int
	kinds      []string // by attribute, as its rows name it; "" if none does
	files      []csvFile

	key    []uint32
	starts []int64
	ends   []int64 // start - 1: until the attribute's next row
	cells  []csvCell
	lines  []uint32

	texts     []string
	codes     map[string]uint64
	textBytes int
}

// csvFile is a file and its first row.
type csvFile struct {
	name  string
	first int
}

// csvCell is a cell: an int, a float with its number of decimals, a text's code, or nothing. A number that
// the float would not print back unchanged stays text until the attribute's kind is known.
type csvCell struct {
	word     uint64
	class    csvClass
	decimals uint8
}

type csvClass uint8

const (
	csvNull csvClass = iota
	csvInt
	csvFloat
	csvNumber // text that reads as a float
	csvWhole  // a whole number that an int cannot hold, and a float rounds
	csvText
)

// NewCSV returns a CSV without rows.
func NewCSV(opts CSVOptions) *CSV {
	opts.Separator = cmp.Or(opts.Separator, PathSeparator)
	return &CSV{options: opts, keys: map[ihs.Attribute]uint32{}, paths: map[string]uint32{}, codes: map[string]uint64{}}
}

// ReadFile adds the rows of the named file, decompressed if the name ends in .gz. progress, if not nil, is
// called now and then with the number of bytes read. It returns the errors of Read.
func (t *CSV) ReadFile(ctx context.Context, name string, progress func(done, total int64)) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	report := func() {
		if at, err := f.Seek(0, io.SeekCurrent); err == nil && progress != nil {
			progress(at, info.Size())
		}
	}
	if !strings.HasSuffix(strings.ToLower(name), ".gz") {
		return t.read(ctx, name, f, report)
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return t.read(ctx, name, z, report)
}

// Read adds the rows of r; errors refer to it as name. After an error the CSV must not be used. The errors
// are any from r and ctx, ihs.ErrLimit, and others that name the line and its fault.
func (t *CSV) Read(ctx context.Context, name string, r io.Reader) error {
	return t.read(ctx, name, r, func() {})
}

// recordReader bounds the bytes read for each record.
type recordReader struct {
	r    io.Reader
	rest int
}

func (r *recordReader) Read(buf []byte) (int, error) {
	if r.rest <= 0 {
		return 0, fmt.Errorf("a row of more than %d bytes", maxCSVRecord)
	}
	n, err := r.r.Read(buf)
	r.rest -= n
	return n, err
}

func (t *CSV) read(ctx context.Context, file string, in io.Reader, report func()) error {
	t.files = append(t.files, csvFile{file, len(t.key)})
	bounded := &recordReader{in, maxCSVRecord}
	r := csv.NewReader(bounded)
	r.ReuseRecord = true
	head, err := r.Read()
	if errors.Is(err, io.EOF) {
		err = errors.New("the file is empty: want a line that names the columns, " + csvColumns)
	}
	var columns csvHeader
	if err == nil {
		columns, err = parseHeader(head)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	for n := 0; ; n++ {
		if n%feedBatch == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			report()
		}
		bounded.rest = maxCSVRecord
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if _, isRow := errors.AsType[*csv.ParseError](err); err == nil {
			line, _ := r.FieldPos(0)
			if err = t.add(record, columns, line); err != nil {
				err = fmt.Errorf("%s: line %d: %w", file, line, err)
			}
		} else if err = fmt.Errorf("%s: %w", file, err); !isRow {
			return err
		}
		if err := t.skip(err); err != nil {
			return err
		}
	}
}

// skip passes the error of a row to SkipBad, unless it is one of the whole file.
func (t *CSV) skip(err error) error {
	if err == nil || t.options.SkipBad == nil || errors.Is(err, ihs.ErrLimit) {
		return err
	}
	t.options.SkipBad(err)
	return nil
}

const csvColumns = "time,attribute,value or start,end,attribute,value"

// csvHeader is the position of each column in a file, or -1 for a missing column.
type csvHeader struct{ time, start, end, attribute, value, kind int }

func parseHeader(head []string) (csvHeader, error) {
	at := map[string]int{"time": -1, "start": -1, "end": -1, "attribute": -1, "value": -1, "kind": -1}
	for i, name := range head {
		name = strings.ToLower(strings.TrimSpace(strings.TrimPrefix(name, "\ufeff")))
		before, known := at[name]
		if !known || before >= 0 {
			problem := "unknown"
			if known {
				problem = "there twice"
			}
			return csvHeader{}, fmt.Errorf("line 1: column %.40q is %s: want %s, in any order, and perhaps kind", name, problem, csvColumns)
		}
		at[name] = i
	}
	h := csvHeader{at["time"], at["start"], at["end"], at["attribute"], at["value"], at["kind"]}
	changes, intervals := h.time >= 0 && h.start < 0 && h.end < 0, h.time < 0 && h.start >= 0 && h.end >= 0
	if h.attribute < 0 || h.value < 0 || !changes && !intervals {
		return csvHeader{}, fmt.Errorf("line 1: the columns are %.200q: want %s, in any order, and perhaps kind", strings.Join(head, ","), csvColumns)
	}
	return h, nil
}

// add adds a row.
func (t *CSV) add(record []string, columns csvHeader, line int) error {
	if len(t.key) >= maxCSVRows || line > math.MaxUint32 {
		return fmt.Errorf("%w: more than %d rows", ihs.ErrLimit, maxCSVRows)
	}
	start, end, err := t.times(record, columns)
	if err != nil {
		return err
	}
	key, err := t.attribute(record[columns.attribute])
	if err != nil {
		return err
	}
	kind := ""
	if columns.kind >= 0 {
		kind = strings.TrimSpace(record[columns.kind])
	}
	cell, err := t.cell(key, record[columns.value], kind)
	if err != nil {
		return err
	}
	t.key = append(t.key, key)
	t.starts = append(t.starts, start)
	t.ends = append(t.ends, end)
	t.cells = append(t.cells, cell)
	t.lines = append(t.lines, uint32(line))
	return nil
}

// times returns a row's times.
func (t *CSV) times(record []string, columns csvHeader) (start, end int64, err error) {
	if columns.time >= 0 {
		start, err = t.options.ParseTime(record[columns.time])
		return start, start - 1, err
	}
	if start, err = t.options.ParseTime(record[columns.start]); err == nil {
		end, err = t.options.ParseTime(record[columns.end])
	}
	wrong := "before"
	if t.options.ExclusiveEnds {
		end, wrong = end-1, "not after"
	}
	if err == nil && end < start {
		err = fmt.Errorf("end %s is %s start %s", record[columns.end], wrong, record[columns.start])
	}
	return start, end, err
}

// attribute returns a path's key, and creates missing attributes.
func (t *CSV) attribute(text string) (uint32, error) {
	if key, known := t.paths[text]; known {
		return key, nil
	}
	path, err := ParsePath(text, t.options.Separator)
	if err != nil {
		return 0, err
	}
	if t.pathBytes += len(text); t.pathBytes > maxCSVPaths {
		return 0, fmt.Errorf("%w: names of attributes of more than %d bytes", ihs.ErrLimit, maxCSVPaths)
	}
	parent := ihs.NoParent
	for _, name := range path {
		if strings.Contains(name, "\n") {
			return 0, fmt.Errorf("attribute %.60q: a set cannot have a name with a line feed", text)
		}
		a := ihs.Attribute{Parent: parent, Name: strings.Clone(name)}
		key, known := t.keys[a]
		if !known {
			if len(t.attributes) == maxCSVKeys {
				return 0, fmt.Errorf("%w: more than %d attributes", ihs.ErrLimit, maxCSVKeys)
			}
			key = uint32(len(t.attributes))
			t.keys[a] = key
			t.attributes = append(t.attributes, a)
			t.kinds = append(t.kinds, t.options.Kind)
		}
		parent = int(key)
	}
	t.paths[strings.Clone(text)] = uint32(parent)
	return uint32(parent), nil
}

// cell returns a value in the form that is kept until its attribute's kind is known. It keeps the spelling of
// a number, which ParseValue does not, because the attribute can be one of strings.
func (t *CSV) cell(key uint32, text, kind string) (csvCell, error) {
	switch kind {
	case "", "int", "float", "string":
	case "null":
		if text != "" {
			return csvCell{}, fmt.Errorf("value %.40q of kind null", text)
		}
		return csvCell{}, nil
	default:
		return csvCell{}, fmt.Errorf("kind %.40q: want int, float, string or null", kind)
	}
	if kind != "" && t.kinds[key] == "" {
		t.kinds[key] = kind
	}
	if kind != "" && t.kinds[key] != kind {
		return csvCell{}, fmt.Errorf("kind %s: the attribute is of kind %s", kind, t.kinds[key])
	}
	if text == "" && kind != "string" {
		return csvCell{}, nil
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && strconv.FormatInt(n, 10) == text {
		return csvCell{word: uint64(n), class: csvInt}, nil
	}
	class := csvText
	if plainNumber.MatchString(text) {
		class = csvNumber
		_, fraction, _ := strings.Cut(text, ".")
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			class = csvText // too large for a float
		} else if len(fraction) <= math.MaxUint8 && strconv.FormatFloat(f, 'f', len(fraction), 64) == text {
			return csvCell{math.Float64bits(f), csvFloat, uint8(len(fraction))}, nil
		} else if isWhole(text) {
			class = csvWhole
		}
	}
	code, err := t.code(text)
	return csvCell{word: code, class: class}, err
}

// code returns a text's code.
func (t *CSV) code(text string) (uint64, error) {
	code, known := t.codes[text]
	if known {
		return code, nil
	}
	const longest, overhead, all = 64 << 10, 64, 256 << 20 // a set's limits
	if !utf8.ValidString(text) || len(text) > longest {
		return 0, fmt.Errorf("value %.40q: want UTF-8 of at most %d bytes", text, longest)
	}
	if t.textBytes += len(text) + overhead; t.textBytes > all {
		return 0, fmt.Errorf("%w: distinct texts of more than %d bytes", ihs.ErrLimit, all)
	}
	text = strings.Clone(text)
	code = uint64(len(t.texts))
	t.texts = append(t.texts, text)
	t.codes[text] = code
	return code, nil
}

// rowError adds a row's file and line to an error.
func (t *CSV) rowError(row uint32, err error) error {
	i := sort.Search(len(t.files), func(i int) bool { return t.files[i].first > int(row) }) - 1
	return fmt.Errorf("%s: line %d: %w", t.files[i].name, t.lines[row], err)
}
