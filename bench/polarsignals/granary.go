package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/memory"
	"github.com/google/uuid"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/export"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/schema"
)

// granary is this store with the rows: a table of package profile's schema. The producer and the temporality,
// which profiles do not have, are labels.
type granary struct {
	store *columnstore.Store
	table *columnstore.Table
	ids   bool // rows are answered with the ids of locations, not whole
}

const (
	labelPrefix       = profile.ColumnLabels + "."
	columnProducer    = labelPrefix + "producer"
	columnTemporality = labelPrefix + "temporality"
	columnComm        = labelPrefix + "comm"
)

// openGranary opens this store, in memory without a folder. A directory has a budget, because without one rows in
// files have a cache of 256 MiB, which does not hold the dictionaries of random stacks: each question would read
// all of them.
func openGranary(dir string) (*granary, error) {
	opts := columnstore.Options{Dir: dir, PastLimit: -1, FutureLimit: -1, CloseWithin: 1 << 62}
	if dir != "" {
		opts.MemoryBudget = 16 << 30
	}
	store, err := columnstore.Open(opts)
	if err != nil {
		return nil, err
	}
	table := store.Table(profile.DefaultTable)
	if table == nil {
		table, err = store.CreateTable(profile.DefaultTable, profile.Schema(profile.DefaultBucket))
	}
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return &granary{store: store, table: table}, nil
}

// inserter inserts rows, and keeps memory between them.
type inserter struct {
	g        *granary
	known    []uint32 // by location: its place among the elements of the rows, from 1 on
	ids      []uuid.UUID
	records  [][]byte
	bytes    []byte
	elements []uint32
	members  []uint32
	lists    [][]uint32
	codes    []uint32
}

// insert inserts rows in a transaction of their own: locations with their records, stacks, and then rows.
func (in *inserter) insert(r *rows) error {
	codes, err := in.g.table.Codes(r.times[0])
	if err != nil {
		return err
	}
	in.locations(r)
	if in.elements, err = codes.Elements(in.elements[:0], in.ids, in.records); err != nil {
		return err
	}
	in.members, in.lists = in.members[:0], in.lists[:0]
	for _, stack := range r.stacks {
		from := len(in.members)
		for _, at := range stack {
			in.members = append(in.members, in.elements[in.known[at]-1])
		}
		in.lists = append(in.lists, in.members[from:len(in.members):len(in.members)])
	}
	if in.codes, err = codes.Lists(in.codes[:0], in.lists); err != nil {
		return err
	}
	_, err = codes.Insert(context.Background(), in.batch(r))
	return err
}

// locations encodes each location that the rows have once.
func (in *inserter) locations(r *rows) {
	in.known = append(in.known[:0], make([]uint32, len(r.flat.Locations))...)
	in.ids, in.records, in.bytes = in.ids[:0], in.records[:0], in.bytes[:0]
	for _, stack := range r.stacks {
		for _, at := range stack {
			if in.known[at] > 0 {
				continue
			}
			from := len(in.bytes)
			record, id := r.flat.AppendLocation(in.bytes, at)
			in.bytes = record
			in.ids, in.records = append(in.ids, id), append(in.records, record[from:len(record):len(record)])
			in.known[at] = uint32(len(in.ids))
		}
	}
}

// batch returns the rows with the codes of their stacks.
func (in *inserter) batch(r *rows) schema.Batch {
	b := schema.Batch{Rows: len(r.times), Columns: map[string]encoding.Vector{
		profile.ColumnSampleType: encoding.Strings(sampleType), profile.ColumnSampleUnit: encoding.Strings(sampleUnit),
		profile.ColumnPeriodType: encoding.Strings(periodType), profile.ColumnPeriodUnit: encoding.Strings(periodUnit),
		columnProducer: encoding.Strings(producer), columnTemporality: encoding.Strings(temporality),
		profile.ColumnStacktrace: encoding.ListCodes(in.codes...), profile.ColumnTimestamp: encoding.Int64s(r.times...),
		profile.ColumnDuration: encoding.Int64s(duration), profile.ColumnPeriod: encoding.Int64s(period),
		profile.ColumnValue: encoding.Int64s(r.values...),
	}}
	for k, l := range labels {
		if text := r.labels.text(k); text != "" {
			b.Columns[labelPrefix+l.name] = encoding.Strings(text)
		}
	}
	return b
}

// commRegexp is the pattern of Q3.
var commRegexp = regexp.MustCompile("^comm_0$")

// where returns the condition of a question.
func (q *question) where() columnstore.Expr {
	all := []columnstore.Expr{columnstore.Between[int64](profile.ColumnTimestamp, 0, q.to)}
	if q.name != "Q9" {
		for column, value := range map[string]string{
			columnProducer: producer, columnTemporality: temporality,
			profile.ColumnSampleType: sampleType, profile.ColumnSampleUnit: sampleUnit,
			profile.ColumnPeriodType: periodType, profile.ColumnPeriodUnit: periodUnit,
		} {
			all = append(all, columnstore.Equal(column, value))
		}
	}
	switch q.name {
	case "Q2":
		all = append(all, columnstore.Equal(columnComm, q.comm))
	case "Q3":
		all = append(all, columnstore.Match(columnComm, commRegexp))
	case "Q7":
		all = append(all, columnstore.Not(columnstore.IsNull(columnComm)))
	}
	return columnstore.And(all...)
}

