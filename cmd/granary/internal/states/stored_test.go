package states

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/effort"
)

// TestStored: each command gives the same answer about a history in a directory as about its file.
func TestStored(t *testing.T) {
	inSet(t)
	r := granary(t, "history", "load", "--db", "db", "run")
	if want := "Stored run: 24 intervals of 10 attributes, from 2026-01-31T09:00:00Z to 2026-01-31T09:00:10Z\n"; r.code != cli.ExitOK || r.stdout != want || r.stderr != "" {
		t.Fatalf("%+v, want %q", r, want)
	}
	for _, args := range [][]string{{"load", "--db", "db", "states.csv"}, {"load", "--db", "db", "--name", "a b", "run.ihs.gz"}, {"load", "--name", "many", "--db", "db", "synth:1000:50"}} {
		if r := granary(t, append([]string{"history"}, args...)...); r.code != cli.ExitOK {
			t.Fatalf("%q: %+v", args, r)
		}
	}
	for _, args := range [][]string{
		{"info", "FILE"},
		{"info", "--json", "FILE"},
		{"at", "FILE", "CPUs/0", "+2.25s"},
		{"slice", "--nulls", "FILE", "end-1s"},
		{"range", "--csv", "FILE", "Threads/4297/Exec_name"},
		{"range", "-o", "run.csv", "FILE", "Threads/4297/load"}, // no file of the history, although it has its name
		{"sample", "--csv", "--nulls", "--pixels", "1000", "FILE"},
		{"plot", "-o", "-", "--title", "run", "FILE"},
	} {
		for file, stored := range map[string][]string{"run": {"run", "states", "a b"}} {
			want := answerOf(t, args, file)
			for _, name := range stored {
				if got := answerOf(t, append(slices.Clone(args), "--db", "db"), name); got != want {
					t.Errorf("%q of %s:\n%s\nwant\n%s", args, name, got, want)
				}
			}
		}
	}
	if want, got := answerOf(t, []string{"info", "FILE"}, "synth:1000:50"), answerOf(t, []string{"info", "--db", "db", "FILE"}, "many"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// answerOf returns the output of a command about a history, without its memory.
func answerOf(t *testing.T, args []string, name string) string {
	t.Helper()
	args = slices.Clone(args)
	args[slices.Index(args, "FILE")] = name
	r := granary(t, append([]string{"history"}, args...)...)
	if r.code != cli.ExitOK {
		t.Fatalf("%q: %+v", args, r)
	}
	if out := slices.Index(args, "-o"); out >= 0 && args[out+1] != "-" {
		data, err := os.ReadFile(args[out+1])
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	lines := slices.DeleteFunc(strings.SplitAfter(r.stdout, "\n"), func(line string) bool {
		return strings.HasPrefix(line, "Memory: ") || strings.Contains(line, `"bytes`)
	})
	return strings.Join(lines, "")
}

// TestStored_Live: a history that a program wrote, without an end, with kinds that recordings do not
// have, and one without states.
func TestStored_Live(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	store, err := columnstore.Open(columnstore.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"live", "empty"} {
		if _, err := store.CreateHistory(name, columnstore.HistoryOptions{Start: 1e18}); err != nil {
			t.Fatal(err)
		}
	}
	tx := store.Begin()
	w, err := tx.History(store.History("live"))
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range []history.Value{history.Bool(true), history.Bytes([]byte("x")), history.Int(1)} {
		a, err := w.Attribute(strconv.Itoa(i))
		if err == nil {
			err = w.Change(1e18+int64(i)*1e9, a, v)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	r := granary(t, "history", "info", "--db", dir, "live")
	if want := "Kinds:  1 int, 0 float, 0 string, 2 null, 1 bool, 1 bytes\n"; r.code != cli.ExitOK || !strings.Contains(r.stdout, want) {
		t.Errorf("%+v, want %q", r, want)
	}
	for _, args := range [][]string{{"info", "empty"}, {"slice", "empty", "0%"}, {"plot", "-o", "-", "empty"}} {
		r := granary(t, append([]string{"history", "--db", dir}, args...)...)
		if args = append([]string{"history", args[0], "--db", dir}, args[1:]...); r.code == cli.ExitOK {
			t.Errorf("--db before the command: %+v", r)
		}
		if r := granary(t, args...); r.code != cli.ExitFailed || !strings.Contains(r.stderr, `the history "empty" has no states`) {
			t.Errorf("%q: %+v", args, r)
		}
	}
}

func TestStored_Errors(t *testing.T) {
	inSet(t)
	if err := os.Mkdir("folder", 0o777); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(mustWd(t), "folder/notes.txt"), []byte("notes"))
	write(t, filepath.Join(mustWd(t), "bad.csv"), []byte("time,attribute,value\n1,a,1\nsoon,a,2\n"))
	if r := granary(t, "history", "load", "--db", "db", "run"); r.code != cli.ExitOK {
		t.Fatalf("%+v", r)
	}
	for name, tc := range map[string]struct {
		args []string
		code int
		want string
	}{
		"no directory":          {[]string{"info", "--db", "none", "run"}, cli.ExitFailed, "--db none: there is no such directory; granary history load makes one"},
		"empty name":            {[]string{"info", "--db", "", "run"}, cli.ExitUsage, "--db has no name"},
		"folder of others":      {[]string{"load", "--db", "folder", "run"}, cli.ExitUsage, "it has other files"},
		"ask a folder":          {[]string{"at", "--db", "folder", "run", "CPUs/0", "0%"}, cli.ExitFailed, "--db folder: there are no histories in it"},
		"no such history":       {[]string{"slice", "--db", "db", "ran", "0%"}, cli.ExitFailed, `--db db: there is no history "ran"; there is: run`},
		"the name is taken":     {[]string{"load", "--db", "db", "run.ihs.gz"}, cli.ExitUsage, `there is a history "run" already: choose another --name`},
		"load without --db":     {[]string{"load", "run"}, cli.ExitUsage, "--db DIR is missing"},
		"standard input":        {[]string{"load", "--db", "db", "-"}, cli.ExitUsage, "--name NAME is missing"},
		"no such file":          {[]string{"load", "--db", "db", "nothing"}, cli.ExitFailed, "stat nothing: no such file or directory, and there is no nothing.ihs.gz"},
		"CSV with a wrong time": {[]string{"load", "--db", "db", "bad.csv"}, cli.ExitFailed, "bad.csv"},
		"a new directory":       {[]string{"load", "--db", "new", "bad.csv"}, cli.ExitFailed, "bad.csv"},
	} {
		t.Run(name, func(t *testing.T) {
			r := granary(t, append([]string{"history"}, tc.args...)...)
			if r.code != tc.code || len(r.problems()) != 1 || !strings.Contains(r.stderr, tc.want) || r.stdout != "" {
				t.Errorf("%+v, want code %d and %q", r, tc.code, tc.want)
			}
		})
	}
	if _, err := os.Stat("new"); !os.IsNotExist(err) {
		t.Errorf("a load that stored nothing left a directory: %v", err)
	}
	// A file that could not be read took no name.
	if r := granary(t, "history", "info", "--db", "db", "bad"); !strings.HasSuffix(r.problems()[0], "there is: run") {
		t.Errorf("%+v", r)
	}
}

// TestStored_Cut: a set that breaks off leaves its first part, and the error names it.
func TestStored_Cut(t *testing.T) {
	effort.Long(t)
	t.Chdir(t.TempDir())
	if r := granary(t, "history", "sample", "--csv", "--nulls", "--pixels", "1000000", "-o", "all.csv", "synth:1000:50"); r.code != cli.ExitOK {
		t.Fatalf("%+v", r)
	}
	if r := granary(t, "history", "import", "-o", "run", "all.csv"); r.code != cli.ExitOK {
		t.Fatalf("%+v", r)
	}
	data, err := os.ReadFile("run.ihs.gz")
	if err == nil {
		err = os.WriteFile("run.ihs.gz", data[:len(data)*3/4], 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	r := granary(t, "history", "load", "--db", "db", "run")
	if r.code != cli.ExitFailed || !strings.Contains(r.stderr, `; the history "run" has the states of `) {
		t.Fatalf("%+v", r)
	}
	if r := granary(t, "history", "info", "--db", "db", "run"); r.code != cli.ExitOK || !strings.Contains(r.stdout, "1,000 attributes") {
		t.Errorf("%+v", r)
	}
}
