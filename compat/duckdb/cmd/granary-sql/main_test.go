//go:build cgo

package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	pprof "github.com/google/pprof/profile"
	"go.uber.org/goleak"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// call runs the command.
func call(t testing.TB, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(context.Background(), args, &out, &errs)
	return out.String(), errs.String(), code
}

// golden compares with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := errors.Join(os.MkdirAll("testdata", 0o777), os.WriteFile(file, []byte(got), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", file, d)
	}
}

// shop writes two profiles of a made-up program, a minute apart, and changes to their
// directory, so that their names are short.
func shop(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	for i, name := range []string{"monday.pb.gz", "sub/tuesday.pb.gz"} {
		p := shopProfile(int64(i))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(name)
		if err == nil {
			err = errors.Join(p.Write(f), f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func shopProfile(i int64) *pprof.Profile {
	p := &pprof.Profile{
		SampleType: []*pprof.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &pprof.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 10_000_000,
		TimeNanos: 1_700_000_000_000_000_000 + i*60e9 + 1234, DurationNanos: 60e9,
	}
	locations := map[string]*pprof.Location{}
	for i, name := range []string{"main.main", "main.sell", "main.count", "strings.ToUpper"} {
		f := &pprof.Function{ID: uint64(i + 1), Name: name, Filename: "main.go"}
		l := &pprof.Location{ID: uint64(i + 1), Address: uint64(i+1) * 16, Line: []pprof.Line{{Function: f, Line: 7}}}
		p.Function, p.Location = append(p.Function, f), append(p.Location, l)
		locations[name] = l
	}
	add := func(n int64, labels map[string][]string, numbers map[string][]int64, stack ...string) {
		s := &pprof.Sample{Value: []int64{n, n * p.Period}, Label: labels, NumLabel: numbers, NumUnit: map[string][]string{}}
		for name := range numbers {
			s.NumUnit[name] = []string{"bytes"}
		}
		for _, name := range stack {
			s.Location = append(s.Location, locations[name])
		}
		p.Sample = append(p.Sample, s)
	}
	add(5+i, map[string][]string{"thread": {"till"}}, nil, "main.count", "main.sell", "main.main")
	add(3, map[string][]string{"thread": {"till"}, "value": {"of, \"a\" label"}}, nil, "main.sell", "main.count", "main.sell", "main.main")
	add(2, map[string][]string{"thread": {"store-room"}, "Shelf": {"a"}}, map[string][]int64{"request": {4096}}, "strings.ToUpper", "main.main")
	add(1, map[string][]string{"shelf": {"b\x1b[31m"}}, nil, "main.main")
	return p
}

// TestAnswers compares the output in each form.
func TestAnswers(t *testing.T) {
	testdata, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	shop(t)
	const all = `SELECT time, function, sum(value) AS total, thread, "pprof_labels.value", stack, bool_and(value > 1) AS "b"
		FROM samples WHERE sample_type = 'cpu' GROUP BY ALL ORDER BY time, total DESC`
	got := map[string]string{}
	for name, args := range map[string][]string{
		"help":    {"--help"},
		"schema":  {"--schema", "."},
		"table":   {all, "."},
		"csv":     {"--csv", all, "."},
		"json":    {"--json", all, "."},
		"nothing": {"SELECT value, thread FROM samples WHERE false", "."},
		"types": {`SELECT 1.50::DECIMAL(10, 2) AS d, 3::HUGEINT AS h, [1, NULL] AS l, {'a': 1, 'b': 'x'} AS s, MAP {'k': 1} AS m, '\xAA'::BLOB AS b,
			'ff000000-0000-0000-0000-000000000001'::UUID AS u, INTERVAL '14 months 2 days 3 hours' AS i, 1.5::FLOAT AS f, 'nan'::DOUBLE AS n, 1e300 AS g,
			DATE '2026-01-31' AS day, TIME '10:00:00' AS t, TIMESTAMPTZ '2026-01-31 10:00:00+02' AS z, NULL AS nothing, '' AS empty, true AS yes, 0.1 + 0.2 AS sum`, "monday.pb.gz"},
	} {
		out, errs, code := call(t, args...)
		if code != exitOK || errs != "" {
			t.Errorf("%s: exit code %d: %s", name, code, errs)
		}
		got[name] = out
	}
	out, errs, _ := call(t, "--json", "SELECT 1 AS a, 2 AS a, 'nan'::FLOAT AS n, '<&>' AS text, {'x': [1.25, NULL]} AS s, MAP {1: 'y'} AS m, 99999999999999999999 AS big", "monday.pb.gz")
	got["json-odd"] = out + errs
	t.Chdir(filepath.Dir(testdata))
	for name, text := range got {
		golden(t, name, text)
	}
	for _, name := range []string{"json", "json-odd"} {
		var rows []map[string]any
		if err := json.Unmarshal([]byte(got[name]), &rows); err != nil || len(rows) == 0 {
			t.Errorf("%s: %d rows, error %v", name, len(rows), err)
		}
	}
	if rows, err := csv.NewReader(strings.NewReader(got["csv"])).ReadAll(); err != nil || len(rows) != 9 || rows[2][4] != `of, "a" label` {
		t.Errorf("%q, error %v", rows, err)
	}
}

// TestExamples runs every example of --help.
func TestExamples(t *testing.T) {
	shop(t)
	renamed := strings.NewReplacer("cpu.pb.gz", "monday.pb.gz", "heap.pb.gz", "monday.pb.gz", "heaps/", ".", "'inuse_space'", "'cpu'", "main.work", "main.sell")
	quoted := regexp.MustCompile(`(?s)granary-sql "([^"]*)" (\S+)`)
	found := quoted.FindAllStringSubmatch(renamed.Replace(examples), -1)
	if want := strings.Count(examples, "granary-sql") - 1; len(found) != want || want < 5 { // TestAnswers covers --schema
		t.Fatalf("%d examples, want %d", len(found), want)
	}
	for _, example := range found {
		out, errs, code := call(t, example[1], example[2])
		if code != exitOK || errs != "" || strings.Contains(out, "(0 rows)") {
			t.Errorf("%s: exit code %d: %s%s", example[0], code, out, errs)
		}
	}
	if _, err := os.Stat("samples.parquet"); err != nil {
		t.Error(err)
	}
}

// TestExitCodes: the exit code and the message of wrong use and of failures.
func TestExitCodes(t *testing.T) {
	shop(t)
	if err := errors.Join(os.WriteFile("bad.pb.gz", []byte("no profile"), 0o666), os.Mkdir("empty", 0o777)); err != nil {
		t.Fatal(err)
	}
	const count = "SELECT count(*) FROM samples"
	for _, c := range []struct {
		args   []string
		code   int
		stderr string
		stdout string
	}{
		{[]string{}, exitUsage, "the SQL is missing", ""},
		{[]string{"", "monday.pb.gz"}, exitUsage, "the SQL is missing", ""},
		{[]string{"monday.pb.gz"}, exitUsage, "the SQL is missing: monday.pb.gz is an input", ""},
		{[]string{count}, exitUsage, "name at least one profile", ""},
		{[]string{"--schema"}, exitUsage, "name at least one profile", ""},
		{[]string{"--csv", "--json", count, "."}, exitUsage, "choose one", ""},
		{[]string{"--nothing", count, "."}, exitUsage, "unknown flag: --nothing", ""},
		{[]string{"SELEC", "."}, exitUsage, "LINE 1: SELEC", ""},
		{[]string{"SELECT nothing FROM samples", "monday.pb.gz"}, exitUsage, `"nothing" not found`, ""},
		{[]string{"SELECT * FROM nothing", "monday.pb.gz"}, exitUsage, "Table with name nothing does not exist", ""},
		{[]string{"SELECT function::INTEGER FROM samples", "monday.pb.gz"}, exitFailed, "Conversion Error", ""},
		{[]string{count, "nothing"}, exitFailed, "there is no profile in the inputs", ""},
		{[]string{count, "bad.pb.gz"}, exitFailed, "bad.pb.gz: not a valid pprof profile", ""},
		{[]string{count, "empty"}, exitFailed, "empty: no profiles in this directory", ""},
		{[]string{count, "bad.pb.gz", "monday.pb.gz"}, exitFailed, "the answer is without 1 of the inputs", "           8\n"},
		{[]string{count, "monday.pb.gz", "monday.pb.gz"}, exitOK, "", "          16\n"},
		{[]string{"--version"}, exitOK, "", "granary-sql "},
	} {
		out, errs, code := call(t, c.args...)
		if code != c.code || !strings.Contains(errs, c.stderr) || (c.stderr == "" && errs != "") || !strings.Contains(out, c.stdout) {
			t.Errorf("%q: exit code %d, %q, %q; want %d, %q, %q", c.args, code, out, errs, c.code, c.stdout, c.stderr)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if code := run(ctx, []string{count, "monday.pb.gz"}, io.Discard, io.Discard); code != exitFailed {
		t.Errorf("interrupted: exit code %d", code)
	}
}

// TestURL: a profile of a running server.
func TestURL(t *testing.T) {
	shop(t)
	server := httptest.NewServer(http.FileServer(http.Dir(".")))
	defer server.Close()
	defer http.DefaultClient.CloseIdleConnections()
	out, errs, code := call(t, "--csv", "SELECT count(*) FROM samples", server.URL+"/monday.pb.gz")
	if code != exitOK || out != "count_star()\n8\n" {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	if out, errs, code := call(t, "SELECT 1", server.URL+"/nothing"); code != exitFailed || !strings.Contains(errs, "404") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
}

// TestTopAgrees: the first two examples of --help agree with granary top.
func TestTopAgrees(t *testing.T) {
	files := 0
	err := filepath.WalkDir("../../../../testdata/profiles", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasPrefix(filepath.Base(name), "cpu") {
			return err
		}
		files++
		checkTop(t, name)
		return nil
	})
	if err != nil || files == 0 {
		t.Errorf("%d files, error %v", files, err)
	}
}

func checkTop(t *testing.T, name string) {
	t.Helper()
	store, err := columnstore.Open(columnstore.Options{FutureLimit: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	db, err := profile.Open(store, profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(name)
	if err == nil {
		_, err = db.InsertEncoded(t.Context(), data, profile.InsertOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][2]int64{}
	if err := store.View(t.Context(), func(snap *columnstore.Snapshot) error {
		typ, err := db.FindType(t.Context(), snap, "cpu")
		if err != nil {
			return err
		}
		stacks, err := db.Merge(t.Context(), snap, typ, profile.Query{})
		if err != nil {
			return err
		}
		for _, f := range stacks.Top() {
			want[f.Name] = [2]int64{f.Flat, f.Cum}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	out, errs, code := call(t, "--json", `
		WITH cpu AS (SELECT * FROM samples WHERE sample_type = 'cpu'),
		flat AS (SELECT function AS name, sum(value)::BIGINT AS flat FROM cpu GROUP BY ALL),
		cum AS (SELECT name, sum(value)::BIGINT AS cum FROM (SELECT unnest(list_distinct(stack)) AS name, value FROM cpu) GROUP BY ALL)
		SELECT name, coalesce(flat, 0) AS flat, cum FROM cum LEFT JOIN flat USING (name)`, name)
	var rows []struct {
		Name      string
		Flat, Cum int64
	}
	if err := json.Unmarshal([]byte(out), &rows); err != nil || code != exitOK {
		t.Fatal(err, errs)
	}
	got := map[string][2]int64{}
	for _, row := range rows {
		got[row.Name] = [2]int64{row.Flat, row.Cum}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", name, d)
	}
}

// TestWidth: on a terminal, lines fit its width as far as columns can shrink.
func TestWidth(t *testing.T) {
	columns := []column{{"function", "VARCHAR"}, {"n", "BIGINT"}, {"stack", "VARCHAR[]"}}
	var out bytes.Buffer
	g := &grid{w: &out, most: 50, columns: columns}
	for _, cells := range [][]string{
		{"github.com/some/where/far/away.Function", "1", "[a.B, c.D]"},
		{"x.Y", "1234567", "[github.com/some/where/far/away.Function, runtime.main, runtime.goexit]"},
	} {
		if err := g.add(cells); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.begin(); err != nil {
		t.Fatal(err)
	}
	if err := g.add([]string{"later.and.wider.than.what.came.before.it", "12345678901234", "[]"}); err != nil {
		t.Fatal(err)
	}
	golden(t, "width", out.String())
	squeezed := []int{3, 100, 40, 12, 20}
	squeeze(squeezed, []column{{}, {}, {}, {}, {"n", "BIGINT"}}, 20) // impossible
	if d := cmp.Diff([]int{3, 12, 12, 12, 20}, squeezed); d != "" {
		t.Error(d)
	}
}

// TestLabelNames: labels named by their own names, and those by their columns.
func TestLabelNames(t *testing.T) {
	for _, c := range []struct{ columns, want []string }{
		{[]string{"timestamp", "value"}, nil},
		{[]string{"labels.pod", "pprof_labels.thread"}, []string{`"labels.pod" AS "pod"`, `"pprof_labels.thread" AS "thread"`}},
		{[]string{"labels.a", "pprof_labels.a"}, []string{`coalesce("labels.a", "pprof_labels.a") AS "a"`}},
		{[]string{"labels.a", "pprof_labels.A"}, []string{`"labels.a" AS "labels.a"`, `"pprof_labels.A" AS "pprof_labels.A"`}},
		{[]string{"labels.a", "pprof_num_labels.a"}, []string{`"labels.a" AS "labels.a"`, `"pprof_num_labels.a" AS "pprof_num_labels.a"`}},
		{[]string{"labels.Value", "pprof_labels.time"}, []string{`"labels.Value" AS "labels.Value"`, `"pprof_labels.time" AS "pprof_labels.time"`}},
		{[]string{"labels.value", "pprof_labels.value"}, []string{`"labels.value" AS "labels.value"`, `"pprof_labels.value" AS "pprof_labels.value"`}},
		{[]string{`labels.a "b".c`, "pprof_labels.labels.a"}, []string{`"labels.a ""b"".c" AS "a ""b"".c"`, `"pprof_labels.labels.a" AS "pprof_labels.labels.a"`}},
	} {
		var columns []column
		for _, name := range c.columns {
			columns = append(columns, column{name: name})
		}
		if d := cmp.Diff(c.want, labelList(columns)); d != "" {
			t.Errorf("%q (-want +got):\n%s", c.columns, d)
		}
	}
}
