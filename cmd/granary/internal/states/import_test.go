package states

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/internal/ihs"
)

// save writes the files of a set.
func save(t testing.TB, s *ihs.Set, name string) {
	t.Helper()
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	cmd.SetErr(io.Discard)
	if err := saveSet(cmd, name, s); err != nil {
		t.Fatal(err)
	}
}

// TestFeedOfBrokenSet checks that a set with a gap is an error that names the gap.
func TestFeedOfBrokenSet(t *testing.T) {
	dir := t.TempDir()
	s := &ihs.Set{
		Header:     ihs.Header{Keys: 1, Intervals: 2, Start: 0, End: 20},
		Attributes: []ihs.Attribute{{Parent: ihs.NoParent, Name: "a"}},
		Keys:       []uint32{0, 0}, Starts: []int64{0, 12}, Ends: []int64{10, 20}, Kinds: []ihs.Kind{ihs.KindInt, ihs.KindInt}, Words: []uint64{1, 2},
	}
	name := filepath.Join(dir, "gap")
	save(t, s, name)
	if r := granary(t, "history", "info", name); r.code != cli.ExitFailed || !strings.Contains(r.stderr, "gap: interval 1: interval out of place") {
		t.Errorf("%+v", r)
	}
	s.Starts[1], s.Ends[1] = 11, 15 // with a gap up to the end
	save(t, s, name)
	if r := granary(t, "history", "info", name); r.code != cli.ExitFailed || !strings.Contains(r.stderr, "attribute 0 has no interval up to the end, 20") {
		t.Errorf("%+v", r)
	}
}

// TestImportFiles checks that another reader of sets reads both files, and that the old files
// stay after an error.
func TestImportFiles(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "out")
	csv := write(t, filepath.Join(dir, "in.csv"), []byte("time,attribute,value\n1,a/b,1\n5,a/b,x\n"))
	if r := granary(t, "history", "import", "-o", name+".ihs.gz", csv); r.code != cli.ExitOK {
		t.Fatalf("%+v", r)
	}
	s, err := ihs.Open(name, ihs.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for i := range s.Len() {
		iv := s.At(i)
		lines = append(lines, fmt.Sprintf("%s %d %d %v %q", strings.Join(s.Path(int(iv.Key)), "/"), iv.Start, iv.End, iv.Kind, iv.Text))
	}
	slices.Sort(lines)
	if diff := cmp.Diff([]string{`a 1 5 null ""`, `a/b 1 4 string "1"`, `a/b 5 5 string "x"`}, lines); diff != "" {
		t.Error(diff)
	}
	before, err := os.ReadFile(name + ".ihs.gz")
	if err != nil {
		t.Fatal(err)
	}
	bad := write(t, filepath.Join(dir, "bad.csv"), []byte("time,attribute,value\n1,a/b,1\nx,a/b,x\n"))
	r := granary(t, "history", "import", "-o", name, csv, bad)
	after, err := os.ReadFile(name + ".ihs.gz")
	if want := bad + `: line 3: time "x"`; r.code != cli.ExitFailed || !strings.Contains(r.stderr, want) || err != nil || !bytes.Equal(before, after) {
		t.Errorf("%+v, want %q; the set is as before: %t, %v", r, want, bytes.Equal(before, after), err)
	}
	if files, err := filepath.Glob(name + "*"); err != nil || len(files) != 2 {
		t.Errorf("there are %q, %v", files, err)
	}
}

// TestImport_Spans imports what touches, and leaves out what is wrong.
func TestImport_Spans(t *testing.T) {
	csv := write(t, filepath.Join(t.TempDir(), "spans.csv"), []byte("start,end,attribute,value\n1,5,T,a\n5,9,T,b\n"))
	out := filepath.Join(t.TempDir(), "out.history")
	for _, tc := range []struct {
		args       []string
		code       int
		want, rows string
	}{
		{nil, cli.ExitFailed, "intervals touch: start 5 is the end of the attribute's interval in line 2, which includes it: granary history import --ends exclusive", ""},
		{[]string{"--ends", "exclusive", "--unit", "ms"}, cli.ExitOK, "wrote", `"end":"1970-01-01T00:00:00.004999999Z","duration_ns":4000000`},
		{[]string{"--skip-bad"}, cli.ExitOK, "granary: 1 row left out, the first of them: " + csv + ": line 3: intervals touch", `"duration_ns":4,"open":false,"kind":"null"`},
		{[]string{"--skip-bad", "--partial"}, cli.ExitUsage, "--skip-bad is not for --partial", ""},
	} {
		r := granary(t, append([]string{"history", "import", "-o", out, csv}, tc.args...)...)
		if r.code != tc.code || !strings.Contains(r.stderr, tc.want) {
			t.Errorf("%q: %+v, want %q", tc.args, r, tc.want)
		}
		if tc.code != cli.ExitOK {
			continue
		}
		if r = granary(t, "history", "range", "--json", out, "T"); !strings.Contains(r.stdout, tc.rows) {
			t.Errorf("%q: %s, want %s", tc.args, r.stdout, tc.rows)
		}
	}
	if r := granary(t, "history", "info", csv); !strings.Contains(r.stderr, "--ends exclusive") {
		t.Errorf("%+v", r)
	}
}

