package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v14/arrow/memory"
	"github.com/google/go-cmp/cmp"
	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/cmd/granary/internal/clitest"
	"github.com/granarydb/granary/internal/effort"
)

// exports is each format and form, as flags.
var exports = [][]string{
	{"--format", "parquet"},
	{"--format", "arrow"},
	{"--format", "arrow", "--form", "plain"},
	{"--format", "arrow", "--form", "native"},
}

// odd returns a profile with the corner cases of rows: IDs, numbers with units, labels of some
// samples, empty labels, zero and negative values, samples without a stack or symbols.
func odd() *pprof.Profile {
	p := newProfile("samples:count cpu:nanoseconds :",
		sample{"leaf main", []int64{1, 10, 100}, map[string][]string{
			"trace_id": {"0123456789abcdef0123456789abcdef"}, "span_id": {"fedcba9876543210"}, "thread": {"a"},
		}},
		sample{"leaf main", []int64{2, -20, 0}, map[string][]string{"thread": {""}, "only here": {"é\x00\n"}}},
		sample{"leaf leaf leaf main", []int64{0, 0, 0}, nil},
		sample{"", []int64{4, 0, 9}, nil},
		sample{"other", []int64{-1 << 63, 1<<63 - 1, 1}, map[string][]string{"thread": {"a"}}},
	)
	p.Sample[0].NumLabel = map[string][]int64{"bytes": {512}, "size": {-7}}
	p.Sample[0].NumUnit = map[string][]string{"bytes": {"bytes"}}
	p.Sample[1].NumLabel = map[string][]int64{"bytes": {0}}
	p.Sample[1].NumUnit = map[string][]string{"bytes": {"bytes"}}
	p.Location[len(p.Location)-1].Line = nil // of other: an address
	return p
}

// readExport reads an exported file's rows.
func readExport(t *testing.T, flags []string, data []byte, stacks string) []row {
	t.Helper()
	if flags[1] == formatParquet {
		_, rows := readParquet(t, data, stacks)
		return rows
	}
	_, rows := readArrow(t, data, stacks)
	return rows
}

// TestExport compares the rows of every format and form with those of google/pprof.
func TestExport(t *testing.T) {
	effort.Long(t)
	made := []string{file(t, "service.pb.gz", service()), file(t, "odd.pb.gz", odd())}
	compareExports(t, made)
	if effort.Race {
		return // one goroutine writes
	}
	eachCorpus(t, func(t *testing.T, files []string) { compareExports(t, fewer(files)) })
}

func compareExports(t *testing.T, files []string) {
	t.Helper()
	for stacks, exports := range map[string][][]string{stacksNames: exports, stacksIDs: exports[:2]} {
		want := sorted(wantRows(t, stacks, files...))
		for _, flags := range exports {
			mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
			var out bytes.Buffer
			if err := exportRows(t.Context(), mem, &out, slices.Concat(flags, []string{"-o", "-", "--cumulative", "sum", "--stacks", stacks}, files)...); err != nil {
				t.Fatalf("%v: %v", flags, err)
			}
			mem.AssertSize(t, 0)
			got := sorted(readExport(t, flags, out.Bytes(), stacks))
			if !slices.Equal(got, want) {
				t.Errorf("%v, stacks %s: %d rows, want %d: -want +got\n%.3000s", flags, stacks, len(got), len(want), cmp.Diff(want, got))
			}
			t.Logf("%v, stacks %s: %d rows in %d bytes", flags, stacks, len(got), out.Len())
		}
	}
}

// exportRows runs the command with its own allocator.
func exportRows(ctx context.Context, mem memory.Allocator, stdout io.Writer, args ...string) error {
	e := newExporter()
	e.memory = mem
	cmd := e.command()
	cmd.SetArgs(args)
	cmd.SetOut(stdout)
	cmd.SetErr(io.Discard)
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	return cmd.ExecuteContext(ctx)
}

// Readers rely on the columns and their types.
func TestExportColumns(t *testing.T) {
	input := file(t, "odd.pb.gz", odd())
	var text strings.Builder
	for _, flags := range exports {
		for _, stacks := range []string{stacksNames, stacksIDs} {
			r := granary(t, slices.Concat([]string{"export", "-o", "-", "--stacks", stacks}, flags, []string{input})...)
			fmt.Fprintf(&text, "%s --stacks %s\n", strings.Join(flags, " "), stacks)
			if flags[1] == formatParquet {
				schema, _ := readParquet(t, []byte(r.stdout), stacks)
				fmt.Fprintln(&text, schema)
				continue
			}
			schema, _ := readArrow(t, []byte(r.stdout), stacks)
			for _, f := range schema.Fields() {
				fmt.Fprintf(&text, "    %-32s %s%s\n", f.Name, f.Type, map[bool]string{true: ", nullable"}[f.Nullable])
			}
			text.WriteString("\n")
		}
	}
	clitest.Golden(t, "export-columns.golden", text.String())
}

