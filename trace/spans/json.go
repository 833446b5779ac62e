package spans

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/granarydb/granary/internal/protobuf"
)

// number is a whole number, which OTLP writes as a text because it has 64 bits.
type number uint64

// UnmarshalJSON implements json.Unmarshaler. Anything but a whole number is 0.
func (n *number) UnmarshalJSON(data []byte) error {
	v, _ := strconv.ParseUint(string(bytes.Trim(data, `"`)), 10, 64)
	*n = number(v)
	return nil
}

// resourceSpans is a resource with its spans. Older files have snake case, and other names of scopes.
type resourceSpans struct {
	Resource struct {
		Attributes []struct {
			Key   string
			Value struct{ StringValue string }
		}
	}
	ScopeSpans                  []scopeSpans
	InstrumentationLibrarySpans []scopeSpans
	ScopeSpansSnake             []scopeSpans `json:"scope_spans"`
}

type scopeSpans struct{ Spans []jsonSpan }

type jsonSpan struct {
	TraceID           string
	SpanID            string
	ParentSpanID      string
	Name              string
	StartTimeUnixNano number
	EndTimeUnixNano   number
	Events            []struct {
		TimeUnixNano number
		Name         string
	}
	Links []struct{}
}

// readJSON reads requests, one after the other.
func (f *forest) readJSON(ctx context.Context, in io.Reader) error {
	bounded := &bounded{in: in, left: protobuf.MaxMessage}
	d := json.NewDecoder(bounded)
	for {
		switch token, err := d.Token(); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return f.jsonError(bounded, d, err)
		case token != json.Delim('{'):
			return fmt.Errorf("%w: byte %d: no object", ErrFormat, d.InputOffset())
		}
		if err := f.request(ctx, bounded, d); err != nil {
			return f.jsonError(bounded, d, err)
		}
	}
}

// jsonError makes the decoder's errors those of the file, and leaves the input's and the context's.
func (f *forest) jsonError(in *bounded, d *json.Decoder, err error) error {
	switch {
	case in.err != nil && !errors.Is(in.err, io.EOF):
		return in.err
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, ErrFormat):
		return err
	}
	return fmt.Errorf("%w: byte %d: %w", ErrFormat, d.InputOffset(), err)
}

// request reads an object behind its brace.
func (f *forest) request(ctx context.Context, in *bounded, d *json.Decoder) error {
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		if key != "resourceSpans" && key != "resource_spans" {
			var other json.RawMessage
			if err := d.Decode(&other); err != nil {
				return err
			}
			continue
		}
		switch token, err := d.Token(); {
		case err != nil:
			return err
		case token != json.Delim('['):
			return fmt.Errorf("%w: byte %d: no list of resources", ErrFormat, d.InputOffset())
		}
		for d.More() {
			if err := ctx.Err(); err != nil {
				return err
			}
			in.left = protobuf.MaxMessage
			var r resourceSpans
			if err := d.Decode(&r); err != nil {
				return err
			}
			f.jsonResource(&r)
		}
		if _, err := d.Token(); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

func (f *forest) jsonResource(r *resourceSpans) {
	name := ""
	for _, a := range r.Resource.Attributes {
		if a.Key == "service.name" {
			name = a.Value.StringValue
		}
	}
	of := f.service([]byte(name))
	for _, scopes := range [][]scopeSpans{r.ScopeSpans, r.InstrumentationLibrarySpans, r.ScopeSpansSnake} {
		for _, scope := range scopes {
			for i := range scope.Spans {
				f.jsonSpan(of, &scope.Spans[i])
			}
		}
	}
}

func (f *forest) jsonSpan(of *service, s *jsonSpan) {
	id := spanID{s.TraceID, s.SpanID}
	parent := spanID{trace: s.TraceID}
	if strings.Trim(s.ParentSpanID, "0") != "" {
		parent.span = s.ParentSpanID
	}
	f.take(of, id, parent, f.Text([]byte(s.Name)), uint64(s.StartTimeUnixNano), uint64(s.EndTimeUnixNano))
	for _, e := range s.Events {
		f.instant(of, f.Text([]byte(e.Name)), uint64(e.TimeUnixNano))
	}
	f.Outcome.LeaveOut("links between spans", len(s.Links))
}

// bounded reads at most protobuf.MaxMessage bytes between two resources, because the decoder keeps a resource in memory.
type bounded struct {
	in   io.Reader
	left int
	err  error
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (n int, err error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("%w: a resource of more than %d bytes", ErrFormat, protobuf.MaxMessage)
	}
	n, err = b.in.Read(p[:min(len(p), b.left)])
	b.left -= n
	b.err = err
	return n, err
}
