package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/cmd/granary/internal/clitest"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/effort"
)

// inspectedJSON is the output of inspect --json as a script reads it. A renamed field fails a
// test. inspect-json.golden has the whole output.
type inspectedJSON struct {
	Rows       int64
	Series     int
	Stacks     int
	Granules   int
	BaseParts  int `json:"base_parts"`
	FreshParts int `json:"fresh_parts"`
	Bytes      map[string]int64
	Tables     []struct {
		Name     string
		Granules []struct {
			Lower, Upper struct {
				Key    string
				Values []string
			}
			Rows  int
			Parts []struct {
				Base    bool
				Lo, Hi  int
				Columns []struct{ Name, Type, Encoding, Layout string }
			}
		}
	}
}

// inDir runs the program in a directory. The names of inputs are labels, which inspect prints.
func inDir(t *testing.T, dir string, args ...string) result {
	t.Helper()
	back, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	defer t.Chdir(back)
	return granary(t, args...)
}

// services writes four profiles of one service, of 10 rows each, into a directory.
func services(t *testing.T, apart time.Duration) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for i := range 4 {
		p := service()
		p.TimeNanos += int64(i) * int64(apart)
		file(t, filepath.Join(dir, fmt.Sprintf("%c.pb.gz", 'a'+i)), p)
	}
	return dir
}

// The output of inspect for people and for scripts, without sizes.
func TestInspectGolden(t *testing.T) {
	dir := services(t, time.Minute) // two are in one time bucket, two in the next
	file(t, filepath.Join(dir, "none", "none.pb.gz"), newProfile("samples:count"))
	for _, tc := range []struct {
		golden string
		args   []string
	}{
		{"inspect.golden", []string{"a.pb.gz", "b.pb.gz"}},
		{"inspect-columns.golden", []string{"--columns", "a.pb.gz"}},
		{"inspect-compact.golden", []string{"--compact", "--columns", "a.pb.gz", "b.pb.gz"}},
		{"inspect-split.golden", []string{"--granule-rows", "12", "."}},
		{"inspect-limit.golden", []string{"--granule-rows", "3", "--limit", "2", "a.pb.gz"}},
		{"inspect-json.golden", []string{"--json", "--granule-rows", "6", "a.pb.gz"}},
		{"inspect-none.golden", []string{"none"}},
	} {
		t.Run(tc.golden, func(t *testing.T) {
			r := inDir(t, dir, append([]string{"inspect"}, tc.args...)...)
			if r.code != cli.ExitOK {
				t.Fatalf("exit code %d: %s", r.code, r.stderr)
			}
			clitest.Golden(t, tc.golden, withoutSizes(r.stdout))
			for range 2 { // hashes have a new seed each time
				again := inDir(t, dir, append([]string{"inspect"}, tc.args...)...)
				if diff := cmp.Diff(withoutSizes(r.stdout), withoutSizes(again.stdout)); diff != "" {
					t.Errorf("the same again: -first +again\n%s", diff)
				}
			}
			checkText(t, r.stdout)
		})
	}
}

var (
	sizeInTable = regexp.MustCompile(`(?m)   *[0-9.]+ (?:[KM]i)?B(?: +[0-9.]+$)?`) // and bits a row
	sizeInLine  = regexp.MustCompile(` [0-9.]+ (?:[KM]i)?B`)
	sizeInJSON  = regexp.MustCompile(`("(?:bytes|part_bytes)": |: \d\d)\d+`)
)

// withoutSizes replaces sizes by *, so that changes of the store's memory do not change the
// golden files.
func withoutSizes(text string) string {
	text = sizeInTable.ReplaceAllStringFunc(text, func(cell string) string { return strings.Repeat(" ", len(cell)-1) + "*" })
	text = sizeInLine.ReplaceAllString(text, " *")
	return sizeInJSON.ReplaceAllStringFunc(text, func(field string) string { return field[:strings.Index(field, ": ")] + `: "*"` })
}

// checkText checks that lines fit inspectWidth and have no trailing blanks.
func checkText(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if n := utf8.RuneCountInString(line); n > inspectWidth || strings.TrimRight(line, " ") != line {
			t.Errorf("line of %d columns, or with blanks at its end: %q", n, line)
		}
	}
}

// inspectJSON runs inspect --json.
func inspectJSON(t *testing.T, args ...string) (out inspectedJSON) {
	t.Helper()
	r := granary(t, append([]string{"inspect", "--json"}, args...)...)
	if r.code != cli.ExitOK {
		t.Fatalf("%q: exit code %d: %s", args, r.code, r.stderr)
	}
	if err := json.Unmarshal([]byte(r.stdout), &out); err != nil {
		t.Fatalf("%q: %v in\n%s", args, err, r.stdout)
	}
	return out
}

