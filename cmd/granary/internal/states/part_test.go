package states

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/internal/effort"
)

// changesOf returns CSV of random changes below an attribute from 1,000 to 10,000 ns, in the order of time.
func changesOf(seed uint64, top string, rows int) string {
	r := rand.New(rand.NewPCG(seed, 1))
	var b strings.Builder
	b.WriteString("time,attribute,value\n")
	for i := range rows {
		at := 1000 + i*9000/(rows-1)
		n := r.IntN(6)
		value := fmt.Sprint(r.IntN(4))
		switch {
		case r.IntN(9) == 0:
			value = ""
		case n%3 == 1:
			value = fmt.Sprintf("%d.5", r.IntN(9))
		case n%3 == 2:
			value = fmt.Sprintf(`"state ""%s"", of %d"`, value, n)
		}
		fmt.Fprintf(&b, "%d,%s/%d,%s\n", at, top, n, value)
	}
	return b.String()
}

// questions are questions about all, by all commands that ask a history.
func questions(name string) (all [][]string) {
	for _, at := range []string{"+0ns", "end", "33%", "+4567ns"} {
		all = append(all, []string{"at", name, "CPUs/1", at}, []string{"slice", "-n", "0", "--nulls", name, at}, []string{"slice", "--json", "--match", "CPUs/*", name, at})
	}
	return append(all,
		[]string{"range", "-n", "0", name, "CPUs/2"}, []string{"range", "--csv", "--from", "+2us", "--to", "50%", name, "CPUs/0"},
		[]string{"range", "-n", "0", "--resolution", "500ns", name, "CPUs/0"}, []string{"sample", "--csv", "--nulls", "--pixels", "37", name},
		[]string{"plot", "-o", "-", "--title", "same", name}, []string{"plot", "-o", "-", "--title", "same", "--from", "+3us", "--to", "+4us", "--match", "CPUs/*", name},
		[]string{"slice", "--format", "arrow", "-o", "-", "--match", "CPUs/*", name, "50%"}, []string{"range", "--format", "arrow", "-o", "-", name, "CPUs/1"},
		[]string{"sample", "--format", "arrow", "-o", "-", "--match", "CPUs/*", "--pixels", "9", name})
}

// succeeds runs a history command that must succeed.
func succeeds(t *testing.T, args ...string) string {
	t.Helper()
	r := granary(t, append([]string{"history"}, args...)...)
	if r.code != cli.ExitOK {
		t.Fatalf("%q: %+v", args, r)
	}
	return r.stdout
}

// sameAnswers compares the answers of two histories.
func sameAnswers(t *testing.T, whole, other string) {
	t.Helper()
	for i, args := range questions(other) {
		if want, got := succeeds(t, questions(whole)[i]...), succeeds(t, args...); got != want {
			t.Errorf("%q:\n%.2000s\nwant\n%.2000s", args, got, want)
		}
	}
	counts := func(name string) string {
		text := succeeds(t, "info", name)
		lines := strings.SplitAfter(text, "\n")
		return lines[0] + lines[1] + lines[2] + text[strings.Index(text, "    children"):]
	}
	if want, got := counts(whole), counts(other); got != want {
		t.Errorf("info:\n%s\nwant\n%s", got, want)
	}
}

