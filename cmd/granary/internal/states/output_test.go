package states

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/ipc"
	"github.com/apache/arrow/go/v14/arrow/memory"
	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/cmd/granary/internal/clitest"
	"github.com/granarydb/granary/columnstore"
)

// arrowRows reads a stream and returns its rows in the form of the command's CSV.
func arrowRows(t *testing.T, stream []byte) (rows [][]string, schema *arrow.Schema) {
	t.Helper()
	r, err := ipc.NewReader(bytes.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	for r.Next() {
		rec := r.Record()
		cell := func(name string, row int) string {
			c := rec.Column(r.Schema().FieldIndices(name)[0])
			if runs, ok := c.(*array.RunEndEncoded); ok {
				c, row = runs.Values(), runs.GetPhysicalIndex(row)
			}
			if c.IsNull(row) {
				return ""
			}
			return c.ValueStr(row)
		}
		for row := range int(rec.NumRows()) {
			value := ""
			if kind := cell("kind", row); kind != "null" {
				value = cell("value_"+kind, row)
			}
			rows = append(rows, []string{cell("start", row), cell("end", row), cell("attribute", row), value, cell("kind", row)})
		}
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	return rows, r.Schema()
}

// An Arrow stream has the rows of the same command's CSV, in each form, in a file and on
// standard output. A stream without rows has the schema.
func TestArrow(t *testing.T) {
	inSet(t)
	for _, args := range [][]string{
		{"slice", "run", "+2.25s"},
		{"slice", "--nulls", "run", "50%"},
		{"slice", "--match", "CPUs", "run", "end-1s"}, // nothing
		{"slice", "-n", "2", "run", "+2.25s"},
		{"range", "run", "CPUs/0"},
		{"range", "run", "Threads/4297/Exec_name"},
		{"range", "--resolution", "3s", "--from", "10%", "run", "CPUs/0"},
		{"range", "run", `odd\/name \*`},
		{"sample", "--pixels", "2", "run"},
		{"sample", "--nulls", "--pixels", "4", "--match", "Threads/*/*", "run"},
		{"sample", "synth:20:300"},
	} {
		command := append([]string{"history", args[0]}, args[1:]...)
		want, err := csv.NewReader(strings.NewReader(granary(t, append(command, "--csv")...).stdout)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for _, form := range cli.ArrowFormNames() {
			r := granary(t, append(command, "--format", "arrow", "--form", form, "-o", "-")...)
			rows, schema := arrowRows(t, []byte(r.stdout))
			if r.code != cli.ExitOK || !slices.EqualFunc(rows, want[1:], slices.Equal) {
				t.Errorf("%q as %s: %s%q, want %q", args, form, r.stderr, rows, want[1:])
			}
			if len(schema.Fields()) != 11 {
				t.Errorf("%q as %s: %v", args, form, schema)
			}
			if r = granary(t, append(command, "--form", form, "-o", "out.arrows")...); r.code != cli.ExitOK || r.stdout != "" {
				t.Fatalf("%+v", r)
			}
			file, err := os.ReadFile("out.arrows")
			if err != nil {
				t.Fatal(err)
			}
			if again, _ := arrowRows(t, file); !slices.EqualFunc(rows, again, slices.Equal) {
				t.Errorf("%q as %s: a file of %d rows, want %d", args, form, len(again), len(rows))
			}
		}
	}
}

// The schema, as documentation of the columns.
func TestArrowSchema(t *testing.T) {
	goldens, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	inSet(t)
	var b strings.Builder
	for _, form := range cli.ArrowFormNames() {
		_, schema := arrowRows(t, []byte(granary(t, "history", "range", "--format", "arrow", "--form", form, "-o", "-", "run", "CPUs/0").stdout))
		fmt.Fprintf(&b, "%s\n", form)
		for _, f := range schema.Fields() {
			fmt.Fprintf(&b, "  %s %v nullable=%v\n", f.Name, f.Type, f.Nullable)
		}
	}
	t.Chdir(goldens)
	clitest.Golden(t, "arrow-schema.golden", b.String())
}

// Formats by flag and by suffix, and combinations that are usage errors.
func TestFormats(t *testing.T) {
	inSet(t)
	slice := func(args ...string) result {
		return granary(t, append([]string{"history", "slice"}, append(args, "run", "50%")...)...)
	}
	for format, name := range map[string]string{"text": "a.txt", "csv": "a.csv", "json": "a.JSON"} {
		want := slice("--format", format)
		if short := slice("--" + format); format != "text" && short != want {
			t.Errorf("--%s: %+v, want %+v", format, short, want)
		}
		if r := slice("-o", "-", "--format", format); r != want {
			t.Errorf("%s to -: %+v, want %+v", format, r, want)
		}
		if r := slice("-o", name); r.code != cli.ExitOK || r.stdout != "" {
			t.Errorf("%s: %+v", name, r)
		}
		if got, err := os.ReadFile(name); err != nil || string(got) != want.stdout {
			t.Errorf("%s: %v, %s, want %s", name, err, got, want.stdout)
		}
	}
	set, err := os.ReadFile("run.ihs.gz")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--format", "arrow"}, "-o"},
		{[]string{"--format", "xml"}, "want text, csv, json or arrow"},
		{[]string{"--format", "csv", "--json"}, "choose one of --format, --json and --csv"},
		{[]string{"--csv", "--json"}, "choose one of --json and --csv"},
		{[]string{"-o", "a"}, "use the suffix .arrows, .csv, .json or .txt"},
		{[]string{"-o", "a.arrow"}, "the output is an Arrow stream"},
		{[]string{"--form", "plain"}, "--form applies to --format arrow only"},
		{[]string{"--form", "flat", "-o", "a.arrows"}, "want dictionary, native or plain"},
		{[]string{"-o", "run.ihs.gz", "--format", "arrow"}, "the output is an input"},
		{[]string{"-o", "run.attrs.tsv.gz", "--csv"}, "the output is an input"},
		{[]string{"-o", "a.arrows", "--csv"}, "the suffix means arrow, the flags csv"},
		{[]string{"-o", ""}, "no output: add -o FILE"},
	} {
		if r := slice(c.args...); r.code != cli.ExitUsage || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%q: %+v, want %q", c.args, r, c.want)
		}
	}
	if r := granary(t, "history", "slice", "-o", "states.csv", "states.csv", "50%"); r.code != cli.ExitUsage || !strings.Contains(r.stderr, "the output is an input") {
		t.Errorf("the input as output: %+v", r)
	}
	if r := granary(t, "history", "plot", "-o", "run.ihs.gz", "run"); r.code != cli.ExitUsage || !strings.Contains(r.stderr, "the output is an input") {
		t.Errorf("a plot over its input: %+v", r)
	}
	if after, err := os.ReadFile("run.ihs.gz"); err != nil || !bytes.Equal(set, after) {
		t.Errorf("the input has changed: %v", err)
	}
	if r := slice("-o", "no/such/folder.arrows"); r.code != cli.ExitFailed || !strings.Contains(r.stderr, "no/such/folder.arrows") {
		t.Errorf("a folder that is not there: %+v", r)
	}
}

// The memory of records is released.
func TestArrowMemory(t *testing.T) {
	inSet(t)
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	var form intervalForm
	cmd := &cobra.Command{}
	form.flags(cmd)
	form.format, form.output, form.memory = formatArrow, "-", mem
	cmd.SetContext(t.Context())
	cmd.SetOut(brokenWriter{})
	l, err := openHistory(cmd, "synth:500:100")
	if err != nil {
		t.Fatal(err)
	}
	scan := func(ctx context.Context, q columnstore.HistoryScan) recordSeq {
		return q.Range(ctx, l.Start(), l.End())
	}
	of := span{l.Start(), l.End()}
	if err := form.writeArrow(cmd, l, l.All(), of, true, scan); err == nil {
		t.Error("a writer that fails is no error")
	}
	var out bytes.Buffer
	cmd.SetOut(&out)
	if err := form.writeArrow(cmd, l, l.All(), of, true, scan); err != nil {
		t.Error(err)
	}
	if rows, _ := arrowRows(t, out.Bytes()); len(rows) < 30000 {
		t.Errorf("%d rows", len(rows))
	}
}
