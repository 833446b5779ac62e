package server

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/granarydb/granary/internal/selector"
	"github.com/granarydb/granary/profile"
)

// unnamed is the name in type ids of profiles without the label __name__.
const unnamed = "profile"

// A colon in a part of a type id is written as %3A.
var (
	escapeID   = strings.NewReplacer("%3A", "%253A", "%25", "%2525", ":", "%3A")
	unescapeID = strings.NewReplacer("%3A", ":", "%25", "%")
)

// typeID returns the id of a type of profiles with a name: name:sample:unit:period:unit.
func typeID(name string, t profile.Type) string {
	parts := []string{cmp.Or(name, unnamed), t.Sample, t.SampleUnit, t.Period, t.PeriodUnit}
	for i, p := range parts {
		parts[i] = escapeID.Replace(p)
	}
	return strings.Join(parts, ":")
}

// parseTypeID is the inverse of typeID, but for profiles without a name.
func parseTypeID(id string) (name string, t profile.Type, err error) {
	parts := strings.Split(id, ":")
	if len(parts) != 5 || parts[0] == "" {
		return "", t, fmt.Errorf("want name:sample:unit:period:unit, not %s", quoted(id))
	}
	for i, p := range parts {
		parts[i] = unescapeID.Replace(p)
	}
	return parts[0], profile.Type{Sample: parts[1], SampleUnit: parts[2], Period: parts[3], PeriodUnit: parts[4]}, nil
}

// nameMatcher returns the condition on profiles with the name of a type id.
func nameMatcher(name string) selector.Matcher {
	if name == unnamed {
		return selector.Matcher{Name: profile.NameLabel, Op: selector.OpPattern, Value: "|" + unnamed}
	}
	return selector.Matcher{Name: profile.NameLabel, Value: name}
}

// typeLabels returns the labels that name a type of profiles with a name. Answers have them beside
// those of profiles, and selectors and groups can refer to them.
func typeLabels(name string, t profile.Type) []profile.Label {
	return []profile.Label{
		{Name: "__period_type__", Value: t.Period},
		{Name: "__period_unit__", Value: t.PeriodUnit},
		{Name: typeLabel, Value: typeID(name, t)},
		{Name: "__type__", Value: t.Sample},
		{Name: "__unit__", Value: t.SampleUnit},
	}
}

// typeLabel is the label of typeLabels with the id of a type.
const typeLabel = "__profile_type__"

// isTypeLabel reports whether a name is that of a label of typeLabels.
func isTypeLabel(name string) bool {
	return slices.ContainsFunc(typeLabels("", profile.Type{}), func(l profile.Label) bool { return l.Name == name })
}

// selection is the selector of a question: conditions on labels of profiles and of samples, and on
// those of typeLabels.
type selection struct{ labels, types []selector.Matcher }

// parseSelection parses a selector. Text without matchers selects everything. An id of a type can be in
// front of the braces, or alone.
func parseSelection(text string) (s selection, err error) {
	text = strings.TrimSpace(text)
	head, _, _ := strings.Cut(text, "{")
	if name, t, err := parseTypeID(strings.TrimSpace(head)); err == nil {
		s.types = append(s.types, selector.Matcher{Name: typeLabel, Value: typeID(name, t)})
		text = text[len(head):]
	}
	if text == "" {
		return s, nil
	}
	all, err := selector.Parse(text)
	if err != nil {
		return s, fmt.Errorf("%s: %w", quoted(text), err)
	}
	for _, m := range all {
		if isTypeLabel(m.Name) {
			s.types = append(s.types, m)
		} else {
			s.labels = append(s.labels, m)
		}
	}
	return s, nil
}

// hasType reports whether the conditions on the type hold for profiles with a name, or without.
func (s *selection) hasType(name string, t profile.Type) bool {
	for _, m := range s.types {
		if !m.Matches(valueOf(typeLabels(name, t), m.Name)) {
			return false
		}
	}
	return true
}