func TestExportHelp(t *testing.T) {
	clitest.Golden(t, "export-help.golden", granary(t, "export", "--help").stdout)
}

// The selection of export is that of the other commands.
func TestExportSelection(t *testing.T) {
	a, b := file(t, "a.pb.gz", service()), file(t, "b.pb.gz", odd())
	for _, tc := range []struct {
		flags []string
		keep  func(r row) bool
	}{
		{[]string{"--sample-index", "cpu"}, func(r row) bool { return r["sample_type"] == "cpu" }},
		{[]string{"--selector", `{thread="worker-2"}`}, func(r row) bool { return r["pprof_labels.thread"] == "worker-2" }},
		{[]string{"--selector", `{thread=""}`}, func(r row) bool { return r["pprof_labels.thread"] == "" }},
		{[]string{"--search", "^parse$"}, func(r row) bool { return strings.Contains("\n"+r["stacktrace"], "\nparse\n") }},
		{[]string{"--from", "2000-01-01", "--sample-index", "samples"}, func(r row) bool { return r["sample_type"] == "samples" }},
		{[]string{"--to", "2000-01-01"}, func(row) bool { return false }},
	} {
		want := sorted(slices.DeleteFunc(wantRows(t, stacksNames, a, b), func(r row) bool { return !tc.keep(r) }))
		for _, flags := range exports {
			r := granary(t, slices.Concat([]string{"export", "-o", "-"}, flags, tc.flags, []string{a, b})...)
			if r.code != cli.ExitOK {
				t.Fatalf("%v %v: %s", flags, tc.flags, r.stderr)
			}
			if got := sorted(readExport(t, flags, []byte(r.stdout), stacksNames)); !slices.Equal(got, want) {
				t.Errorf("%v %v: -want +got\n%s", flags, tc.flags, cmp.Diff(want, got))
			}
		}
	}
}

// A selection without rows is exported as a table with columns and without rows.
func TestExportNothing(t *testing.T) {
	input := file(t, "odd.pb.gz", odd())
	noRows := file(t, "none.pb.gz", newProfile("cpu:nanoseconds"))
	for _, flags := range exports {
		full := granary(t, slices.Concat([]string{"export", "-o", "-"}, flags, []string{input})...)
		none := granary(t, slices.Concat([]string{"export", "-o", "-", "--search", "no such function"}, flags, []string{input})...)
		if none.code != cli.ExitOK || none.stderr != "granary: there are no samples: --search 'no such function' leaves none\n" {
			t.Errorf("%v: %+v", flags, none.stderr)
		}
		if flags[1] == formatParquet {
			want, _ := readParquet(t, []byte(full.stdout), "")
			got, rows := readParquet(t, []byte(none.stdout), "")
			if got.String() != want.String() || len(rows) > 0 {
				t.Errorf("%d rows; columns %s, want %s", len(rows), got, want)
			}
		} else {
			want, _ := readArrow(t, []byte(full.stdout), "")
			got, rows := readArrow(t, []byte(none.stdout), "")
			if !got.Equal(want) || len(rows) > 0 {
				t.Errorf("%d rows; columns %s, want %s", len(rows), got, want)
			}
		}
		if empty := granary(t, slices.Concat([]string{"export", "-o", "-"}, flags, []string{noRows})...); empty.code != cli.ExitOK || len(readExport(t, flags, []byte(empty.stdout), "")) > 0 {
			t.Errorf("%v: a store without rows: %+v", flags, empty.stderr)
		}
	}
}

