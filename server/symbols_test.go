package server

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/columnstore"
)

const bareID = "abcdef0123456789abcdef0123456789abcdef01"

// symbolFile is a Breakpad file of a build id with a function at 0x1000.
func symbolFile(id, function string) []byte {
	guid := id[6:8] + id[4:6] + id[2:4] + id[:2] + id[10:12] + id[8:10] + id[14:16] + id[12:14] + id[16:32]
	return fmt.Appendf(nil, "MODULE Linux x86_64 %s0 shop\nINFO CODE_ID %s\nFILE 0 /src/shop.c\nFUNC 1000 100 0 %s\n1000 100 7 0\n", strings.ToUpper(guid), strings.ToUpper(id), function)
}

// bareProfile is a profile with an address alone.
func bareProfile(t *testing.T, id string, at time.Time) []byte {
	t.Helper()
	m := &pprof.Mapping{ID: 1, Start: 0x400000, Limit: 0x500000, Offset: 0x1000, File: "/bin/shop", BuildID: id}
	l := &pprof.Location{ID: 1, Mapping: m, Address: 0x400010}
	cpu := &pprof.ValueType{Type: "cpu", Unit: "nanoseconds"}
	p := &pprof.Profile{
		SampleType: []*pprof.ValueType{cpu}, PeriodType: cpu, Mapping: []*pprof.Mapping{m}, Location: []*pprof.Location{l},
		Sample: []*pprof.Sample{{Value: []int64{5}, Location: []*pprof.Location{l}}}, TimeNanos: at.UnixNano(),
	}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// functions returns the functions of a server's CPU profile.
func (r *receiver) functions(header ...string) string {
	r.t.Helper()
	status, body := r.send(r.request(http.MethodGet, "/pprof?type=cpu", nil, header...))
	if status == http.StatusNotFound {
		return ""
	}
	p, err := pprof.ParseData([]byte(body))
	if err != nil {
		r.t.Fatalf("%d: %v", status, err)
	}
	var all []string
	for _, l := range p.Location {
		if len(l.Line) == 0 {
			all = append(all, "?")
		}
		for _, ln := range l.Line {
			all = append(all, fmt.Sprintf("%s %s:%d", ln.Function.Name, ln.Function.Filename, ln.Line))
		}
	}
	return strings.Join(all, ", ")
}

// TestSymbols pushes symbols: profiles from before get names in answers, also on the page that was asked before, those from
// after are stored with them, and another tenant has none.
func TestSymbols(t *testing.T) {
	dir := t.TempDir()
	r := newReceiver(t, Options{Symbols: SymbolOptions{Keep: filepath.Join(dir, "symbols")}, Limits: Limits{Symbols: 10_000}, Tokens: Tokens{Write: []string{"w"}}}, columnstore.Options{})
	write := []string{"Authorization", "Bearer w"}
	other := append([]string{TenantHeader, "other"}, write...)
	at := time.Now().Add(-time.Minute)
	r.want(http.StatusOK, "rows", r.request(http.MethodPost, "/pprof?job=a", bareProfile(t, bareID, at), write...))
	r.want(http.StatusOK, "rows", r.request(http.MethodPost, "/pprof?job=a", bareProfile(t, bareID, at), other...))
	flame := func() string {
		_, body := r.send(r.request(http.MethodGet, "/api/v1/flame?t=cpu", nil))
		return body
	}
	if got := r.functions(); got != "?" || !strings.Contains(flame(), "[shop]") {
		t.Errorf("before there are symbols: %s, %s", got, flame())
	}
	r.want(http.StatusUnauthorized, "token", r.request(http.MethodPost, "/symbols", symbolFile(bareID, "_ZN4shop4sellEv")))
	r.want(http.StatusOK, `{"build_id":"`+bareID+`","kind":"sym","bytes":`, r.request(http.MethodPost, "/symbols", symbolFile(bareID, "_ZN4shop4sellEv"), write...))
	const want = "_ZN4shop4sellEv /src/shop.c:7"
	if got := r.functions(); got != want || !strings.Contains(flame(), "shop::sell") {
		t.Errorf("after: %s, %s", got, flame())
	}
	if got := r.functions(TenantHeader, "other"); got != "?" {
		t.Errorf("another tenant has %s", got)
	}
	r.want(http.StatusOK, "rows", r.request(http.MethodPost, "/pprof?job=a", bareProfile(t, bareID, at.Add(time.Second)), write...))
	// Names are stored: they stay when the symbols go. Those in answers go too.
	if err := os.RemoveAll(filepath.Join(dir, "symbols")); err != nil {
		t.Fatal(err)
	}
	r.want(http.StatusOK, "kind", r.request(http.MethodPost, "/symbols", symbolFile(strings.Repeat("12", 20), "f"), write...))
	if got := r.functions(); got != "?, "+want && got != want+", ?" {
		t.Errorf("without the file: %s", got)
	}
}

// TestSymbols_Hostile sends files that are none, too many bytes, and names of tenants that may not push.
func TestSymbols_Hostile(t *testing.T) {
	dir := t.TempDir()
	r := newReceiver(t, Options{
		Symbols: SymbolOptions{Keep: dir}, Limits: Limits{Symbols: 4000, Tenants: 2},
		Tenants: map[string]TenantLimits{"anonymous": {}, "a": {}, "b": {}},
	}, columnstore.Options{})
	good := symbolFile(bareID, "f")
	for _, c := range []struct {
		status int
		text   string
		body   []byte
		header []string
	}{
		{http.StatusBadRequest, "begins neither", []byte("no binary"), nil},
		{http.StatusBadRequest, "bytes", nil, nil},
		{http.StatusBadRequest, "malformed", []byte("\x7fELF but nothing else"), nil},
		{http.StatusBadRequest, "MODULE", []byte("MODULE ../../../etc passwd"), nil},
		{http.StatusRequestEntityTooLarge, "at most 4000", append(bytes.Clone(good), make([]byte, 5000)...), nil},
		{http.StatusForbidden, "none of this server's", good, []string{TenantHeader, "stranger"}},
		{http.StatusOK, bareID, good, nil},
		{http.StatusOK, bareID, good, []string{TenantHeader, "a"}},
		{http.StatusTooManyRequests, "at most 2 tenants", good, []string{TenantHeader, "b"}},
	} {
		r.want(c.status, c.text, r.request(http.MethodPost, "/symbols", c.body, c.header...))
	}
	r.want(http.StatusMethodNotAllowed, "", r.request(http.MethodGet, "/symbols", nil))
	files, err := filepath.Glob(filepath.Join(dir, "*", "*", "*"))
	if err != nil || len(files) != 2 {
		t.Errorf("files %v: %v", files, err)
	}
	none := newReceiver(t, Options{}, columnstore.Options{})
	none.want(http.StatusNotImplemented, "keeps no symbols", none.request(http.MethodPost, "/symbols", good))
}

// TestSymbols_Found takes names from a directory and a debuginfod server.
func TestSymbols_Found(t *testing.T) {
	second := strings.Repeat("12", 20)
	debuginfod := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/buildid/"+second+"/debuginfo" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(symbolFile(second, "fetched"))
	}))
	defer debuginfod.Close()
	defer http.DefaultClient.CloseIdleConnections()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "shop.sym"), symbolFile(bareID, "found"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := newReceiver(t, Options{Symbols: SymbolOptions{Dirs: []string{dir}, Keep: t.TempDir(), Debuginfod: debuginfod.URL}}, columnstore.Options{})
	at := time.Now().Add(-time.Minute)
	for i, id := range []string{bareID, second, strings.Repeat("34", 20)} {
		r.want(http.StatusOK, "rows", r.request(http.MethodPost, "/pprof", bareProfile(t, id, at.Add(time.Duration(i)*time.Second))))
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		r.s.FetchSymbols(ctx)
		close(done)
	}()
	for range 500 {
		if strings.Contains(r.functions(), "fetched") {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	cancel()
	<-done
	got := r.functions()
	for _, want := range []string{"found /src/shop.c:7", "fetched /src/shop.c:7", "?"} {
		if !strings.Contains(got, want) {
			t.Errorf("the functions are %s, want %s", got, want)
		}
	}
}

// TestSymbols_Front sends symbols to a front, which has no place for them.
func TestSymbols_Front(t *testing.T) {
	front, err := NewFront(Nodes{URLs: []string{"http://127.0.0.1:1"}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	rec := httptest.NewRecorder()
	front.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "http://localhost/symbols", bytes.NewReader(symbolFile(bareID, "f"))))
	if rec.Code != http.StatusNotImplemented {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}
