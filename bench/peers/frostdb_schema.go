package peers

import (
	schemapb "github.com/polarsignals/frostdb/gen/proto/go/frostdb/schema/v1alpha1"

	"github.com/granarydb/granary/profile"
)

// columnName is a Parca column without a counterpart here: the name that a profile gives itself
// ("process_cpu"). The period type stands in for it.
const columnName = "name"

// frostTrace is the column of trace ids, a sample label as in Parca. A value is the id's 16 bytes. Without
// traces the column does not exist.
const frostTrace = profile.ColumnPprofLabels + "." + profile.ColumnTraceID

// parcaDefinition is Parca's schema in 2026. Labels are not in the sorting key. Its second time column is
// left out, and sample labels, which Parca mixes with the labels, stay columns of their own.
func parcaDefinition() *schemapb.Schema {
	def := frostDefinition(true)
	def.Columns = append(def.Columns, frostString(columnName))
	def.SortingColumns = append(frostSorting(columnName), frostSorting(TypeColumns...)...)
	def.SortingColumns = append(def.SortingColumns, frostSorting(profile.ColumnTimestamp)...)
	return def
}

// rfcDefinition is the schema in Parca's RFC-001.
func rfcDefinition() *schemapb.Schema {
	def := frostDefinition(false)
	def.SortingColumns = append(frostSorting(TypeColumns...), frostSorting(
		profile.ColumnLabels, profile.ColumnStacktrace, profile.ColumnTimestamp, profile.ColumnPprofLabels, profile.ColumnPprofNumLabels,
	)...)
	return def
}

// frostDefinition has both schemas' columns, encoded as in Parca. A stack is a list of ids, or one binary
// value with all ids.
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
	for _, name := range TypeColumns {
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

// frostSorting sorts by columns, ascending, nulls first.
func frostSorting(names ...string) []*schemapb.SortingColumn {
	var all []*schemapb.SortingColumn
	for _, name := range names {
		all = append(all, &schemapb.SortingColumn{Name: name, Direction: schemapb.SortingColumn_DIRECTION_ASCENDING, NullsFirst: true})
	}
	return all
}
