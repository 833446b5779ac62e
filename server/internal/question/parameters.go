package question

import (
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/granarydb/granary/internal/timetext"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/fault"
)

// Parameters are the parameters of GET /pprof and GET /arrow.
type Parameters struct {
	Query profile.Query
	Type  string // in the form of DB.FindType; "" means any
	Rest  url.Values
}

// ParseQuery parses the query of a URL. A name outside names is an error, because a misspelt name would
// otherwise select everything.
func ParseQuery(raw string, names []string) (url.Values, error) {
	of, err := url.ParseQuery(raw)
	if err != nil {
		return nil, fault.Invalid("query: %w", err)
	}
	for name, values := range of {
		if !slices.Contains(names, name) {
			return nil, fault.Invalid("parameter %s is not known", fault.Quoted(name))
		}
		if len(values) > 1 {
			return nil, fault.Invalid("parameter %s is given twice", fault.Quoted(name))
		}
	}
	return of, nil
}

// Choose restricts a query to the profiles of a selector and of a type, which a parameter names by its id or in
// the form of DB.FindType. It returns the type in that form.
func Choose(q *profile.Query, selector string, of url.Values, parameter string) (typ string, err error) {
	sel, err := ParseSelection(selector)
	if err != nil {
		return "", err
	}
	if len(sel.Types) > 0 {
		return "", fmt.Errorf("a type is chosen by the parameter %s", parameter)
	}
	typ = of.Get(parameter)
	if name, t, err := ParseTypeID(typ); err == nil {
		typ, q.SumKinds = t.String(), IsNamed(name)
		sel.Labels = append(sel.Labels, nameMatchers(name)...)
	}
	q.Selector, err = SelectorOf(sel.Labels)
	return typ, err
}

// Parameters parses the query of a URL with the parameters of Parameters and some others. Bounds sets the times. The name until
// means to, as in Pyroscope.
func (r *Reader) Parameters(raw string, others ...string) (p Parameters, err error) {
	if p.Rest, err = ParseQuery(raw, append(others, "type", "selector", "from", "to", "until")); err != nil {
		return p, err
	}
	if p.Rest.Has("until") {
		if p.Rest.Has("to") {
			return p, fault.Invalid("parameters to and until are one: give one")
		}
		p.Rest.Set("to", p.Rest.Get("until"))
	}
	p.Query.MaxBytes = r.QueryBytes
	if p.Type, err = Choose(&p.Query, p.Rest.Get("selector"), p.Rest, "type"); err != nil {
		return p, fault.Invalid("parameter selector: %w", err)
	}
	return p, nil
}

// Bounds sets the times of a question. newest returns the time of the newest profile. It is called for times
// that count from it.
func (r *Reader) Bounds(p *Parameters, newest func() (int64, error)) (err error) {
	if p.Query.From, err = r.Bound("from", p.Rest.Get("from"), newest); err != nil {
		return err
	}
	if p.Query.To, err = r.Bound("to", p.Rest.Get("to"), newest); err != nil {
		return err
	}
	if p.Query.To != 0 && p.Query.To <= p.Query.From {
		return fault.Invalid("parameters from and to: %s is not before %s", p.Rest.Get("from"), p.Rest.Get("to"))
	}
	return nil
}

// FixNow replaces a time that counts from now by the instant. The parts of a question have one now then, and
// equal texts mean equal questions.
func (r *Reader) FixNow(text string) string {
	if t, ok := timetext.Parse(text, time.UTC); ok && t.Base == timetext.Now {
		return time.Unix(0, max(1, t.At(r.Now().UnixNano()))).UTC().Format(time.RFC3339Nano)
	}
	return text
}

// Bound parses a time in the grammar of package timetext, in UTC. newest returns the newest profile's
// time, for relative times; nil means that there are no profiles. An empty text is 0. A time before 1970
// or after 2261 is an error.
func (r *Reader) Bound(name, text string, newest func() (int64, error)) (int64, error) {
	if text == "" {
		return 0, nil
	}
	const end = 9_214_646_400_000_000_000 // the year 2262
	t, ok := timetext.Parse(text, time.UTC)
	switch {
	case text == "0": // of Unix, and not of a duration before now; the value 0 would be no bound
		return 1, nil
	case ok && t.Base == timetext.Now:
		return max(1, t.At(r.Now().UnixNano())), nil
	case ok && t.Base == timetext.Latest:
		last, err := newest()
		return max(1, t.At(last)), err
	case ok && t.Base == timetext.Unix && t.Nanos >= 0 && t.Nanos < end:
		return max(1, t.Nanos), nil
	}
	return 0, fault.Invalid("parameter %s: want a time such as 2026-01-31T12:00:00Z, -1h, latest-1h, or Unix seconds or milliseconds, not %s", name, fault.Quoted(text))
}
