package main

import (
	schemapb "github.com/polarsignals/frostdb/gen/proto/go/frostdb/schema/v1alpha1"

	"github.com/granarydb/granary/profile"
)

// columnName is a column that Parca has and this project has not: what a profile calls
// itself ("process_cpu"). It is given the period type.
const columnName = "name"

// frostTrace is the column of trace ids: a label of samples, where Parca has them and where
// a fleet without traces has no column. A UUID is its 16 bytes.
const frostTrace = profile.ColumnPprofLabels + "." + profile.ColumnTraceID

// parcaDefinition is the schema of Parca in 2026: labels are not in the sorting key. Its
// second column of time is left out, and sample labels, which Parca has among
// the labels, stay columns of their own.
func parcaDefinition() *schemapb.Schema {
	def := frostDefinition(true)
	def.Columns = append(def.Columns, frostString(columnName))
	def.SortingColumns = append(frostSorting(columnName), frostSorting(typeColumns...)...)
	def.SortingColumns = append(def.SortingColumns, frostSorting(profile.ColumnTimestamp)...)
	return def
}

// rfcDefinition is the schema of Parca's RFC-001.
func rfcDefinition() *schemapb.Schema {
	def := frostDefinition(false)
	def.SortingColumns = append(frostSorting(typeColumns...), frostSorting(
		profile.ColumnLabels, profile.ColumnStacktrace, profile.ColumnTimestamp, profile.ColumnPprofLabels, profile.ColumnPprofNumLabels,
	)...)
	return def
}

// frostDefinition has the columns that both schemas have, encoded as Parca does.
// The stack is a list of ids, or one binary of them end to end.
func frostDefinition(list bool) *schemapb.Schema {
	stack := frostString(profile.ColumnStacktrace)
	stack.StorageLayout.Compression = schemapb.StorageLayout_COMPRESSION_LZ4_RAW
	stack.StorageLayout.Repeated, stack.StorageLayout.Nullable = list, list
	numbers := frostInt(profile.ColumnPprofNumLabels, schemapb.StorageLayout_ENCODING_RLE_DICTIONARY)
	numbers.Dynamic, numbers.StorageLayout.Nullable = true, true
	columns := []*schemapb.Column{
		frostInt(profile.ColumnDuration, schemapb.StorageLayout_ENCODING_RLE_DICTIONARY),
		frostLabels(profile.ColumnLabels),
		frostInt(profile.ColumnPeriod, schemapb.StorageLayout_ENCODING_RLE_DICTIONARY),
		frostLabels(profile.ColumnPprofLabels),
		numbers, stack,
		frostInt(profile.ColumnTimestamp, schemapb.StorageLayout_ENCODING_DELTA_BINARY_PACKED),
		frostInt(profile.ColumnValue, schemapb.StorageLayout_ENCODING_DELTA_BINARY_PACKED),
	}
	for _, name := range typeColumns {
		columns = append(columns, frostString(name))
	}
	return &schemapb.Schema{Name: frostTable, Columns: columns}
}

func frostString(name string) *schemapb.Column {
	return &schemapb.Column{Name: name, StorageLayout: &schemapb.StorageLayout{
		Type: schemapb.StorageLayout_TYPE_STRING, Encoding: schemapb.StorageLayout_ENCODING_RLE_DICTIONARY,
	}}
}

func frostLabels(name string) *schemapb.Column {
	c := frostString(name)
	c.Dynamic, c.StorageLayout.Nullable = true, true
	return c
}

func frostInt(name string, encoding schemapb.StorageLayout_Encoding) *schemapb.Column {
	layout := &schemapb.StorageLayout{Type: schemapb.StorageLayout_TYPE_INT64, Encoding: encoding}
	if encoding == schemapb.StorageLayout_ENCODING_DELTA_BINARY_PACKED {
		layout.Compression = schemapb.StorageLayout_COMPRESSION_LZ4_RAW
	}
	return &schemapb.Column{Name: name, StorageLayout: layout}
}

// frostSorting sorts by columns, nulls first: fixed ones have none.
func frostSorting(names ...string) []*schemapb.SortingColumn {
	var all []*schemapb.SortingColumn
	for _, name := range names {
		all = append(all, &schemapb.SortingColumn{Name: name, Direction: schemapb.SortingColumn_DIRECTION_ASCENDING, NullsFirst: true})
	}
	return all
}
