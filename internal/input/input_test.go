package input_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/granarydb/granary/internal/input"
	"github.com/granarydb/granary/profile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func write(t *testing.T, name, text string) string {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestNames(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b.pb.gz", "a.PROF", "sub/c.pprof", "sub/d.pb", "notes.txt", "x.svg"} {
		write(t, filepath.Join(dir, name), "")
	}
	write(t, filepath.Join(dir, "cpu.out"), "\x48\x80\x01\x0a\x04\x08\x01\x10\x02")   // a time, a sample type
	write(t, filepath.Join(dir, "mem.raw"), "\x0a\x04\x08\x01\x10\x02\x12\x00")       // a sample type
	write(t, filepath.Join(dir, "cut"), "\x0a\x7f\x08\x01\x10\x02")                   // of no sample type's length
	write(t, filepath.Join(dir, "list.txt"), "\x0a\x0a\x0a and then words of a text") // lines
	others := write(t, filepath.Join(dir, "others", "a.bin"), "memray\x00\x0c")
	write(t, filepath.Join(dir, "a.jfr"), "FLR\x00\x00\x02")
	write(t, filepath.Join(dir, "others", "empty"), "")
	nothing := filepath.Join(dir, "nothing")
	if err := errors.Join(os.Mkdir(nothing, 0o755), os.Symlink(filepath.Join(dir, "gone"), filepath.Join(dir, "z.pb"))); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		arg   string
		want  []string
		wrong string // text of the error, "" for none
	}{
		{dir, []string{"a.PROF", "a.jfr", "b.pb.gz", "cpu.out", "mem.raw", "sub/c.pprof", "sub/d.pb", "z.pb"}, ""},
		{filepath.Join(dir, "notes.txt"), []string{"notes.txt"}, ""},
		{nothing, nil, "no profiles in this directory: it has no files"},
		{filepath.Dir(others), nil, "of its files (2), none begins as a profile or has a name that ends in .gz, .pb, .pprof, .prof; " + others + ": it is a recording of Python"},
		{filepath.Join(dir, "gone"), nil, "no such file"},
		{"-", []string{"-"}, ""},
		{"http://localhost/x", []string{"http://localhost/x"}, ""},
		{"http://localhost", []string{"http://localhost/debug/pprof/profile"}, ""},
		{"localhost:6060", []string{"http://localhost:6060/debug/pprof/profile"}, ""},
		{"[::1]:6060/?seconds=5", []string{"http://[::1]:6060/debug/pprof/profile?seconds=5"}, ""},
		{"localhost:6060/debug/pprof/heap", []string{"http://localhost:6060/debug/pprof/heap"}, ""},
		{filepath.Join(dir, "gone:port"), nil, "no such file"},
	} {
		var got []string
		var wrong error
		for name, err := range input.Names(tc.arg) {
			if err != nil {
				wrong = err
				continue
			}
			if rel, err := filepath.Rel(dir, name); err == nil {
				name = filepath.ToSlash(rel)
			}
			got = append(got, name)
		}
		if !slices.Equal(got, tc.want) || (wrong == nil) != (tc.wrong == "") {
			t.Errorf("%s: %q, %v; want %q, %q", tc.arg, got, wrong, tc.want, tc.wrong)
		}
		if wrong != nil && (!strings.Contains(wrong.Error(), tc.wrong) || !strings.Contains(wrong.Error(), tc.arg)) {
			t.Errorf("%s: %v, want its name and %q", tc.arg, wrong, tc.wrong)
		}
		for range input.Names(tc.arg) {
			break // an abandoned iterator stops
		}
		if is := input.Is(tc.arg); is != (tc.wrong != "no such file") {
			t.Errorf("%s: Is says %v", tc.arg, is)
		}
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	old := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	name := write(t, filepath.Join(dir, "a.pb"), "profile")
	if err := os.Chtimes(name, old, old); err != nil {
		t.Fatal(err)
	}
	if data, at, err := new(input.Web).Read(t.Context(), name); string(data) != "profile" || !at.Equal(old) || err != nil {
		t.Errorf("%q of %v, %v", data, at, err)
	}
	if _, _, err := new(input.Web).Read(t.Context(), filepath.Join(dir, "gone")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	large := write(t, filepath.Join(dir, "large.pb"), "")
	if err := os.Truncate(large, input.MaxBytes+1); err != nil {
		t.Fatal(err)
	}
	if _, _, err := new(input.Web).Read(t.Context(), large); !errors.Is(err, profile.ErrTooLarge) || !strings.Contains(err.Error(), large) {
		t.Error(err)
	}
	if err := os.Truncate(large, input.MaxBytes); err != nil {
		t.Fatal(err)
	}
	if data, _, err := new(input.Web).Read(t.Context(), large); len(data) != input.MaxBytes || err != nil {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}

// TestOpen reads a file in gzip from the disk and from a server as a stream, and counts what it took of it.
func TestOpen(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(bytes.Repeat([]byte("PERFILE2"), 50_000)); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	name := write(t, filepath.Join(t.TempDir(), "a.gz"), packed.String())
	server := httptest.NewServer(http.FileServer(http.Dir(filepath.Dir(name))))
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	t.Cleanup(server.Close)
	for of, size := range map[string]int64{name: int64(packed.Len()), server.URL + "/a.gz": -1} {
		s, err := new(input.Web).Open(t.Context(), of)
		if err != nil {
			t.Fatal(err)
		}
		if what := s.Describe(); !strings.Contains(what, "perf") || s.Size != size {
			t.Errorf("%s: %q, %d bytes", of, what, s.Size)
		}
		data, err := io.ReadAll(s)
		if err != nil || len(data) != 400_000 || s.Done() != int64(packed.Len()) {
			t.Errorf("%s: %d bytes from %d, %v", of, len(data), s.Done(), err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	for of, want := range map[string]string{server.URL + "/b": "404", filepath.Join(t.TempDir(), "b"): "no such file"} {
		if _, err := new(input.Web).Open(t.Context(), of); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", of, err, want)
		}
	}
}

// A context ends the fetch from a server that does not answer.
func TestReadCancelled(t *testing.T) {
	asked := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	}))
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	t.Cleanup(server.Close)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { // ends with the request, for which the test waits
		<-asked
		cancel()
	}()
	if _, _, err := new(input.Web).Read(ctx, server.URL); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), server.URL) {
		t.Error(err)
	}
}

