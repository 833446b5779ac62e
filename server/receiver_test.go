package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// receiver is a server on loopback that gets pushes, and a client of it.
type receiver struct {
	t     *testing.T
	s     *Server
	store *columnstore.Store
	url   string
	http  *http.Client // HTTP/1.1
	h2c   *http.Client // HTTP/2 without TLS
}

func newReceiver(t *testing.T, opts Options, store columnstore.Options) *receiver {
	t.Helper()
	st, err := columnstore.Open(store)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return receiverOf(t, st, opts)
}

// receiverOf returns a receiver with a store that its caller closes.
func receiverOf(t *testing.T, st *columnstore.Store, opts Options) *receiver {
	t.Helper()
	s, err := New(st, opts)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(s)
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	srv.Config.Protocols = protocols
	srv.Start()
	t.Cleanup(srv.Close)
	only2 := new(http.Protocols)
	only2.SetUnencryptedHTTP2(true)
	h2c := &http.Client{Transport: &http.Transport{Protocols: only2}}
	t.Cleanup(h2c.CloseIdleConnections)
	return &receiver{t: t, s: s, store: st, url: srv.URL, http: srv.Client(), h2c: h2c}
}

// request returns a request to the server. Headers are name, value, name, value.
func (r *receiver) request(method, path string, body []byte, headers ...string) *http.Request {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path, bytes.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return req
}

// send returns the status and the text of the answer to a request, with the status of gRPC-Web.
func (r *receiver) send(req *http.Request) (int, string) {
	r.t.Helper()
	resp, err := r.http.Do(req)
	if err != nil {
		r.t.Error(err)
		return 0, ""
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Error(err)
	}
	if code := resp.Header.Get("Grpc-Status"); code != "" { // of gRPC-Web
		text = fmt.Appendf(text, "grpc-status: %s: %s", code, resp.Header.Get("Grpc-Message"))
	}
	return resp.StatusCode, string(text)
}

// want sends a request whose answer must have a status, and a text within it.
func (r *receiver) want(status int, text string, req *http.Request) {
	r.t.Helper()
	got, answer := r.send(req)
	if got != status || !strings.Contains(answer, text) {
		r.t.Errorf("%s %s: status %d: %s; want %d and %q", req.Method, req.URL.Path, got, answer, status, text)
	}
}

// wait waits until no request is in progress.
func (r *receiver) wait() {
	r.t.Helper()
	if err := r.s.Wait(r.t.Context()); err != nil {
		r.t.Error(err)
	}
}

// rows returns the number of rows in the store.
func (r *receiver) rows() int { return int(r.store.Stats().Rows) }

// sums returns the sum of each name and type over the profiles of a selector, of all tenants.
func (r *receiver) sums(selector string) map[string]int64 {
	r.t.Helper()
	sel, err := profile.ParseSelector(selector)
	if err != nil {
		r.t.Fatal(err)
	}
	sums := map[string]int64{}
	r.each(func(db *profile.DB, snap *columnstore.Snapshot) error {
		types, err := db.Types(r.t.Context(), snap)
		if err != nil {
			return err
		}
		for _, typ := range types {
			groups, err := db.MergeBy(r.t.Context(), snap, typ, profile.Query{Selector: sel, SumGauges: true}, profile.NameLabel)
			if err != nil {
				return err
			}
			for _, g := range groups {
				name := ""
				for _, l := range g.Labels {
					name = l.Value
				}
				sums[name+" "+typ.Sample+" "+typ.SampleUnit] += g.Stacks.Total
			}
		}
		return nil
	})
	return sums
}

// each calls a function with the profiles of each tenant.
func (r *receiver) each(f func(*profile.DB, *columnstore.Snapshot) error) {
	r.t.Helper()
	for _, tenant := range r.s.tenants.all() {
		db := tenant.source.DB()
		if err := r.store.View(r.t.Context(), func(snap *columnstore.Snapshot) error { return f(db, snap) }); err != nil {
			r.t.Fatal(err)
		}
	}
}

// labels returns the labels of all series of all tenants, each once, as {a="b", c="d"}.
func (r *receiver) labels() []string {
	r.t.Helper()
	found := map[string]bool{}
	r.each(func(db *profile.DB, snap *columnstore.Snapshot) error {
		all, err := db.Series(r.t.Context(), snap, profile.Query{})
		for _, source := range all {
			var list []string
			for _, l := range source.Labels {
				list = append(list, fmt.Sprintf("%s=%q", l.Name, l.Value))
			}
			found["{"+strings.Join(list, ", ")+"}"] = true
		}
		return err
	})
	return slices.Sorted(maps.Keys(found))
}

// addSums adds the sums of an encoded profile, as google/pprof decodes it.
func addSums(t *testing.T, sums map[string]int64, name string, data []byte) {
	t.Helper()
	p, err := pprof.ParseData(data)
	if err != nil {
		t.Fatal(err)
	}
	for i, typ := range p.SampleType {
		for _, s := range p.Sample {
			if s.Value[i] != 0 {
				sums[name+" "+typ.Type+" "+typ.Unit] += s.Value[i]
			}
		}
	}
}

func wantSums(t *testing.T, got, want map[string]int64) {
	t.Helper()
	if len(want) == 0 || !maps.Equal(got, want) {
		t.Errorf("sums\n%v, want\n%v", got, want)
	}
}

// file returns a profile of ../testdata.
func file(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("../testdata/profiles/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// small returns a profile of one sample, gzipped.
func small(t testing.TB, value int64) []byte {
	t.Helper()
	f := &pprof.Function{ID: 1, Name: "main.work"}
	l := &pprof.Location{ID: 1, Line: []pprof.Line{{Function: f, Line: 7}}}
	return encoded(t, &pprof.Profile{
		SampleType: []*pprof.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &pprof.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 10_000_000,
		TimeNanos: time.Now().UnixNano(), DurationNanos: 1e10,
		Sample:   []*pprof.Sample{{Location: []*pprof.Location{l}, Value: []int64{1, value}}},
		Location: []*pprof.Location{l}, Function: []*pprof.Function{f},
	})
}

func encoded(t testing.TB, p *pprof.Profile) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// part is a part of a form.
type part struct {
	name string
	data []byte
}

// form returns a multipart body and its content type.
func form(t testing.TB, parts ...part) (body []byte, contentType string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, p := range parts {
		f, err := w.CreateFormFile(p.name, p.name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(p.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), w.FormDataContentType()
}

// stalled is a body that ends when the request does.
type stalled struct {
	head io.Reader
	ctx  context.Context
}

func (s stalled) Read(p []byte) (int, error) {
	if n, err := s.head.Read(p); err == nil {
		return n, nil
	}
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}

// readCloser is a body whose end nobody waits for.
type readCloser struct{ io.Reader }

func (readCloser) Close() error { return nil }