func TestExportWrongUse(t *testing.T) {
	good := file(t, "good.pb.gz", service())
	link := filepath.Join(t.TempDir(), "link.parquet")
	if err := os.Symlink(good, link); err != nil {
		t.Skip(err)
	}
	for _, tc := range []struct {
		name string
		args []string
		want string
	}{
		{"no inputs", []string{"-o", "x.parquet"}, "name at least one profile"},
		{"no output", []string{good}, "-o FILE"},
		{"no output, but a format", []string{"--format", "arrow", good}, "-o FILE"},
		{"unknown format", []string{"-o", "-", "--format", "csv", good}, `--format "csv": want parquet or arrow`},
		{"unknown ending", []string{"-o", "rows.csv", good}, "-o rows.csv: use the suffix .parquet or .arrows, or add --format"},
		{"no ending", []string{"-o", "rows", good}, "-o rows: use the suffix"},
		{"the other form of Arrow", []string{"-o", "rows.arrow", good}, "use the suffix .arrows, or add --format arrow"},
		{"standard output without a format", []string{"-o", "-", good}, "add --format parquet or --format arrow"},
		{"unknown form", []string{"-o", "x.arrows", "--form", "flat", good}, `--form "flat": want dictionary, native or plain`},
		{"form of Parquet", []string{"-o", "x.parquet", "--form", "plain", good}, "--form applies to --format arrow only"},
		{"unknown stacks", []string{"-o", "x.parquet", "--stacks", "folded", good}, `--stacks "folded": want names or ids`},
		{"unknown type", []string{"-o", "-", "--format", "arrow", "--sample-index", "heap", good}, `"heap"`},
		{"bad selector", []string{"-o", "-", "--format", "arrow", "--selector", "{", good}, "selector"},
		{"bad selector of the demo", []string{"-o", "-", "--format", "arrow", "--selector", "{", "--demo", "10s"}, "selector"},
		{"inputs and demo", []string{"-o", "x.parquet", "--demo", "10s", good}, "--demo uses its own profiles"},
		{"demo of no time", []string{"-o", "x.parquet", "--demo", "1s"}, `--demo "1s": want a duration from 10s to 1d`},
		{"demo of too much time", []string{"-o", "x.parquet", "--demo", "2d"}, `--demo "2d": want a duration`},
		{"demo of what is no time", []string{"-o", "x.parquet", "--demo", "often"}, `--demo "often"`},
		{"an input", []string{"-o", good, "--format", "arrow", good}, "the output is an input"},
		{"an input in a directory", []string{"-o", good, "--format", "parquet", filepath.Dir(good)}, "the output is an input"},
		{"an input by another name", []string{"-o", link, good}, "the output is an input"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before, err := os.ReadFile(good)
			if err != nil {
				t.Fatal(err)
			}
			r := granary(t, append([]string{"export"}, tc.args...)...)
			if r.code != cli.ExitUsage || len(r.problems()) != 1 || !strings.Contains(r.stderr, tc.want) || r.stdout != "" {
				t.Errorf("exit code %d, want %d and one line with %q:\n%s", r.code, cli.ExitUsage, tc.want, r.stderr)
			}
			if after, err := os.ReadFile(good); err != nil || !bytes.Equal(before, after) {
				t.Errorf("the input is another: %v", err)
			}
		})
	}
}

// A file is written whole or not at all. Only a whole file replaces an existing one.
func TestExportFile(t *testing.T) {
	input, dir := file(t, "in.pb.gz", service()), t.TempDir()
	for _, name := range []string{"rows.parquet", "rows.arrows", "ROWS.PARQUET"} {
		out := write(t, filepath.Join(dir, name), []byte("old"))
		if r := granary(t, "export", "-o", out, input); r.code != cli.ExitOK || r.stdout != "" {
			t.Fatalf("%+v", r)
		}
		data, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		flags := []string{"", map[bool]string{true: formatArrow, false: formatParquet}[strings.HasSuffix(name, ".arrows")]}
		if rows := readExport(t, flags, data, ""); len(rows) != 10 {
			t.Errorf("%s has %d rows, want 10", name, len(rows))
		}
	}
	if r := granary(t, "export", "-o", filepath.Join(dir, "missing", "x.parquet"), input); r.code != cli.ExitFailed || !strings.Contains(r.stderr, "missing") {
		t.Errorf("%+v", r)
	}
	bad := write(t, "bad.pb.gz", []byte("no profile"))
	if r := granary(t, "export", "-o", filepath.Join(dir, "some.parquet"), bad, input); r.code != cli.ExitFailed || len(r.problems()) != 1 {
		t.Errorf("%+v", r)
	} else if _, err := os.Stat(filepath.Join(dir, "some.parquet")); err != nil {
		t.Errorf("what could be read was not written: %v", err)
	}
}

func TestExportWriteErrors(t *testing.T) {
	input := file(t, "in.pb.gz", service())
	for _, flags := range exports {
		var stderr bytes.Buffer
		args := slices.Concat([]string{"export", "-o", "-"}, flags, []string{input})
		if code := run(t.Context(), args, brokenWriter{}, &stderr); code != cli.ExitFailed || strings.Count(stderr.String(), "closed pipe") != 1 {
			t.Errorf("%v: exit code %d: %s", flags, code, stderr.String())
		}
	}
}
