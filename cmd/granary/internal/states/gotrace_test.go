package states

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
)

const goTrace = "../../../../trace/golang/testdata/small.trace"

// smallTrace returns a Go execution trace of a program that collects, waits and locks. The test may be in
// another folder.
func smallTrace(t *testing.T) []byte {
	t.Helper()
	_, here, _, _ := runtime.Caller(0)
	data, err := os.ReadFile(filepath.Join(filepath.Dir(here), filepath.FromSlash(goTrace)))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestGoTrace asks a Go execution trace, its history file, and its history in a directory the same: they answer alike.
func TestGoTrace(t *testing.T) {
	dir := t.TempDir()
	of, db := filepath.Join(dir, "app.history"), filepath.Join(dir, "app.db")
	if r := granary(t, "history", "import", "-o", of, goTrace); r.code != cli.ExitOK || !strings.Contains(r.stdout, "286 intervals of 51 attributes") {
		t.Fatalf("%+v", r)
	}
	if r := granary(t, "history", "load", "--db", db, "--name", "app", goTrace); r.code != cli.ExitOK {
		t.Fatalf("%+v", r)
	}
	for _, question := range [][]string{{"range", "--csv"}, {"slice", "--csv"}, {"info", "--json"}} {
		var answers []string
		for _, file := range [][]string{{goTrace}, {of}, {"--db", db, "app"}} {
			args := append(append([]string{"history"}, question...), file...)
			switch question[0] {
			case "range":
				args = append(args, "GC")
			case "slice":
				args = append(args, "+120ms")
			}
			r := granary(t, args...)
			if r.code != cli.ExitOK {
				t.Fatalf("%v: %+v", args, r)
			}
			answers = append(answers, r.stdout)
		}
		if question[0] == "info" { // memory and files differ
			for i, a := range answers {
				if !strings.Contains(a, `"intervals":286`) && !strings.Contains(a, `"intervals": 286`) {
					t.Errorf("info of %d: %s", i, a)
				}
			}
			continue
		}
		if answers[1] != answers[0] || answers[2] != answers[0] || len(answers[0]) < 100 {
			t.Errorf("%v: the trace says\n%s, its file\n%s, its history\n%s", question, answers[0], answers[1], answers[2])
		}
	}
	r := granary(t, "history", "range", goTrace, "GC")
	if !strings.Contains(r.stdout, `"marking"`) {
		t.Errorf("%+v", r)
	}
}

// TestGoTrace_Errors refuses flags of CSV, other files beside a trace, and a trace that is cut.
func TestGoTrace_Errors(t *testing.T) {
	data := smallTrace(t)
	dir := t.TempDir()
	cut := write(t, filepath.Join(dir, "cut.trace"), data[:len(data)/2])
	old := write(t, filepath.Join(dir, "old.trace"), []byte("go 1.21 trace\x00\x00\x00\x01"))
	out := filepath.Join(dir, "out")
	for want, args := range map[string][]string{
		"several files must be CSV":            {"import", "-o", out + ".history", goTrace, goTrace},
		"a set is made of CSV":                 {"import", "-o", out, goTrace},
		"--unit is for CSV":                    {"import", "-o", out + ".history", "--unit", "ms", goTrace},
		"cut.trace: invalid Go execution":      {"info", cut},
		"it is of go 1.21, want 1.22 or later": {"load", "--db", out, old},
	} {
		if r := granary(t, append([]string{"history"}, args...)...); r.code == cli.ExitOK || !strings.Contains(r.stderr, want) {
			t.Errorf("%v: %+v, want %s", args, r, want)
		}
	}
}
