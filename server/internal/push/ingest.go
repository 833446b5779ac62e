package push

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/granarydb/granary/internal/timetext"
	"github.com/granarydb/granary/profile/format"
	"github.com/granarydb/granary/server/internal/fault"
)

// Bounds of a multipart request.
const (
	maxParts      = 8
	MaxConfigSize = 64 << 10 // bytes of the part sample_type_config
)

// ingest handles POST /ingest: a profile of an SDK.
func (s *Pusher) ingest(w http.ResponseWriter, r *http.Request) error {
	out, err := s.take(r.Context(), r.Header, func(p *push) error { return s.readIngest(r, p) })
	if err == nil {
		out.tell(w.Header())
		w.WriteHeader(http.StatusOK)
	}
	return err
}

// readIngest reads the query and the body of a request to /ingest.
func (s *Pusher) readIngest(r *http.Request, p *push) error {
	q, err := parseQuery(r)
	if err != nil {
		return err
	}
	var in pushed
	name, names := q.Get("format"), format.Names()
	media, params, mediaErr := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if of, ok := strings.CutPrefix(media, "binary/octet-stream+"); ok && name == "" && slices.Contains(names, of) {
		name = of // as the agents say it that send trees
	}
	if name != "" && !slices.Contains(names, name) {
		return fault.Unsupported("format: %s is not taken; want %s, gzipped or not", fault.Quoted(name), strings.Join(names, ", "))
	}
	in.only = format.Name(name)
	if in.labels, err = parseAppName(q.Get("name")); err != nil {
		return err
	}
	if spy := q.Get("spyName"); spy != "" && in.labels[spyLabel] == "" {
		in.labels[spyLabel] = spy
	}
	if in.time, err = s.parseTime(q, "from"); err != nil {
		return err
	}
	if _, err = s.parseTime(q, "until"); err != nil {
		return err
	}
	if strings.HasPrefix(media, "multipart/") {
		if mediaErr != nil || params["boundary"] == "" {
			return fault.Invalid("header Content-Type: %s has no boundary", fault.Quoted(r.Header.Get("Content-Type")))
		}
		err = s.readParts(multipart.NewReader(r.Body, params["boundary"]), shareOf(r.Context()), &in)
	} else {
		in.Encoded, err = s.readEncoded(r, s.mostBody())
	}
	if text := q.Get("sampleRate"); text != "" && err == nil {
		if in.sampling.Rate, err = strconv.ParseInt(text, 10, 64); err != nil || in.sampling.Rate < 0 {
			return fault.Invalid("parameter sampleRate: want a number of samples a second, not %s", fault.Quoted(text))
		}
	}
	in.sampling.Units = q.Get("units")
	if name == "" && format.Of(in.Encoded) == "" && format.IsGroups(in.Encoded) {
		in.only = format.StackGroups // Pyroscope's default
	}
	in.size = len(in.Encoded)
	p.profiles = append(p.profiles, in)
	return err
}

// readParts reads a multipart body: the part profile, with what sample_type_config says, or the part jfr with labels, as
// Pyroscope's agent for Java sends them.
func (s *Pusher) readParts(m *multipart.Reader, sh *share, in *pushed) error {
	seen := map[string]bool{}
	for range maxParts {
		part, err := m.NextPart()
		if err == io.EOF { //nolint:errorlint // a wrapped EOF means a truncated body
			if !seen["profile"] && !seen["jfr"] {
				return fault.Invalid("body: it has no part profile, and no part jfr")
			}
			return nil
		}
		if err != nil {
			return s.unread(err)
		}
		name := part.FormName()
		if seen[name] {
			return fault.Invalid("body: part %s is there twice", fault.Quoted(name))
		}
		seen[name] = true
		switch name {
		case "profile":
			in.Encoded, err = s.readAll(part)
		case "sample_type_config":
			in.config, err = s.readConfig(part)
		case "jfr":
			in.only = format.JFR
			in.Encoded, err = s.readAll(part)
		case "labels":
			in.jfr, err = s.readLabels(part, sh)
		case "prev_profile":
			err = fault.Invalid("part prev_profile: profiles are not subtracted from one that is sent with them; leave it out: the server has the one before")
		default:
			err = fault.Invalid("part %s is not taken; profile and sample_type_config are, or jfr and labels", fault.Quoted(name))
		}
		if err != nil {
			return err
		}
	}
	return fault.Invalid("body: more than %d parts", maxParts)
}

// config is what a push says about its profile besides the labels.
type config struct {
	hint     string // for kindOf
	isDelta  bool   // its values are of a period, whatever their types
	sampling format.Sampling
}

// readConfig reads the part sample_type_config. Its type names tell mutex profiles from block profiles. Unless it says that
// a type is cumulative, the values are differences, as in the SDK for Go. Everything else is ignored.
func (s *Pusher) readConfig(part io.Reader) (c config, err error) {
	text, err := s.readAll(io.LimitReader(part, MaxConfigSize+1))
	if err != nil {
		return c, err
	}
	if len(text) > MaxConfigSize {
		return c, fault.TooLarge("a part sample_type_config of more than %d bytes", MaxConfigSize)
	}
	var types map[string]struct {
		DisplayName string `json:"display-name"`
		Cumulative  bool   `json:"cumulative"`
	}
	if err := json.Unmarshal(text, &types); err != nil {
		return c, fault.Invalid("part sample_type_config: %w", err)
	}
	c.isDelta = true
	for _, name := range []string{"block", "mutex"} {
		for _, t := range types {
			c.isDelta = c.isDelta && !t.Cumulative
			if strings.HasPrefix(t.DisplayName, name+"_") {
				c.hint = name
			}
		}
	}
	return c, nil
}

