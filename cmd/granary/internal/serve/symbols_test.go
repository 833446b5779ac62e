//go:build unix

package serve

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
)

// goProfile builds a stripped Go program that profiles itself, and returns it with its profile, without the names.
func goProfile(t *testing.T, dir string) (program, bare string) {
	t.Helper()
	program, whole := filepath.Join(dir, "work"), filepath.Join(dir, "cpu.pb.gz")
	for _, args := range [][]string{
		{"go", "build", "-o", program, "-ldflags=-s -w", "../../../../internal/debuginfo/testdata/work/main.go"}, {program, whole},
	} {
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	data, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	p, err := pprof.ParseData(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range p.Location {
		l.Line = nil
	}
	var b bytes.Buffer
	if err := p.Compact().Write(&b); err != nil {
		t.Fatal(err)
	}
	bare = filepath.Join(dir, "bare.pb.gz")
	if err := os.WriteFile(bare, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return program, bare
}

// TestPushSymbols pushes a profile without names, then its program: the answers have the names, also after a restart.
func TestPushSymbols(t *testing.T) {
	dir := t.TempDir()
	db := filepath.Join(dir, "profiles.db")
	program, bare := goProfile(t, dir)
	run := start(t, "--db", db)
	if code, out := pushed(t, map[string]string{"job": "work"}, "--to", run.url, bare); code != cli.ExitOK {
		t.Fatalf("%d: %s", code, out)
	}
	named := func() bool {
		code, body := get(t, new(http.Client), run.url+"/api/v1/flame?t=cpu", "")
		if code != http.StatusOK {
			t.Fatalf("%d: %s", code, body)
		}
		return strings.Contains(body, "main.mixTwice") && strings.Contains(body, "main.spend")
	}
	if named() {
		t.Error("the server has names before they are pushed")
	}
	push := func(args ...string) (int, string) {
		var out bytes.Buffer
		return cli.Run(t.Context(), NewPushSymbols(), args, &out, &out), out.String()
	}
	if code, out := push("--to", run.url, program); code != cli.ExitOK || !strings.Contains(out, "build id ") {
		t.Fatalf("%d: %s", code, out)
	}
	if !named() {
		t.Error("the server has no names after they were pushed")
	}
	if code, out := push("--to", run.url, bare, filepath.Join(dir, "missing")); code != cli.ExitFailed || !strings.Contains(out, "begins neither") || !strings.Contains(out, "missing") {
		t.Errorf("%d: %s", code, out)
	}
	for _, args := range [][]string{{"--to", run.url}, {program}} {
		if code, out := push(args...); code != cli.ExitUsage {
			t.Errorf("%v: %d: %s", args, code, out)
		}
	}
	run.end()
	run = start(t, "--db", db)
	if !named() {
		t.Error("the names are gone after a restart")
	}
	run.end()
	run = start(t, "--in-memory", "--symbols", dir)
	if code, out := pushed(t, map[string]string{"job": "work"}, "--to", run.url, bare); code != cli.ExitOK || !named() {
		t.Errorf("%d: %s; names by --symbols: %t", code, out, named())
	}
	run.end()
}
