package peers

import (
	"regexp"

	"github.com/google/uuid"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/schema"
)

// Store is a store under comparison. All stores take the same profiles and the same questions. A store
// belongs to one goroutine.
//
// A question hands its answer to each, unless each is nil. Then the store makes the answer in its own form
// and drops it, so that the clock stops before the answer is translated.
type Store interface {
	// Insert adds a profile's rows. They share type, labels and time.
	Insert(b schema.Batch) error
	// Maintain is called after each insert and is not part of its latency.
	Maintain() error
	// Rest returns when the store has no work in the background, so that the clock can stop.
	Rest() error
	// Settle does all maintenance that is possible, due or not.
	Settle() error
	// Merge sums values by stack, which is its location ids in one piece, leaf first.
	Merge(where []Term, each func(stack []byte, sum int64)) error
	// Series sums values by time.
	Series(where []Term, each func(at, sum int64)) error
	// Totals sums values and counts rows by the value in a string column.
	Totals(column string, each func(value string, rows, sum int64)) error
	// Pick makes the chosen rows' values in some columns, nil for all, and returns the number of rows.
	// The batches for each may leave nulls out.
	Pick(where []Term, columns []string, each func(schema.Batch)) (rows int64, err error)
	// Types returns all rows' types, in any order.
	Types() ([]Type, error)
	// LabelNames and LabelValues return their values in any order.
	LabelNames() ([]string, error)
	LabelValues(label string, where []Term) ([]string, error)
	Close() error
}

// Searcher is a store that keeps function names beside the locations.
type Searcher interface {
	// Search sums values by stack, as Merge does, for rows whose stack has a function with a matching
	// name.
	Search(pattern *regexp.Regexp, each func(stack []byte, sum int64)) error
}

// Type is a profile type: the values of TypeColumns.
type Type [4]string

// Term is a condition on rows. Several terms must all match.
type Term struct {
	Column  string
	Text    string         // equal to; for string columns
	Pattern *regexp.Regexp // matches; instead of text
	Number  int64          // equal to; for the timestamp
	ID      uuid.UUID      // equal to; for the trace id
}

// TypeColumns are the columns of a profile type.
var TypeColumns = []string{profile.ColumnSampleType, profile.ColumnSampleUnit, profile.ColumnPeriodType, profile.ColumnPeriodUnit}

// OfType returns the terms that select a profile's type.
func OfType(b schema.Batch) []Term {
	var where []Term
	for _, column := range TypeColumns {
		where = append(where, Term{Column: column, Text: b.Columns[column].Strings[0]})
	}
	return where
}
