package server

import (
	"fmt"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/granarydb/granary/profile"
)

// unnamed is the name in type ids of profiles without the label __name__.
const unnamed = "profile"

// typeID returns the id of a type of profiles with a name: name:sample:unit:period:unit.
func typeID(name string, t profile.Type) string {
	if name == "" {
		name = unnamed
	}
	return name + ":" + t.String()
}

// parseTypeID is the inverse of typeID.
func parseTypeID(id string) (name string, t profile.Type, err error) {
	parts := strings.Split(id, ":")
	if len(parts) < 5 {
		return "", t, invalid("profile_typeID: want name:sample:unit:period:unit, not %s", quoted(id))
	}
	name, parts = strings.Join(parts[:len(parts)-4], ":"), parts[len(parts)-4:]
	if name == "" || parts[0] == "" {
		return "", t, invalid("profile_typeID: want a name and a sample type, not %s", quoted(id))
	}
	return name, profile.Type{Sample: parts[0], SampleUnit: parts[1], Period: parts[2], PeriodUnit: parts[3]}, nil
}

// selectorOf returns a selector. An empty text selects everything.
func selectorOf(text string) (profile.Selector, error) {
	if strings.TrimSpace(text) == "" {
		return profile.Selector{}, nil
	}
	return profile.ParseSelector(text)
}

// and returns a selector with a condition more: that a label has one of some values.
func and(s profile.Selector, label string, values ...string) (profile.Selector, error) {
	matcher := label + "=" + strconv.Quote(values[0])
	if len(values) > 1 {
		patterns := make([]string, len(values))
		for i, v := range values {
			patterns[i] = regexp.QuoteMeta(v)
		}
		matcher = label + "=~" + strconv.Quote(strings.Join(patterns, "|"))
	}
	if text := s.String(); text != "" && text != "{}" {
		matcher = strings.TrimSuffix(strings.TrimPrefix(text, "{"), "}") + "," + matcher
	}
	return profile.ParseSelector("{" + matcher + "}")
}

// named restricts a selector to profiles with the name of a type id.
func named(s profile.Selector, name string) (profile.Selector, error) {
	if name == unnamed {
		return and(s, profile.NameLabel, "", name)
	}
	return and(s, profile.NameLabel, name)
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
	typ   string // as people write it; "" is any
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
	p.query.MaxBytes = s.limits.QueryBytes
	p.typ = p.rest.Get("type")
	if p.query.Selector, err = selectorOf(p.rest.Get("selector")); err != nil {
		return p, fmt.Errorf("parameter selector: %w", err)
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
