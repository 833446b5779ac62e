package question

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"

	"github.com/granarydb/granary/internal/selector"
	"github.com/granarydb/granary/server/internal/fault"
)

// RenderedNames are the parameters of GET /pyroscope/render that choose profiles. In GET /pyroscope/render-diff they
// have the same names behind the name of a side, such as leftQuery.
var RenderedNames = [3]string{"query", "from", "until"}

// Rendered returns the query in three parameters of a URL as a message of querier.v1. names are those of
// RenderedNames. The first is the id of a type, or a short name, and a selector in braces, and the others are times as for Bound, or
// dates of eight digits. until can be missing, and is now then.
func (r *Reader) Rendered(of url.Values, names [3]string, newest func() (int64, error)) (*querierv1.SelectMergeStacktracesRequest, error) {
	m, err := renderedType(names[0], of.Get(names[0]))
	if err != nil {
		return nil, err
	}
	if m.Start, err = r.millis(names[1], of.Get(names[1]), newest); err != nil {
		return nil, err
	}
	until := of.Get(names[2])
	if until == "" {
		until = "now"
	}
	if m.End, err = r.millis(names[2], until, newest); err != nil {
		return nil, err
	}
	switch {
	case m.Start == 0:
		return nil, fault.Invalid("parameter %s: want a time such as now-1h", names[1])
	case m.Start > m.End:
		return nil, fault.Invalid("parameters %s and %s: %s is after %s", names[1], names[2], fault.Quoted(of.Get(names[1])), fault.Quoted(until))
	}
	return m, nil
}

// renderedType returns a message about the type and the selector of a parameter.
func renderedType(name, text string) (*querierv1.SelectMergeStacktracesRequest, error) {
	short, _, _ := strings.Cut(text, "{")
	if IsShort(short) {
		text = text[len(short):]
	}
	s, err := ParseSelection(text)
	if err != nil {
		return nil, fault.Invalid("parameter %s: %w", name, err)
	}
	if IsShort(short) && len(s.Types) == 0 {
		return &querierv1.SelectMergeStacktracesRequest{ProfileTypeID: short, LabelSelector: text}, nil
	}
	if len(s.Types) != 1 || s.Types[0].Name != typeLabel || s.Types[0].Op != selector.OpEqual {
		return nil, fault.Invalid("parameter %s: want the id of a type and a selector, such as process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name=\"shop\"}, not %s", name, fault.Quoted(text))
	}
	return &querierv1.SelectMergeStacktracesRequest{ProfileTypeID: s.Types[0].Value, LabelSelector: text}, nil
}

// millis is Bound in milliseconds, which also reads dates of eight digits.
func (r *Reader) millis(name, text string, newest func() (int64, error)) (int64, error) {
	if day, err := time.Parse("20060102", text); err == nil {
		text = day.Format(time.DateOnly)
	}
	nanos, err := r.Bound(name, text, newest)
	return nanos / int64(time.Millisecond), err
}

// RenderedTimes returns two times of a URL in milliseconds. A missing time is 0, which means no bound.
func (r *Reader) RenderedTimes(of url.Values, newest func() (int64, error)) (from, until int64, err error) {
	if from, err = r.millis(RenderedNames[1], of.Get(RenderedNames[1]), newest); err == nil {
		until, err = r.millis(RenderedNames[2], of.Get(RenderedNames[2]), newest)
	}
	return from, until, err
}

// NodesNames are two names of the parameter for the greatest number of functions.
var NodesNames = [2]string{"max-nodes", "maxNodes"}

// RenderedNodes returns the number of functions that a URL asks for, or the greatest number if it asks for more.
func (r *Reader) RenderedNodes(of url.Values) (int, error) {
	for _, name := range NodesNames {
		text := strings.TrimSpace(of.Get(name))
		if text == "" {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return 0, fault.Invalid("parameter %s: want a number, not %s", name, fault.Quoted(text))
		}
		return r.Nodes(min(n, int64(r.MaxNodes)))
	}
	return r.Nodes(0)
}
