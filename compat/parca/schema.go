package parca

import (
	"time"

	"github.com/parca-dev/parca/pkg/profile"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// TableName is the name under which Parca asks its engine for the samples table.
const TableName = "stacktraces"

// bucketWidth is the width of a time bucket. Retention and eviction drop whole buckets.
const bucketWidth = time.Hour

// Definition returns the table for Parca's samples: the columns of Parca's own schema, in Granary's order.
// Labels and stacks lead the time in the sorting key, so that the rows of one series, and of one stack in
// it, are neighbours.
func Definition() schema.Definition {
	key := func(name string) schema.Column {
		return schema.Column{Name: name, Type: encoding.String, Encoding: encoding.DictionaryRLE}
	}
	number := func(name string, storage encoding.Encoding) schema.Column {
		return schema.Column{Name: name, Type: encoding.Int64, Encoding: storage}
	}
	return schema.Definition{
		Columns: []schema.Column{
			key(profile.ColumnName),
			key(profile.ColumnSampleType),
			key(profile.ColumnSampleUnit),
			key(profile.ColumnPeriodType),
			key(profile.ColumnPeriodUnit),
			{Name: profile.ColumnLabels, Type: encoding.String, Encoding: encoding.DictionaryRLE, Nullable: true, Dynamic: true},
			{Name: profile.ColumnStacktrace, Type: encoding.UUIDList, Encoding: encoding.DictionaryRLE, Nullable: true},
			number(profile.ColumnTimeNanos, encoding.Delta),
			number(profile.ColumnTimestamp, encoding.Delta),
			number(profile.ColumnDuration, encoding.RLE),
			number(profile.ColumnPeriod, encoding.RLE),
			number(profile.ColumnValue, encoding.Plain),
		},
		SortingKey: append(typeColumns(), profile.ColumnLabels, profile.ColumnStacktrace, profile.ColumnTimeNanos),
		Header:     []string{profile.ColumnTimeNanos, profile.ColumnTimestamp, profile.ColumnDuration, profile.ColumnPeriod},
		Bucket:     schema.Bucket{Column: profile.ColumnTimeNanos, Width: int64(bucketWidth)},
	}
}

// typeColumns returns the columns that make a profile's type, besides its duration.
func typeColumns() []string {
	return []string{
		profile.ColumnName, profile.ColumnSampleType, profile.ColumnSampleUnit, profile.ColumnPeriodType, profile.ColumnPeriodUnit,
	}
}
