package states

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/cmd/granary/internal/clitest"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/beside"
	"github.com/granarydb/granary/internal/gzipped"
	"github.com/granarydb/granary/internal/ihs"
	"github.com/granarydb/granary/trace"
)

// statesCSV is a history of ten seconds.
const statesCSV = `time,attribute,value
2026-01-31T09:00:00Z,CPUs/0,0
2026-01-31T09:00:02Z,CPUs/0,2
2026-01-31T09:00:02.5Z,CPUs/0,0
2026-01-31T09:00:04Z,CPUs/0,1
2026-01-31T09:00:09.5Z,CPUs/0,
2026-01-31T09:00:01Z,CPUs/0/Current_thread,4297
2026-01-31T09:00:03Z,CPUs/0/Current_thread,17
2026-01-31T09:00:00Z,CPUs/10,2
2026-01-31T09:00:05Z,CPUs/10,0
2026-01-31T09:00:00Z,CPUs/9,1
2026-01-31T09:00:06Z,CPUs/9,2
2026-01-31T09:00:01Z,Threads/4297/Exec_name,sh
2026-01-31T09:00:03.25Z,Threads/4297/Exec_name,"ls ""x"", y"
2026-01-31T09:00:10Z,Threads/4297/Exec_name,
2026-01-31T09:00:01Z,Threads/4297/load,0.5
2026-01-31T09:00:07Z,Threads/4297/load,1.25
2026-01-31T09:00:01Z,odd\/name \*,..
`

// inSet imports statesCSV as the set "run" and changes to its folder.
func inSet(t testing.TB) {
	t.Helper()
	t.Chdir(t.TempDir())
	write(t, filepath.Join(mustWd(t), "states.csv"), []byte(statesCSV))
	r := granary(t, "history", "import", "-o", "run", "states.csv")
	if want := "run.ihs.gz: 24 intervals of 10 attributes, from 2026-01-31T09:00:00Z to 2026-01-31T09:00:10Z\n"; r.code != cli.ExitOK || r.stdout != want {
		t.Fatalf("%+v, want %q", r, want)
	}
}

func mustWd(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// The output of the commands for people and for scripts.
func TestGolden(t *testing.T) {
	goldens, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	inSet(t)
	if err := os.Symlink(goldens, "testdata"); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"info":            {"info", "run"},
		"at":              {"at", "run", "CPUs/0", "+2.25s"},
		"at-csv":          {"at", "--csv", "run", "Threads/4297/Exec_name", "50%"},
		"at-json":         {"at", "--json", "run", "Threads/4297/Exec_name", "50%"},
		"slice":           {"slice", "run", "+2.25s"},
		"slice-limit":     {"slice", "-n", "2", "run", "+2.25s"},
		"slice-nulls":     {"slice", "--nulls", "--match", `odd\/name \*`, "--match", "CPUs/*/..", "run", "+2.25s"},
		"slice-none":      {"slice", "--match", "CPUs", "run", "end-1s"},
		"slice-json":      {"slice", "--json", "--match", "CPUs/*", "run", "+2.25s"},
		"slice-none-json": {"slice", "--json", "--match", "CPUs", "run", "end-1s"},
		"slice-csv":       {"slice", "--csv", "run", "+2.25s"},
		"range":           {"range", "run", "CPUs/0"},
		"range-part":      {"range", "--from", "+2.1s", "--to", "+2.6s", "run", "CPUs/0"},
		"range-every":     {"range", "--resolution", "3s", "run", "CPUs/0"},
		"range-json":      {"range", "--json", "--from", "latest-2s", "run", "Threads/4297/load"},
		"range-csv":       {"range", "--csv", "run", "Threads/4297/Exec_name"},
		"sample":          {"sample", "--pixels", "2", "run"},
		"sample-json":     {"sample", "--json", "--pixels", "3", "--match", "CPUs/*/Current_thread", "--from", "25%", "--to", "75%", "run"},
		"sample-csv":      {"sample", "--csv", "--nulls", "--pixels", "4", "--match", "CPUs/0", "run"},
	} {
		t.Run(name, func(t *testing.T) {
			r := granary(t, append([]string{"history"}, args...)...)
			if r.code != cli.ExitOK {
				t.Fatalf("%+v", r)
			}
			if name == "info" { // without the line of memory
				lines := strings.SplitAfter(r.stdout, "\n")
				lines[3] = "Memory: ...\n"
				r.stdout = strings.Join(lines, "")
			}
			if !strings.HasSuffix(name, "-csv") && !strings.HasSuffix(name, "-json") {
				clitest.CheckWidth(t, name, r.stdout)
			}
			clitest.Golden(t, name+".golden", r.stdout)
			if strings.HasSuffix(name, "-json") && !json.Valid([]byte(r.stdout)) {
				t.Errorf("this is no JSON:\n%s", r.stdout)
			}
		})
	}
}

