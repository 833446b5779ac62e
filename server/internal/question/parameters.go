package question

import (
	"errors"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/fault"
)

// Parameters are those of a question in a URL: GET /pprof and GET /arrow.
type Parameters struct {
	Query profile.Query
	Type  string // as DB.FindType reads it; "" is any
	Rest  url.Values
}

// Parameters parses the query of a URL. Names beside those of questions and some others are
// errors, so that a misspelt one does not select everything.
func (r *Reader) Parameters(raw string, others ...string) (p Parameters, err error) {
	if p.Rest, err = url.ParseQuery(raw); err != nil {
		return p, fault.Invalid("query: %w", err)
	}
	for name, values := range p.Rest {
		if !slices.Contains([]string{"type", "selector", "from", "to"}, name) && !slices.Contains(others, name) {
			return p, fault.Invalid("parameter %s is not known", fault.Quoted(name))
		}
		if len(values) > 1 {
			return p, fault.Invalid("parameter %s is given twice", fault.Quoted(name))
		}
	}
	p.Query.MaxBytes = r.QueryBytes
	sel, err := ParseSelection(p.Rest.Get("selector"))
	if err == nil && len(sel.Types) > 0 {
		err = errors.New("a type is chosen by the parameter type")
	}
	p.Type = p.Rest.Get("type")
	if name, t, err := ParseTypeID(p.Type); err == nil {
		p.Type, p.Query.SumKinds = t.String(), name != Unnamed // as in Ask
		sel.Labels = append(sel.Labels, NameMatcher(name))
	}
	if err == nil {
		p.Query.Selector, err = SelectorOf(sel.Labels)
	}
	if err != nil {
		return p, fault.Invalid("parameter selector: %w", err)
	}
	if p.Query.From, err = r.Bound("from", p.Rest.Get("from")); err != nil {
		return p, err
	}
	if p.Query.To, err = r.Bound("to", p.Rest.Get("to")); err != nil {
		return p, err
	}
	if p.Query.To != 0 && p.Query.To <= p.Query.From {
		return p, fault.Invalid("parameters from and to: %s is not before %s", p.Rest.Get("from"), p.Rest.Get("to"))
	}
	return p, nil
}

// Bound parses a time: RFC 3339, Unix milliseconds, or a duration before now such as -1h.
func (r *Reader) Bound(name, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	if d, err := time.ParseDuration(text); err == nil && strings.HasPrefix(text, "-") {
		return r.Now().Add(d).UnixNano(), nil
	}
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil && t.Year() >= 1970 && t.Year() < 2262 {
		return t.UnixNano(), nil
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 && n <= math.MaxInt64/int64(time.Millisecond) {
		return n * int64(time.Millisecond), nil
	}
	return 0, fault.Invalid("parameter %s: want a time such as 2026-01-31T12:00:00Z, -1h, or Unix milliseconds, not %s", name, fault.Quoted(text))
}
