package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"
	"go.uber.org/goleak"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/cmd/granary/internal/clitest"
	"github.com/granarydb/granary/internal/effort"
)

// asCommand is a variable of the environment that makes the test's process the command.
const asCommand = "GRANARY_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	time.Local = time.UTC // golden files have times
	effort.CollectRarely()
	goleak.VerifyTestMain(m)
}

// result is the exit code and the output of a call of the program.
type result struct {
	code           int
	stdout, stderr string
}

func granary(t testing.TB, args ...string) result {
	t.Helper()
	r := clitest.Call(t, run, args...)
	return result{r.Code, r.Stdout, r.Stderr}
}

// problems returns the lines of standard error without the hint.
func (r result) problems() []string {
	lines := strings.Split(strings.TrimSpace(r.stderr), "\n")
	return slices.DeleteFunc(lines, func(l string) bool {
		return l == "" || strings.HasPrefix(l, "Try ") || strings.HasPrefix(l, "granary: fetching ") || strings.HasPrefix(l, "granary: wrote ")
	})
}

// sample is one sample for newProfile: functions, the leaf first.
type sample struct {
	stack  string
	values []int64
	labels map[string][]string
}

// file writes a profile and returns its name.
func file(t testing.TB, name string, p *pprof.Profile) string {
	t.Helper()
	if !filepath.IsAbs(name) {
		name = filepath.Join(t.TempDir(), name)
	}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return write(t, name, b.Bytes())
}

func write(t testing.TB, name string, data []byte) string {
	t.Helper()
	return clitest.Write(t, name, data)
}

// newProfile returns a profile with types such as "cpu:nanoseconds". The first is the type of
// its period.
func newProfile(types string, samples ...sample) *pprof.Profile {
	p := &pprof.Profile{TimeNanos: 1_700_000_000_000_000_000, DurationNanos: 1e10, Period: 1}
	for t := range strings.FieldsSeq(types) {
		name, unit, _ := strings.Cut(t, ":")
		p.SampleType = append(p.SampleType, &pprof.ValueType{Type: name, Unit: unit})
	}
	p.PeriodType = p.SampleType[0]
	locations := map[string]*pprof.Location{}
	for _, s := range samples {
		out := &pprof.Sample{Value: s.values, Label: s.labels}
		for name := range strings.FieldsSeq(s.stack) {
			if locations[name] == nil {
				f := &pprof.Function{ID: uint64(len(p.Function) + 1), Name: name, Filename: name + ".go"}
				p.Function = append(p.Function, f)
				locations[name] = &pprof.Location{ID: f.ID, Address: f.ID, Line: []pprof.Line{{Function: f, Line: 1}}}
				p.Location = append(p.Location, locations[name])
			}
			out.Location = append(out.Location, locations[name])
		}
		p.Sample = append(p.Sample, out)
	}
	return p
}

// service returns a profile with two types and labels.
func service() *pprof.Profile {
	worker := func(n string) map[string][]string { return map[string][]string{"thread": {"worker-" + n}} }
	return newProfile("samples:count cpu:nanoseconds",
		sample{"compress handle main", []int64{60, 600_000_000}, worker("1")},
		sample{"parse handle main", []int64{25, 250_000_000}, worker("2")},
		sample{"parse parse handle main", []int64{5, 50_000_000}, worker("2")},
		sample{"gc", []int64{9, 90_000_000}, nil},
		sample{"main", []int64{1, 10_000_000}, map[string][]string{"thread": {"main"}}},
	)
}

