package query

import "errors"

var (
	// ErrQueryMemory is returned when an answer needs more memory than
	// AggregateOptions.MaxBytes, or the order of a scan more than ScanOptions.MaxBytes.
	ErrQueryMemory = errors.New("query needs more memory than it may take")
	// ErrOverflow is returned when an integer sum (AggregateOptions.Aggregates) is beyond its type.
	ErrOverflow = errors.New("sum overflows")
)
