//go:build cgo

package duckdb

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// sharedProfiles is a directory of profiles outside of the repository.
const sharedProfiles = "../../../shared/data/pprof"

// skipShared skips a test without those profiles, or fails it where they are required.
func skipShared(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(sharedProfiles); err == nil {
		return
	}
	const what = "../shared/data/pprof is not there: it holds real profiles and is not part of the repository"
	if os.Getenv("GRANARY_NEED_SHARED") == "1" {
		t.Fatal(what + ", and GRANARY_NEED_SHARED is 1")
	}
	t.Skip(what)
}

// profilesBelow returns the encoded profiles in a directory and below it, by name.
func profilesBelow(t *testing.T, root string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	err := filepath.WalkDir(root, func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".pb.gz") {
			return err
		}
		out[name], err = os.ReadFile(name)
		return err
	})
	if err != nil || len(out) == 0 {
		t.Fatalf("%s: %d profiles, error %v", root, len(out), err)
	}
	return out
}

// total is a number of rows, and the sum of their values.
type total struct{ rows, sum int64 }

// oracle is the totals of profiles by google/pprof. Its keys are columns of a row with tabs
// between.
type oracle struct{ byType, byFile, byLabel, byStack, byLeaf, byFunction map[string]total }

func newOracle() *oracle {
	return &oracle{map[string]total{}, map[string]total{}, map[string]total{}, map[string]total{}, map[string]total{}, map[string]total{}}
}

func add(to map[string]total, value int64, key ...string) {
	k := strings.Join(key, "\t")
	to[k] = total{to[k].rows + 1, to[k].sum + value}
}

func (o *oracle) add(file string, p *pprof.Profile) {
	for _, s := range p.Sample {
		stack := functions(s)
		for i, value := range s.Value {
			if value == 0 {
				continue
			}
			typ := p.SampleType[i].Type
			add(o.byType, value, typ, p.SampleType[i].Unit)
			add(o.byFile, value, file, typ)
			for name, values := range s.Label {
				add(o.byLabel, value, name, values[0], typ)
			}
			add(o.byStack, value, strings.Join(stack, ";"), typ)
			if len(stack) > 0 {
				add(o.byLeaf, value, stack[0], typ)
			}
			for _, name := range slices.Compact(slices.Sorted(slices.Values(stack))) {
				add(o.byFunction, value, name, typ)
			}
		}
	}
}

// functions returns the function names of a sample, leaf first.
func functions(s *pprof.Sample) []string {
	var names []string
	for _, l := range s.Location {
		unnamed := "<unknown>"
		if l.Mapping != nil && l.Mapping.File != "" {
			unnamed = "[" + path.Base(l.Mapping.File) + "]"
		}
		if len(l.Line) == 0 {
			names = append(names, unnamed)
		}
		for _, line := range l.Line {
			if line.Function == nil || line.Function.Name == "" {
				names = append(names, unnamed)
			} else {
				names = append(names, line.Function.Name)
			}
		}
	}
	return names
}

// totals returns an answer whose last columns are the number of rows and their sum.
func totals(t *testing.T, db *DB, snap *columnstore.Snapshot, table Table, query string) map[string]total {
	t.Helper()
	rows, err := answer(t.Context(), db, snap, []Table{table}, query)
	if err != nil {
		t.Errorf("%s: %v", query, err)
	}
	out := map[string]total{}
	for _, row := range rows {
		var key []string
		for _, v := range row[:len(row)-2] {
			text, _ := v.(string)
			key = append(key, text)
		}
		out[strings.Join(key, "\t")] = total{row[len(row)-2].(int64), row[len(row)-1].(int64)}
	}
	return out
}

// TestProfiles: SQL and google/pprof agree about profiles.
func TestProfiles(t *testing.T) {
	t.Run("testdata", func(t *testing.T) { checkProfiles(t, profilesBelow(t, "../../testdata/profiles")) })
	t.Run("shared", func(t *testing.T) {
		skipShared(t)
		checkProfiles(t, profilesBelow(t, sharedProfiles))
	})
}

func checkProfiles(t *testing.T, encoded map[string][]byte) {
	store := openStore(t)
	profiles, err := profile.Open(store, profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := newOracle()
	var all int64
	labels := map[string]bool{}
	for name, data := range encoded {
		p, err := pprof.ParseData(data)
		if err != nil {
			t.Fatal(name, err)
		}
		want.add(name, p)
		rows, err := profiles.InsertEncoded(t.Context(), data, profile.InsertOptions{Labels: map[string]string{"file": name}, Time: time.Unix(1_700_000_000, 0)})
		if err != nil {
			t.Fatal(name, err)
		}
		all += int64(rows)
		for _, s := range p.Sample {
			for name := range s.Label {
				labels[name] = true
			}
		}
	}
	if len(labels) == 0 {
		t.Fatal("no label to ask for")
	}
	db, snap := openDB(t, Options{}), snapshotOf(t, store)
	table := Table{Table: profiles.Table(), Elements: profile.FunctionNames}
	wantLines(t, db, snap, []Table{table}, "SELECT count(*) FROM profiles", fmt.Sprintln(all))
	const sums = "count(*), sum(value)::BIGINT FROM profiles "
	diff(t, "by type", want.byType, totals(t, db, snap, table, "SELECT sample_type, sample_unit, "+sums+"GROUP BY ALL"))
	diff(t, "by file", want.byFile, totals(t, db, snap, table, `SELECT "labels.file", sample_type, `+sums+"GROUP BY ALL"))
	diff(t, "by stack", want.byStack, totals(t, db, snap, table, "SELECT array_to_string(stacktrace, ';'), sample_type, "+sums+"GROUP BY ALL"))
	diff(t, "by leaf", want.byLeaf, totals(t, db, snap, table, "SELECT stacktrace[1], sample_type, "+sums+"WHERE len(stacktrace) > 0 GROUP BY ALL"))
	diff(t, "by function", want.byFunction, totals(t, db, snap, table, `SELECT function, sample_type, count(*), sum(value)::BIGINT FROM (
		SELECT unnest(list_distinct(stacktrace)) AS function, sample_type, value FROM profiles) GROUP BY ALL`))
	got := map[string]total{}
	for name := range labels {
		column := Quote(profile.ColumnPprofLabels + "." + name)
		maps.Copy(got, totals(t, db, snap, table, fmt.Sprintf("SELECT '%s', %s, sample_type, %sWHERE %s IS NOT NULL GROUP BY ALL", name, column, sums, column)))
	}
	diff(t, "by label", want.byLabel, got)
}
