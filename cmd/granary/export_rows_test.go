package main

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/ipc"
	"github.com/apache/arrow/go/v14/arrow/memory"
	pprof "github.com/google/pprof/profile"
	"github.com/parquet-go/parquet-go"
)

// row is one row as text: the columns that have a value.
type row map[string]string

// String returns the columns sorted by name. No name or value has a byte 0.
func (r row) String() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(r)) {
		for _, text := range [...]string{name, "=", r[name], "\x00"} {
			b.WriteString(text)
		}
	}
	return b.String()
}

// sorted returns rows as sorted text, which does not depend on their order.
func sorted(rows []row) []string {
	var lines []string
	for _, r := range rows {
		lines = append(lines, r.String())
	}
	slices.Sort(lines)
	return lines
}

// wantRows is the oracle: the rows of files, built value by value from the profiles that
// google/pprof parses. With ids, a stack has one element per location.
func wantRows(t *testing.T, stacks string, files ...string) []row {
	t.Helper()
	var rows []row
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		p, err := pprof.ParseData(data)
		if err != nil {
			t.Fatal(err)
		}
		at := p.TimeNanos
		if at == 0 {
			info, err := os.Stat(name)
			if err != nil {
				t.Fatal(err)
			}
			at = info.ModTime().UnixNano()
		}
		for _, s := range p.Sample {
			for i, value := range s.Value {
				if value == 0 {
					continue
				}
				r := row{
					"sample_type": p.SampleType[i].Type, "sample_unit": p.SampleType[i].Unit,
					"period_type": p.PeriodType.Type, "period_unit": p.PeriodType.Unit, "period": fmt.Sprint(p.Period),
					"timestamp": fmt.Sprint(at), "duration": fmt.Sprint(p.DurationNanos), "value": fmt.Sprint(value),
					"labels.file": name, "stacktrace": functionNames(s),
				}
				for _, name := range []string{"mutex", "block"} {
					if strings.HasPrefix(filepath.Base(r["labels.file"]), name) && p.SampleType[0].Type == "contentions" {
						r["labels.__name__"] = name
					}
				}
				if stacks == stacksIDs {
					r["stacktrace"] = fmt.Sprint(len(s.Location))
				}
				addSampleLabels(t, r, s)
				rows = append(rows, r)
			}
		}
	}
	return rows
}

func functionNames(s *pprof.Sample) string {
	var names strings.Builder
	for _, l := range s.Location {
		unnamed := "<unknown>"
		if l.Mapping != nil && l.Mapping.File != "" {
			unnamed = "[" + path.Base(l.Mapping.File) + "]"
		}
		for _, ln := range l.Line {
			if ln.Function == nil || ln.Function.Name == "" {
				names.WriteString(unnamed + "\n")
			} else {
				names.WriteString(ln.Function.Name + "\n")
			}
		}
		if len(l.Line) == 0 {
			names.WriteString(unnamed + "\n")
		}
	}
	return names.String()
}

