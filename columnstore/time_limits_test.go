package columnstore

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/memory"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/catalog"
)

// openDated starts a store whose clock shows a date, and whose table has time buckets of a
// minute.
func openDated(t *testing.T, limit time.Duration, now time.Time) (*Store, *Table) {
	t.Helper()
	store, err := Open(Options{Manual: true, PastLimit: limit, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	table, err := store.CreateTable("samples", samples(int64(time.Minute)))
	if err != nil {
		t.Fatal(err)
	}
	return store, table
}

// A time far behind the clock is an error, and nothing is inserted (C5). The text has the
// column, and the date that is meant if the time is in another unit.
func TestPast(t *testing.T) {
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		name  string
		limit time.Duration
		at    int64
		text  string // empty: the row is inserted
	}{
		{"now", 0, now.UnixNano(), ""},
		{"default limit, at it", 0, catalog.Year1980, ""},
		{"default limit, 1 ns beyond", 0, catalog.Year1980 - 1, "is at 1979-12-31T23:59:59.999999999Z"},
		{"limit, at it", time.Hour, now.Add(-time.Hour).UnixNano(), ""},
		{"limit, 1 ns beyond", time.Hour, now.Add(-time.Hour).UnixNano() - 1, "is at 2026-11-24T10:59:59.999999999Z"},
		{"seconds", 0, now.Unix(), "1795521600 ns since 1970, the clock is at 2026-11-24T12:00:00Z: in seconds it is 2026-11-24T12:00:00Z"},
		{"milliseconds", 0, now.UnixMilli(), "in milliseconds it is 2026-11-24T12:00:00Z, and the column has nanoseconds"},
		{"microseconds", 0, now.UnixMicro(), "in microseconds it is 2026-11-24T12:00:00Z"},
		{"milliseconds beyond the limit", time.Hour, now.Add(-2 * time.Hour).UnixMilli(), "the clock is at 2026-11-24T12:00:00Z"},
		{"no time", 0, 0, "is at 1970-01-01T00:00:00Z, which is 0 ns since 1970"},
		{"before 1970", 0, -1, "is at 1969-12-31T23:59:59.999999999Z"},
		{"the least time", 0, math.MinInt64, "is at 1677-09-21"},
		{"negative is none", -1, math.MinInt64, ""},
		{"limit beyond the start of time", math.MaxInt64, now.Add(-math.MaxInt64).UnixNano(), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			store, table := openDated(t, test.limit, now)
			insert(t, table, oneRow(now.UnixNano()))
			before := stateOf(t, store, table)
			b := oneRow(0)
			b.Rows = 2
			b.Columns["time"] = encoding.Int64s(now.UnixNano(), test.at)
			_, err := table.Insert(t.Context(), b)
			_, errOfCodes := table.Codes(test.at)
			if test.text == "" {
				if err != nil || errOfCodes != nil {
					t.Errorf("unexpected error %v, %v", err, errOfCodes)
				}
				return
			}
			wantError(t, err, ErrPast, test.text)
			wantError(t, err, ErrPast, `table "samples": time is far in the past: row 1 of column "time" is at`)
			wantError(t, errOfCodes, ErrPast, strings.TrimPrefix(test.text, "is at "))
			if errors.Is(err, ErrTooOld) || strings.Contains(err.Error(), "in m") != strings.Contains(test.text, "in m") {
				t.Errorf("error %v", err)
			}
			before.check(t, store, table)
		})
	}
}

// A record and a batch of codes with milliseconds are refused as well. A table without buckets
// and a clock in 1970 take any time.
func TestPast_OtherWays(t *testing.T) {
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	_, table := openDated(t, 0, now)
	codes, err := table.Codes(now.UnixNano())
	if err != nil {
		t.Fatal(err)
	}
	_, err = codes.Insert(t.Context(), oneRow(now.UnixMilli()))
	wantError(t, err, ErrPast, "in milliseconds it is 2026-11-24T12:00:00Z")

	rec := recordOfTimes(t, now.UnixMilli())
	defer rec.Release()
	_, err = table.InsertRecord(t.Context(), rec)
	wantError(t, err, ErrPast, "in milliseconds it is 2026-11-24T12:00:00Z")

	store, err := Open(Options{Manual: true})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	plain, err := store.CreateTable("samples", samples(0))
	if err != nil {
		t.Fatal(err)
	}
	insert(t, plain, oneRow(1))
	_, early := openDated(t, 0, time.Unix(1000, 0))
	insert(t, early, oneRow(1))
}

// recordOfTimes is a record of one sample.
func recordOfTimes(t *testing.T, at int64) arrow.Record {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "kind", Type: arrow.BinaryTypes.String},
		{Name: "stack", Type: arrow.ListOf(&arrow.FixedSizeBinaryType{ByteWidth: 16})},
		{Name: "time", Type: arrow.PrimitiveTypes.Int64},
		{Name: "value", Type: arrow.PrimitiveTypes.Int64},
	}, nil)
	b := array.NewRecordBuilder(memory.NewGoAllocator(), schema)
	defer b.Release()
	b.Field(0).(*array.StringBuilder).Append("cpu")
	b.Field(1).(*array.ListBuilder).Append(true)
	b.Field(1).(*array.ListBuilder).ValueBuilder().(*array.FixedSizeBinaryBuilder).Append(make([]byte, 16))
	b.Field(2).(*array.Int64Builder).Append(at)
	b.Field(3).(*array.Int64Builder).Append(1)
	return b.NewRecord()
}
