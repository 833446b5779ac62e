package question

import (
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"

	"github.com/granarydb/granary/internal/selector"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/fault"
)

// Reader parses queries. It is immutable, and safe for concurrent use.
type Reader struct {
	QueryBytes int64            // greatest memory of a query's groups
	MaxNodes   int              // greatest number of functions in a flame graph
	MaxLabels  int              // greatest number of labels to group by
	Now        func() time.Time // for relative times
}

// Asked is a query for the values of one type.
type Asked struct {
	Name     string // name in the id of the type
	Type     profile.Type
	matchers []selector.Matcher
	Query    profile.Query
}

// ask returns the query for a type id, a selector and a time range.
func (r *Reader) ask(id, text string, start, end int64) (a Asked, err error) {
	if a.Name, a.Type, err = ParseTypeID(id); err != nil {
		return a, fault.Invalid("profile_typeID: %w", err)
	}
	s, err := ParseSelection(text)
	if err != nil {
		return a, fault.Invalid("label_selector: %w", err)
	}
	a.matchers = append(s.Labels, nameMatchers(a.Name)...)
	if !s.HasType(a.Name, a.Type) { // the selector excludes the type
		a.matchers = append(a.matchers, selector.Matcher{Name: profile.NameLabel}, selector.Matcher{Name: profile.NameLabel, Op: selector.OpNotEqual})
	}
	a.Query = profile.Query{MaxBytes: r.QueryBytes, SumKinds: IsNamed(a.Name)}
	if err := a.restrict(); err != nil {
		return a, fault.Invalid("label_selector: %w", err)
	}
	return a, Millis(&a.Query, start, end)
}

// Typed is a message that asks about a type.
type Typed interface {
	GetProfileTypeID() string
	GetLabelSelector() string
	GetStart() int64
	GetEnd() int64
}

// Named returns the profiles among which the short name of a message's type is looked up.
func (r *Reader) Named(m Typed) (q profile.Query, err error) {
	s, err := ParseSelection(m.GetLabelSelector())
	if err == nil && len(s.Types) > 0 {
		err = errors.New("a type is chosen by profile_typeID")
	}
	if err == nil {
		q.Selector, err = SelectorOf(s.Labels)
	}
	if err != nil {
		return q, fault.Invalid("label_selector: %w", err)
	}
	q.MaxBytes = r.QueryBytes
	return q, Millis(&q, m.GetStart(), m.GetEnd())
}

// restrict adds conditions.
func (a *Asked) restrict(more ...selector.Matcher) (err error) {
	a.matchers = append(a.matchers, more...)
	a.Query.Selector, err = SelectorOf(a.matchers)
	return err
}

// only restricts a query to samples with one of several ids.
func (a *Asked) only(label string, ids []string, digits int) error {
	const most = 1000
	if len(ids) > most {
		return fault.TooLarge("%s: %d ids, at most %d", label, len(ids), most)
	}
	var either []string
	for _, id := range ids {
		if len(id) != digits || strings.Trim(id, "0123456789abcdefABCDEF") != "" {
			return fault.Invalid("%s: want %d hexadecimal digits, not %s", label, digits, fault.Quoted(id))
		}
		either = append(either, strings.ToLower(id), strings.ToUpper(id))
	}
	switch len(ids) {
	case 0:
		return nil
	case 1: // a single id is compared without regard to case, and found fast
		return a.restrict(selector.Matcher{Name: label, Value: ids[0]})
	}
	return a.restrict(selector.Matcher{Name: label, Op: selector.OpPattern, Value: strings.Join(either, "|")})
}

// under restricts a query to a call site's samples.
func (a *Asked) under(s *typesv1.StackTraceSelector) error {
	if s.GetGoPgo() != nil {
		return fault.Refused("stack_trace_selector: go_pgo is not computed; GET /pprof has a profile for PGO")
	}
	for _, l := range s.GetCallSite() {
		a.Query.Under = append(a.Query.Under, l.GetName())
	}
	return nil
}

// Stacks returns the query of a request for stacks.
func (r *Reader) Stacks(m *querierv1.SelectMergeStacktracesRequest) (a Asked, err error) {
	if a, err = r.ask(m.GetProfileTypeID(), m.GetLabelSelector(), m.GetStart(), m.GetEnd()); err != nil {
		return a, err
	}
	if m.GetAsync() != nil {
		return a, fault.Refused("async: questions are answered at once")
	}
	if err := checkProfileIDs(m.GetProfileIdSelector()); err != nil {
		return a, err
	}
	if err = a.only("trace_id", m.GetTraceIdSelector(), 32); err == nil {
		err = a.only("span_id", m.GetSpanSelector(), 16)
	}
	if err == nil {
		err = a.under(m.GetStackTraceSelector())
	}
	return a, err
}

// OfSpans returns the request for the stacks of spans.
func OfSpans(m *querierv1.SelectMergeSpanProfileRequest) *querierv1.SelectMergeStacktracesRequest {
	return &querierv1.SelectMergeStacktracesRequest{
		ProfileTypeID: m.GetProfileTypeID(), LabelSelector: m.GetLabelSelector(), Start: m.GetStart(), End: m.GetEnd(),
		SpanSelector: m.GetSpanSelector(), MaxNodes: m.MaxNodes, Format: m.GetFormat(),
	}
}

