package rows

// The profiling schema's columns, which package profile describes.
const (
	ColumnSampleType     = "sample_type"
	ColumnSampleUnit     = "sample_unit"
	ColumnPeriodType     = "period_type"
	ColumnPeriodUnit     = "period_unit"
	ColumnLabels         = "labels"
	ColumnStacktrace     = "stacktrace"
	ColumnTimestamp      = "timestamp"
	ColumnPprofLabels    = "pprof_labels"
	ColumnPprofNumLabels = "pprof_num_labels"
	ColumnDuration       = "duration"
	ColumnPeriod         = "period"
	ColumnTraceID        = "trace_id"
	ColumnSpanID         = "span_id"
	ColumnValue          = "value"
)
