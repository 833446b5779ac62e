//go:build unix

package serve

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/input"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server"
)

// writeProfile writes a profile of one sample of type delay with a value.
func writeProfile(t *testing.T, name string, value int64) {
	t.Helper()
	f := &pprof.Function{ID: 1, Name: "main.wait"}
	l := &pprof.Location{ID: 1, Line: []pprof.Line{{Function: f, Line: 3}}}
	p := &pprof.Profile{
		SampleType: []*pprof.ValueType{{Type: "contentions", Unit: "count"}, {Type: "delay", Unit: "nanoseconds"}},
		TimeNanos:  time.Now().UnixNano(), DurationNanos: 1e9, Function: []*pprof.Function{f}, Location: []*pprof.Location{l},
		Sample: []*pprof.Sample{{Location: []*pprof.Location{l}, Value: []int64{1, value}}},
	}
	var buf bytes.Buffer
	if err := p.Write(&buf); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, buf.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// pushed runs push with arguments and labels, and returns its exit code and output.
func pushed(t *testing.T, labels map[string]string, args ...string) (int, string) {
	t.Helper()
	var out bytes.Buffer
	cmd := NewPush("", func() (Inputs, error) {
		return Inputs{Labels: labels, Note: func(io.Writer, *input.Web, string, string) {}}, nil
	})
	return cli.Run(t.Context(), cmd, args, &out, &out), out.String()
}

// TestPush pushes the files of a folder to a server that has no room at first, and finds them there
// once, with the labels of their folders and the kind of their names.
func TestPush(t *testing.T) {
	store, err := columnstore.Open(columnstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	handle, err := server.New(store, server.Options{Tokens: server.Tokens{Write: []string{"secret"}}})
	if err != nil {
		t.Fatal(err)
	}
	var n atomic.Int32
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) == 1 { // the push is done, and its answer is lost
			handle.ServeHTTP(httptest.NewRecorder(), r)
			http.Error(w, "busy", http.StatusServiceUnavailable)
			return
		}
		handle.ServeHTTP(w, r)
	}))
	defer web.Close()
	dir, token := t.TempDir(), filepath.Join(t.TempDir(), "token")
	writeProfile(t, filepath.Join(dir, "job=api", "mutex.pb.gz"), 7)
	writeProfile(t, filepath.Join(dir, "job=db", "block-1.pb.gz"), 35)
	write(t, token, "secret\n")

	if code, out := pushed(t, map[string]string{"zone": "a"}, "--to", web.URL, "--token-file", token, dir); code != cli.ExitOK || !strings.Contains(out, "2 profiles") || strings.Count(out, "busy: trying again for 7s") != 1 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	db, err := profile.Open(store, profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = store.View(t.Context(), func(snap *columnstore.Snapshot) error {
		delay := profile.Type{Sample: "delay", SampleUnit: "nanoseconds"}
		for selector, want := range map[string]int64{
			`{job="api",zone="a",__name__="mutex"}`: 7, `{job="db",zone="a",__name__="block"}`: 35, `{zone="a"}`: 42,
		} {
			s, err := profile.ParseSelector(selector)
			if err != nil {
				return err
			}
			stacks, err := db.Merge(t.Context(), snap, delay, profile.Query{Selector: s, SumKinds: true})
			if err != nil {
				return err
			}
			if stacks.Total != want {
				t.Errorf("%s: %d, want %d", selector, stacks.Total, want)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestPush_Certificate gives up at once if the server's certificate is not trusted: another attempt gets the same.
func TestPush_Certificate(t *testing.T) {
	web := httptest.NewUnstartedServer(http.NotFoundHandler())
	web.Config.ErrorLog = log.New(io.Discard, "", 0)
	web.StartTLS()
	defer web.Close()
	name := filepath.Join(t.TempDir(), "cpu.pb.gz")
	writeProfile(t, name, 1)
	for to, want := range map[string]string{
		web.URL: "certificate",
		strings.Replace(web.URL, "https", "https+insecure", 1): "404 Not Found: no profiles are taken there: want the address of a granary serve",
		strings.Replace(web.URL, "https", "http", 1):           "Use --to " + web.URL,
	} {
		if code, out := pushed(t, nil, "--to", to, name); code != cli.ExitFailed || !strings.Contains(out, want) || strings.Contains(out, "trying again") {
			t.Errorf("%s: exit code %d: %s, want %s", to, code, out, want)
		}
	}
}

// TestPush_Errors ends with a code that tells a wrong call from a failure, and sends the files that
// can be read all the same.
func TestPush_Errors(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/locked/") {
			http.Error(w, "token: a bearer token is missing or unknown", http.StatusUnauthorized)
			return
		}
		if r.URL.Path != "/pprof" && r.URL.Path != "/below/pprof" {
			http.NotFound(w, r)
			return
		}
		if data, _ := io.ReadAll(r.Body); !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
			http.Error(w, "no profile\nat all", http.StatusBadRequest)
		}
	}))
	defer web.Close()
	dir := t.TempDir()
	writeProfile(t, filepath.Join(dir, "good.pb.gz"), 1)
	write(t, filepath.Join(dir, "bad.pb.gz"), "nothing")
	write(t, filepath.Join(dir, "empty"), "\n")
	good, token := filepath.Join(dir, "good.pb.gz"), filepath.Join(t.TempDir(), "token")
	write(t, token, "wrong")
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{dir}, cli.ExitUsage, "--to URL is missing"},
		{[]string{"--to", "localhost", dir}, cli.ExitUsage, "want the address of a server"},
		{[]string{"--to", "ftp://localhost:4040", dir}, cli.ExitUsage, "want the address of a server"},
		{[]string{"--to", strings.TrimPrefix(web.URL, "http://"), good}, cli.ExitOK, "1 profile"},
		{[]string{"--to", web.URL, "--token-file", filepath.Join(dir, "empty"), dir}, cli.ExitUsage, "want one token"},
		{[]string{"--to", web.URL, filepath.Join(dir, "none.pb.gz")}, cli.ExitFailed, "none.pb.gz"},
		{[]string{"--to", web.URL, filepath.Join(dir, "bad.pb.gz")}, cli.ExitFailed, "400 Bad Request: no profile"},
		{[]string{"--to", web.URL, dir}, cli.ExitFailed, "1 profile"},
		{[]string{"--to", web.URL, good}, cli.ExitOK, "1 profile"},
		{[]string{"--to", web.URL + "/pprof", good}, cli.ExitOK, "1 profile"},
		{[]string{"--to", web.URL + "/below/pprof/", good}, cli.ExitOK, "/below/pprof"},
		{[]string{"--to", web.URL + "/locked", good}, cli.ExitFailed, "is missing or unknown: name a file with the token to push with: --token-file FILE"},
		{[]string{"--to", web.URL + "/locked", "--token-file", token, good}, cli.ExitFailed, "unknown: that of --token-file is none to push with"},
	} {
		if code, out := pushed(t, nil, test.args...); code != test.code || !strings.Contains(out, test.want) {
			t.Errorf("%q: exit code %d, want %d: %s, want %s", test.args, code, test.code, out, test.want)
		}
	}
}