// Memory and kinds, for scripts.
func TestInfoJSON(t *testing.T) {
	inSet(t)
	var got recordingInfo
	r := granary(t, "history", "info", "--json", "run.ihs.gz")
	if err := json.Unmarshal([]byte(r.stdout), &got); err != nil {
		t.Fatal(err)
	}
	if got.Attributes != 10 || got.Intervals != 24 || got.Kinds != (kindCounts{Null: 9, Int: 10, Float: 2, String: 3}) || got.Duration != 1e10+1 ||
		got.Bytes <= 0 || got.BytesPerInterval != float64(got.Bytes)/24 || len(got.Tree) != 3 || got.Tree[0] != (topInfo{"CPUs", 3, 5, 13}) {
		t.Errorf("%+v", got)
	}
}

// TestInfoMemory: the memory of an interval is printed where there are many. Of few it is the memory
// of an empty history.
func TestInfoMemory(t *testing.T) {
	for file, want := range map[string]string{
		"synth:10:100":  `^Memory: [0-9.]+ KiB, names included$`,
		"synth:100:200": `^Memory: [0-9.]+ KiB, [0-9.]+ bytes an interval, names included$`,
	} {
		r := granary(t, "history", "info", file)
		lines := strings.Split(r.stdout, "\n")
		if r.code != cli.ExitOK || len(lines) < 4 || !regexp.MustCompile(want).MatchString(lines[3]) {
			t.Errorf("%s: %+v", file, r)
		}
	}
}

