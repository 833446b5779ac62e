package profile

import (
	"time"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// DefaultBucket is the default bucket width of the profiling schema.
const DefaultBucket = 15 * time.Minute

// The columns of the profiling schema: those of Parca RFC-001, and trace and span ids.
// ColumnLabels, ColumnPprofLabels and ColumnPprofNumLabels are families.
const (
	ColumnSampleType     = "sample_type"
	ColumnSampleUnit     = "sample_unit"
	ColumnPeriodType     = "period_type"
	ColumnPeriodUnit     = "period_unit"
	ColumnLabels         = "labels"           // of the profile: job, pod, ...
	ColumnStacktrace     = "stacktrace"       // location ids, leaf first
	ColumnTimestamp      = "timestamp"        // Unix nanoseconds
	ColumnPprofLabels    = "pprof_labels"     // of the sample
	ColumnPprofNumLabels = "pprof_num_labels" // of the sample; a column is named name[unit]
	ColumnDuration       = "duration"         // nanoseconds
	ColumnPeriod         = "period"           // in period_unit
	ColumnTraceID        = "trace_id"         // of the sample; see DB.InsertEncoded
	ColumnSpanID         = "span_id"          // of the sample
	ColumnValue          = "value"            // in sample_unit
)

// Schema returns the profiling schema with the order of the RFC, led by a time bucket of the
// given width. A width of 0 leaves out the bucket.
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