// TestByNumbers orders names as people number them.
func TestByNumbers(t *testing.T) {
	want := []string{"a", "heap-1", "heap-2", "heap-9.pb.gz", "heap-10.pb.gz", "heap-010b", "heap-99999999999999999999", "heap-x", "pod=1/heap-2", "pod=10/heap-1"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortStableFunc(got, byNumbers)
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestPush_Totals pushes profiles that count from the start of a process, and says how the server counted them.
func TestPush_Totals(t *testing.T) {
	store, err := columnstore.Open(columnstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	handle, err := server.New(store, server.Options{})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(handle)
	defer web.Close()
	dir := t.TempDir()
	for i, name := range []string{"mutex-9.pb.gz", "mutex-10.pb.gz", "mutex-11.pb.gz"} {
		writeProfile(t, filepath.Join(dir, name), int64(10*(i+1)))
		p := readProfile(t, filepath.Join(dir, name))
		p.DurationNanos = 0
		var buf bytes.Buffer
		if err := p.Write(&buf); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name), buf.String())
	}
	code, out := pushed(t, nil, "--to", web.URL, dir)
	if code != cli.ExitOK || !strings.Contains(out, "Values since the start of a process: 2 by their growth, 1 as the first of a source") {
		t.Errorf("%d: %s", code, out)
	}
}

func readProfile(t *testing.T, name string) *pprof.Profile {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	p, err := pprof.ParseData(data)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPush_Trace sends a Go execution trace to the path that keeps its states.
func TestPush_Trace(t *testing.T) {
	data, err := os.ReadFile("../../../../trace/golang/testdata/small.trace")
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "flight-1.trace")
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	var at string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { at = r.URL.Path + " " + r.URL.Query().Get("pod") }))
	defer server.Close()
	if code, text := pushed(t, map[string]string{"pod": "1"}, "--to", server.URL, name); code != cli.ExitOK || at != "/traces 1" {
		t.Errorf("exit code %d at %s: %s", code, at, text)
	}
}