// options returns the aggregation that answers a question without rows.
func (g *granary) options(q *question, snap *columnstore.Snapshot) (o columnstore.AggregateOptions, err error) {
	o = columnstore.AggregateOptions{Where: q.where(), NoCounts: true}
	switch q.name {
	case "Q4", "Q5":
		o.By, o.Step, o.Time = []string{profile.ColumnTimestamp}, second, profile.ColumnTimestamp
		o.Aggregates = []columnstore.Aggregate{{Op: columnstore.Sum, Column: profile.ColumnValue}, {Op: columnstore.Sum, Column: profile.ColumnDuration}}
		if q.name == "Q5" {
			o.By = append(o.By, columnComm)
		}
	case "Q6":
		o.By, err = g.labelColumns(snap)
	case "Q7":
		o.By = []string{columnComm}
	case "Q8":
		o.By = []string{profile.ColumnStacktrace}
	case "Q9":
		o.By = []string{
			columnProducer, profile.ColumnSampleType, profile.ColumnSampleUnit, profile.ColumnPeriodType, profile.ColumnPeriodUnit, columnTemporality,
		}
	}
	return o, err
}

// labelColumns returns the columns of the benchmark's labels that rows have.
func (g *granary) labelColumns(snap *columnstore.Snapshot) (columns []string, err error) {
	all, err := g.table.Columns(snap)
	for _, name := range all {
		for _, l := range labels {
			if name == labelPrefix+l.name {
				columns = append(columns, name)
			}
		}
	}
	return columns, err
}

// ask answers a question with records, which the caller releases.
func (g *granary) ask(q *question) (found []arrow.Record, err error) {
	err = g.store.View(context.Background(), func(snap *columnstore.Snapshot) error {
		if q.rows {
			found, err = g.rowsOf(q, snap)
			return err
		}
		o, err := g.options(q, snap)
		if err != nil {
			return err
		}
		groups, err := g.table.Aggregate(context.Background(), snap, o)
		if err != nil {
			return err
		}
		var rec arrow.Record
		if q.name == "Q8" {
			rec, err = mappingFiles(&groups.Columns[0])
		} else {
			rec, err = groups.Record(columnstore.RecordOptions{})
		}
		found = []arrow.Record{rec}
		return err
	})
	return found, err
}

// rowsOf returns the rows of a question, with whole locations or with their ids. A scan has ids alone. Whole locations
// need codes of stacks, which only an aggregation returns: its groups are rows, because no two rows have one time.
func (g *granary) rowsOf(q *question, snap *columnstore.Snapshot) (found []arrow.Record, err error) {
	columns := []string{profile.ColumnStacktrace, profile.ColumnTimestamp, profile.ColumnPeriod, columnComm}
	if g.ids {
		o := columnstore.ScanOptions{Columns: append(columns, profile.ColumnValue), Where: q.where()}
		for rec, err := range g.table.Scan(context.Background(), snap, o) {
			if err != nil {
				return nil, err
			}
			found = append(found, rec)
		}
		return found, nil
	}
	groups, err := g.table.Aggregate(context.Background(), snap, columnstore.AggregateOptions{By: columns, Sum: profile.ColumnValue, Where: q.where()})
	if err != nil {
		return nil, err
	}
	rec, err := wholeRows(groups)
	return []arrow.Record{rec}, err
}

// wholeRows returns groups of one row as rows with whole locations.
func wholeRows(groups *columnstore.Groups) (arrow.Record, error) {
	for _, n := range groups.Counts {
		if n != 1 {
			return nil, fmt.Errorf("%d rows are in one group", n)
		}
	}
	table, err := profile.NewStackTable(context.Background(), &groups.Columns[0], 0)
	if err != nil {
		return nil, err
	}
	locations := export.Stacks(table)
	defer locations.Release()
	groups.Columns, groups.Counts = groups.Columns[1:], nil
	rest, err := groups.Record(columnstore.RecordOptions{})
	if err != nil {
		return nil, err
	}
	defer rest.Release()
	return withColumn(rest, "locations", locations), nil
}

// mappingFiles returns the distinct files of the binaries in stacks.
func mappingFiles(stacks *columnstore.GroupColumn) (arrow.Record, error) {
	binaries, err := profile.MappedFiles(context.Background(), stacks)
	if err != nil {
		return nil, err
	}
	files := map[string]bool{}
	for _, b := range binaries {
		files[b.File] = true
	}
	b := array.NewStringBuilder(memory.DefaultAllocator)
	defer b.Release()
	b.AppendValues(slices.Sorted(maps.Keys(files)), nil)
	column := b.NewArray()
	defer column.Release()
	return array.NewRecord(arrow.NewSchema([]arrow.Field{textField("mapping_file")}, nil), []arrow.Array{column}, int64(column.Len())), nil
}