// AskedParameters are the parameters of GET /pprof. POST /pprof refuses them as labels, because a query
// with the wrong method would otherwise become a push.
var AskedParameters = []string{"type", "selector", "from", "to", "until"}

// Parameters of POST /pprof besides labels: the time of a profile without a time, and the name of its
// file, which tells mutex and block profiles apart.
const (
	timeParameter   = "time"
	originParameter = "origin"
)

// pushPprof handles POST /pprof?job=api: a profile in the body with its labels in the query.
func (s *Pusher) pushPprof(w http.ResponseWriter, r *http.Request) error {
	out, err := s.take(r.Context(), r.Header, func(p *push) error { return s.readPprof(r, p) })
	if err == nil {
		out.tell(w.Header())
		_, _ = fmt.Fprintf(w, "%d rows\n%s", out.rows, out.counted.sentence(s.FirstWhole))
	}
	return err
}

// readPprof reads the query and the body of a request to POST /pprof.
func (s *Pusher) readPprof(r *http.Request, p *push) error {
	q, err := parseQuery(r)
	if err != nil {
		return err
	}
	for _, name := range AskedParameters {
		if q.Has(name) {
			return fault.Invalid("parameter %s is one of GET /pprof, and no label of a push", name)
		}
	}
	in := pushed{labels: map[string]string{}}
	if in.time, err = s.parseTime(q, timeParameter); err != nil {
		return err
	}
	for name, values := range q {
		if len(values) > 1 {
			return fault.Invalid("parameter %s is given twice", fault.Quoted(name))
		}
		switch name {
		case timeParameter:
		case originParameter:
			in.hint = hintOf(values[0])
		default:
			in.labels[name] = values[0]
		}
	}
	in.Encoded, err = s.readEncoded(r, s.mostBody())
	in.size = len(in.Encoded)
	p.profiles = append(p.profiles, in)
	return err
}

// parseQuery parses a request's query.
func parseQuery(r *http.Request) (url.Values, error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, fault.Invalid("query: %w", err)
	}
	return q, nil
}

// parseTime parses a parameter with a time in the grammar of package timetext, or in Unix seconds or nanoseconds of any number of
// digits. The time is zero if the parameter is missing.
func (s *Pusher) parseTime(q url.Values, name string) (time.Time, error) {
	text := q.Get(name)
	if text == "" {
		return time.Time{}, nil
	}
	if t, ok := timetext.Parse(text, time.UTC); ok && t.Base != timetext.Latest {
		if at := t.At(s.Now().UnixNano()); at >= 0 {
			return time.Unix(0, at), nil
		}
	}
	const maxSeconds, minNanos = math.MaxInt64 / 1_000_000_000, 1e17 // the years 2262 and 1973
	switch n, err := strconv.ParseInt(text, 10, 64); {
	case err != nil, n < 0:
	case n <= maxSeconds:
		return time.Unix(n, 0), nil
	case n >= minNanos:
		return time.Unix(0, n), nil
	}
	return time.Time{}, fault.Invalid("parameter %s: want a Unix time in s, ms, us or ns, 2026-01-31T12:00:00Z or now-10s, not %s", name, fault.Quoted(text))
}

// readAll reads a body, or a part of it.
func (s *Pusher) readAll(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, s.unread(err)
	}
	return data, nil
}

// mostBody bounds a body without its Content-Encoding: one that is sent as it is may have Limits.Body.
func (s *Pusher) mostBody() int64 { return max(s.Limits.Body, int64(s.Limits.Profile.Bytes)) }

// readEncoded reads a body of at most `most` bytes without its Content-Encoding.
func (s *Pusher) readEncoded(r *http.Request, most int64) ([]byte, error) {
	var body io.Reader
	switch encoding := r.Header.Get("Content-Encoding"); strings.ToLower(encoding) {
	case "", "identity":
		body = r.Body
	case "gzip":
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			return nil, s.unread(err)
		}
		body = shareOf(r.Context()).reader(z)
	case "zstd":
		z, err := zstd.NewReader(r.Body, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, s.unread(err)
		}
		defer z.Close()
		body = shareOf(r.Context()).reader(z)
	case "br":
		body = shareOf(r.Context()).reader(brotli.NewReader(r.Body)) // its window has 16 MiB at most
	default:
		return nil, fault.Unsupported("header Content-Encoding: %s is not taken; gzip, zstd and br are", fault.Quoted(encoding))
	}
	data, err := s.readAll(io.LimitReader(body, most+1))
	if int64(len(data)) > most {
		return nil, fault.TooLarge("a body of more than %d bytes when it is decompressed", most)
	}
	return data, err
}

// maxWindow bounds the window of zstd, which a decoder holds beside its share: 8 MiB, as RFC 8878 recommends.
const maxWindow = 8 << 20

// unread returns the error for a body that could not be read to its end.
func (s *Pusher) unread(err error) error {
	var large *http.MaxBytesError
	var limit *fault.LimitError
	switch {
	case errors.As(err, &large):
		return fault.TooLarge("a body of more than %d bytes", large.Limit)
	case errors.As(err, &limit): // time limit, or memory of pushes
		return limit
	}
	return fault.Invalid("body: %w", err)
}