func TestFolderLabels(t *testing.T) {
	for _, tc := range []struct {
		name string
		want map[string]string
	}{
		{"a=b", nil},
		{"cpu.pb.gz", nil},
		{"http://host/a=b/c", nil},
		{"job=api/pod=x=y/cpu.pb", map[string]string{"job": "api", "pod": "x=y"}},
		{"/data/job=old/job=new/=x/1a=x/a b=x/z=/cpu.pb", map[string]string{"job": "new"}},
		{"k8s.pod-name=\xff/cpu.pb", map[string]string{"k8s.pod-name": "\ufffd"}},
	} {
		if got := input.FolderLabels(tc.name); !maps.Equal(got, tc.want) {
			t.Errorf("%q: %v, want %v", tc.name, got, tc.want)
		}
	}
}

func TestLabels(t *testing.T) {
	var labels input.Labels
	for _, tc := range [][2]string{{"a", "a"}, {"b\xff", "b\ufffd"}, {"a", "a (2)"}, {"b\xfe", "b\ufffd (2)"}, {"a", "a (3)"}, {"a (4)", "a (4)"}, {"a", "a (5)"}, {"a (2)", "a (2) (2)"}} {
		if got := labels.Of(tc[0]); got != tc[1] {
			t.Errorf("%q: %q, want %q", tc[0], got, tc[1])
		}
	}
}
