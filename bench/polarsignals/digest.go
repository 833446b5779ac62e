package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"

	"github.com/granarydb/granary/profile"
)

// withColumn returns a record with a further column.
func withColumn(rec arrow.Record, name string, column arrow.Array) arrow.Record {
	fields := append(rec.Schema().Fields(), arrow.Field{Name: name, Type: column.DataType(), Nullable: true})
	return array.NewRecord(arrow.NewSchema(fields, nil), append(slices.Clone(rec.Columns()), column), rec.NumRows())
}

// digest returns the digest of the records that answer a question of this store.
func (q *question) digest(found []arrow.Record) string {
	if q.rows {
		var d rowsDigest
		for _, rec := range found {
			rowsOfRecord(&d, rec)
		}
		return d.String()
	}
	rec := found[0]
	var lines []string
	columns := q.columns(rec)
	for i := range int(rec.NumRows()) {
		var cells []string
		for _, c := range columns {
			cells = append(cells, c(i))
		}
		lines = append(lines, strings.Join(cells, "\t"))
	}
	return linesDigest(lines)
}

// columns returns the texts of an answer's columns by row, in the order of the oracle's lines.
func (q *question) columns(rec arrow.Record) (columns []func(i int) string) {
	var names []string
	switch q.name {
	case "Q4":
		names = []string{profile.ColumnTimestamp, "sum(value)", "sum(duration)"}
	case "Q5":
		names = []string{profile.ColumnTimestamp, columnComm, "sum(value)", "sum(duration)"}
	case "Q6":
		for _, l := range labels {
			names = append(names, labelPrefix+l.name)
		}
	default:
		for _, f := range rec.Schema().Fields() {
			if f.Name != "sum" { // of no column
				names = append(names, f.Name)
			}
		}
	}
	for _, name := range names {
		at := rec.Schema().FieldIndices(name)
		switch {
		case len(at) == 0:
			columns = append(columns, func(int) string { return "" })
		case name == profile.ColumnTimestamp:
			numbers := rec.Column(at[0]).(*array.Int64)
			columns = append(columns, func(i int) string { return fmt.Sprint(numbers.Value(i) / second) })
		default:
			columns = append(columns, textsOf(rec.Column(at[0])))
		}
	}
	return columns
}

// textsOf returns the texts of a column by row. A null is "".
func textsOf(column arrow.Array) func(i int) string {
	if d, ok := column.(*array.Dictionary); ok {
		of := textsOf(d.Dictionary())
		return func(i int) string {
			if d.IsNull(i) {
				return ""
			}
			return of(d.GetValueIndex(i))
		}
	}
	return func(i int) string {
		if column.IsNull(i) {
			return ""
		}
		return column.ValueStr(i)
	}
}

// rowsOfRecord counts rows with whole locations.
func rowsOfRecord(d *rowsDigest, rec arrow.Record) {
	named := func(name string) arrow.Array { return rec.Column(rec.Schema().FieldIndices(name)[0]) }
	times, periods, values := named(profile.ColumnTimestamp).(*array.Int64), named(profile.ColumnPeriod).(*array.Int64), named("sum").(*array.Int64)
	comms := textsOf(named(columnComm))
	stacks := newStackReader(d, named("locations").(*array.Dictionary))
	for i := range int(rec.NumRows()) {
		d.row(times.Value(i), values.Value(i), periods.Value(i), comms(i))
		stacks.stack(times.Value(i), stacks.rows.GetValueIndex(i))
	}
	stacks.countTexts()
}

// stackReader reads the locations of rows, and counts its texts by their codes.
type stackReader struct {
	digest                             *rowsDigest
	rows, members                      *array.Dictionary
	stacks, lines                      *array.List
	addresses                          *array.Uint64
	mappings, builds                   *countedTexts
	numbers, starts                    *array.Int64
	functions, systemNames, fileColumn *countedTexts
}

// countedTexts is a column of texts in a dictionary, and how often each occurs.
type countedTexts struct {
	*array.Dictionary
	all    *array.String
	counts []uint64
}

func newCountedTexts(column arrow.Array) *countedTexts {
	d := column.(*array.Dictionary)
	return &countedTexts{d, d.Dictionary().(*array.String), make([]uint64, d.Dictionary().Len())}
}

// count counts row i's text, and returns its bytes.
func (t *countedTexts) count(i int) int {
	at := t.GetValueIndex(i)
	t.counts[at]++
	return t.all.ValueLen(at)
}

func newStackReader(d *rowsDigest, rows *array.Dictionary) *stackReader {
	r := &stackReader{digest: d, rows: rows, stacks: rows.Dictionary().(*array.List)}
	r.members = r.stacks.ListValues().(*array.Dictionary)
	location := r.members.Dictionary().(*array.Struct)
	r.addresses, r.lines = location.Field(0).(*array.Uint64), location.Field(3).(*array.List)
	r.mappings, r.builds = newCountedTexts(location.Field(1)), newCountedTexts(location.Field(2))
	line := r.lines.ListValues().(*array.Struct)
	r.numbers, r.starts = line.Field(0).(*array.Int64), line.Field(4).(*array.Int64)
	r.functions, r.systemNames, r.fileColumn = newCountedTexts(line.Field(1)), newCountedTexts(line.Field(2)), newCountedTexts(line.Field(3))
	return r
}

// stack counts the locations of a row.
func (r *stackReader) stack(time int64, stack int) {
	from, to := r.stacks.ValueOffsets(stack)
	for m := int(from); m < int(to); m++ {
		at := r.members.GetValueIndex(m)
		address := r.addresses.Value(at)
		r.digest.location(time, address)
		r.mappings.count(at)
		r.builds.count(at)
		first, end := r.lines.ValueOffsets(at)
		for i := int(first); i < int(end); i++ {
			function, system, file := r.functions.count(i), r.systemNames.count(i), r.fileColumn.count(i)
			r.digest.line(address, r.numbers.Value(i), r.starts.Value(i), function, system, file)
		}
	}
}

// countTexts counts the texts of all rows.
func (r *stackReader) countTexts() {
	for column, t := range map[int]*countedTexts{
		textMapping: r.mappings, textBuildID: r.builds, textFunction: r.functions, textSystemName: r.systemNames, textFile: r.fileColumn,
	} {
		for at, n := range t.counts {
			if n > 0 {
				r.digest.text(column, t.all.Value(at), n)
			}
		}
	}
}
