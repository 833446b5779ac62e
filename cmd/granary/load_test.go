package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/internal/input"
)

func TestBadInputs(t *testing.T) {
	var zipped bytes.Buffer
	if err := service().Write(&zipped); err != nil {
		t.Fatal(err)
	}
	empty := t.TempDir()
	good := file(t, "good.pb.gz", service())
	write(t, filepath.Join(empty, "README.txt"), []byte("nothing to see"))
	for _, tc := range []struct {
		name, input string
		want        string // in the message, besides the input's name
	}{
		{"gzip cut", write(t, "cut.pb.gz", zipped.Bytes()[:zipped.Len()/2]), "gzip"},
		{"gzipped execution trace", write(t, "zipped.pb.gz", zip(t, []byte("go 1.22 trace\x00\x00\x00\x01\x02"))), "invalid Go execution trace: it has no events"},
		{"execution trace", write(t, "trace.pb.gz", []byte("go 1.22 trace\x00\x00\x00\x01\x02")), "invalid Go execution trace: it has no events"},
		{"index page", write(t, "index.pb.gz", []byte("<html>\n<head>\n<title>/debug/pprof/</title>\n")), "it is the index page of net/http/pprof: add the name of a profile to the URL"},
		{"HTML", write(t, "html.pb.gz", []byte("\n<!DOCTYPE html><title>Sign in</title>")), "it is an HTML page"},
		{"text of debug=1", write(t, "text2.pb.gz", []byte("goroutine profile: total 7\n1 @ 4\n")), "text of debug=1, line 2: want a sample"},
		{"text of debug=2", write(t, "text3.pb.gz", []byte("goroutine 1 [running]:\nmain.main()\n")), "stacks of goroutines, at the end: the stack ends without the file"},
		{"other text", write(t, "text4.pb.gz", []byte("what is this\n")), "not a valid pprof profile: it is text"},
		{"folded stacks with a word", write(t, "stacks.folded", append(bytes.Repeat([]byte("main;serve http;parse 12\n"), 5000), "main 3x\n"...)), "folded stacks, line 5001: want a number behind the last space"},
		{"JSON", write(t, "x.speedscope.json", []byte(`{"shared": {"frames": []}}`)), "it is JSON"},
		{"report of pprof", write(t, "top.txt", []byte("File: api\nType: cpu\nShowing nodes accounting for 1s\n")), "it is a report of go tool pprof"},
		{"recording of perf", write(t, "perf.pb.gz", []byte("PERFILE2\x68\x00")), "it is a recording of Linux perf: perf script -i FILE > stacks.txt writes it as text"},
		{"text", write(t, "text.pb.gz", []byte("heap profile: 1: 2 [3: 4] @ growthz\nx\n")), "not a valid pprof profile: it is a profile of C++ as text"},
		{"empty", write(t, "empty.pb.gz", nil), "empty input"},
		{"gzip of nothing", write(t, "void.pb.gz", zip(t, nil)), "not a valid pprof profile"},
		{"gzip bomb", write(t, "bomb.pb.gz", zip(t, make([]byte, 65<<20))), "too large"},
		{"directory without profiles", empty, "no profiles"},
		{"missing", filepath.Join(empty, "missing.pb.gz"), "no such file"},
		{"name of two lines", filepath.Join(empty, "two\nlines"), "no such file"},
		{"not a URL", "http://%zz", "invalid URL"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out")
			for _, args := range [][]string{{"top", tc.input}, {"top", "--json", tc.input}, {"merge", "-o", out, tc.input}, {"flamegraph", "-o", out, tc.input}, {"labels", tc.input}, {"series", tc.input}, {"diff", tc.input, good}, {"diff", "-o", out, good, tc.input}} {
				r := granary(t, args...)
				named := strings.Contains(r.stderr, cli.OneLine(errors.New(tc.input)))
				if r.code != cli.ExitFailed || len(r.problems()) != 1 || !named || !strings.Contains(r.stderr, tc.want) || r.stdout != "" {
					t.Errorf("%s: exit code %d, want %d and one line with the name and %q:\n%s%s", args[0], r.code, cli.ExitFailed, tc.want, r.stderr, r.stdout)
				}
			}
			if _, err := os.Stat(out); err == nil {
				t.Error("there is an output")
			}
		})
	}
}

