package iceberg

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/iceberg-go/table"
)

// unused returns which rows of a table of symbols are deleted: stacks that no sample of their days has, and locations that no stack of theirs has.
// The samples were read after the symbols, so a unit in the table of samples has its samples there.
func (e *erasing) unused(ctx context.Context, r *rewriter) func(f *oldFile) (chooser, []string, error) {
	var first, last int64
	var ids map[int64]bool     // of stacks
	var places map[string]bool // of locations
	_, isStacks := r.table.Schema().FindFieldByName(columnLocations)
	return func(f *oldFile) (chooser, []string, error) {
		var err error
		switch {
		case (ids != nil || places != nil) && f.first == first && f.last == last:
		case isStacks:
			ids, err = e.lake.stackIDs(ctx, f.first, f.last)
		default:
			places, err = e.lake.beside(sideStacks).locationIDs(ctx, f.first, f.last)
		}
		first, last = f.first, f.last
		name, ids, places := columnLocation, ids, places
		if isStacks {
			name = columnStackID
		}
		return func(rec arrow.RecordBatch) (func(row int) bool, error) {
			underWay, err := r.underWay(rec)
			c := recordColumns{rec: rec}
			if isStacks {
				id := c.numbers(name)
				return func(row int) bool { return !ids[id(row)] && !underWay(row) }, errors.Join(err, c.err)
			}
			id := column[*array.String](&c, name)
			return func(row int) bool { return !places[id.Value(row)] && !underWay(row) }, errors.Join(err, c.err)
		}, []string{columnNode, columnSeal, name}, err
	}
}

// stackIDs returns the ids of the stacks of all samples on days.
func (l *Lake) stackIDs(ctx context.Context, first, last int64) (map[int64]bool, error) {
	ids := map[int64]bool{}
	return ids, l.onDays(ctx, first, last, columnStackID, func(rec arrow.RecordBatch) error {
		c := recordColumns{rec: rec}
		id := c.numbers(columnStackID)
		for row := 0; c.err == nil && row < int(rec.NumRows()); row++ {
			ids[id(row)] = true
		}
		return c.err
	})
}

// locationIDs returns the ids of the locations of all stacks on days.
func (l *Lake) locationIDs(ctx context.Context, first, last int64) (map[string]bool, error) {
	ids := map[string]bool{}
	return ids, l.onDays(ctx, first, last, columnLocations, func(rec arrow.RecordBatch) error {
		c := recordColumns{rec: rec}
		lists := column[*array.List](&c, columnLocations)
		if c.err != nil {
			return c.err
		}
		texts, ok := lists.ListValues().(*array.String)
		if !ok {
			return fmt.Errorf("%w: column %q is of type %s", ErrRecord, columnLocations, lists.DataType())
		}
		for row := range lists.Len() {
			for from, to := lists.ValueOffsets(row); from < to; from++ {
				if id := texts.Value(int(from)); !ids[id] {
					ids[string([]byte(id))] = true
				}
			}
		}
		return nil
	})
}

// onDays passes a column of all rows on days, whose starts are first and last, to do. It can pass others too.
func (l *Lake) onDays(ctx context.Context, first, last int64, field string, do func(rec arrow.RecordBatch) error) error {
	t, err := l.load(ctx)
	if err != nil || t.CurrentSnapshot() == nil {
		return err
	}
	_, records, err := t.Scan(table.WithSelectedFields(columnTime, field), table.WithRowFilter(between(first, nextDay(last))),
		table.WithMaxConcurrency(1), table.WithArrowBatchSize(recordRows)).ToArrowRecords(ctx)
	if err != nil {
		return err
	}
	return eachRecord(records, do)
}