func addSampleLabels(t *testing.T, r row, s *pprof.Sample) {
	for name, values := range s.Label {
		switch {
		case len(values) != 1:
			t.Fatalf("label %q has values %q: not what this oracle is for", name, values)
		case name == "trace_id":
			r[name] = values[0]
		case name == "span_id":
			n, err := strconv.ParseUint(values[0], 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			r[name] = fmt.Sprint(n)
		case values[0] != "":
			r["pprof_labels."+name] = values[0]
		}
	}
	for name, values := range s.NumLabel {
		column := "pprof_num_labels." + name
		if units := s.NumUnit[name]; len(units) > 0 && units[0] != "" {
			column += "[" + units[0] + "]"
		}
		r[column] = fmt.Sprint(values[0])
	}
}

// readArrow reads a stream's schema and rows.
func readArrow(t *testing.T, data []byte, stacks string) (*arrow.Schema, []row) {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	in, err := ipc.NewReader(bytes.NewReader(data), ipc.WithAllocator(mem))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Release()
	var rows []row
	for in.Next() {
		rec, texts := in.Record(), arrowTexts{t, map[dictionaryAt]string{}}
		for i := range int(rec.NumRows()) {
			r := row{}
			for k, column := range rec.Columns() {
				if text, ok := texts.at(column, i); ok {
					r[rec.ColumnName(k)] = text
				}
			}
			if stacks == stacksIDs {
				r["stacktrace"] = fmt.Sprint(strings.Count(r["stacktrace"], "\n"))
			}
			rows = append(rows, r)
		}
	}
	if err := in.Err(); err != nil && err != io.EOF { //nolint:errorlint // the reader returns io.EOF itself
		t.Fatal(err)
	}
	return in.Schema(), rows
}

// arrowTexts reads the values of a record as text.
type arrowTexts struct {
	*testing.T
	known map[dictionaryAt]string // texts of dictionary values: many rows have one of them
}

// dictionaryAt is a value of a dictionary.
type dictionaryAt struct {
	dictionary arrow.Array
	index      int
}

// at returns a value as text and reports whether it is not null.
func (a arrowTexts) at(from arrow.Array, i int) (string, bool) {
	if runs, ok := from.(*array.RunEndEncoded); ok {
		return a.at(runs.Values(), runs.GetPhysicalIndex(i))
	}
	if from.IsNull(i) {
		return "", false
	}
	switch from := from.(type) {
	case *array.Dictionary:
		at := dictionaryAt{from.Dictionary(), from.GetValueIndex(i)}
		text, ok := a.known[at]
		if !ok {
			if text, ok = a.at(at.dictionary, at.index); ok {
				a.known[at] = text
			}
		}
		return text, ok
	case *array.List:
		return a.list(from, i), true
	case *array.String:
		if from.Value(i) == "" && from.DataType().ID() != arrow.STRING {
			a.Error("an empty text")
		}
		return from.Value(i), true
	case *array.Int64:
		return fmt.Sprint(from.Value(i)), true
	case *array.Uint64:
		return fmt.Sprint(from.Value(i)), true
	case *array.Timestamp:
		return fmt.Sprint(int64(from.Value(i))), true
	case *array.FixedSizeBinary:
		return hex.EncodeToString(from.Value(i)), true
	}
	a.Fatalf("a column of type %s", from.DataType())
	return "", false
}

// list returns a list's elements, each with a line end.
func (a arrowTexts) list(from *array.List, i int) string {
	var b strings.Builder
	start, end := from.ValueOffsets(i)
	for k := start; k < end; k++ {
		text, ok := a.at(from.ListValues(), int(k))
		if !ok {
			a.Error("an element of a list is null")
		}
		b.WriteString(text + "\n")
	}
	return b.String()
}

// readParquet reads a file's schema and rows.
func readParquet(t *testing.T, data []byte, stacks string) (*parquet.Schema, []row) {
	t.Helper()
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	columns := f.Schema().Columns()
	var rows []row
	for _, group := range f.RowGroups() {
		in := group.Rows()
		buffer := make([]parquet.Row, 64)
		for {
			n, err := in.ReadRows(buffer)
			for _, values := range buffer[:n] {
				rows = append(rows, parquetRow(columns, values, stacks))
			}
			if err == io.EOF { //nolint:errorlint // as for io.Reader
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		if err := in.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return f.Schema(), rows
}

func parquetRow(columns [][]string, values []parquet.Value, stacks string) row {
	r := row{}
	for _, v := range values {
		name, isList := columns[v.Column()][0], len(columns[v.Column()]) > 1
		switch {
		case isList && v.IsNull():
			r[name] = "" // an empty list
		case v.IsNull():
		case isList:
			r[name] += v.String() + "\n"
		case name == "trace_id":
			r[name] = hex.EncodeToString(v.ByteArray())
		case name == "span_id" || name == "n":
			r[name] = fmt.Sprint(v.Uint64())
		default:
			r[name] = v.String()
		}
	}
	if stacks == stacksIDs {
		n := 0
		for _, v := range values {
			if columns[v.Column()][0] == "stacktrace" && !v.IsNull() {
				n++
			}
		}
		r["stacktrace"] = fmt.Sprint(n)
	}
	return r
}