// Each bad input is reported on its own line, whether or not other inputs are good.
func TestSeveralBadInputs(t *testing.T) {
	one, two := write(t, "one.pb.gz", []byte("bad")), filepath.Join(t.TempDir(), "two.pb.gz")
	good := file(t, "good.pb.gz", service())
	for _, args := range [][]string{{"top", one, two}, {"top", one, good, two}, {"top", two, one, good}} {
		r := granary(t, args...)
		answered := strings.Contains(r.stdout, "compress")
		if r.code != cli.ExitFailed || len(r.problems()) != 2 || !strings.Contains(r.stderr, one) || !strings.Contains(r.stderr, two) || answered != (len(args) == 4) {
			t.Errorf("%q: %+v", args, r)
		}
	}
}

// A link to a directory is a valid input. Links inside a directory are followed to files only.
func TestLinkToDirectory(t *testing.T) {
	dir := t.TempDir()
	target, inner := filepath.Join(dir, "target"), filepath.Join(dir, "inner")
	file(t, filepath.Join(target, "a.pb.gz"), service())
	b := file(t, filepath.Join(inner, "b.pb.gz"), service())
	link := filepath.Join(dir, "link")
	if err := errors.Join(os.Symlink(target, link), os.Symlink(inner, filepath.Join(target, "inner")), os.Symlink(b, filepath.Join(target, "b.pb.gz"))); err != nil {
		t.Skip(err)
	}
	for _, name := range []string{target, link, link + "/"} {
		if got := granaryTop(t, name); got.Total != 2e9 || got.Profiles != 2 {
			t.Errorf("%s: %d profiles, total %d", name, got.Profiles, got.Total)
		}
	}
	if r := granary(t, "labels", "--json", "--name", "file", link); !strings.Contains(r.stdout, filepath.Join(link, "a.pb.gz")) {
		t.Errorf("names of inputs: %+v", r)
	}
	empty := filepath.Join(dir, "empty")
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "nothing"), 0o755), os.Symlink(filepath.Join(dir, "nothing"), empty)); err != nil {
		t.Fatal(err)
	}
	if r := granary(t, "top", empty); r.code != cli.ExitFailed || !strings.Contains(r.stderr, empty+": no profiles in this directory") {
		t.Errorf("%+v", r)
	}
}

// A label that no profile has is a usage error, whichever flag or command names it. No output
// is written.
func TestNoSuchLabel(t *testing.T) {
	a := file(t, "a.pb.gz", service())
	out := filepath.Join(t.TempDir(), "out")
	const why = `"nope": there is no such label; the labels are: file, thread`
	selecting := [][]string{
		{"top"},
		{"top", "--json"},
		{"series"},
		{"labels"},
		{"labels", "--name", "thread"},
		{"diff", a},
		{"merge", "-o", out},
		{"flamegraph", "-o", out},
		{"diff", "-o", out, a},
		{"export", "--format", "parquet", "-o", out},
	}
	for _, args := range selecting {
		args = append(args, a, "--selector")
		if r := granary(t, append(args, `{nope="x",thread="main"}`)...); r.code != cli.ExitUsage || !strings.Contains(r.stderr, "--selector "+why) || r.stdout != "" {
			t.Errorf("%q: %+v", args, r)
		}
		if _, err := os.Stat(out); err == nil {
			t.Fatalf("%q: there is an output", args)
		}
	}
	other := file(t, "other.pb.gz", newProfile("cpu:nanoseconds", sample{"f", []int64{1}, nil}))
	if r := granary(t, "diff", "--selector", `{thread="main"}`, a, other); r.code != cli.ExitUsage || !strings.Contains(r.stderr, other+`: --selector "thread": there is no such label`) {
		t.Errorf("of one side: %+v", r)
	}
	for _, args := range [][]string{{"series", "--by", "nope", a}, {"labels", "--name", "nope", a}} {
		if r := granary(t, args...); r.code != cli.ExitUsage || !strings.Contains(r.stderr, why) {
			t.Errorf("%q: %+v", args, r)
		}
	}
	if r := granary(t, "export", "--demo", "10s", "-o", out, "--format", "arrow", "--selector", `{nope="x"}`); r.code != cli.ExitUsage {
		t.Errorf("%+v", r)
	}
	for _, args := range selecting[:6] {
		for _, selector := range []string{`{thread="x"}`, `{nope="",thread="x"}`, `{nope!="x",thread="x"}`} {
			r := granary(t, append(args, a, "--selector", selector)...)
			if r.code != cli.ExitOK || args[len(args)-1] != "--json" && !strings.Contains(r.stdout, "There are no samples.\n") {
				t.Errorf("%q %s: %+v", args, selector, r)
			}
		}
	}
	numbered := newProfile("cpu:nanoseconds", sample{"f", []int64{1}, nil})
	numbered.Sample[0].NumLabel = map[string][]int64{"bytes": {4096}}
	numbered.Sample[0].NumUnit = map[string][]string{"bytes": {"bytes"}}
	b := file(t, "b.pb.gz", numbered)
	if r := granary(t, "labels", b); strings.Contains(r.stdout, "bytes") {
		t.Errorf("numbers are listed now: say so in the help\n%s", r.stdout)
	}
	if r := granary(t, "top", b, "--selector", `{bytes="4096"}`); r.code != cli.ExitUsage || !strings.Contains(r.stderr, `the label "bytes" is a number, --selector chooses by text`) {
		t.Errorf("%+v", r)
	}
	for _, args := range [][]string{{"merge", "-o", "-"}, {"flamegraph", "-o", "-"}, {"diff", "-o", "-", a}} {
		if r := granary(t, append(args, a, "--search", "nothing")...); r.code != cli.ExitOK || r.stdout == "" || !strings.Contains(r.stderr, "there are no samples: --search 'nothing' leaves none\n") {
			t.Errorf("%q: exit code %d, %s", args, r.code, r.stderr)
		}
	}
}