// TestPart: a file that keeps a part answers as the whole history does, beside the rows of the CSV, which it reads again.
func TestPart(t *testing.T) {
	effort.Long(t)
	t.Chdir(t.TempDir())
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	csv := changesOf(1, "CPUs", 3000)
	put("states.csv", csv)
	succeeds(t, "import", "-o", "whole.history", "states.csv")
	for _, every := range []string{"1", "70", "100000"} {
		name := "part" + every + ".history"
		out := succeeds(t, "import", "--partial", "--every", every, "-o", name, "states.csv")
		if !strings.Contains(out, "the rest is in states.csv, which must stay") {
			t.Error(out)
		}
		sameAnswers(t, "whole.history", name)
	}
	succeeds(t, "verify", "part70.history")
	if info := succeeds(t, "info", "part70.history"); !strings.Contains(info, "at 43 checkpoints; the rest is in states.csv\n") {
		t.Errorf("%s", info)
	}
	succeeds(t, "import", "-o", "again.history", "part70.history") // whole again
	sameAnswers(t, "whole.history", "again.history")
	succeeds(t, "load", "--db", "db", "part70.history")
	if want, got := succeeds(t, "range", "whole.history", "CPUs/0"), succeeds(t, "range", "--db", "db", "part70", "CPUs/0"); got != want {
		t.Errorf("%s, want %s", got, want)
	}

	moved := t.TempDir()
	for _, name := range []string{"states.csv", "part70.history"} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		put(filepath.Join(moved, name), string(data))
	}
	put("states.csv", csv+"10000,CPUs/1,\n")
	if r := granary(t, "history", "info", "part70.history"); r.code != cli.ExitFailed || !strings.Contains(r.stderr, "bytes, which has") {
		t.Errorf("of a longer CSV: %+v", r)
	}
	put("states.csv", strings.ReplaceAll(csv, ",CPUs/1,", ",CPUs/4,"))
	if r := granary(t, "history", "range", "part100000.history", "CPUs/1"); r.code != cli.ExitFailed || !strings.Contains(r.stderr, "events differ from those of the build") {
		t.Errorf("of another CSV: %+v", r)
	}
	if want, got := succeeds(t, "range", "whole.history", "CPUs/0"), succeeds(t, "range", filepath.Join(moved, "part70.history"), "CPUs/0"); got != want {
		t.Errorf("moved: %s, want %s", got, want)
	}
	if err := os.Remove("states.csv"); err != nil {
		t.Fatal(err)
	}
	if r := granary(t, "history", "at", "part70.history", "CPUs/0", "end"); r.code != cli.ExitFailed || !strings.Contains(r.stderr, "part70.history keeps a part of states.csv, which is not there") {
		t.Errorf("without the CSV: %+v", r)
	}
}