// A set, its CSV, its compressed CSV and standard input give the same answers.
func TestOfCSV(t *testing.T) {
	inSet(t)
	want := granary(t, "history", "slice", "--csv", "--nulls", "run", "50%").stdout
	write(t, filepath.Join(mustWd(t), "states.csv.gz"), gzipped.Of(t, []byte(statesCSV)))
	for _, name := range []string{"states.csv", "states.csv.gz"} {
		if r := granary(t, "history", "slice", "--csv", "--nulls", name, "50%"); r.code != cli.ExitOK || r.stdout != want {
			t.Errorf("%s: %+v, want\n%s", name, r, want)
		}
	}
	stdin := os.Stdin
	defer func() { os.Stdin = stdin }()
	f, err := os.Open("states.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	os.Stdin = f
	if r := granary(t, "history", "slice", "--csv", "--nulls", "-", "50%"); r.code != cli.ExitOK || r.stdout != want {
		t.Errorf("standard input: %+v, want\n%s", r, want)
	}
}

// Printed CSV can be imported as the same history.
func TestRoundTrip(t *testing.T) {
	inSet(t)
	all := granary(t, "history", "sample", "--csv", "--pixels", "100000", "--nulls", "run").stdout
	write(t, filepath.Join(mustWd(t), "again.csv"), []byte(all))
	if r := granary(t, "history", "import", "-o", "again", "again.csv"); r.code != cli.ExitOK {
		t.Fatalf("%+v", r)
	}
	if again := granary(t, "history", "sample", "--csv", "--pixels", "100000", "--nulls", "again").stdout; again != all {
		t.Errorf("it was\n%s\nand is\n%s", all, again)
	}
}

func TestWrongUse(t *testing.T) {
	inSet(t)
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"unknown command":         {[]string{"pot"}, `unknown command "pot": did you mean at or plot?`},
		"info of nothing":         {[]string{"info"}, "name one file, not 0"},
		"at without a time":       {[]string{"at", "run", "CPUs/0"}, "want 3 arguments, FILE ATTRIBUTE TIME, not 2"},
		"at with two":             {[]string{"at", "run", "CPUs/0", "+1s", "-2s"}, "want 3 arguments, FILE ATTRIBUTE TIME, not 4"},
		"slice without a time":    {[]string{"slice", "run"}, "want 2 arguments, FILE TIME, not 1"},
		"range of everything":     {[]string{"range", "run"}, "want 2 arguments, FILE ATTRIBUTE, not 1"},
		"time that is none":       {[]string{"at", "run", "CPUs/0", "noon"}, `time "noon": want one such as`},
		"time before":             {[]string{"at", "run", "CPUs/0", "2026-01-31"}, "time 2026-01-31 is outside the history, which is from 2026-01-31T09:00:00Z to 2026-01-31T09:00:10Z: +10s"},
		"seconds behind":          {[]string{"slice", "run", "1769850011"}, "time 1769850011 is outside the history"},
		"seconds before":          {[]string{"at", "run", "CPUs/0", "1769849999.5"}, "time 1769849999.5 is outside the history"},
		"milliseconds":            {[]string{"slice", "run", "1769850100000"}, "time 1769850100000 is outside the history"},
		"seconds of two points":   {[]string{"slice", "run", "1769850001.5.5"}, `time "1769850001.5.5": want one such as`},
		"from seconds behind":     {[]string{"range", "--from", "1800000000", "run", "CPUs/0"}, "there is nothing of the history"},
		"at in two forms":         {[]string{"at", "--json", "--csv", "run", "CPUs/0", "50%"}, "choose one of --json and --csv"},
		"help of no command":      {[]string{"help", "slise"}, `unknown command "slise": did you mean slice?`},
		"help of below a command": {[]string{"help", "slice", "x"}, `unknown command "x"`},
		"plot to another form":    {[]string{"plot", "-o", "a.png", "run"}, "-o a.png: the output is SVG or HTML, not .png: use the suffix .svg or .html"},
		"plot to another FORM":    {[]string{"plot", "-o", "a.svg.GZ", "run"}, "the output is SVG or HTML, not .GZ"},
		"time behind":             {[]string{"slice", "run", "+11s"}, "time +11s is outside"},
		"long before the end":     {[]string{"slice", "run", "-11s"}, "+10s; end-11s counts from its end"},
		"share":                   {[]string{"slice", "run", "101%"}, `time "101%": want`},
		"no such attribute":       {[]string{"at", "run", "CPUs/7", "0%"}, `there is no attribute "CPUs/7"; in CPUs there is: 0, 10, 9`},
		"no such top":             {[]string{"range", "run", "CPU"}, `there is no attribute "CPU"; at the top there is: CPUs, Threads, odd\/name \*`},
		"range of a pattern":      {[]string{"range", "run", "CPUs/*"}, `there is no attribute "CPUs/*"; in CPUs there is: 0, 10, 9; patterns are for slice, sample and plot, with --match`},
		"at of a pattern":         {[]string{"at", "run", "CPUs/0/../9", "0%"}, "patterns are for slice, sample and plot, with --match"},
		"range of a star":         {[]string{"range", "run", "CPU*"}, "patterns are for slice, sample and plot, with --match"},
		"no such child":           {[]string{"range", "run", "CPUs/9/x"}, "in CPUs/9 there is none"},
		"open backslash":          {[]string{"range", "run", `CPUs\`}, "ends in a backslash"},
		"pattern to nowhere":      {[]string{"slice", "--match", "*/*/*/*", "run", "0%"}, `--match "*/*/*/*" matches no attribute`},
		"pattern to the root":     {[]string{"slice", "--match", "..", "run", "0%"}, `--match ".." matches no attribute`},
		"star in a name":          {[]string{"slice", "--match", "CPU*", "run", "0%"}, `* stands for a whole name; for the character itself write \*`},
		"two forms":               {[]string{"slice", "--json", "--csv", "run", "0%"}, "choose one of --json and --csv"},
		"from after to":           {[]string{"range", "--from", "+5s", "--to", "+4s", "run", "CPUs/0"}, "from +5s to +4s there is nothing"},
		"from after the end":      {[]string{"range", "--from", "+20s", "run", "CPUs/0"}, "there is nothing of the history"},
		"to before the start":     {[]string{"range", "--to", "2025-01-01", "run", "CPUs/0"}, "there is nothing of the history"},
		"from that is none":       {[]string{"sample", "--from", "soon", "run"}, `time "soon"`},
		"no pixels":               {[]string{"sample", "--pixels", "0", "run"}, "--pixels 0: want a whole number, 1 or more"},
		"too many pixels":         {[]string{"sample", "--pixels", "1048577", "run"}, "want at most 1048576"},
		"resolution of nothing":   {[]string{"range", "--resolution", "0s", "run", "CPUs/0"}, "--resolution"},
		"plot without -o":         {[]string{"plot", "run"}, "-o FILE"},
		"narrow":                  {[]string{"plot", "-o", "-", "--width", "399", "run"}, "--width 399: want 400 to 20000"},
		"rows":                    {[]string{"plot", "-o", "-", "--rows", "-1", "run"}, "--rows"},
		"name without a value":    {[]string{"plot", "-o", "-", "--name", "running", "run"}, "--name \"running\": want VALUE=TEXT"},
		"numbers":                 {[]string{"plot", "-o", "-", "--numbers", "pies", "run"}, "want auto, colors or bars"},
		"import of nothing":       {[]string{"import", "-o", "x"}, "name at least one CSV file"},
		"import to nothing":       {[]string{"import", "states.csv"}, "-o SET"},
		"import to output":        {[]string{"import", "-o", "-", "states.csv"}, "-o SET"},
		"import with a separator": {[]string{"import", "-o", "x", "--separator", "::", "states.csv"}, "want one character"},
		"import with a backslash": {[]string{"import", "-o", "x", "--separator", `\`, "states.csv"}, "want one character"},
		"import in hours":         {[]string{"import", "-o", "x", "--unit", "h", "states.csv"}, "want s, ms, us or ns"},
		"import of bools":         {[]string{"import", "-o", "x", "--kind", "bool", "states.csv"}, "want int, float or string"},
		"import from some time":   {[]string{"import", "-o", "x", "--start", "some time", "states.csv"}, "--start: time"},
	} {
		t.Run(name, func(t *testing.T) {
			r := granary(t, append([]string{"history"}, tc.args...)...)
			if r.code != cli.ExitUsage || len(r.problems()) != 1 || !strings.Contains(r.stderr, tc.want) {
				t.Errorf("exit code %d, want %d and one line with %q:\n%s", r.code, cli.ExitUsage, tc.want, r.stderr)
			}
		})
	}
}

// Files that cannot be read, and output that cannot be written.
func TestFailures(t *testing.T) {
	inSet(t)
	dir := mustWd(t)
	data, err := os.ReadFile("run.ihs.gz")
	attributes, err2 := os.ReadFile("run.attrs.tsv.gz")
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "alone.ihs.gz"), data)
	write(t, filepath.Join(dir, "plain.ihs"), []byte("a set that is not compressed"))
	write(t, filepath.Join(dir, "cpu.pb.gz"), gzipped.Of(t, []byte("\n\x04\x08\x01\x10\x02"))) // a sample type
	write(t, filepath.Join(dir, "run.dump"), []byte("\x04\x08{and more"))
	write(t, filepath.Join(dir, "run.jfr"), []byte("FLR\x00and more"))
	write(t, filepath.Join(dir, "cut.ihs.gz"), data[:len(data)-20])
	write(t, filepath.Join(dir, "cut.attrs.tsv.gz"), attributes)
	write(t, filepath.Join(dir, "text.ihs.gz"), []byte("no gzip"))
	write(t, filepath.Join(dir, "names.ihs.gz"), data)
	write(t, filepath.Join(dir, "names.attrs.tsv.gz"), attributes[:len(attributes)-9])
	for _, tc := range []struct{ name, want string }{
		{"nothing", "granary: stat nothing: no such file or directory, and there is no nothing.ihs.gz\n"},
		{"nothing.ihs.gz", "granary: open nothing.ihs.gz: no such file"},
		{"nothing.attrs.tsv.gz", "granary: open nothing.ihs.gz: no such file"},
		{"nothing.ihs", "granary: stat nothing.ihs: no such file"},
		{"nothing.IHS.GZ", "granary: stat nothing.IHS.GZ: no such file"},
		{"plain.ihs", "plain.ihs is no history; a history is a set (NAME.ihs.gz), a history file, CSV"},
		{"cpu.pb.gz", "cpu.pb.gz: it is a pprof profile: granary top FILE shows it; a history is a set"},
		{"run.dump", "run.dump: it is a dump of Ruby's stackprof"},
		{"run.jfr", "run.jfr: bad states of Java: the end within the chunk at byte 0"},
		{".", ". is a directory: --db DIR names one that 'granary history load' wrote; a history is"},
		{"nothing.csv", "open nothing.csv: no such file"},
		{"alone", "alone.attrs.tsv.gz: no such file"},
		{"cut", "cut: "},
		{"text", "text: not a valid interval set"},
		{"names", "names.attrs.tsv.gz: "},
		{"synth:0:1", "synth:0:1"},
	} {
		for _, command := range [][]string{{"info", tc.name}, {"slice", tc.name, "50%"}, {"plot", "-o", "-", tc.name}} {
			if r := granary(t, append([]string{"history"}, command...)...); r.code != cli.ExitFailed || !strings.Contains(r.stderr, tc.want) || r.stdout != "" {
				t.Errorf("%q: %+v, want %q", command, r, tc.want)
			}
		}
	}
	for _, args := range [][]string{
		{"info", "run"},
		{"info", "--json", "run"},
		{"at", "run", "CPUs/0", "50%"},
		{"at", "--json", "run", "CPUs/0", "50%"},
		{"at", "--csv", "run", "CPUs/0", "50%"},
		{"slice", "run", "50%"},
		{"slice", "--json", "run", "50%"},
		{"slice", "--csv", "run", "50%"},
		{"range", "run", "CPUs/0"},
		{"sample", "run"},
		{"plot", "-o", "-", "run"},
		{"import", "-o", "out", "states.csv"},
	} {
		var stderr bytes.Buffer
		args = append([]string{"history"}, args...)
		if code := run(context.Background(), args, brokenWriter{}, &stderr); code != cli.ExitFailed || !strings.Contains(stderr.String(), "closed pipe") {
			t.Errorf("%q: exit code %d: %s", args, code, stderr.String())
		}
	}
	r := granary(t, "history", "import", "-o", filepath.Join("missing", "x"), "states.csv")
	if r.code != cli.ExitFailed || !strings.Contains(r.stderr, filepath.Join("missing", "x.attrs.tsv.gz")) {
		t.Errorf("%+v", r)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, args := range [][]string{{"history", "info", "run"}, {"history", "import", "-o", "late", "states.csv"}} {
		var stdout, stderr bytes.Buffer
		if code := run(ctx, args, &stdout, &stderr); code != cli.ExitInterrupted || stderr.String() != "granary: interrupted\n" {
			t.Errorf("%q: exit code %d: %s%s", args, code, stdout.String(), stderr.String())
		}
	}
	if left, err := filepath.Glob("late*"); err != nil || len(left) > 0 {
		t.Errorf("an import that was canceled left %q, %v", left, err)
	}
}

// The granary commands in the examples of the helps work.
func TestExamples(t *testing.T) {
	inSet(t)
	dir := mustWd(t)
	for _, name := range []string{"a", "b"} {
		write(t, filepath.Join(dir, name+".csv"), []byte("time,attribute,value\n1,"+name+".x,1\n3,"+name+".x,2\n"))
	}
	data, err := os.ReadFile("b.csv")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "b.csv.gz"), gzipped.Of(t, data))
	write(t, filepath.Join(dir, "trace.out"), smallTrace(t))
	const request = `{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"a","startTimeUnixNano":"1","endTimeUnixNano":"2"}]}]}]}`
	write(t, filepath.Join(dir, "spans.jsonl"), []byte(request+"\n"+request+"\n"))
	write(t, filepath.Join(dir, "app.jfr"), besideThis(t, "../../../../trace/jfr/testdata/waits.jfr.gz"))
	write(t, filepath.Join(dir, "app.pftrace"), besideThis(t, "../../../../trace/perfetto/testdata/made.pftrace"))
	write(t, filepath.Join(dir, "node_trace.1.log"), []byte(`{"traceEvents":[{"ph":"X","ts":1,"dur":1,"name":"a"}]}`))
	write(t, filepath.Join(dir, "sched.txt"), []byte("  a 1 [000] 1.000000000: sched:sched_waking: comm=a pid=1 prio=120 target_cpu=000\n"))
	examples := 0
	for _, cmd := range NewCommand().Commands() {
		for line := range strings.Lines(cmd.Example) {
			line, _, _ = strings.Cut(strings.TrimSpace(line), " | ")
			line, _, _ = strings.Cut(line, " > ")
			args := strings.Fields(strings.ReplaceAll(line, "'", ""))
			if args[0] != "granary" {
				t.Fatalf("example %q", line)
			}
			if r := granary(t, args[1:]...); r.code != cli.ExitOK {
				t.Errorf("%q: %+v", line, r)
			}
			examples++
		}
	}
	if examples < 15 {
		t.Errorf("there are %d examples", examples)
	}
}

// The full help texts.
func TestHelp(t *testing.T) {
	for _, cmd := range append(NewCommand().Commands(), NewCommand()) {
		args, name := []string{"history", "--help"}, "help.golden"
		if cmd.Name() != "history" {
			args, name = []string{"history", cmd.Name(), "--help"}, "help-"+cmd.Name()+".golden"
		}
		r := granary(t, args...)
		if r.code != cli.ExitOK {
			t.Errorf("%q: %+v", args, r)
		}
		clitest.CheckWidth(t, strings.Join(args, " "), r.stdout)
		clitest.Golden(t, name, r.stdout)
	}
}

// The command help prints the same text as the flag --help.
func TestHelpCommand(t *testing.T) {
	for _, cmd := range NewCommand().Commands() {
		want := granary(t, "history", cmd.Name(), "--help")
		if got := granary(t, "history", "help", cmd.Name()); got.code != cli.ExitOK || got != want {
			t.Errorf("help %s: %+v, want %+v", cmd.Name(), got, want)
		}
	}
	want := granary(t, "history", "--help")
	if got := granary(t, "history", "help"); got != want {
		t.Errorf("help: %+v, want %+v", got, want)
	}
	if got := granary(t, "history"); got.code != cli.ExitUsage || got.stdout != want.stdout || got.stderr != "" {
		t.Errorf("no command: %+v, want the help alone", got)
	}
}

// All forms of an instant mean the same instant.
func TestTimes(t *testing.T) {
	inSet(t)
	want := granary(t, "history", "at", "run", "CPUs/0", "+2.25s")
	for _, text := range []string{
		"2026-01-31T09:00:02.25Z", "2026-01-31T10:00:02.25+01:00", "2026-01-31T04:30:02.25-04:30", "2026-01-31 09:00:02.25",
		"1769850002250000000", "1769850002.25", "1769850002.250000000",
	} {
		if got := granary(t, "history", "at", "run", "CPUs/0", text); got.code != cli.ExitOK || got != want {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
	want = granary(t, "history", "slice", "run", "+2s")
	if got := granary(t, "history", "slice", "run", "1769850002"); got.code != cli.ExitOK || got != want {
		t.Errorf("seconds: %+v, want %+v", got, want)
	}
	// Bounds outside the history are moved to its bounds, on either side.
	all := granary(t, "history", "range", "--csv", "run", "CPUs/0")
	if got := granary(t, "history", "range", "--csv", "--from", "1700000000", "--to", "1800000000", "run", "CPUs/0"); got.code != cli.ExitOK || got != all {
		t.Errorf("years around: %+v, want %+v", got, all)
	}
	// A number is nanoseconds if the history contains both readings.
	write(t, filepath.Join(mustWd(t), "zero.csv"), []byte("time,attribute,value\n0,a,1\n3,a,2\n5000000000,a,3\n"))
	if got := granary(t, "history", "at", "--csv", "zero.csv", "a", "2"); !strings.HasSuffix(got.stdout, "\n0,2,a,1,int\n") {
		t.Errorf("nanoseconds: %+v", got)
	}
	if got := granary(t, "history", "at", "--csv", "zero.csv", "a", "5.0"); !strings.HasSuffix(got.stdout, "\n5000000000,5000000000,a,3,int\n") {
		t.Errorf("a point: %+v", got)
	}
}

// JSON has a field for whether an interval is open.
func TestJSONOpen(t *testing.T) {
	for _, open := range []bool{false, true} {
		text, err := compactJSON(jsonOf("a", history.Interval{Start: 1, End: 2, Open: open}))
		if want := fmt.Sprintf(`"open":%v,`, open); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s, %v: want %s", text, err, want)
		}
	}
}

// A set may be named by either of its files.
func TestNames(t *testing.T) {
	inSet(t)
	want := granary(t, "history", "slice", "run", "50%")
	for _, name := range []string{"run.ihs.gz", "run.attrs.tsv.gz"} {
		if got := granary(t, "history", "slice", name, "50%"); got.code != cli.ExitOK || got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

// The size of a real history, and a known state.
func TestOfRealSet(t *testing.T) {
	name := strings.TrimSuffix(beside.Data(t, "intervals/many-threads"+ihs.IntervalsSuffix), ihs.IntervalsSuffix)
	l, err := trace.Load(t.Context(), name, trace.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := infoOf(newRecording(l))
	if got.Attributes != 58_428 || got.Intervals != 821_120 || got.Kinds != (kindCounts{Null: 200_931, Int: 517_506, String: 102_683}) || got.BytesPerInterval > 7 {
		t.Errorf("%+v", got)
	}
	threads, err := match(t.Context(), l.Names, []string{"Threads/*"})
	if err != nil || len(threads) != 8595 {
		t.Errorf("%d threads, %v", len(threads), err)
	}
	a, err := lookup(l.Names, "Threads/4297/Exec_name")
	if err != nil {
		t.Fatal(err)
	}
	if in, err := l.At(a, l.End()); err != nil || !in.Value.Equal(history.String("lttng-consumerd")) {
		t.Errorf("%+v, %v", in, err)
	}
}
