// Package clitest runs commands in tests and compares their output with golden files. Only
// tests import it.
package clitest

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
)

var update = flag.Bool("update", false, "write the golden files in testdata")

// A Result is the exit code and the output of a program.
type Result struct {
	Code           int
	Stdout, Stderr string
}

var progress = regexp.MustCompile(`(?m)^[^:\n]+: +\d+%\n`)

// WithoutProgress returns standard error without the lines of progress. Work shows them when it takes
// seconds, which depends on the machine.
func WithoutProgress(stderr string) string { return progress.ReplaceAllString(stderr, "") }

// Call calls run, the program as a function, and checks the form of its standard error. It leaves out
// lines of progress.
func Call(t testing.TB, run func(ctx context.Context, args []string, stdout, stderr io.Writer) int, args ...string) Result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	args = append([]string{}, args...) // for nil, cobra uses the arguments of the test binary
	code := run(context.Background(), args, &stdout, &stderr)
	r := Result{code, stdout.String(), WithoutProgress(stderr.String())}
	checkErrors(t, args, r)
	return r
}

// checkErrors checks the form of standard error: one line for each problem, and the hint if
// and only if the exit code is that of a usage error. The errors of check have this code too, and no hint unless they are
// about its use. A help that is the message is on standard output, alone.
func checkErrors(t testing.TB, args []string, r Result) {
	t.Helper()
	if r.Code == cli.ExitUsage && r.Stderr == "" && strings.Contains(r.Stdout, "\nUsage:\n") {
		return
	}
	lines := strings.Split(strings.TrimSuffix(r.Stderr, "\n"), "\n")
	if hint := strings.HasPrefix(lines[len(lines)-1], "Try 'granary"); hint != (r.Code == cli.ExitUsage) && (hint || args[0] != "check") {
		t.Errorf("granary %q: exit code %d, hint: %t\n%s", args, r.Code, hint, r.Stderr)
	} else if hint {
		lines = lines[:len(lines)-1]
	}
	note := !slices.ContainsFunc(lines, func(line string) bool { return !isNote(line) })
	if (r.Code == cli.ExitOK) != (r.Stderr == "" || note) {
		t.Errorf("granary %q: exit code %d, standard error %q", args, r.Code, r.Stderr)
	}
	for _, line := range lines {
		if r.Stderr != "" && (!strings.HasPrefix(line, "granary: ") || len(line) < len("granary: x")) {
			t.Errorf("granary %q: line of standard error %q", args, line)
		}
	}
	for _, word := range []string{"[running]", "panic", "%!", "<nil>"} {
		if strings.Contains(r.Stderr, word) {
			t.Errorf("granary %q: standard error has %q:\n%s", args, word, r.Stderr)
		}
	}
}

// Write writes a file and returns its name. A relative name is below a temporary folder of the
// test.
func Write(t testing.TB, name string, data []byte) string {
	t.Helper()
	if !filepath.IsAbs(name) {
		name = filepath.Join(t.TempDir(), name)
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, data, 0o644)); err != nil {
		t.Fatal(err)
	}
	return name
}

// CheckWidth checks that text fits the width of a terminal and has no escape codes.
func CheckWidth(t testing.TB, name, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > cli.TextWidth {
			t.Errorf("%s: a line has %d columns: %q", name, n, line)
		}
		if strings.Contains(line, "\x1b") {
			t.Errorf("%s: escape codes without a terminal: %q", name, line)
		}
	}
}

// Golden compares text with a golden file in testdata. The flag -update writes the file.
func Golden(t testing.TB, name, got string) {
	t.Helper()
	name = filepath.Join("testdata", name)
	if *update {
		if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(name, []byte(got), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatalf("%v; go test -update writes it", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s: -want +got\n%s", name, diff)
	}
}

// isNote reports whether a line of standard error is about an answer or its progress, not about
// a failure.
func isNote(line string) bool {
	text := strings.TrimPrefix(line, "granary: ")
	return strings.Contains(text, "there are no samples") || strings.HasPrefix(text, "fetching ") || strings.HasPrefix(text, "wrote ") || strings.HasPrefix(text, "values since the start of a process (") || strings.Contains(text, "; left out: ") || strings.Contains(text, ": left out: ") || strings.Contains(text, ": means over ") ||
		strings.HasPrefix(text, "the times were read as nanoseconds") || strings.HasSuffix(text, ": the summaries are made again") || strings.HasSuffix(text, ", and the rest of it is lost") ||
		strings.HasSuffix(text, " got names") || strings.Contains(text, " without a name: ") || text == "every location has lines already" ||
		strings.Contains(text, " left out, the first of them: ") || strings.Contains(text, ": left out: ") || strings.Contains(text, ": babeltrace2: WARNING: ")
}