// selectorOf returns a selector of matchers.
func selectorOf(matchers []selector.Matcher) (profile.Selector, error) {
	ops := [...]string{selector.OpEqual: "=", selector.OpNotEqual: "!=", selector.OpPattern: "=~", selector.OpNotPattern: "!~"}
	texts := make([]string, len(matchers))
	for i, m := range matchers {
		texts[i] = strconv.Quote(m.Name) + ops[m.Op] + strconv.Quote(m.Value)
	}
	return profile.ParseSelector("{" + strings.Join(texts, ",") + "}")
}

// millis sets the bounds of a query, both inclusive, in Unix milliseconds. 0 is no bound.
func millis(q *profile.Query, start, end int64) error {
	const most = math.MaxInt64/int64(time.Millisecond) - 1
	switch {
	case start < 0 || start > most || end < 0 || end > most:
		return invalid("start and end: want Unix milliseconds, not %d and %d", start, end)
	case end != 0 && end < start:
		return invalid("start and end: %d is after %d", start, end)
	}
	q.From = start * int64(time.Millisecond)
	if end != 0 {
		q.To = (end + 1) * int64(time.Millisecond)
	}
	return nil
}

// parameters are those of a question in a URL: GET /pprof and GET /arrow.
type parameters struct {
	query profile.Query
	typ   string // as DB.FindType reads it; "" is any
	rest  url.Values
}

// parseParameters parses the query of a URL. Names beside those of questions and some others are
// errors, so that a misspelt one does not select everything.
func (s *Server) parseParameters(raw string, others ...string) (p parameters, err error) {
	if p.rest, err = url.ParseQuery(raw); err != nil {
		return p, invalid("query: %w", err)
	}
	for name, values := range p.rest {
		if !slices.Contains([]string{"type", "selector", "from", "to"}, name) && !slices.Contains(others, name) {
			return p, invalid("parameter %s is not known", quoted(name))
		}
		if len(values) > 1 {
			return p, invalid("parameter %s is given twice", quoted(name))
		}
	}
	p.query.MaxBytes, p.query.Times = s.limits.QueryBytes, s.times
	sel, err := parseSelection(p.rest.Get("selector"))
	if err == nil && len(sel.types) > 0 {
		err = errors.New("a type is chosen by the parameter type")
	}
	p.typ = p.rest.Get("type")
	if name, t, err := parseTypeID(p.typ); err == nil {
		p.typ, p.query.SumKinds = t.String(), name != unnamed // as in ask
		sel.labels = append(sel.labels, nameMatcher(name))
	}
	if err == nil {
		p.query.Selector, err = selectorOf(sel.labels)
	}
	if err != nil {
		return p, invalid("parameter selector: %w", err)
	}
	if p.query.From, err = s.parseBound("from", p.rest.Get("from")); err != nil {
		return p, err
	}
	if p.query.To, err = s.parseBound("to", p.rest.Get("to")); err != nil {
		return p, err
	}
	if p.query.To != 0 && p.query.To <= p.query.From {
		return p, invalid("parameters from and to: %s is not before %s", p.rest.Get("from"), p.rest.Get("to"))
	}
	return p, nil
}

// parseBound parses a time: RFC 3339, Unix milliseconds, or a duration before now such as -1h.
func (s *Server) parseBound(name, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	if d, err := time.ParseDuration(text); err == nil && strings.HasPrefix(text, "-") {
		return s.opts.Now().Add(d).UnixNano(), nil
	}
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil && t.Year() >= 1970 && t.Year() < 2262 {
		return t.UnixNano(), nil
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 && n <= math.MaxInt64/int64(time.Millisecond) {
		return n * int64(time.Millisecond), nil
	}
	return 0, invalid("parameter %s: want a time such as 2026-01-31T12:00:00Z, -1h, or Unix milliseconds, not %s", name, quoted(text))
}
