package states

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/internal/beside"
	"github.com/granarydb/granary/internal/gzipped"
	"github.com/granarydb/granary/trace/golang"
)

const goTrace = "../../../../trace/golang/testdata/small.trace"

// smallTrace returns a Go execution trace of a program that collects, waits and locks. The test may be in
// another folder.
func smallTrace(t *testing.T) []byte { return besideThis(t, goTrace) }

// besideThis reads a file that is named from this folder.
func besideThis(t *testing.T, name string) []byte {
	t.Helper()
	_, here, _, _ := runtime.Caller(0)
	data, err := os.ReadFile(filepath.Join(filepath.Dir(here), filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestGoTrace asks a Go execution trace, its history file, and its history in a directory the same: they answer alike.
func TestGoTrace(t *testing.T) {
	dir := t.TempDir()
	of, db := filepath.Join(dir, "app.history"), filepath.Join(dir, "app.db")
	if r := granary(t, "history", "import", "-o", of, goTrace); r.code != cli.ExitOK || !strings.Contains(r.stdout, "453 intervals of 52 attributes") {
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
				if !strings.Contains(a, `"intervals":453`) && !strings.Contains(a, `"intervals": 453`) {
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

// TestGoTrace_Packed reads a trace in gzip and zstd, whatever its name, from standard input and from a server, and
// CSV likewise: the answers are those of the file.
func TestGoTrace_Packed(t *testing.T) {
	csv := []byte("time,attribute,value\n1,GC,off\n5,GC,marking\n9,GC,off\n")
	for name, data := range map[string][]byte{"a.trace": smallTrace(t), "a.csv": csv} {
		dir := t.TempDir()
		want := granary(t, "history", "range", "--csv", write(t, filepath.Join(dir, name), data), "GC")
		if want.code != cli.ExitOK || strings.Count(want.stdout, "marking") < 1 {
			t.Fatalf("%+v", want)
		}
		encoder, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		packed := write(t, filepath.Join(dir, name+".zst"), encoder.EncodeAll(data, nil))
		server := httptest.NewServer(http.FileServer(http.Dir(dir)))
		t.Cleanup(http.DefaultClient.CloseIdleConnections)
		t.Cleanup(server.Close)
		for _, of := range []string{packed, write(t, filepath.Join(dir, name+".gz"), gzipped.Of(t, data)), "-", server.URL + "/" + name, server.URL + "/" + name + ".zst"} {
			stdin(t, filepath.Join(dir, name+".gz"))
			if r := granary(t, "history", "range", "--csv", of, "GC"); r.stdout != want.stdout {
				t.Errorf("%s: %+v, want %s", of, r, want.stdout)
			}
			stdin(t, packed)
			out := filepath.Join(t.TempDir(), "out.history")
			if r := granary(t, "history", "import", "-o", out, of); r.code != cli.ExitOK {
				t.Errorf("import of %s: %+v", of, r)
			}
			if r := granary(t, "history", "range", "--csv", out, "GC"); r.stdout != want.stdout {
				t.Errorf("%s, imported: %+v, want %s", of, r, want.stdout)
			}
		}
		db := filepath.Join(dir, "app.db")
		if r := granary(t, "history", "load", "--db", db, server.URL+"/"+name+".zst"); r.code != cli.ExitOK || !strings.Contains(r.stdout, "Stored a") {
			t.Errorf("%+v", r)
		}
	}
}

// stdin makes a file the standard input.
func stdin(t *testing.T, name string) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	before := os.Stdin
	os.Stdin = f
	t.Cleanup(func() { os.Stdin = before; f.Close() })
}

// TestGoTrace_Cut reads what is whole of a trace that a killed program leaves, and says so; --strict refuses it.
func TestGoTrace_Cut(t *testing.T) {
	cut := beside.Data(t, "traces/cut-third-generation.trace")
	r := granary(t, "history", "range", "--csv", cut, "Goroutines/6")
	if want := "it is read up to 2026-11-28T03:33:59.2056"; r.code != cli.ExitOK || !strings.Contains(r.stderr, want) || !strings.Contains(r.stdout, "waiting") {
		t.Errorf("%+v, want %q", r, want)
	}
	out := filepath.Join(t.TempDir(), "out.history")
	if r := granary(t, "history", "import", "--strict", "-o", out, cut); r.code != cli.ExitFailed || !strings.Contains(r.stderr, "without --strict") {
		t.Errorf("%+v", r)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("the refused trace left a file")
	}
	if r := granary(t, "history", "import", "-o", out, cut); r.code != cli.ExitOK || !strings.Contains(r.stderr, "the rest of it is lost") {
		t.Errorf("%+v", r)
	}
}

// TestGoTrace_Errors refuses flags of CSV, other files beside a trace, and a trace that is cut.
func TestGoTrace_Errors(t *testing.T) {
	data := smallTrace(t)
	dir := t.TempDir()
	cut := write(t, filepath.Join(dir, "cut.trace"), data[:len(data)/2])
	old := write(t, filepath.Join(dir, "old.trace"), []byte("go 1.10 trace\x00\x00\x00\x01"))
	out := filepath.Join(dir, "out")
	for want, args := range map[string][]string{
		"several files must be CSV":            {"import", "-o", out + ".history", goTrace, goTrace},
		"a set is made of CSV":                 {"import", "-o", out, goTrace},
		"--unit is for CSV":                    {"import", "-o", out + ".history", "--unit", "ms", goTrace},
		"cut.trace: invalid Go execution":      {"info", cut},
		"it is of go 1.10, want 1.11 or later": {"load", "--db", out, old},
	} {
		if r := granary(t, append([]string{"history"}, args...)...); r.code == cli.ExitOK || !strings.Contains(r.stderr, want) {
			t.Errorf("%v: %+v, want %s", args, r, want)
		}
	}
}

// TestGoTrace_Marks draws the wake-ups and the samples that another reader of the trace finds, of standard input too.
func TestGoTrace_Marks(t *testing.T) {
	data := smallTrace(t)
	r, err := golang.NewReader(bytes.NewReader(data), math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}
	samples, wakes := 0, map[int64]bool{}
	for {
		ev, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if ev.Kind == golang.Sample && ev.ID != golang.NoGoroutine {
			samples++
		}
		if ev.IsWake {
			wakes[ev.ID] = true
		}
	}
	if samples == 0 || len(wakes) < 5 {
		t.Fatalf("%d samples, %d goroutines are woken", samples, len(wakes))
	}
	stdin(t, goTrace)
	for _, of := range []string{goTrace, "-"} {
		picture, _ := plot(t, "-o", "-", "--rows", "0", "--wakes", "--samples", of)
		if want := fmt.Sprintf(">%d samples: a mark", samples); !strings.Contains(picture, want) || !strings.Contains(picture, `class="marks"`) {
			t.Errorf("%s: no %q", of, want)
		}
		ends := map[string]bool{}
		lines := regexp.MustCompile(`<g class="arrows"[^>]*><path d="([^"]*)"`).FindStringSubmatch(picture)
		if lines == nil {
			t.Fatalf("%s: no arrows", of)
		}
		for _, line := range regexp.MustCompile(`V(\d+)`).FindAllStringSubmatch(lines[1], -1) {
			ends[line[1]] = true
		}
		if len(ends) < 5 || len(ends) > len(wakes) {
			t.Errorf("%s: arrows to %d rows, and %d goroutines are woken", of, len(ends), len(wakes))
		}
	}
	if picture, _ := plot(t, "-o", "-", goTrace); strings.Contains(picture, `<g class="arrows"`) || strings.Contains(picture, `class="marks"`) {
		t.Error("there are marks that were not asked for")
	}
	csv := write(t, filepath.Join(t.TempDir(), "a.csv"), []byte("time,attribute,value\n1,a,b\n2,a,c\n"))
	for want, args := range map[string][]string{
		"is no Go execution trace":   {"--samples", "-o", "-", csv},
		"--wakes is for SVG":         {"--wakes", "-o", "x.html", goTrace},
		"--samples is for SVG, with": {"--samples", "--fold", "-o", "x.svg", goTrace},
	} {
		if r := granary(t, append([]string{"history", "plot"}, args...)...); r.code != cli.ExitUsage || !strings.Contains(r.stderr, want) {
			t.Errorf("%q: %+v, want %s", args, r, want)
		}
	}
}

// TestGoTrace_Plot names the rows of goroutines by their functions, and has none of the functions.
func TestGoTrace_Plot(t *testing.T) {
	picture, _ := plot(t, "-o", "-", "--rows", "0", goTrace)
	named := len(regexp.MustCompile(`Goroutines/</tspan>\d+ (main|runtime)\.[A-Za-z.0-9]+<`).FindAllString(picture, -1))
	if named < 8 || strings.Contains(picture, ">function<") || strings.Contains(picture, "/function") {
		t.Errorf("%d goroutines are named", named)
	}
	if picture, _ = plot(t, "-o", "-", "--match", "Goroutines/*/function", goTrace); !strings.Contains(picture, "function") {
		t.Error("the functions cannot be asked for")
	}
	if r := granary(t, "history", "stats", "--top", "waits", goTrace); !strings.Contains(r.stdout, "Goroutines/1 main.main\n") {
		t.Errorf("%+v", r)
	}
}