// TestImport_Foreign says what a file is that is no CSV.
func TestImport_Foreign(t *testing.T) {
	dir := t.TempDir()
	perf := write(t, filepath.Join(dir, "perf.data"), []byte("PERFILE2h\x00\x00"))
	for _, tc := range [][]string{
		{"recording of Linux perf", "import", "-o", filepath.Join(dir, "out.history"), perf},
		{"recording of Linux perf", "import", "-o", filepath.Join(dir, "out"), perf},
		{"recording of Linux perf", "info", perf},
		{"recording of Linux perf", "load", "--db", filepath.Join(dir, "db"), perf},
		{"recording of Linux perf", "info", "-"},
		{"recording of Linux perf", "import", "-o", filepath.Join(dir, "out.history"), "-"},
	} {
		stdin(t, perf)
		r := granary(t, append([]string{"history"}, tc[1:]...)...)
		if r.code != cli.ExitFailed || !strings.Contains(r.stderr, tc[0]) || !strings.Contains(r.stderr, "a history is a set") {
			t.Errorf("%q: %+v", tc[1:], r)
		}
	}
}

// TestImportUnitHint: times of another unit than nanoseconds are imported with a hint that names
// it. Others have none.
func TestImportUnitHint(t *testing.T) {
	const day = 86_400
	cases := []struct {
		name        string
		first, last int64
		args        []string
		want        string
	}{
		{name: "seconds", first: 1769850000, last: 1769850000 + day, want: "if they are seconds, from 2026-01-31T09:00:00Z on, add --unit s;"},
		{name: "milliseconds", first: 1769850000000, last: 1769850000500, want: "if they are milliseconds, from 2026-01-31T09:00:00Z on, add --unit ms;"},
		{name: "microseconds", first: 1769850000000000, last: 1769850000500000, want: "if they are microseconds, from 2026-01-31T09:00:00Z on, add --unit us;"},
		{name: "nanoseconds", first: 1769850000000000000, last: 1769850000500000000},
		{name: "a year of seconds from 0", first: 0, last: 365 * day},
		{name: "an hour of nanoseconds from 0", first: 0, last: 3600 * 1e9},
		{name: "seconds, with a unit", first: 1769850000, last: 1769850001, args: []string{"--unit", "s"}},
		{name: "nanoseconds of 1970, insisted on", first: 1769850000, last: 1769850001, args: []string{"--unit", "ns"}},
		{name: "before 1970", first: -1769850000, last: -5},
	}
	for _, c := range cases {
		csv := write(t, filepath.Join(t.TempDir(), "in.csv"), fmt.Appendf(nil, "time,attribute,value\n%d,a,1\n%d,a,2\n", c.first, c.last))
		out := filepath.Join(t.TempDir(), "out")
		r := granary(t, append([]string{"history", "import", "-o", out, csv}, c.args...)...)
		if r.code != cli.ExitOK || !strings.Contains(r.stderr, c.want) || c.want == "" && r.stderr != "granary: wrote "+out+".ihs.gz\n" {
			t.Errorf("%s: %+v, want %q", c.name, r, c.want)
		}
	}
}

// TestImport_Chrome imports a trace in the JSON of Chrome, and one that is not closed, which --strict refuses.
func TestImport_Chrome(t *testing.T) {
	const whole = "../../../../trace/chrome/testdata/node.json"
	data, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	cut := write(t, filepath.Join(t.TempDir(), "cut.json"), data[:len(data)-2])
	out := filepath.Join(t.TempDir(), "out.history")
	for _, tc := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{whole}, cli.ExitOK, "wrote"},
		{[]string{cut}, cli.ExitOK, "bad trace in the JSON of Chrome: byte 30462: the end, where ']' should be: it is read up to 1970-"},
		{[]string{"--strict", cut}, cli.ExitFailed, "without --strict, what is before 1970-"},
	} {
		if r := granary(t, append([]string{"history", "import", "-o", out}, tc.args...)...); r.code != tc.code || !strings.Contains(r.stderr, tc.want) {
			t.Errorf("%q: %+v, want %q", tc.args, r, tc.want)
		}
		if r := granary(t, "history", "stats", out); !strings.Contains(r.stdout, "fs.sync.read") {
			t.Errorf("%q: %+v", tc.args, r)
		}
	}
}

// TestIsRecording has a recording with profiles too among the profiles, which view merges.
func TestIsRecording(t *testing.T) {
	for name, want := range map[string]bool{
		goTrace: true, "../../../../trace/chrome/testdata/node.json": true, "../../../../trace/perfetto/testdata/made.pftrace": true,
		"../../../../profile/format/testdata/busy.jfr": false, "../../../../trace/jfr/testdata/waits.jfr.gz": false,
	} {
		if got := IsRecording(name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