// The flags have their effects, and the figures of the document agree.
func TestInspectFlags(t *testing.T) {
	dir := services(t, time.Second)
	for _, tc := range []struct {
		args         []string
		granules     int // 0: several
		listed, base int // -1: as many as there are granules
	}{
		{nil, 1, 1, 0},
		{[]string{"--compact"}, 1, 1, 1},
		{[]string{"--granule-rows", "12"}, 0, -1, -1},
		{[]string{"--granule-rows", "12", "--compact"}, 0, -1, -1},
		{[]string{"--granule-rows", "12", "--limit", "2"}, 0, 2, -1},
		{[]string{"--granule-rows", "12", "--limit", "0"}, 0, -1, -1},
		{[]string{"--granule-rows", "1", "--limit", "1000"}, 40, -1, -1},
	} {
		got := inspectJSON(t, append(tc.args, dir)...)
		listed := got.Tables[0].Granules
		for _, want := range []*int{&tc.listed, &tc.base} {
			if *want < 0 {
				*want = got.Granules
			}
		}
		if got.Rows != 40 || len(listed) != tc.listed || got.BaseParts != tc.base || got.Granules < 2 && tc.granules != 1 || tc.granules > 0 && got.Granules != tc.granules {
			t.Errorf("%q: %d rows in %d granules, of which %d are listed, with %d base parts: want %+v", tc.args, got.Rows, got.Granules, len(listed), got.BaseParts, tc)
		}
		if len(tc.args) > 0 && tc.args[len(tc.args)-1] == "--compact" && got.FreshParts != 0 {
			t.Errorf("%q: %d fresh parts", tc.args, got.FreshParts)
		}
		var bytes int64
		for kind, n := range got.Bytes {
			if n <= 0 {
				t.Errorf("%q: %d bytes of %s", tc.args, n, kind)
			}
			bytes += n
		}
		if total := got.Bytes["total"]; bytes != 2*total {
			t.Errorf("%q: bytes %v do not sum to their total", tc.args, got.Bytes)
		}
		rows := 0
		for i, g := range listed {
			rows += g.Rows
			if i > 0 && g.Lower.Key != listed[i-1].Upper.Key {
				t.Errorf("%q: granule %d begins at %q, the one before it ends at %q", tc.args, i, g.Lower.Values, listed[i-1].Upper.Values)
			}
			for _, p := range g.Parts {
				for _, c := range p.Columns {
					if c.Name == "" || c.Type == "" || c.Encoding == "" || c.Layout == "" {
						t.Errorf("%q: column %+v", tc.args, c)
					}
				}
			}
		}
		if len(listed) == got.Granules && rows != 40 {
			t.Errorf("%q: granules have %d rows", tc.args, rows)
		}
	}
}

// Without --limit, the text shows 20 granules and the number of the others.
func TestInspectLimit(t *testing.T) {
	dir := services(t, time.Second)
	for _, tc := range []struct {
		args []string
		want int
		told string
	}{
		{nil, 20, "20 more granules not shown"},
		{[]string{"--limit", "39"}, 39, "1 more granule not shown"},
		{[]string{"--limit", "40"}, 40, ""},
		{[]string{"--limit", "0"}, 40, ""},
	} {
		r := granary(t, append([]string{"inspect", "--granule-rows", "1", dir}, tc.args...)...)
		if got := strings.Count(r.stdout, "\nGranule "); got != tc.want || strings.Contains(r.stdout, "not shown") != (tc.told != "") || !strings.Contains(r.stdout, tc.told) {
			t.Errorf("%q: %d granules, want %d and %q:\n%s", tc.args, got, tc.want, tc.told, r.stdout)
		}
		checkText(t, r.stdout)
	}
}

func TestInspectWrongUse(t *testing.T) {
	good := file(t, "good.pb.gz", service())
	bad := write(t, "bad.pb.gz", []byte("bad"))
	missing := filepath.Join(t.TempDir(), "missing.pb.gz")
	for _, tc := range []struct {
		name     string
		args     []string
		code     int
		want     []string // one line each
		answered bool
	}{
		{"no inputs", nil, cli.ExitUsage, []string{"name at least one profile"}, false},
		{"negative limit", []string{"--limit", "-1", good}, cli.ExitUsage, []string{"--limit -1"}, false},
		{"negative rows", []string{"--granule-rows", "-5", good}, cli.ExitUsage, []string{"--granule-rows -5"}, false},
		{"rows that are no number", []string{"--granule-rows", "few", good}, cli.ExitUsage, []string{"few"}, false},
		{"a flag of other commands", []string{"--selector", "{}", good}, cli.ExitUsage, []string{"--selector"}, false},
		{"bad", []string{bad}, cli.ExitFailed, []string{bad}, false},
		{"missing", []string{missing}, cli.ExitFailed, []string{"no such file"}, false},
		{"bad and missing", []string{"--json", bad, missing}, cli.ExitFailed, []string{bad, missing}, false},
		{"bad among good", []string{bad, good, missing}, cli.ExitFailed, []string{bad, missing}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := granary(t, append([]string{"inspect"}, tc.args...)...)
			problems := r.problems()
			if r.code != tc.code || len(problems) != len(tc.want) || strings.Contains(r.stdout, "Granule 1: 10 rows") != tc.answered {
				t.Fatalf("exit code %d, want %d and %d lines:\n%s%s", r.code, tc.code, len(tc.want), r.stderr, r.stdout)
			}
			for i, want := range tc.want {
				if !strings.Contains(problems[i], want) {
					t.Errorf("%q, want %q in it", problems[i], want)
				}
			}
		})
	}
	for _, args := range [][]string{{"inspect", good}, {"inspect", "--json", good}} {
		var stderr strings.Builder
		if code := run(t.Context(), args, brokenWriter{}, &stderr); code != cli.ExitFailed || !strings.Contains(stderr.String(), "closed pipe") {
			t.Errorf("%q: exit code %d: %s", args, code, stderr.String())
		}
	}
}

