package profile

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/rows"
	"github.com/granarydb/granary/schema"
)

// DefaultBucket is the default bucket width of the profiling schema.
const DefaultBucket = 15 * time.Minute

// The profiling schema's columns: the columns of Parca RFC-001, and trace and span ids. A column's name
// is that of its constant in lower case, such as sample_type. ColumnLabels, ColumnPprofLabels and
// ColumnPprofNumLabels are families.
const (
	ColumnSampleType     = rows.ColumnSampleType
	ColumnSampleUnit     = rows.ColumnSampleUnit
	ColumnPeriodType     = rows.ColumnPeriodType
	ColumnPeriodUnit     = rows.ColumnPeriodUnit
	ColumnLabels         = rows.ColumnLabels         // of the profile: job, pod, ...
	ColumnStacktrace     = rows.ColumnStacktrace     // location ids, leaf first
	ColumnTimestamp      = rows.ColumnTimestamp      // Unix nanoseconds
	ColumnPprofLabels    = rows.ColumnPprofLabels    // of the sample
	ColumnPprofNumLabels = rows.ColumnPprofNumLabels // of the sample; a column is named name[unit]
	ColumnDuration       = rows.ColumnDuration       // nanoseconds
	ColumnPeriod         = rows.ColumnPeriod         // in period_unit
	ColumnTraceID        = rows.ColumnTraceID        // of the sample; see DB.InsertEncoded
	ColumnSpanID         = rows.ColumnSpanID         // of the sample
	ColumnValue          = rows.ColumnValue          // in sample_unit
)

// Schema returns the profiling schema with the order of the RFC, led by a time bucket of width bucket. A
// width of 0 omits the bucket.
func Schema(bucket time.Duration) schema.Definition {
	key := func(name string) schema.Column {
		return schema.Column{Name: name, Type: encoding.String, Encoding: encoding.DictionaryRLE}
	}
	family := func(name string) schema.Column {
		return schema.Column{Name: name, Type: encoding.String, Encoding: encoding.DictionaryRLE, Dynamic: true}
	}
	def := schema.Definition{
		Columns: []schema.Column{
			key(ColumnSampleType),
			key(ColumnSampleUnit),
			key(ColumnPeriodType),
			key(ColumnPeriodUnit),
			family(ColumnLabels),
			{Name: ColumnStacktrace, Type: encoding.UUIDList, Encoding: encoding.DictionaryRLE},
			{Name: ColumnTimestamp, Type: encoding.Int64, Encoding: encoding.Delta},
			family(ColumnPprofLabels),
			{Name: ColumnPprofNumLabels, Type: encoding.Int64, Encoding: encoding.RLE, Dynamic: true},
			{Name: ColumnDuration, Type: encoding.Int64, Encoding: encoding.RLE},
			{Name: ColumnPeriod, Type: encoding.Int64, Encoding: encoding.RLE},
			{Name: ColumnTraceID, Type: encoding.UUID, Encoding: encoding.Plain, Nullable: true},
			{Name: ColumnSpanID, Type: encoding.Uint64, Encoding: encoding.Plain, Nullable: true},
			{Name: ColumnValue, Type: encoding.Int64, Encoding: encoding.Plain},
		},
		SortingKey: []string{
			ColumnSampleType, ColumnSampleUnit, ColumnPeriodType, ColumnPeriodUnit, ColumnLabels,
			ColumnStacktrace, ColumnTimestamp, ColumnPprofLabels, ColumnPprofNumLabels,
		},
		Header: []string{ColumnTimestamp, ColumnDuration, ColumnPeriod},
	}
	if bucket > 0 {
		def.Bucket = schema.Bucket{Column: ColumnTimestamp, Width: int64(bucket)}
	}
	return def
}

// isExtended reports whether a schema equals a definition, or only has more optional columns at its end.
func isExtended(have *schema.Schema, def schema.Definition) bool {
	columns := have.Columns()
	if len(columns) < len(def.Columns) {
		return false
	}
	for _, c := range columns[len(def.Columns):] {
		if !isOptional(c) {
			return false
		}
		def.Columns = append(slices.Clip(def.Columns), c)
	}
	want, err := schema.New(def)
	return err == nil && reflect.DeepEqual(want, have)
}

// isOptional reports whether rows may lack a value in a column.
func isOptional(c schema.Column) bool { return c.Nullable || c.Dynamic }

// difference returns the first difference between a table's schema and that of profiles.
func difference(have, want *schema.Schema) string {
	if have.BucketWidth() != want.BucketWidth() {
		return fmt.Sprintf("its buckets are of %v", time.Duration(have.BucketWidth()))
	}
	lacking := func(from, of *schema.Schema) int {
		return slices.IndexFunc(of.Columns(), func(c schema.Column) bool { return !slices.Contains(from.Columns(), c) })
	}
	if i := lacking(have, want); i >= 0 {
		return fmt.Sprintf("it has no such column %q", want.Columns()[i].Name)
	}
	if i := lacking(want, have); i >= 0 && (i < len(want.Columns()) || !isOptional(have.Columns()[i])) {
		return fmt.Sprintf("it has a further column %q, which rows must have or which is not behind the others", have.Columns()[i].Name)
	}
	return "its order or its header differ"
}
