package webpprof

import (
	"context"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func etcd(t *testing.T) *profile.Profile {
	t.Helper()
	f, err := os.Open("../../testdata/profiles/etcd/cpu-1.pb.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := profile.Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestRender makes each page, and looks for a function in it. The profile stays as it was.
func TestRender(t *testing.T) {
	p := etcd(t)
	before := p.String()
	for _, page := range Pages {
		a, err := Render(t.Context(), p, page, url.Values{"si": {"cpu"}}, 1<<24)
		if err != nil {
			t.Fatal(err)
		}
		want := 200
		if _, err := exec.LookPath("dot"); page == "graph" && err != nil {
			want = 501 // without graphviz
		}
		if a.Status != want || want == 200 && (!strings.HasPrefix(a.Type, "text/html") || !strings.Contains(string(a.Body), "runtime.mcall")) {
			t.Errorf("%s: status %d, %s, %.200s", page, a.Status, a.Type, a.Body)
		}
	}
	if p.String() != before {
		t.Error("the profile has changed")
	}
	a, err := Render(t.Context(), p, "peek", url.Values{"f": {"runtime[.]schedule"}}, 1<<24)
	if err != nil || !strings.Contains(string(a.Body), "runtime.findRunnable") {
		t.Errorf("%v: no callee of runtime.schedule: %s", err, a.Body)
	}
	if a, err = Render(t.Context(), p, "top", url.Values{"f": {"("}}, 1<<24); err != nil || a.Status == 200 && !strings.Contains(string(a.Body), "missing closing") {
		t.Errorf("%v: a pattern that is none has status %d", err, a.Status)
	}
}

// TestRender_Limits asks beyond each limit, and for what is not there.
func TestRender_Limits(t *testing.T) {
	p := etcd(t)
	for _, test := range []struct {
		page string
		of   url.Values
		most int64
		want error
	}{
		{"", nil, 1 << 20, ErrPage},
		{"source", nil, 1 << 20, ErrPage},
		{"disasm", nil, 1 << 20, ErrPage},
		{"saveconfig", nil, 1 << 20, ErrPage},
		{"deleteconfig", nil, 1 << 20, ErrPage},
		{"../top", nil, 1 << 20, ErrPage},
		{"/", nil, 1 << 20, ErrPage},
		{"top", url.Values{"trim": {"f"}}, 1 << 20, ErrParameter},
		{"graph", url.Values{"nf": {"0"}}, 1 << 20, ErrParameter},
		{"top", url.Values{"config": {"x"}}, 1 << 20, ErrParameter},
		{"top", url.Values{"f": {"a", "b"}}, 1 << 20, ErrParameter},
		{"graph", url.Values{"n": {"x"}}, 1 << 20, ErrParameter},
		{"graph", url.Values{"n": {"-1"}}, 1 << 20, ErrParameter},
		{"graph", url.Values{"n": {"201"}}, 1 << 20, ErrLimit},
		{"top", url.Values{"f": {strings.Repeat("a", 1001)}}, 1 << 20, ErrLimit},
		{"top", nil, 1000, ErrLimit},
	} {
		if a, err := Render(t.Context(), p, test.page, test.of, test.most); !errors.Is(err, test.want) || a != nil {
			t.Errorf("%s, %v: %v, want %v", test.page, test.of, err, test.want)
		}
	}
	if _, err := Render(t.Context(), &profile.Profile{}, "top", nil, 1<<20); err == nil {
		t.Error("a profile without types has a page")
	}
}

// TestRender_Turns makes pages at once, each of its own profile, and one that waits too long.
func TestRender_Turns(t *testing.T) {
	p := etcd(t)
	var all sync.WaitGroup
	for _, name := range []string{"first", "second", "third"} {
		other := p.Copy()
		for _, f := range other.Function {
			f.Name = name + "." + f.Name
		}
		all.Go(func() {
			for range 2 {
				a, err := Render(t.Context(), other, "top", nil, 1<<24)
				if err != nil || a.Status != 200 || !strings.Contains(string(a.Body), name+".runtime") {
					t.Errorf("%s: %v", name, err)
				}
				for _, wrong := range []string{"first", "second", "third"} {
					if wrong != name && strings.Contains(string(a.Body), wrong+".runtime") {
						t.Errorf("%s has functions of %s", name, wrong)
					}
				}
			}
		})
	}
	all.Wait()
	turn <- struct{}{}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := Render(ctx, p, "top", nil, 1<<24); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	<-turn
}

// TestRender_Files has settings, a binary and a source that pprof would show, and a profile that names other files: no
// page has anything of them, and none is written.
func TestRender_Files(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"pprof/settings.json":        `{"configs":[{"name":"secret-config"}]}`,
		"pprof/binaries/id/secret-a": "binary",
	} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"XDG_CONFIG_HOME", "HOME", "PPROF_TMPDIR", "TMPDIR"} {
		t.Setenv(name, dir)
	}
	p := etcd(t)
	p.Mapping[0].BuildID, p.Mapping[0].File = "id/../*", "secret-a"
	for _, f := range p.Function {
		f.Filename = filepath.Join(dir, "pprof/settings.json")
	}
	for _, page := range []string{"top", "peek", "flamegraph"} {
		a, err := Render(t.Context(), p, page, nil, 1<<24)
		if err != nil || a.Status != 200 {
			t.Fatalf("%s: %v", page, err)
		}
		for _, secret := range []string{"secret-config", "build-id mismatch"} {
			if strings.Contains(string(a.Body), secret) {
				t.Errorf("%s has %s", page, secret)
			}
		}
	}
	if got := os.Getenv("XDG_CONFIG_HOME"); got != dir {
		t.Errorf("the environment has changed: %s", got)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("%v: files were written: %v", err, entries)
	}
}

// TestRender_Escapes makes pages of names that are markup: none is in a page as it is.
func TestRender_Escapes(t *testing.T) {
	p := etcd(t)
	for i, hostile := range []string{"<img src=x onerror=alert(1)>", "</script><script>alert(2)</script>", "\x00\u202e'\"`${x}", strings.Repeat("a", 64<<10)} {
		p.Function[i].Name, p.Function[i].SystemName, p.Function[i].Filename = hostile, hostile, hostile
	}
	p.Comments = []string{"</script><script>alert(3)</script>"}
	for _, page := range []string{"top", "peek", "flamegraph"} {
		a, err := Render(t.Context(), p, page, nil, 1<<26)
		if err != nil || a.Status != 200 {
			t.Fatalf("%s: %v", page, err)
		}
		for _, raw := range []string{"<img src=x", "<script>alert"} {
			if strings.Contains(string(a.Body), raw) {
				t.Errorf("%s has %s", page, raw)
			}
		}
	}
}
