//go:build unix

package soak

import (
	"bytes"
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/goleak"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/cmd/granary/internal/serve"
	"github.com/granarydb/granary/internal/effort"
)

// asServer is the environment variable with which the program of the tests is the command granary.
const asServer = "GRANARY_TEST_SOAK"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		root := &cobra.Command{Use: "granary"}
		root.AddCommand(serve.NewServe(nil))
		os.Exit(cli.Run(ctx, root, os.Args[1:], os.Stdout, os.Stderr))
	}
	goleak.VerifyTestMain(m)
}

func testOptions(t *testing.T, dir string, seed uint64) *options {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &options{dir: dir, seed: seed, lasts: 8 * time.Second, pause: 2 * time.Second, memory: 512 << 20, program: program, env: []string{asServer + "=1"}, say: func(text string) { t.Log(text) }, log: new(bytes.Buffer)}
}

// TestSoak soaks a directory twice: the second run goes on with what the first left, and sees all of it. A value more or less in
// the ledger is a violation.
func TestSoak(t *testing.T) {
	effort.Slow(t)
	dir := filepath.Join(t.TempDir(), "db")
	for seed := range uint64(2) {
		s, err := testOptions(t, dir, 4+seed).run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(s.watch.failures) > 0 || s.watch.answers == 0 || len(s.watch.events) == 0 || len(s.watch.points) < 3 {
			t.Errorf("seed %d: %d answers, %d events, %d points, %q", seed, s.watch.answers, len(s.watch.events), len(s.watch.points), s.watch.failures)
		}
		var picture bytes.Buffer
		if err := s.watch.draw(&picture); err != nil || strings.Count(picture.String(), "<text") != 6 {
			t.Errorf("%v: %s", err, picture.String())
		}
	}
	for _, change := range []func(*account){
		func(a *account) { a.Acknowledged += a.Perhaps + 1 },  // one is lost
		func(a *account) { a.Acknowledged, a.Perhaps = 0, 0 }, // all are too much
	} {
		l, err := openLedger(dir)
		if err != nil {
			t.Fatal(err)
		}
		change(l.Ways["pprof"])
		if err := l.save(); err != nil {
			t.Fatal(err)
		}
		o := testOptions(t, dir, 9)
		o.lasts = time.Second
		s, err := o.run(t.Context())
		if err != nil || len(s.watch.failures) == 0 || !strings.Contains(s.watch.failures[0], "the sum of pprof is") {
			t.Errorf("%v: %q", err, s.watch.failures)
		}
	}
}

// TestSoak_Dead ends a run early if the server does not start again.
func TestSoak_Dead(t *testing.T) {
	effort.Slow(t)
	o := testOptions(t, filepath.Join(t.TempDir(), "db"), 7)
	o.lasts, o.pause, o.others = time.Hour, time.Second, []string{"/bin/false"}
	s, err := o.run(t.Context())
	if err != nil || len(s.watch.failures) == 0 || !strings.Contains(s.watch.failures[len(s.watch.failures)-1], "it does not start again") {
		t.Errorf("%v: %q", err, s.watch.failures)
	}
}

// TestServer_LongLines reads all that a server writes, and says with what state it ended.
func TestServer_LongLines(t *testing.T) {
	var log bytes.Buffer
	script := filepath.Join(t.TempDir(), "server")
	text := "#!/bin/sh\nhead -c 300000 /dev/zero | tr '\\0' x >&2\necho ' msg=listening url=http://127.0.0.1:1' >&2\nexit 3\n"
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil { //nolint:gosec // it is a program
		t.Fatal(err)
	}
	s := &server{program: script, log: &log}
	if err := s.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-s.done
	if err := s.end(syscall.SIGTERM, time.Minute); err == nil || !strings.Contains(err.Error(), "exit status 3") || log.Len() < 300_000 {
		t.Errorf("%v, %d bytes", err, log.Len())
	}
}

// TestSoak_Errors refuses directories without a ledger, and programs that do not serve.
func TestSoak_Errors(t *testing.T) {
	dir := t.TempDir()
	if _, err := testOptions(t, dir, 1).run(t.Context()); err == nil || !strings.Contains(err.Error(), "want a new directory") {
		t.Errorf("a directory without a ledger: %v", err)
	}
	o := testOptions(t, filepath.Join(dir, "db"), 1)
	o.program = "/bin/false"
	if _, err := o.run(t.Context()); err == nil || !strings.Contains(err.Error(), "ended at its start") {
		t.Errorf("no server: %v", err)
	}
	if err := os.WriteFile(dir+"/x.soak.json", []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := testOptions(t, dir+"/x", 1).run(t.Context()); err == nil || !strings.Contains(err.Error(), "x.soak.json") {
		t.Errorf("a ledger that is cut: %v", err)
	}
	var out bytes.Buffer
	if code := cli.Run(t.Context(), NewCommand(), nil, &out, &out); code != cli.ExitUsage || !strings.Contains(out.String(), "--db DIR is missing") {
		t.Errorf("%d: %s", code, out.String())
	}
}
