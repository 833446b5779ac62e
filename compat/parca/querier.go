package parca

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	pb "github.com/parca-dev/parca/gen/proto/go/parca/query/v1alpha1"
	"github.com/parca-dev/parca/pkg/profile"
	"github.com/parca-dev/parca/pkg/symbolizer"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/granarydb/granary/columnstore"
)

// Querier is Parca's query.Querier: it answers queries from the table, by codes and without FrostDB's engine.
// Errors that Parca's clients see are gRPC statuses with the same codes as Parca's own querier. It is safe for
// concurrent use.
type Querier struct {
	table     *Table
	symbols   symbolizer.SymbolizationClient
	demangler profile.Demangler
}

// NewQuerier returns a querier for a table. symbols finds lines for locations that have none; nil leaves
// them as addresses. demangler demangles function names; nil leaves them unchanged.
func NewQuerier(t *Table, symbols symbolizer.SymbolizationClient, demangler profile.Demangler) *Querier {
	return &Querier{table: t, symbols: symbols, demangler: demangler}
}

// ProfileTypes returns the types of profiles between start and end, both excluded; of all profiles if start
// or end is 1970.
func (q *Querier) ProfileTypes(ctx context.Context, start, end time.Time) ([]*pb.ProfileType, error) {
	groups, err := q.group(ctx, columnstore.AggregateOptions{
		By: append(typeColumns(), profile.ColumnDuration), Where: between(start, end), NoCounts: true,
	})
	if err != nil {
		return nil, err
	}
	column := func(name string) []string { return groups.Column(name).Values.Strings }
	seen, types := map[[6]string]bool{}, []*pb.ProfileType{}
	for i, duration := range groups.Column(profile.ColumnDuration).Values.Int64s {
		t := &pb.ProfileType{
			Name: column(profile.ColumnName)[i], Delta: duration > 0,
			SampleType: column(profile.ColumnSampleType)[i], SampleUnit: column(profile.ColumnSampleUnit)[i],
			PeriodType: column(profile.ColumnPeriodType)[i], PeriodUnit: column(profile.ColumnPeriodUnit)[i],
		}
		key := [6]string{t.Name, t.SampleType, t.SampleUnit, t.PeriodType, t.PeriodUnit}
		if t.Delta {
			key[5] = "delta"
		}
		if !seen[key] {
			seen[key] = true
			types = append(types, t)
		}
	}
	return types, nil
}

// HasProfileData reports whether the table has a row.
func (q *Querier) HasProfileData(ctx context.Context) (bool, error) {
	types, err := q.ProfileTypes(ctx, time.UnixMilli(0), time.UnixMilli(0))
	return len(types) > 0, err
}

// Labels returns the sorted label names of a type's profiles between start and end, both excluded; of all
// profiles without a type. match is a list of matchers, which counts only with a type.
func (q *Querier) Labels(ctx context.Context, match []string, start, end time.Time, profileType string) ([]string, error) {
	where := between(start, end)
	if profileType != "" {
		_, selected, err := selectorOf(profileType + "{" + strings.Join(match, ",") + "}")
		if err != nil {
			return nil, err
		}
		where = columnstore.And(selected, where)
	}
	return q.labels(ctx, where)
}

// Values returns a label's sorted values in a type's profiles between start and end, both excluded; in all
// profiles without a type. Matchers are ignored, as by Parca's own querier.
func (q *Querier) Values(ctx context.Context, label string, _ []string, start, end time.Time, profileType string) ([]string, error) {
	where := between(start, end)
	if profileType != "" {
		_, selected, err := selectorOf(profileType + "{}")
		if err != nil {
			return nil, err
		}
		where = columnstore.And(selected, where)
	}
	column := profile.ColumnLabelsPrefix + label
	groups, err := q.group(ctx, columnstore.AggregateOptions{By: []string{column}, Where: where, NoCounts: true})
	if err != nil {
		return nil, err
	}
	values := []string{}
	for i, v := range groups.Column(column).Values.Strings {
		if !groups.Column(column).Values.Null(i) {
			values = append(values, v)
		}
	}
	slices.Sort(values)
	return values, nil
}