func TestInspectHelp(t *testing.T) {
	r := granary(t, "inspect", "--help")
	parts := []string{
		"Usage:", "Examples:", "Inputs are", "--compact", "--columns", "--granule-rows", "--limit", "--json",
		"granule ", "bound ", "fresh ", "base ", "begin ", "commit ", "series ", "encoding ", "layout ",
	}
	parts = append(parts, encoding.LayoutNames()...)
	for _, part := range parts {
		if !strings.Contains(r.stdout, part) {
			t.Errorf("help has no %q:\n%s", part, r.stdout)
		}
	}
	if r := granary(t, "--help"); !strings.Contains(r.stdout, "granary inspect") {
		t.Errorf("help of the program: %s", r.stdout)
	}
}

// Labels can be long or contain control characters.
func TestInspectOddNames(t *testing.T) {
	var samples []sample
	for i := range 9 {
		samples = append(samples, sample{"f main", []int64{int64(i + 1)}, map[string][]string{
			"\u202ename" + strings.Repeat("n", 200): {fmt.Sprint("value \x1b[2J\n", strings.Repeat("é", 300), i)},
		}})
	}
	input := file(t, "odd\x1b[2J\u202e.pb.gz", newProfile("samples:count", samples...))
	r := granary(t, "inspect", "--columns", "--granule-rows", "2", "--limit", "0", input)
	checkText(t, r.stdout)
	if r.code != cli.ExitOK || strings.ContainsAny(r.stdout, "\x1b\u202e") || !strings.Contains(r.stdout, "Granule 3") {
		t.Errorf("%+v", r)
	}
}

// A part that a split divided. Only concurrent writers cause it.
func TestInspectDividedPart(t *testing.T) {
	g := columnstore.GranuleInfo{
		Lower: columnstore.Bound{Values: []string{"-inf"}}, Upper: columnstore.Bound{Values: []string{"+inf"}}, Rows: 300, FreshParts: 1,
		Parts: []columnstore.PartInfo{{Begin: 1, Commit: 2, Lo: 200, Hi: 500, PartRows: 900, MaxTime: time.Time{}.Add(time.Second)}},
	}
	var out strings.Builder
	printGranule(&cli.Printer{W: &out}, 1, nil, &g, false)
	checkText(t, out.String())
	for _, part := range []string{"from -inf", "to   +inf", " 300 ", "+1 s", "200..500 of 900"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("no %q in\n%s", part, out.String())
		}
	}
}

// Real profiles: every row is in a granule, and the text fits.
func TestInspectRealProfiles(t *testing.T) {
	effort.Long(t)
	eachCorpus(t, func(t *testing.T, files []string) {
		for _, args := range [][]string{nil, {"--compact"}, {"--granule-rows", "100"}} {
			got := inspectJSON(t, append(args, files...)...)
			rows := int64(0)
			for _, g := range got.Tables[0].Granules {
				rows += int64(g.Rows)
			}
			if rows != got.Rows || rows == 0 || got.Granules != len(got.Tables[0].Granules) {
				t.Errorf("%q: %d rows in %d granules, %d in all", args, rows, len(got.Tables[0].Granules), got.Rows)
			}
			checkText(t, granary(t, append(append([]string{"inspect", "--columns", "--limit", "0"}, args...), files...)...).stdout)
		}
	})
}

// inspect loads the same rows as the other commands.
func TestInspectLoadsAsTop(t *testing.T) {
	p := service()
	p.SampleType = append(p.SampleType, &pprof.ValueType{Type: "zero", Unit: "count"})
	for _, s := range p.Sample {
		s.Value = append(s.Value, 0) // no row
	}
	got := inspectJSON(t, file(t, "in.pb.gz", p))
	if got.Rows != 10 || got.Series != 2 {
		t.Errorf("%d rows of %d series, want 10 of 2", got.Rows, got.Series)
	}
}