// CheckGraph returns an error if a request for the stacks of spans wants neither a flame graph nor a tree.
func CheckGraph(m *querierv1.SelectMergeSpanProfileRequest) error {
	if f := m.GetFormat(); f > querierv1.ProfileFormat_PROFILE_FORMAT_TREE {
		return fault.Refused("format: %s is not made; flame graphs and trees are", f)
	}
	return nil
}

// OfProfile returns the request for a profile's stacks, as pprof.
func OfProfile(m *querierv1.SelectMergeProfileRequest) *querierv1.SelectMergeStacktracesRequest {
	return &querierv1.SelectMergeStacktracesRequest{
		ProfileTypeID: m.GetProfileTypeID(), LabelSelector: m.GetLabelSelector(), Start: m.GetStart(), End: m.GetEnd(),
		ProfileIdSelector: m.GetProfileIdSelector(), TraceIdSelector: m.GetTraceIdSelector(), StackTraceSelector: m.GetStackTraceSelector(),
		Format: querierv1.ProfileFormat_PROFILE_FORMAT_PPROF,
	}
}

// UsualNodes is the number of functions of a flame graph whose request names none, as in Grafana.
const UsualNodes = 8192

// Nodes returns the number of functions for a flame graph.
func (r *Reader) Nodes(asked int64) (int, error) {
	switch {
	case asked == -1: // as many as there may be
		return r.MaxNodes, nil
	case asked < 0 || asked > int64(r.MaxNodes):
		return 0, fault.TooCostly("max_nodes of %d, at most %d", asked, r.MaxNodes)
	case asked == 0:
		return min(UsualNodes, r.MaxNodes), nil
	}
	return int(asked), nil
}

// Over returns the query of a request for values over time. Labels of the type are not grouped by.
func (r *Reader) Over(m *querierv1.SelectSeriesRequest) (a Asked, opts profile.RangeOptions, err error) {
	if a, err = r.ask(m.GetProfileTypeID(), m.GetLabelSelector(), m.GetStart(), m.GetEnd()); err != nil {
		return a, opts, err
	}
	const sum, average = typesv1.TimeSeriesAggregationType_TIME_SERIES_AGGREGATION_TYPE_SUM, typesv1.TimeSeriesAggregationType_TIME_SERIES_AGGREGATION_TYPE_AVERAGE
	if err := r.checkSteps(m); err != nil {
		return a, opts, err
	}
	switch {
	case m.GetAggregation() != sum && m.GetAggregation() != average:
		return a, opts, fault.Refused("aggregation: %s is not computed; sums and averages are", m.GetAggregation())
	case m.GetExemplarType() > typesv1.ExemplarType_EXEMPLAR_TYPE_NONE && m.GetStackTraceSelector() != nil:
		return a, opts, fault.Refused("exemplar_type: exemplars are of whole profiles: ask without a stack_trace_selector")
	}
	opts = profile.RangeOptions{
		Step: stepOf(m.GetStep()), Top: int(min(m.GetLimit(), math.MaxInt32)),
		By: slices.DeleteFunc(slices.Clone(m.GetGroupBy()), IsTypeLabel),
	}
	a.Query.SumGauges = m.Aggregation != nil
	return a, opts, a.under(m.GetStackTraceSelector())
}

// stepped is a query over time.
type stepped interface {
	GetStep() float64
	GetLimit() int64
	GetGroupBy() []string
}

// checkSteps checks the steps and groups of a query over time.
func (r *Reader) checkSteps(m stepped) error {
	switch most := r.MaxLabels; {
	case !(m.GetStep() >= 0.001) || m.GetStep() > 1e9: // the negation also catches NaN
		return fault.Invalid("step: want seconds, at least 0.001, not %v", m.GetStep())
	case m.GetLimit() < 0:
		return fault.Invalid("limit: want at least 0, not %d", m.GetLimit())
	case len(m.GetGroupBy()) > most:
		return fault.TooLarge("group_by: %d labels, at most %d", len(m.GetGroupBy()), most)
	case slices.Contains(m.GetGroupBy(), ""):
		return fault.Invalid("group_by: a name is empty")
	}
	return nil
}

// stepOf rounds a number of seconds to milliseconds.
func stepOf(seconds float64) time.Duration {
	return time.Duration(math.Round(seconds*1000)) * time.Millisecond
}

// Millis sets a query's bounds, both inclusive, in Unix milliseconds. 0 means no bound. Numbers of ten digits are an error: they
// are seconds, because milliseconds would be a time early in 1970, and the answer would be empty without a word.
func Millis(q *profile.Query, start, end int64) error {
	const most = math.MaxInt64/int64(time.Millisecond) - 1
	isSeconds := func(n int64) bool { return n >= 1e9 && n < 1e10 }
	switch {
	case isSeconds(start) || isSeconds(end):
		return fault.Invalid("start and end: want Unix milliseconds, not seconds as in %d and %d", start, end)
	case start < 0 || start > most || end < 0 || end > most:
		return fault.Invalid("start and end: want Unix milliseconds, not %d and %d", start, end)
	case end != 0 && end < start:
		return fault.Invalid("start and end: %d is after %d", start, end)
	}
	q.From = start * int64(time.Millisecond)
	if end != 0 {
		q.To = (end + 1) * int64(time.Millisecond)
	}
	return nil
}
