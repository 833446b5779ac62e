package debugfiles

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/granarydb/granary/internal/debuginfo"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// symbolFile returns a Breakpad file of a build id with a function at 0x1000.
func symbolFile(id, function string) string {
	module := id[6:8] + strings.Repeat("0", 30) // the first number, in the other order
	return fmt.Sprintf("MODULE Linux x86_64 %s0 prog\nINFO CODE_ID %s\nFILE 0 /src/a.c\nFUNC 1000 100 0 %s\n1000 100 7 0\n", module, id, function)
}

// idOf returns the build id of a number below 256.
func idOf(n int) string { return fmt.Sprintf("%08x%032x", n, 0) }

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func newSet(t *testing.T, opts Options) *Finder {
	t.Helper()
	s, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// name returns the functions at 0x1010 of a binary.
func (s *Finder) name(id, file string) string {
	var all []string
	for _, f := range s.Frames(Binary{file, id}, debuginfo.MappedAddress{Address: 0x1010}) {
		all = append(all, f.Function)
	}
	return strings.Join(all, " ")
}

func TestNamedFiles(t *testing.T) {
	dir := t.TempDir()
	s := newSet(t, Options{Files: []string{write(t, dir, "prog", symbolFile(idOf(1), "one"))}})
	for _, c := range []struct{ id, file, want string }{
		{idOf(1), "/bin/other", "one"},
		{idOf(2), "/bin/prog", ""}, // another build
		{"", "/bin/prog", "one"},
		{"not an id", "/bin/prog", "one"},
		{"", "/bin/other", ""},
	} {
		if got := s.name(c.id, c.file); got != c.want {
			t.Errorf("%q of %s: %q, want %q", c.id, c.file, got, c.want)
		}
	}
	for _, bad := range []string{write(t, dir, "text", "no binary"), filepath.Join(dir, "missing"), dir} {
		if _, err := New(Options{Files: []string{bad}}); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

func TestDirectories(t *testing.T) {
	dir, now := t.TempDir(), time.Unix(1_700_000_000, 0)
	write(t, dir, ".build-id/00/1.debug", symbolFile(idOf(1), "one"))
	write(t, dir, "notes.txt", "nothing")
	s := newSet(t, Options{Dirs: []string{dir, filepath.Join(dir, "missing")}, Now: func() time.Time { return now }})
	if got := s.name(idOf(1), ""); got != "one" {
		t.Errorf("the name is %q", got)
	}
	write(t, dir, "two.sym", symbolFile(idOf(2), "two"))
	write(t, dir, ".build-id/00/1.debug", symbolFile(idOf(1), "newer"))
	if got := s.name(idOf(2), ""); got != "" {
		t.Errorf("a new file is found at once: %q", got)
	}
	now = now.Add(2 * scanEvery)
	if one, two := s.name(idOf(1), ""), s.name(idOf(2), ""); one != "newer" || two != "two" {
		t.Errorf("after a while the names are %q and %q", one, two)
	}
}

// A Go program has names of its own functions, by the addresses of this process.
func TestThisProgram(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := newSet(t, Options{Files: []string{self}})
	pc := reflect.ValueOf(TestThisProgram).Pointer()
	frames := s.Frames(Binary{File: self}, debuginfo.MappedAddress{Address: uint64(pc)})
	want := runtime.FuncForPC(pc).Name()
	if len(frames) != 1 || frames[0].Function != want || filepath.Base(frames[0].File) != "set_test.go" {
		t.Errorf("the frames are %+v, want %s", frames, want)
	}
}

func TestAdd(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "symbols")
	one := symbolFile(idOf(1), "one")
	s := newSet(t, Options{Keep: dir, KeepBytes: int64(3*len(one) + 10)})
	for n := range 5 {
		k, err := s.Add(strings.NewReader(symbolFile(idOf(n), fmt.Sprintf("f%d", n))))
		if err != nil || k.BuildID != idOf(n) || k.Kind != "sym" {
			t.Fatalf("%+v, %v", k, err)
		}
		old := time.Now().Add(time.Duration(n-10) * time.Minute)
		if err := os.Chtimes(filepath.Join(dir, idOf(n)+".sym"), old, old); err != nil {
			t.Fatal(err)
		}
	}
	for n, want := range []string{"", "", "f2", "f3", "f4"} {
		if got := s.name(idOf(n), ""); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
	if _, err := s.Add(strings.NewReader(symbolFile(idOf(4), "again"))); err != nil || s.name(idOf(4), "") != "again" {
		t.Errorf("a file that is kept again: %q, %v", s.name(idOf(4), ""), err)
	}
	for text, want := range map[string]error{
		"no binary": ErrUnknown, one + strings.Repeat("FILE 1 a\n", 1000): ErrTooMuch, "MODULE a b c d": ErrUnknown, "": ErrUnknown,
	} {
		if _, err := s.Add(strings.NewReader(text)); !errors.Is(err, want) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) != 3 {
		t.Errorf("files %v: %v", left, err)
	}
}

// Files are closed while others use them, and no question gets the names of another file.
func TestFewOpenFiles(t *testing.T) {
	dir := t.TempDir()
	const files = 8
	for n := range files {
		write(t, dir, fmt.Sprint(n), symbolFile(idOf(n), fmt.Sprintf("f%d", n)))
	}
	pool := NewPool(600)
	defer func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	}()
	s := newSet(t, Options{Dirs: []string{dir}, Pool: pool})
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := range 200 {
				n := (g + i) % files
				if got, want := s.name(idOf(n), ""), fmt.Sprintf("f%d", n); got != want {
					t.Errorf("%q, want %q", got, want)
				}
			}
		})
	}
	all.Wait()
	if err := s.Problem(); err != nil || len(pool.open) >= files {
		t.Errorf("%d open files: %v", len(pool.open), err)
	}
}

