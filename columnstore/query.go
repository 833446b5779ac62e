package columnstore

import (
	"github.com/granarydb/granary/arrowconv"
	"github.com/granarydb/granary/internal/query"
	"github.com/granarydb/granary/internal/query/filter"
	"github.com/granarydb/granary/internal/query/order"
)

// Options and results of Table.Scan, Table.Aggregate and Table.Series.
type (
	// ScanOptions are the options of a Scan. The zero value returns all rows and columns.
	ScanOptions = query.ScanOptions
	// AggregateOptions are the options of Table.Aggregate: its rows, groups and sums.
	AggregateOptions = query.AggregateOptions
	// Aggregate is one value to compute for each group of rows.
	Aggregate = query.Aggregate
	// AggregateOp is a function of a group's values.
	AggregateOp = query.AggregateOp
	// Ordering is a column by which a scan's rows, or groups, are ordered.
	Ordering = order.By
	// AsOf is a column to group by. Only the caller knows its values.
	AsOf = query.AsOf
	// CaseFinder finds the groups of AsOf.
	CaseFinder = query.CaseFinder
	// Cell is a row's value in an AsOf column.
	Cell = query.Cell
	// Groups is the answer of an Aggregate.
	Groups = query.Groups
	// GroupColumn is one column of Groups.
	GroupColumn = query.GroupColumn
	// RecordOptions are the options of Groups.Record.
	RecordOptions = query.RecordOptions
	// Series is one combination of values in the columns that lead a table's sorting key.
	Series = query.Series
	// HistoryScan reads intervals from a view of a history as Arrow records.
	HistoryScan = query.HistoryScan
	// GranuleInfo describes a granule, for Table.Inspect.
	GranuleInfo = query.GranuleInfo
	// PartInfo describes the rows of a part that are in a granule.
	PartInfo = query.PartInfo
	// ColumnInfo describes a concrete column of a part.
	ColumnInfo = query.ColumnInfo
	// Bound is a readable bound of a granule.
	Bound = query.Bound
)

// The functions of Aggregate.
const (
	// Sum is the sum of a column of numbers, in its type.
	Sum = query.Sum
	// Mean is the mean of a column of numbers, as a Float64, like avg in SQL.
	Mean = query.Mean
	// Min is the least value in a column.
	Min = query.Min
	// Max is the greatest value in a column.
	Max = query.Max
	// Count is the number of values in a column, or of rows.
	Count = query.Count
)

// MaxSubject is the greatest subject that a CaseFinder may return.
const MaxSubject = query.MaxSubject

// Form is the layout of repeated values in Arrow records.
type Form = arrowconv.Form

// The forms of records. Package arrowconv lists their Arrow types. The form and the schema of
// the table determine them, so all records of a scan have one schema.
const (
	// Dictionary encodes strings and lists as dictionaries. Most engines read it.
	Dictionary = arrowconv.FormDictionary
	// Native is Dictionary with run-end encoding for columns whose values come in runs: columns of the
	// series, and columns with the encodings RLE and DictionaryRLE. Lists and the columns of
	// schema.Definition.Header are not run-end encoded, because rows are sorted by stack and the times of
	// profiles differ row by row.
	Native = arrowconv.FormNative
	// Plain has a value in each row, without dictionaries or runs.
	Plain = arrowconv.FormPlain
)

// Errors of a query.
var (
	// ErrQuery is returned for a query that names an unknown column, or compares a column with
	// a value of another type.
	ErrQuery = filter.ErrQuery
	// ErrQueryMemory is returned when an answer needs more memory than
	// AggregateOptions.MaxBytes, or the order of a scan more than ScanOptions.MaxBytes.
	ErrQueryMemory = query.ErrQueryMemory
	// ErrOverflow is returned when an integer sum is beyond its type. AggregateOptions.Sum wraps around
	// instead.
	ErrOverflow = query.ErrOverflow
)
