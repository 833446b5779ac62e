package main

import (
	"slices"
	"strings"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/memory"
)

// hand is Arrow records in memory, one for each label set, with a loop for each question.
type hand struct{ records []arrow.Record }

// add keeps rows as a record.
func (h *hand) add(r *rows) error {
	b := array.NewRecordBuilder(memory.DefaultAllocator, streamSchema())
	defer b.Release()
	appendRows(b, r)
	h.records = append(h.records, b.NewRecord())
	return nil
}

// The columns of the schema.
const (
	handLabels    = 0
	handLocations = 1
	handValue     = 2
	handTypes     = 3 // and five more
	handPeriod    = 9
	handDuration  = 10
	handTime      = 11
)

var handType = []string{producer, sampleType, sampleUnit, periodType, periodUnit, temporality}

// selected yields the rows of each record that a question selects. They stand together, because a record has
// one label set, and its rows are in the order of time; the types are compared row by row.
func (h *hand) selected(q *question, f func(rec arrow.Record, from, to int)) {
	for _, rec := range h.records {
		comms := rec.Column(handLabels).(*array.Struct).Field(2).(*array.String)
		times := rec.Column(handTime).(*array.Timestamp)
		chosen := func(i int) bool {
			switch {
			case int64(times.Value(i)) > q.to:
				return false
			case q.name == "Q9":
				return true
			case q.name == "Q2" && comms.Value(i) != q.comm, q.name == "Q3" && !commRegexp.MatchString(comms.Value(i)):
				return false
			}
			for k, text := range handType {
				if rec.Column(handTypes+k).(*array.String).Value(i) != text {
					return false
				}
			}
			return true
		}
		from, n := 0, int(rec.NumRows())
		for from < n && !chosen(from) {
			from++
		}
		to := from
		for to < n && chosen(to) {
			to++
		}
		if from < to {
			f(rec, from, to)
		}
	}
}

// ask answers a question. Rows are slices of the records, which copy nothing, and groups the oracle's lines.
func (h *hand) ask(q *question) (rowsFound []arrow.Record, lines []string) {
	if q.rows {
		h.selected(q, func(rec arrow.Record, from, to int) {
			comm := array.NewSlice(rec.Column(handLabels).(*array.Struct).Field(2), int64(from), int64(to))
			defer comm.Release()
			some := rec.NewSlice(int64(from), int64(to))
			defer some.Release()
			rowsFound = append(rowsFound, withColumn(some, "comm", comm))
		})
		return rowsFound, nil
	}
	groups := map[string]*[2]int64{}
	h.selected(q, func(rec arrow.Record, from, to int) { handGroups(q, rec, from, to, groups) })
	for part, sums := range groups {
		lines = append(lines, q.line(part, sums))
	}
	return nil, lines
}

// handGroups adds rows to groups by the distinct part of an answer.
func handGroups(q *question, rec arrow.Record, from, to int, groups map[string]*[2]int64) {
	group := func(part string) *[2]int64 {
		sums := groups[part]
		if sums == nil {
			sums = new([2]int64)
			groups[part] = sums
		}
		return sums
	}
	sets := rec.Column(handLabels).(*array.Struct)
	switch q.name {
	case "Q4", "Q5":
		handSums(q, rec, from, to, group)
	case "Q6":
		for i := from; i < to; i++ {
			var texts []string
			for k := range labels {
				texts = append(texts, sets.Field(k).(*array.String).Value(i))
			}
			group(strings.Join(texts, "\t"))
		}
	case "Q7":
		for comms, i := sets.Field(2).(*array.String), from; i < to; i++ {
			if !comms.IsNull(i) {
				group(comms.Value(i))
			}
		}
	case "Q8":
		list := rec.Column(handLocations).(*array.List)
		first, _ := list.ValueOffsets(from)
		_, end := list.ValueOffsets(to - 1)
		files := list.ListValues().(*array.Struct).Field(1).(*array.String)
		for i := int(first); i < int(end); i++ {
			group(files.Value(i))
		}
	case "Q9":
		for i := from; i < to; i++ {
			var texts []string
			for k := range handType {
				texts = append(texts, rec.Column(handTypes+k).(*array.String).Value(i))
			}
			group(strings.Join(texts, "\t"))
		}
	}
}

// handSums adds values and durations up by second, and by comm for Q5.
func handSums(q *question, rec arrow.Record, from, to int, group func(string) *[2]int64) {
	times := rec.Column(handTime).(*array.Timestamp)
	values, durations := rec.Column(handValue).(*array.Int64), rec.Column(handDuration).(*array.Int64)
	comms := rec.Column(handLabels).(*array.Struct).Field(2).(*array.String)
	var sums *[2]int64
	for i, of := from, int64(-1); i < to; i++ {
		if at := int64(times.Value(i)) / second; at != of {
			of, sums = at, group(q.bucket(at, comms.Value(i)))
		}
		sums[0], sums[1] = sums[0]+values.Value(i), sums[1]+durations.Value(i)
	}
}

// digest returns the digest of an answer.
func (h *hand) digest(q *question, rowsFound []arrow.Record, lines []string) string {
	if !q.rows {
		return linesDigest(slices.Clone(lines))
	}
	var d rowsDigest
	for _, rec := range rowsFound {
		handRows(&d, rec)
	}
	return d.String()
}

// handRows counts rows with plain columns.
func handRows(d *rowsDigest, rec arrow.Record) {
	times, periods, values := rec.Column(handTime).(*array.Timestamp), rec.Column(handPeriod).(*array.Int64), rec.Column(handValue).(*array.Int64)
	comms := rec.Column(int(rec.NumCols()) - 1).(*array.String)
	stacks := rec.Column(handLocations).(*array.List)
	location := stacks.ListValues().(*array.Struct)
	addresses, lines := location.Field(0).(*array.Uint64), location.Field(3).(*array.List)
	line := lines.ListValues().(*array.Struct)
	text := func(column int, of arrow.Array, i int) int {
		s := of.(*array.String).Value(i)
		d.text(column, s, 1)
		return len(s)
	}
	for i := range int(rec.NumRows()) {
		d.row(int64(times.Value(i)), values.Value(i), periods.Value(i), comms.Value(i))
		first, end := stacks.ValueOffsets(i)
		for at := int(first); at < int(end); at++ {
			address := addresses.Value(at)
			d.location(int64(times.Value(i)), address)
			text(textMapping, location.Field(1), at)
			text(textBuildID, location.Field(2), at)
			from, to := lines.ValueOffsets(at)
			for k := int(from); k < int(to); k++ {
				function, system, file := text(textFunction, line.Field(1), k), text(textSystemName, line.Field(2), k), text(textFile, line.Field(3), k)
				d.line(address, line.Field(0).(*array.Int64).Value(k), line.Field(4).(*array.Int64).Value(k), function, system, file)
			}
		}
	}
}