func TestDebuginfod(t *testing.T) {
	asked := 0
	stop := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		switch r.URL.Path {
		case "/buildid/" + idOf(1) + "/debuginfo":
			_, _ = w.Write([]byte(symbolFile(idOf(1), "one")))
		case "/buildid/" + idOf(2) + "/executable":
			_, _ = w.Write([]byte(symbolFile(idOf(2), "two")))
		case "/buildid/" + idOf(3) + "/debuginfo":
			_, _ = w.Write([]byte(symbolFile(idOf(1), "of another")))
		case "/buildid/" + idOf(4) + "/debuginfo":
			_, _ = w.Write([]byte(symbolFile(idOf(4), strings.Repeat("x", 5000))))
		case "/buildid/" + idOf(5) + "/debuginfo":
			select { // it does not answer
			case <-r.Context().Done():
			case <-stop:
			}
		case "/buildid/" + idOf(6) + "/debuginfo":
			http.Error(w, "broken", http.StatusInternalServerError)
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	defer close(stop)
	now := time.Unix(1_700_000_000, 0)
	s := newSet(t, Options{
		Keep: filepath.Join(t.TempDir(), "kept"), Debuginfod: server.URL, Client: server.Client(), FetchBytes: 4000, FetchTime: 300 * time.Millisecond,
		Now: func() time.Time { return now },
	})
	defer server.Client().CloseIdleConnections()
	for _, id := range []string{idOf(1), idOf(2), "../../etc/passwd", idOf(1)} {
		if got := s.name(id, ""); got != "" {
			t.Errorf("%s has the name %q before it is fetched", id, got)
		}
	}
	ctx := context.Background()
	for range 2 {
		if found, err := s.FetchWanted(ctx); !found || err != nil {
			t.Errorf("fetched: %v, %v", found, err)
		}
	}
	if found, err := s.FetchWanted(ctx); found || err != nil {
		t.Errorf("more is wanted: %v", err)
	}
	if one, two := s.name(idOf(1), ""), s.name(idOf(2), ""); one != "one" || two != "two" {
		t.Errorf("the names are %q and %q", one, two)
	}
	for id, want := range map[string]error{idOf(3): ErrUnknown, idOf(4): ErrTooMuch, idOf(5): context.DeadlineExceeded, idOf(9): ErrNotFound, "../x": ErrUnknown} {
		if err := s.Fetch(ctx, id); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", id, err, want)
		}
	}
	if err := s.Fetch(ctx, idOf(6)); err == nil || !strings.Contains(err.Error(), "500") {
		t.Errorf("a broken server: %v", err)
	}
	before := asked
	s.name(idOf(9), "")
	if found, _ := s.FetchWanted(ctx); found || asked != before {
		t.Error("a build id that the server does not know is asked for again at once")
	}
	now = now.Add(2 * retryAfter)
	s.name(idOf(9), "")
	if found, err := s.FetchWanted(ctx); !found || !errors.Is(err, ErrNotFound) {
		t.Errorf("it is not asked for again later: %v", err)
	}
}
