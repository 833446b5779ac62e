package query

import "errors"

// ErrQueryMemory is returned when an answer needs more memory than AggregateOptions.MaxBytes.
var ErrQueryMemory = errors.New("query needs more memory than it may take")