func TestWrongUse(t *testing.T) {
	good := file(t, "good.pb.gz", service())
	for _, tc := range []struct {
		name string
		args []string
		want string // in the message
	}{
		{"unknown command", []string{"frob"}, `unknown command "frob"`},
		{"unknown flag of the program", []string{"--frob"}, "--frob"},
		{"unknown flag", []string{"top", "--frob", good}, "--frob"},
		{"flag without its value", []string{"top", good, "--nodes"}, "--nodes"},
		{"number that is none", []string{"top", "--nodes", "many", good}, `--nodes "many": want a whole number, 0 (all) or more`},
		{"number that is none, by its short name", []string{"diff", "-n", "many", good, good}, `--limit "many": want a whole number, 0 (all) or more`},
		{"number of nothing", []string{"inspect", "--granule-rows", "0", good}, `--granule-rows 0: want a whole number, 1 or more`},
		{"too large a number", []string{"series", "--limit", "99999999999999999999", good}, "want a whole number"},
		{"neither true nor false", []string{"top", "--json=maybe", good}, `invalid argument "maybe" for "--json" flag: want true or false`},
		{"command that is nearly one", []string{"tpo"}, `unknown command "tpo": did you mean pgo or top?`},
		{"negative number", []string{"top", "--nodes", "-1", good}, "-1"},
		{"top without inputs", []string{"top"}, "name at least one profile"},
		{"merge without inputs", []string{"merge", "-o", "x"}, "name at least one profile"},
		{"flamegraph without inputs", []string{"flamegraph", "-o", "x"}, "name at least one profile"},
		{"merge without -o", []string{"merge", good}, "-o FILE"},
		{"flamegraph without -o", []string{"flamegraph", good}, "-o FILE"},
		{"unknown sample type", []string{"top", "--sample-index", "heap", good}, `"heap", known types: samples, cpu`},
		{"unknown sample type of merge", []string{"merge", "-o", "-", "--sample-index", "heap", good}, `"heap"`},
		{"unknown sample type of flamegraph", []string{"flamegraph", "-o", "-", "--sample-index", "heap", good}, `"heap"`},
		{"labels without inputs", []string{"labels"}, "name at least one profile"},
		{"standard input twice", []string{"top", "-", "-"}, "name - once"},
		{"standard input twice in diff", []string{"diff", "-", "-"}, "name - once"},
		{"label without a value", []string{"top", "--label", "job", good}, `--label "job": want NAME=VALUE`},
		{"label of the input's name", []string{"top", "--label", "file=x", good}, `the label file is the name of the input`},
		{"header without a value", []string{"top", "--header", "secret", good}, `--header: want 'NAME: VALUE'`},
		{"certificate without its key", []string{"top", "--tls-cert", good, good}, "one needs the other"},
		{"seconds of nothing", []string{"top", "--seconds", "0", good}, "--seconds 0: want a whole number, 1 or more"},
		{"labels of no name", []string{"labels", "--name", "", good}, "--name"},
		{"labels of an unknown name", []string{"labels", "--name", "pod", good}, `"pod": there is no such label; the labels are: file, thread`},
		{"series without inputs", []string{"series"}, "name at least one profile"},
		{"series by an unknown label", []string{"series", "--by", "thread", "--by", "pod", good}, `"pod": there is no such label; the labels are: file, thread`},
		{"series of an unknown sample type", []string{"series", "--sample-index", "heap", good}, `"heap"`},
		{"step of nothing", []string{"series", "--step", "0s", good}, "above 0"},
		{"step back", []string{"series", "--step", "-1s", good}, "above 0"},
		{"step that is none", []string{"series", "--step", "often", good}, `--step "often": want a duration above 0, such as 500us, 10s, 5m or 7d`},
		{"step without a unit", []string{"series", "--step", "10", good}, `--step "10": want a duration`},
		{"negative top", []string{"series", "--top", "-1", good}, "-1"},
		{"diff of one", []string{"diff", good}, "two inputs"},
		{"diff of three", []string{"diff", good, good, good}, "two inputs, A and B, not 3"},
		{"diff of nothing", []string{"diff"}, "two inputs"},
		{"diff with a negative number", []string{"diff", "--nodes", "-1", good, good}, "-1"},
		{"diff as JSON and picture", []string{"diff", "--json", "-o", "-", good, good}, "choose one"},
		{"diff of an unknown sample type", []string{"diff", "--sample-index", "heap", good, good}, `"heap"`},
		{"negative nodes of a flame graph", []string{"flamegraph", "-o", "-", "--max-nodes", "-1", good}, "--max-nodes -1"},
		{"a flame graph over its input", []string{"flamegraph", "-o", good, good}, "granary: -o " + good + ": the output is an input\n"},
		{"a merge over its input", []string{"merge", "-o", good, good}, "the output is an input"},
		{"a merge over its second input", []string{"merge", "-o", good, file(t, "other.pb.gz", service()), good}, "the output is an input"},
		{"a flame graph of another form", []string{"flamegraph", "-o", "a.png", good}, "-o a.png: the output is SVG, not .png: use the suffix .svg"},
		{"a diff of another form", []string{"diff", "-o", "a.PDF", good, good}, "-o a.PDF: the output is SVG, not .PDF: use the suffix .svg"},
		{"a merge of another form", []string{"merge", "-o", "a.json", good}, "-o a.json: merge writes pprof, folded stacks or files of speedscope"},
		{"a diff over its input", []string{"diff", "-o", good, good, good}, "the output is an input"},
		{"bad regular expression", []string{"top", "--search", "(", good}, `--search "(": want a regular expression, such as 'json[.]' or '^main[.]': missing closing )`},
		{"bad repetition", []string{"merge", "-o", "-", "--search", "a{2000}", good}, `invalid repeat count`},
		{"time that is none", []string{"top", "--from", "yesterday", good}, `--from "yesterday": want a time such as 2026-01-31T09:00:00Z, a day such as 2026-01-31, Unix seconds`},
		{"number of 2 digits", []string{"top", "--to", "17", good}, `--to "17": want a time`},
		{"time after now", []string{"top", "--to", "now+1h", good}, `--to "now+1h": want a time`},
		{"duration of two signs", []string{"top", "--to", "--1h", good}, `--to "--1h": want a time`},
		{"number of 12 digits", []string{"labels", "--from", "170000000000", good}, "Unix seconds"},
		{"time before 1970", []string{"series", "--to", "1969-12-31T00:00:00Z", good}, "want a time"},
		{"time that has no nanoseconds", []string{"diff", "--from", "2500-01-01T00:00:00Z", good, good}, "want a time"},
		{"not a number", []string{"flamegraph", "-o", "-", "--from", "NaN", good}, "want a time"},
		{"times that are the wrong way", []string{"top", "--from", "2026-01-31T09:00:00Z", "--to", "1700000000", good}, "is not before --to 1700000000"},
		{"durations that are the wrong way", []string{"top", "--from", "-1h", "--to", "-2h", good}, "--from -1h is not before --to -2h"},
		{"a time and a duration that are the wrong way", []string{"top", "--from", "-1h", "--to", "1600000000", good}, "--from -1h is not before"},
		{"selector cut", []string{"top", "--selector", `{job="api"`, good}, `{job="api"`},
		{"selector with a bad pattern", []string{"top", "--selector", `{job=~"("}`, good}, `{job=~"("}`},
		{"selector of two lines", []string{"top", "--selector", "{job=\n}", good}, `selector`},
		{"two orders", []string{"top", "--cum", "--sort", "flat", good}, "--cum and --sort flat: choose one"},
		{"two orders of diff", []string{"diff", "--sort", "name", "--cum", good, good}, "--cum and --sort name: choose one"},
		{"two orders of peek", []string{"peek", "--sort", "name", "--cum", "x", good}, "--cum and --sort name: choose one"},
		{"a label twice", []string{"series", "--by", "file", "--by", "thread", "--by", "file", good}, "--by file is there twice"},
		{"help of an unknown command", []string{"help", "tpo"}, `unknown command "tpo": did you mean pgo or top?`},
		{"an input without a name", []string{"top", good, ""}, "an input has no name"},
		{"a side without a name", []string{"diff", "", good}, "an input has no name"},
		{"a label with two values", []string{"top", "--label", "job=x", "--label", "job=y", good}, "--label job is there twice"},
		{"bad regular expression of peek", []string{"peek", "(", good}, `"(": want a regular expression, such as 'json[.]' or '^main[.]': missing closing )`},
		{"version with an argument", []string{"version", "x"}, `"x"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := granary(t, tc.args...)
			if r.code != cli.ExitUsage || len(r.problems()) != 1 || !strings.Contains(r.stderr, tc.want) {
				t.Errorf("exit code %d, want %d and one line with %q:\n%s", r.code, cli.ExitUsage, tc.want, r.stderr)
			}
		})
	}
}

// An ambiguous name is a usage error. The message lists the names to choose from.
func TestAmbiguousType(t *testing.T) {
	a := file(t, "a.pb.gz", newProfile("cpu:nanoseconds", sample{"f", []int64{1}, nil}))
	b := file(t, "b.pb.gz", newProfile("cpu:count", sample{"f", []int64{1}, nil}))
	r := granary(t, "top", "--sample-index", "cpu", a, b)
	if r.code != cli.ExitUsage || !strings.Contains(r.stderr, "cpu:nanoseconds:cpu:nanoseconds, cpu:count:cpu:count") {
		t.Errorf("exit code %d: %s", r.code, r.stderr)
	}
	for _, name := range []string{"cpu:count", "cpu:count:cpu:count"} {
		if r := granary(t, "top", "--sample-index", name, a, b); r.code != cli.ExitOK {
			t.Errorf("%s: exit code %d: %s", name, r.code, r.stderr)
		}
	}
}

// A merge of several kinds is of one of them, and says which inputs are not in it.
func TestMergeOfMixedKinds(t *testing.T) {
	cpu := file(t, "cpu.pb.gz", service())
	heap := file(t, "heap.pb.gz", newProfile("inuse_space:bytes", sample{"f", []int64{1}, nil}))
	out := filepath.Join(t.TempDir(), "sum.pb.gz")
	r := granary(t, "merge", "-o", out, cpu, heap)
	said := "granary: cpu is in 1 of 2 profiles; left out: " + heap + "; --sample-index asks for another type: inuse_space"
	if r.code != cli.ExitOK || !slices.Equal(r.problems(), []string{said}) {
		t.Errorf("exit code %d: %s", r.code, r.stderr)
	}
	if got := granaryTop(t, out); got.SampleType != "cpu" || got.Total != 1e9 {
		t.Errorf("%s, total %d", got.SampleType, got.Total)
	}
	for _, flags := range [][]string{{"--sample-index", "cpu"}, {"--selector", `{file=~".*/cpu.*"}`}} {
		if r := granary(t, append([]string{"merge", "-o", out, cpu, heap}, flags...)...); r.code != cli.ExitOK {
			t.Errorf("%q: exit code %d: %s", flags, r.code, r.stderr)
		}
		if got := granaryTop(t, out); got.SampleType != "cpu" || got.Total != 1e9 {
			t.Errorf("%q: %s, total %d", flags, got.SampleType, got.Total)
		}
	}
}

func TestOutput(t *testing.T) {
	input := file(t, "in.pb.gz", service())
	for _, command := range []string{"merge", "flamegraph"} {
		dir := filepath.Join(t.TempDir(), "missing")
		r := granary(t, command, "-o", filepath.Join(dir, "out"), input)
		if r.code != cli.ExitFailed || !strings.Contains(r.stderr, dir) {
			t.Errorf("%s: exit code %d: %s", command, r.code, r.stderr)
		}
		if want := filepath.Join(dir, "out") + ": "; !strings.Contains(r.stderr, want) {
			t.Errorf("%s: error %q, want %q in it", command, r.stderr, want)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s: made the directory", command)
		}
		// An existing file is replaced, regardless of its length.
		out := write(t, "out", bytes.Repeat([]byte("old"), 100_000))
		if r := granary(t, command, "-o", out, input); r.code != cli.ExitOK || r.stdout != "" {
			t.Errorf("%s: %+v", command, r)
		}
		inFile, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		if toStdout := granary(t, command, "-o", "-", input); toStdout.stdout != string(inFile) {
			t.Errorf("%s: standard output and the file differ", command)
		}
	}
	r := granary(t, "flamegraph", "-o", "-", "--title", "Tuesday & co", "--sample-index", "samples", input)
	if !strings.Contains(r.stdout, "Tuesday &amp; co") || !strings.Contains(r.stdout, "compress") {
		t.Errorf("flame graph: %.300s", r.stdout)
	}
	r = granary(t, "flamegraph", "-o", "-", input)
	if !strings.Contains(r.stdout, "Flame graph: cpu") {
		t.Errorf("flame graph: %.300s", r.stdout)
	}
}

// brokenWriter is a pipe whose reader has closed it.
type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// A failed write is an error and leaves no partial file.
func TestWriteErrors(t *testing.T) {
	input := file(t, "in.pb.gz", service())
	for _, args := range [][]string{
		{"diff", input, input},
		{"diff", "--json", input, input},
		{"diff", "-o", "-", input, input},
		{"labels", input},
		{"labels", "--json", input},
		{"labels", "--name", "thread", input},
		{"series", input},
		{"series", "--json", input},
		{"top", input},
		{"top", "--json", input},
		{"merge", "-o", "-", input},
		{"flamegraph", "-o", "-", input},
		{"version"},
	} {
		var stderr bytes.Buffer
		if code := run(context.Background(), args, brokenWriter{}, &stderr); code != cli.ExitFailed || !strings.Contains(stderr.String(), "closed pipe") {
			t.Errorf("%s: exit code %d: %s", args[0], code, stderr.String())
		}
	}
	name := filepath.Join(t.TempDir(), "half")
	err := cli.WriteTo(name, nil, func(w io.Writer) error {
		_, err := io.WriteString(w, "half")
		return errors.Join(err, io.ErrClosedPipe)
	})
	if _, statErr := os.Stat(name); !errors.Is(err, io.ErrClosedPipe) || statErr == nil {
		t.Errorf("error %v; the file: %v", err, statErr)
	}
}

// The hint names the command with the usage error.
func TestHint(t *testing.T) {
	good := file(t, "good.pb.gz", service())
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"top"}, "Try 'granary top --help'."},
		{[]string{"top", "--nope", good}, "Try 'granary top --help'."},
		{[]string{"series", "--step", "1", good}, "Try 'granary series --help'."},
		{[]string{"merge", "-o", "-", "--sample-index", "x", good}, "Try 'granary merge --help'."},
		{[]string{"nope"}, "Try 'granary --help'."},
	} {
		if r := granary(t, tc.args...); !strings.HasSuffix(r.stderr, "\n"+tc.want+"\n") {
			t.Errorf("%q: %s", tc.args, r.stderr)
		}
	}
}

func TestCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var stdout, stderr bytes.Buffer
	if code := run(ctx, []string{"top", file(t, "in.pb.gz", service())}, &stdout, &stderr); code != cli.ExitInterrupted || stderr.String() != "granary: interrupted\n" || stdout.Len() > 0 {
		t.Errorf("exit code %d: %s%s", code, stdout.String(), stderr.String())
	}
}

// The signal of Ctrl-C ends the process with the exit code of shells, in the middle of a fetch.
func TestInterrupt(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be sent the signal")
	}
	asked := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	cmd := exec.Command(os.Args[0], "top", server.URL)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-asked
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // an exit code other than 0 is an error
	if code := cmd.ProcessState.ExitCode(); code != 130 || !strings.HasSuffix(stderr.String(), "granary: interrupted\n") {
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
}

// The help of every command describes its flags and has an example.
func TestHelp(t *testing.T) {
	for _, cmd := range newRoot().Commands() {
		if cmd.Name() == "completion" || cmd.Name() == "help" {
			continue
		}
		r := granary(t, cmd.Name(), "--help")
		for _, part := range append([]string{"Usage:", "granary " + cmd.Name()}, map[string][]string{
			"top":        {"Examples:", "-n, --limit", "--json", "--sample-index", "--selector", "--search", "--from", "--to", "Inputs are"},
			"peek":       {"Examples:", "-n, --limit", "--json", "--cum", "--sort", "--sample-index", "Inputs are"},
			"diff":       {"Examples:", "-n, --limit", "--json", "-o", "--normalize", "--sample-index", "--selector", "--search", "--from", "--to"},
			"labels":     {"Examples:", "--name", "--json", "--selector", "--search", "--from", "--to", "Inputs are"},
			"series":     {"Examples:", "--by", "--step", "-n, --limit", "--average", "--json", "--sample-index", "--selector", "--search", "--from", "--to", "Inputs are"},
			"merge":      {"Examples:", "--output", "-o", "--sample-index", "--selector", "--search", "--from", "--to", "Inputs are"},
			"flamegraph": {"Examples:", "--output", "-o", "--title", "--max-nodes", "--sample-index", "--selector", "--search", "--from", "--to", "Inputs are"},
		}[cmd.Name()]...) {
			if !strings.Contains(r.stdout, part) || strings.Contains(r.stdout, "--nodes") || strings.Contains(r.stdout, "--top ") {
				t.Errorf("help of %s has no %q:\n%s", cmd.Name(), part, r.stdout)
			}
		}
		clitest.CheckWidth(t, cmd.Name()+" --help", r.stdout)
	}
	clitest.CheckWidth(t, "--help", granary(t, "--help").stdout)
	if r := granary(t, "--help"); r.code != cli.ExitOK || !strings.Contains(r.stdout, "Exit codes:") || !strings.Contains(r.stdout, "flamegraph") {
		t.Errorf("help: %+v", r)
	}
	for _, args := range [][]string{{"top"}, {"history", "at"}} {
		want, r := granary(t, append(args, "--help")...), granary(t, append([]string{"help"}, args...)...)
		if r != want {
			t.Errorf("help %q: %+v\nwant %+v", args, r, want)
		}
	}
	want := granary(t, "--help")
	if r := granary(t); r.code != cli.ExitUsage || r.stdout != want.stdout || r.stderr != "" {
		t.Errorf("without arguments there is no help, or more: %+v", r)
	}
	if r := granary(t, "version"); r.code != cli.ExitOK || !strings.HasPrefix(r.stdout, "granary ") || !strings.Contains(r.stdout, runtime.Version()) || strings.Count(r.stdout, "\n") != 1 {
		t.Errorf("version: %+v", r)
	}
}
