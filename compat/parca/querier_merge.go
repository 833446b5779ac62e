package parca

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/parca-dev/parca/pkg/profile"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/granarydb/granary/columnstore"
)

// QueryMerge adds up a query's profiles between start and end, both included: by stack and period, and by
// the columns in by, labels ("labels.job") and time ("timestamp"). Parca's API also passes fields of its flame
// graphs, such as "function_name", which are no columns and change no sum. With inverted, stacks are root first.
// With a function, stacks end at its call nearest to the leaf, or, inverted, begin at its call nearest to
// the root. Rows whose stacks lack the function have no stack.
func (q *Querier) QueryMerge(ctx context.Context, query string, start, end time.Time, by []string, inverted bool, function string) (profile.Profile, error) {
	parts, where, err := selectorOf(query)
	if err != nil {
		return profile.Profile{}, err
	}
	columns := []string{profile.ColumnStacktrace, profile.ColumnPeriod}
	for _, name := range by {
		if name == profile.ColumnTimestamp {
			name = profile.ColumnTimeNanos
		} else if !strings.HasPrefix(name, profile.ColumnLabelsPrefix) {
			continue
		}
		if !slices.Contains(columns, name) {
			columns = append(columns, name)
		}
	}
	groups, err := q.group(ctx, columnstore.AggregateOptions{
		Where: columnstore.And(where, within(start, end)), By: columns, Sum: profile.ColumnValue, NoCounts: true,
	})
	if err != nil {
		return profile.Profile{}, err
	}
	if isSamplesCount(parts.Meta.SampleType) { // a sample stands for a period
		parts.Meta.SampleType = parts.Meta.PeriodType
		for i, period := range groups.Column(profile.ColumnPeriod).Values.Int64s {
			groups.Sums[i] *= period
		}
	}
	parts.Meta.Timestamp = start.UnixNano()
	return q.profileOf(ctx, groups, parts, inverted, function)
}

// QuerySingle returns a query's profiles at a millisecond, added up by stack. The error is NotFound if
// there is none.
func (q *Querier) QuerySingle(ctx context.Context, query string, at time.Time, inverted bool) (profile.Profile, error) {
	parts, where, err := selectorOf(query)
	if err != nil {
		return profile.Profile{}, err
	}
	// Milliseconds are a column of their own, because a record's need not match its nanoseconds.
	parts.Meta.Timestamp = at.UnixMilli()
	groups, err := q.group(ctx, columnstore.AggregateOptions{
		Where: columnstore.And(where, columnstore.Equal(profile.ColumnTimestamp, parts.Meta.Timestamp)),
		By:    []string{profile.ColumnStacktrace}, Sum: profile.ColumnValue, NoCounts: true,
	})
	if err != nil {
		return profile.Profile{}, err
	}
	if len(groups.Sums) == 0 {
		return profile.Profile{}, status.Error(codes.NotFound, "could not find profile at requested time and selectors")
	}
	return q.profileOf(ctx, groups, parts, inverted, "")
}

// profileOf returns groups by stack as a profile in one record, or none if there is no group.
func (q *Querier) profileOf(ctx context.Context, groups *columnstore.Groups, parts profile.QueryParts, inverted bool, function string) (profile.Profile, error) {
	p := profile.Profile{Meta: parts.Meta}
	if len(groups.Sums) == 0 {
		return p, nil
	}
	stacks, err := q.stacks(ctx, groups.Column(profile.ColumnStacktrace), inverted, function)
	if err != nil {
		return profile.Profile{}, err
	}
	var fields []arrow.Field
	var columns []arrow.Array
	for i := range groups.Columns {
		if c := &groups.Columns[i]; strings.HasPrefix(c.Name, profile.ColumnLabelsPrefix) {
			fields = append(fields, arrow.Field{Name: c.Name, Type: textType, Nullable: true})
			columns = append(columns, textColumn(c))
		}
	}
	rows := len(groups.Sums)
	times := nullNumbers(rows)
	if c := groups.Column(profile.ColumnTimeNanos); c != nil {
		times = numbers(c.Values.Int64s)
	}
	columns = append(columns, stacks, numbers(groups.Sums), numbers(make([]int64, rows)), times, nullNumbers(rows))
	defer func() {
		for _, c := range columns {
			c.Release()
		}
	}()
	p.Samples = []arrow.RecordBatch{array.NewRecordBatch(profile.ArrowSchema(fields), columns, int64(rows))}
	return p, nil
}

// GetProfileMetadataMappings returns the sorted mapping files in a query's stacks between start and end,
// both included. Locations without a mapping have the empty file.
func (q *Querier) GetProfileMetadataMappings(ctx context.Context, query string, start, end time.Time) ([]string, error) {
	_, where, err := selectorOf(query)
	if err != nil {
		return nil, err
	}
	groups, err := q.group(ctx, columnstore.AggregateOptions{
		Where: columnstore.And(where, within(start, end)), By: []string{profile.ColumnStacktrace}, NoCounts: true,
	})
	if err != nil {
		return nil, err
	}
	used, _ := usedLocations(groups.Column(profile.ColumnStacktrace))
	seen, files := map[string]bool{}, []string{}
	for _, encoded := range used {
		info, _ := profile.DecodeSymbolizationInfo(encoded)
		if !seen[info.Mapping.File] {
			seen[info.Mapping.File] = true
			files = append(files, info.Mapping.File)
		}
	}
	slices.Sort(files)
	return files, nil
}