func zip(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A gzip bomb costs the memory of the limit on profiles and of growing a buffer to it, not that
// of its unpacked size.
func TestGzipBombMemory(t *testing.T) {
	bomb := write(t, "bomb.pb.gz", zip(t, make([]byte, 128<<20)))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := granary(t, "top", bomb)
	runtime.ReadMemStats(&after)
	if r.code != cli.ExitFailed {
		t.Errorf("exit code %d", r.code)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 8*input.MaxBytes {
		t.Errorf("it took %d MiB in all", took>>20)
	}
}

// A profile without samples is an answer, not an error.
func TestNoSamples(t *testing.T) {
	none := file(t, "none.pb.gz", newProfile("samples:count cpu:nanoseconds"))
	zeros := file(t, "zeros.pb.gz", newProfile("samples:count cpu:nanoseconds", sample{"f", []int64{0, 0}, nil}))
	for _, input := range []string{none, zeros} {
		if got := granaryTop(t, input); got.SampleType != "cpu" || got.Unit != "nanoseconds" || got.Total != 0 || got.Functions == nil || len(got.Functions) != 0 {
			t.Errorf("%s: %+v", filepath.Base(input), got)
		}
		if r := granary(t, "top", input); r.code != cli.ExitOK || !strings.Contains(r.stdout, "There are no samples.") {
			t.Errorf("%s: %+v", filepath.Base(input), r)
		}
		if p := granaryMerge(t, input); len(p.Sample) != 0 || len(p.SampleType) != 2 {
			t.Errorf("%s: merged: %v", filepath.Base(input), p)
		}
		if r := granary(t, "flamegraph", "-o", "-", input); r.code != cli.ExitOK || !strings.Contains(r.stdout, "</svg>") {
			t.Errorf("%s: flame graph: %+v", filepath.Base(input), r)
		}
	}
	// An empty selection has the same result.
	if got := granaryTop(t, "--selector", `{thread="none"}`, file(t, "a.pb.gz", service())); got.Functions == nil || len(got.Functions) != 0 {
		t.Errorf("nothing chosen: %+v", got)
	}
}

// The answer for a directory with bad profiles comes from the good ones.
func TestDirectory(t *testing.T) {
	dir := t.TempDir()
	for i, name := range []string{"a.pb.gz", "b.pb", "sub/c.pprof", "sub/sub/d.PROF"} {
		p := service()
		p.TimeNanos += int64(i)
		file(t, filepath.Join(dir, name), p)
	}
	write(t, filepath.Join(dir, "notes.txt"), []byte("not looked at"))
	if got := granaryTop(t, dir); got.Total != 4e9 {
		t.Errorf("total %d, want that of 4 profiles", got.Total)
	}
	// A file given twice counts twice.
	if got := granaryTop(t, filepath.Join(dir, "a.pb.gz"), filepath.Join(dir, "a.pb.gz")); got.Total != 2e9 {
		t.Errorf("total %d, want that of 2 profiles", got.Total)
	}
	write(t, filepath.Join(dir, "bad.pb.gz"), []byte("bad"))
	write(t, filepath.Join(dir, "sub", "empty.pb.gz"), nil)
	out := filepath.Join(t.TempDir(), "sum.pb.gz")
	for _, args := range [][]string{{"top", "--json", dir}, {"merge", "-o", out, dir}} {
		r := granary(t, args...)
		if r.code != cli.ExitFailed || len(r.problems()) != 2 || !strings.Contains(r.stderr, "bad.pb.gz") || !strings.Contains(r.stderr, "empty.pb.gz") {
			t.Errorf("%s: exit code %d: %s", args[0], r.code, r.stderr)
		}
		var got topJSON
		if args[0] == "top" {
			if err := json.Unmarshal([]byte(r.stdout), &got); err != nil || got.Total != 4e9 {
				t.Errorf("total %d, %v", got.Total, err)
			}
		}
	}
	if got := granaryTop(t, out); got.Total != 4e9 {
		t.Errorf("total of the merged file %d", got.Total)
	}
}

func TestURL(t *testing.T) {
	var body bytes.Buffer
	if err := service().Write(&body); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/good":
			w.Write(body.Bytes())
		case "/moved":
			http.Redirect(w, r, "/good", http.StatusFound)
		case "/html":
			io.WriteString(w, "<!DOCTYPE html>\n<html><body>Sign in</body></html>")
		case "/half":
			w.Header().Set("Content-Length", "100000")
			w.Write(body.Bytes()[:body.Len()/2])
		case "/endless":
			block := make([]byte, 1<<20)
			for range 2 * input.MaxBytes / len(block) {
				if _, err := w.Write(block); err != nil {
					return
				}
			}
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	t.Cleanup(server.Close)
	for _, tc := range []struct{ path, want string }{
		{"/good?seconds=1", ""},
		{"/moved", ""},
		{"/none", "404 Not Found"},
		{"/html", "not a valid pprof profile"},
		{"/half", "unexpected EOF"},
		{"/endless", "too large"},
	} {
		r := granary(t, "top", "--json", server.URL+tc.path)
		switch {
		case tc.want == "" && r.code != cli.ExitOK:
			t.Errorf("%s: exit code %d: %s", tc.path, r.code, r.stderr)
		case tc.want != "" && (r.code != cli.ExitFailed || len(r.problems()) != 1 || !strings.Contains(r.stderr, tc.want) || !strings.Contains(r.stderr, server.URL+tc.path)):
			t.Errorf("%s: exit code %d, want a line with the URL and %q: %s", tc.path, r.code, tc.want, r.stderr)
		}
	}
	gone := httptest.NewServer(nil)
	gone.Close()
	if r := granary(t, "top", gone.URL); r.code != cli.ExitFailed || len(r.problems()) != 1 || !strings.Contains(r.stderr, gone.URL) {
		t.Errorf("no server: exit code %d: %s", r.code, r.stderr)
	}
}

// A profile without a time, or with one that is not in nanoseconds, has that of its file.
func TestTimesOfInputs(t *testing.T) {
	p := service()
	good := p.TimeNanos
	for _, own := range []int64{0, good / 1e9, good / 1e6, good / 1e3} {
		p.TimeNanos = own
		name, at := file(t, "times.pb.gz", p), time.Unix(0, good)
		if err := os.Chtimes(name, at, at); err != nil {
			t.Fatal(err)
		}
		if got := granaryMerge(t, name); got.TimeNanos != good {
			t.Errorf("a profile of the time %d is at %d, its file at %d", own, got.TimeNanos, good)
		}
	}
}

// A profile with a label that has no name is refused. The error names the file, the sample and the label.
func TestLabelWithoutName(t *testing.T) {
	for name, want := range map[string]string{"": `""`, "a\nb": `"a\nb"`} {
		bad := file(t, "bad.pb.gz", newProfile("cpu:nanoseconds", sample{"f", []int64{5}, nil}, sample{"g", []int64{5}, map[string][]string{name: {"v"}}}))
		want = "granary: " + bad + ": invalid batch: sample 1 has a label named " + want + ": want a name of printable UTF-8"
		if r := granary(t, "top", bad); r.code != cli.ExitFailed || !strings.HasPrefix(r.stderr, want) {
			t.Errorf("%q: %+v, want %s", name, r, want)
		}
	}
}