// GetProfileMetadataLabels returns the sorted label names of the profiles that a query selects between
// start and end, both included.
func (q *Querier) GetProfileMetadataLabels(ctx context.Context, query string, start, end time.Time) ([]string, error) {
	_, where, err := selectorOf(query)
	if err != nil {
		return nil, err
	}
	return q.labels(ctx, columnstore.And(where, within(start, end)))
}

// labels returns rows' label names.
func (q *Querier) labels(ctx context.Context, where columnstore.Expr) ([]string, error) {
	groups, err := q.group(ctx, columnstore.AggregateOptions{By: []string{profile.ColumnLabels}, Where: where, NoCounts: true})
	if err != nil {
		return nil, err
	}
	names := []string{}
	for i := range groups.Columns {
		if v := &groups.Columns[i].Values; v.Valid == nil && v.Len() > 0 || anyOf(v.Valid) {
			names = append(names, strings.TrimPrefix(groups.Columns[i].Name, profile.ColumnLabelsPrefix))
		}
	}
	slices.Sort(names)
	return names, nil
}

// group groups the rows in the newest snapshot.
func (q *Querier) group(ctx context.Context, opts columnstore.AggregateOptions) (groups *columnstore.Groups, err error) {
	err = q.table.store.View(ctx, func(snap *columnstore.Snapshot) error {
		groups, err = q.table.table.Aggregate(ctx, snap, opts)
		return err
	})
	return groups, err
}

// between returns the time condition for queries about labels: between start and end, both excluded, or all
// times if start or end is within the first second of 1970.
func between(start, end time.Time) columnstore.Expr {
	if start.Unix() == 0 || end.Unix() == 0 {
		return columnstore.And()
	}
	return columnstore.And(
		columnstore.Greater(profile.ColumnTimeNanos, start.UnixNano()), columnstore.Less(profile.ColumnTimeNanos, end.UnixNano()))
}

// within returns the time condition for other queries: between start and end, both included.
func within(start, end time.Time) columnstore.Expr {
	return columnstore.Between(profile.ColumnTimeNanos, start.UnixNano(), end.UnixNano())
}

// selectorOf returns the parts of a query in Parca's language, and its condition without times.
func selectorOf(query string) (profile.QueryParts, columnstore.Expr, error) {
	parts, err := profile.ParseQuery(query)
	if err != nil {
		return parts, columnstore.Expr{}, err
	}
	args := []columnstore.Expr{
		columnstore.Equal(profile.ColumnName, parts.Meta.Name),
		columnstore.Equal(profile.ColumnSampleType, parts.Meta.SampleType.Type),
		columnstore.Equal(profile.ColumnSampleUnit, parts.Meta.SampleType.Unit),
		columnstore.Equal(profile.ColumnPeriodType, parts.Meta.PeriodType.Type),
		columnstore.Equal(profile.ColumnPeriodUnit, parts.Meta.PeriodType.Unit),
	}
	for _, m := range parts.Matchers {
		arg, err := matched(m)
		if err != nil {
			return parts, columnstore.Expr{}, err
		}
		args = append(args, arg)
	}
	whole := columnstore.Equal(profile.ColumnDuration, int64(0))
	if parts.Delta {
		whole = columnstore.Not(whole)
	}
	return parts, columnstore.And(append(args, whole)...), nil
}

// matched returns a matcher's condition. A missing label is the empty text. Patterns are not anchored, as
// in Parca.
func matched(m *labels.Matcher) (columnstore.Expr, error) {
	column := profile.ColumnLabelsPrefix + m.Name
	switch m.Type {
	case labels.MatchEqual:
		return columnstore.Equal(column, m.Value), nil
	case labels.MatchNotEqual:
		return columnstore.Not(columnstore.Equal(column, m.Value)), nil
	}
	pattern, err := regexp.Compile(m.Value)
	if err != nil {
		return columnstore.Expr{}, err
	}
	if m.Type == labels.MatchNotRegexp {
		return columnstore.Not(columnstore.Match(column, pattern)), nil
	}
	return columnstore.Match(column, pattern), nil
}