// TestJoin: histories of several programs, whole or in part, answer as the whole history of all.
func TestJoin(t *testing.T) {
	t.Chdir(t.TempDir())
	for i, top := range []string{"CPUs", "Threads", "Disks"} {
		if err := os.WriteFile(top+".csv", []byte(changesOf(uint64(i), top, 800)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	succeeds(t, "import", "-o", "whole.history", "CPUs.csv", "Threads.csv", "Disks.csv")
	succeeds(t, "import", "--partial", "--every", "90", "-o", "cpus.history", "CPUs.csv")
	succeeds(t, "import", "-o", "threads.history", "Threads.csv")
	succeeds(t, "import", "--partial", "--every", "50", "-o", "disks.history", "Disks.csv")
	out := succeeds(t, "import", "--join", "-o", "all.history", "cpus.history", "threads.history", "disks.history")
	if out != "all.history: 21 attributes of 3 history files, from 1970-01-01T00:00:00.000001Z to 1970-01-01T00:00:00.00001Z; the files must stay\n" {
		t.Error(out)
	}
	sameAnswers(t, "whole.history", "all.history")
	if info := succeeds(t, "info", "all.history"); !strings.Contains(info, ", of cpus.history, threads.history, disks.history\n") {
		t.Errorf("%s", info)
	}
	if err := os.Rename("threads.history", "moved.history"); err != nil {
		t.Fatal(err)
	}
	if r := granary(t, "history", "at", "all.history", "CPUs/0", "end"); r.code != cli.ExitFailed || !strings.Contains(r.stderr, "threads.history") {
		t.Errorf("without a member: %+v", r)
	}
}

// TestPart_Errors names what is wrong with the flags or the inputs, and leaves nothing.
func TestPart_Errors(t *testing.T) {
	t.Chdir(t.TempDir())
	const head = "time,attribute,value\n"
	for name, text := range map[string]string{
		"a.csv": head + "1,A,1\n9,A,2\n", "same.csv": head + "1,A,1\n9,A,2\n", "short.csv": head + "1,B,1\n8,B,2\n", "empty.csv": head,
		"order.csv": head + "2,A,1\n1,A,2\n", "mixed.csv": head + "1,A,1\n2,A,x\n", "cell.csv": head + "1,A\n", "time.csv": head + "now,A,1\n",
		"intervals.csv": "start,end,attribute,value\n1,2,A,1\n", "kind.csv": "time,attribute,value,kind\n1,A,1,bool\n",
		"many.history": joinedMagic + "\n" + strings.Repeat("a.history\n", maxMembers+1), "none.history": joinedMagic + "\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a", "same", "short"} {
		succeeds(t, "import", "-o", name+".history", name+".csv")
	}
	succeeds(t, "import", "--join", "-o", "one.history", "a.history")
	for want, args := range map[string][]string{
		"--every is for --partial":                          {"-o", "x.history", "--every", "5", "a.csv"},
		"--every 0: want a whole number, 1 or more":         {"-o", "x.history", "--partial", "--every", "0", "a.csv"},
		"choose one; --join takes the files of --partial":   {"-o", "x.history", "--partial", "--join", "a.csv"},
		"-o x: --partial and --join write a file that ends": {"-o", "x", "--partial", "a.csv"},
		"--partial takes one file of CSV":                   {"-o", "x.history", "--partial", "a.csv", "same.csv"},
		"not compressed":                                    {"-o", "x.history", "--partial", "a.csv.gz"},
		"not a.history":                                     {"-o", "x.history", "--partial", "a.history"},
		"not -":                                             {"-o", "x.history", "--partial", "-"},
		"there are no rows":                                 {"-o", "x.history", "--partial", "empty.csv"},
		"granary: order.csv: the row at byte 27: its time":  {"-o", "x.history", "--partial", "order.csv"},
		"A: value of another kind":                          {"-o", "x.history", "--partial", "mixed.csv"},
		"cell.csv: the row at byte 21":                      {"-o", "x.history", "--partial", "cell.csv"},
		`time "now": want a number`:                         {"-o", "x.history", "--partial", "time.csv"},
		"a part is kept of changes":                         {"-o", "x.history", "--partial", "intervals.csv"},
		`kind "bool" and value "1": want int`:               {"-o", "x.history", "--partial", "kind.csv"},
		"the start is behind the first row":                 {"-o", "x.history", "--partial", "--start", "2", "a.csv"},
		"a.csv is no history file":                          {"-o", "x.history", "--join", "a.csv"},
		"--unit is for CSV, and --join names history files": {"-o", "x.history", "--join", "--unit", "s", "a.history"},
		"attribute has states of two members":               {"-o", "x.history", "--join", "a.history", "same.history"},
		"member 1 is from 1 to 8":                           {"-o", "x.history", "--join", "a.history", "short.history"},
		"one.history: it is several histories itself":       {"-o", "x.history", "--join", "a.history", "one.history"},
		"the output is an input":                            {"-o", "a.history", "--join", "a.history"},
	} {
		r := granary(t, append([]string{"history", "import"}, args...)...)
		if r.code == cli.ExitOK || !strings.Contains(r.stderr, want) {
			t.Errorf("%q: %+v, want %q", args, r, want)
		}
		if left, _ := filepath.Glob("x*"); len(left) > 0 {
			t.Errorf("%q leaves %q", args, left)
		}
	}
	for name, want := range map[string]string{"many.history": "more than 100 histories", "none.history": "names no histories"} {
		if r := granary(t, "history", "info", name); r.code != cli.ExitFailed || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: %+v, want %q", name, r, want)
		}
	}
	if r := granary(t, "history", "verify", "one.history"); r.code != cli.ExitUsage || !strings.Contains(r.stderr, "names several history files: verify each") {
		t.Errorf("%+v", r)
	}
}

// FuzzChanges reads any CSV: each row is an error, or read again from its position.
func FuzzChanges(f *testing.F) {
	f.Add([]byte("time,attribute,value\n1,A/0,x\n2,\"A/\n0\",\"a\"\"b\"\n"))
	f.Add([]byte("\ufeffKind, value ,attribute,time\r\nint,7,a\\/b,1\r\n\r\n,1.5,c,1970-01-01\r\n"))
	name := filepath.Join(f.TempDir(), "states.csv")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
		of := &changes{Separator: '/', path: name}
		r, err := of.Open(t.Context(), nil)
		if err != nil {
			return
		}
		defer func() { _ = r.Close() }() // nothing was written
		for range 50 {
			position, err := r.Position()
			if err != nil {
				t.Fatal(err)
			}
			at, row, err := r.Next()
			if err != nil {
				return
			}
			again, err := of.Open(t.Context(), position)
			if err != nil {
				t.Fatal(err)
			}
			if other, same, err := again.Next(); err != nil || other != at || !slices.Equal(same.path, row.path) || !same.value.Equal(row.value) {
				t.Fatalf("%d %v again is %d %v, %v", at, row, other, same, err)
			}
			if err := again.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
