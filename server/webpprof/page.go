package webpprof

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/google/pprof/profile"
)

var (
	// ErrPage is returned for a page that there is not.
	ErrPage = errors.New("no page of pprof")
	// ErrParameter is returned for a parameter that a page does not take.
	ErrParameter = errors.New("parameter of a page of pprof")
	// ErrLimit is returned for a parameter or an answer beyond a limit.
	ErrLimit = errors.New("limit")
)

// Policy is the Content-Security-Policy of a page. Its scripts are in the page, and run as those of a site of their own.
const Policy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox allow-scripts allow-downloads"

// Pages are the names of all pages: the path of each below that of a profile.
var Pages = []string{"graph", "top", "peek", "flamegraph"}

const (
	maxPattern = 1000 // bytes of a parameter
	maxNodes   = 200  // of a graph
)

// parameters are those that pages take. What turns the limits on the nodes of a graph off is not among them.
var parameters = []string{
	"f", "i", "h", "s", "sf", "prunefrom", "tf", "ti", "ts", "th", "si", "g", "sort", "n", "rel", "unit", "compact",
	"noinlines", "dropneg", "showcolumns", "mean",
}

// Answer is a page.
type Answer struct {
	Status int
	Type   string // as the header Content-Type
	Body   []byte
}

// Render makes a page of a profile, which it keeps no reference to and does not change. The parameters are those that
// the links of pages have. It waits for the page before it until ctx ends. most bounds the bytes of the answer.
//
// Errors are ErrPage, ErrParameter, ErrLimit, that of ctx, and those of pprof for a profile that it cannot show. What
// pprof has to say about parameters is an answer with another status than 200.
//
// It is safe for concurrent use. A page costs some copies of the profile, and the time that pprof takes.
func Render(ctx context.Context, p *profile.Profile, page string, of url.Values, most int64) (*Answer, error) {
	if !slices.Contains(Pages, page) {
		return nil, fmt.Errorf("%w: %q", ErrPage, page)
	}
	if err := check(of); err != nil {
		return nil, err
	}
	select {
	case turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-turn }()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	pages, err := pagesOf(withoutFiles(p))
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "/"+page+"?"+of.Encode(), http.NoBody)
	if err != nil {
		return nil, err
	}
	w := &boundedWriter{most: most, header: http.Header{}, status: http.StatusOK}
	pages["/"+page].ServeHTTP(w, r)
	if w.isBeyond {
		return nil, fmt.Errorf("%w: an answer of more than %d bytes", ErrLimit, most)
	}
	return &Answer{w.status, w.header.Get("Content-Type"), w.body.Bytes()}, nil
}

// turn has a value while a page is made.
var turn = make(chan struct{}, 1)

// check returns an error for parameters that pages do not take.
func check(of url.Values) error {
	for name, values := range of {
		if !slices.Contains(parameters, name) {
			return fmt.Errorf("%w: %q is not known", ErrParameter, name)
		}
		if len(values) > 1 {
			return fmt.Errorf("%w: %s is given twice", ErrParameter, name)
		}
		if n := len(values[0]); n > maxPattern {
			return fmt.Errorf("%w: %d bytes of parameter %s, at most %d", ErrLimit, n, name, maxPattern)
		}
	}
	if text := of.Get("n"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return fmt.Errorf("%w: n: want a number of nodes, not %q", ErrParameter, text)
		}
		if n > maxNodes {
			return fmt.Errorf("%w: a graph of %d nodes, at most %d", ErrLimit, n, maxNodes)
		}
	}
	return nil
}

// withoutFiles returns a copy without the names of binaries, which pprof would look for.
func withoutFiles(p *profile.Profile) *profile.Profile {
	p = p.Copy()
	for _, m := range p.Mapping {
		m.BuildID = ""
	}
	return p
}

// boundedWriter is an answer in memory, up to a number of bytes.
type boundedWriter struct {
	most     int64
	isBeyond bool
	header   http.Header
	status   int
	body     bytes.Buffer
}

// Header implements http.ResponseWriter.
func (w *boundedWriter) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *boundedWriter) WriteHeader(status int) { w.status = status }

// Write implements http.ResponseWriter.
func (w *boundedWriter) Write(b []byte) (int, error) {
	if w.isBeyond = w.isBeyond || int64(w.body.Len()+len(b)) > w.most; w.isBeyond {
		return 0, ErrLimit
	}
	return w.body.Write(b)
}
