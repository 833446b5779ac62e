package rows

import (
	"fmt"
	"slices"
	"time"

	codec "github.com/granarydb/granary/profile/pprof"
	"github.com/granarydb/granary/schema"
)

// Profile is a flat profile with the columns of its labels. The zero Profile is ready to use,
// and can be reused for any number of profiles. It is not safe for concurrent use.
type Profile struct {
	codec.Flat
	times   []int64 // by sample; nil: all samples have the profile's time
	columns labelColumns
}

// Reset empties f and keeps its memory.
func (f *Profile) Reset() {
	f.Flat.Reset()
	f.times = nil
	f.columns.reset()
}

// SetTimes gives each sample its own time in Unix nanoseconds, in [from, to]. If times is nil, all
// samples have the profile's time. f keeps the slice until Reset. The error is pprof.ErrProfile.
func (f *Profile) SetTimes(times []int64, from, to int64) error {
	if times != nil && len(times) != len(f.Samples) {
		return fmt.Errorf("%w: %d times for %d samples", codec.ErrProfile, len(times), len(f.Samples))
	}
	text := func(at int64) string { return time.Unix(0, at).UTC().Format(time.RFC3339Nano) }
	for i, at := range times {
		if at < from || at > to {
			return fmt.Errorf("%w: the time of sample %d is %s, want one from %s to %s", codec.ErrProfile, i, text(at), text(from), text(to))
		}
	}
	f.times = times
	return nil
}

// IsEmpty reports whether a profile has no rows.
func (f *Profile) IsEmpty(zeros bool) bool {
	return len(f.Values) == 0 || !zeros && !slices.ContainsFunc(f.Values, func(v int64) bool { return v != 0 })
}

// Check returns an error that wraps pprof.ErrTooLarge if the rows of the profile would exceed a limit,
// before any row is built (P5 of package profile). It also assigns labels to columns.
func (f *Profile) Check() error {
	f.columns.reset()
	if err := f.CheckRecords(schema.MaxRecord, MaxRecords); err != nil {
		return err
	}
	bytes, err := f.placeLabels()
	if err != nil {
		return err
	}
	rows := len(f.Samples) * len(f.Types)
	for _, c := range []struct {
		what       string
		have, most int
	}{
		{"bytes of labels", bytes * len(f.Types), MaxLabelBytes},
		{"label values (labels times rows)", len(f.columns.list) * rows, MaxLabelCells},
	} {
		if c.have > c.most {
			return fmt.Errorf("%w: %d %s, at most %d", codec.ErrTooLarge, c.have, c.what, c.most)
		}
	}
	return nil
}

// A profile shares strings and locations, but its rows do not, so these sums are bounded too. No hostile
// profile of 64 MiB in TestBombs of package profile takes more than 1 GiB to insert. The largest profiles
// in the field need far less than these limits.
const (
	// MaxRecords bounds the bytes of all location records.
	MaxRecords = 128 << 20
	// MaxLabelBytes bounds the bytes of the labels of all rows.
	MaxLabelBytes = 256 << 20
	// MaxLabelCells bounds rows times distinct labels, 16 bytes each.
	MaxLabelCells = 8 << 20
)

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
