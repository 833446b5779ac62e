package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/cmd/granary/internal/dbdir"
	"github.com/granarydb/granary/cmd/granary/internal/dirs"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/repair"
	"github.com/granarydb/granary/schema"
)

// dump lists all files, with the rows of each, the entries of the log and the granules of files.
func TestDump(t *testing.T) {
	dir := stored(t, services(t, time.Minute))
	var l repair.Listing
	r := granary(t, "dump", "--db", dir, "--json")
	if err := json.Unmarshal([]byte(r.stdout), &l); err != nil || r.code != cli.ExitOK {
		t.Fatalf("%v: %+v", err, r)
	}
	text := granary(t, "dump", "--db", dir).stdout
	rows, bytes := int64(0), int64(0)
	for _, f := range l.Files {
		rows, bytes = rows+f.Rows, bytes+f.Bytes
		if !strings.Contains(text, "\n"+f.Name+" ") {
			t.Errorf("the text has no line of %s:\n%s", f.Name, text)
		}
		if f.Kind == "rows" {
			checkGranules(t, dir, f)
		}
	}
	if size, err := dbdir.Size(dir); err != nil || rows != 40 || bytes != size {
		t.Errorf("%d rows in files, want 40, and %d bytes, want %d: %v", rows, bytes, size, err)
	}
	for line := range strings.Lines(dirs.NewDump().Example) {
		line, _, _ = strings.Cut(strings.ReplaceAll(strings.TrimSpace(line), "profiles.db", dir), " | ")
		if r := granary(t, strings.Fields(line)[1:]...); r.code != cli.ExitOK || r.stdout == "" {
			t.Errorf("%q: %+v", line, r)
		}
	}
	checkEntries(t, killed(t))
	for _, tc := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{}, cli.ExitUsage, "--db DIR is missing"},
		{[]string{"--db", dir, "a", "b"}, cli.ExitUsage, "one file at most"},
		{[]string{"--db", dir, "notes"}, cli.ExitUsage, "want the name of a segment"},
		{[]string{"--db", dir, "dicts-000000000001"}, cli.ExitUsage, "want the name of a segment"},
		{[]string{"--db", dir, "rows-000000000099"}, cli.ExitFailed, "rows-000000000099: no manifest names it"},
		{[]string{"--db", dir, "log-000000000099"}, cli.ExitFailed, "log-000000000099: it is no segment of the log"},
		{[]string{"--db", t.TempDir()}, cli.ExitFailed, "there is no store"},
	} {
		if r := granary(t, append([]string{"dump"}, tc.args...)...); r.code != tc.code || !strings.Contains(r.stderr, tc.want) || len(r.problems()) != 1 {
			t.Errorf("%q: %+v", tc.args, r)
		}
	}
}

func checkGranules(t *testing.T, dir string, f repair.ListedFile) {
	t.Helper()
	var granules []repair.ListedGranule
	r := granary(t, "dump", "--db", dir, "--json", f.Name)
	rows := int64(0)
	err := json.Unmarshal([]byte(r.stdout), &granules)
	for _, g := range granules {
		rows += int64(g.Rows)
		if g.Commit > f.Through || len(g.Lower) == 0 {
			t.Errorf("granule %+v of %+v", g, f)
		}
	}
	if err != nil || rows != f.Rows || f.Rows == 0 {
		t.Errorf("%s has %d rows in its granules, want %d: %v", f.Name, rows, f.Rows, err)
	}
	if text := granary(t, "dump", "--db", dir, f.Name).stdout; strings.Count(text, "\n") != len(granules)+1 {
		t.Errorf("%d granules:\n%s", len(granules), text)
	}
}

// killed returns a directory as a process that was killed after some commits left it.
func killed(t *testing.T) (dir string) {
	t.Helper()
	open := t.TempDir()
	store, err := columnstore.Open(columnstore.Options{Dir: open, Sync: disk.SyncEach, Manual: true})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	table, err := store.CreateTable("values", schema.Definition{Columns: []schema.Column{{Name: "value", Type: encoding.Int64, Encoding: encoding.Plain}}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(4) {
		if _, err := table.Insert(t.Context(), schema.Batch{Rows: 1, Columns: map[string]encoding.Vector{"value": encoding.Int64s(i)}}); err != nil {
			t.Fatal(err)
		}
	}
	dir = filepath.Join(t.TempDir(), "db")
	if err := os.CopyFS(dir, os.DirFS(open)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// checkEntries holds the entries of the log to those of a damaged copy: all before the damage.
func checkEntries(t *testing.T, dir string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, disk.LogKind+"-*"))
	if err != nil || len(names) == 0 {
		t.Fatal(err)
	}
	name := filepath.Base(names[0])
	entries := func() (entries []repair.ListedEntry, r result) {
		r = granary(t, "dump", "--db", dir, "--json", name)
		if err := json.Unmarshal([]byte(r.stdout), &entries); err != nil {
			t.Fatalf("%v: %+v", err, r)
		}
		return entries, r
	}
	whole, r := entries()
	commits, last := 0, uint64(0)
	for _, e := range whole {
		if e.Kind == "commit" {
			commits++
			if e.Commit <= last || len(e.Tables) != 1 || e.Tables[0].Parts == 0 {
				t.Errorf("entry %+v after commit %d", e, last)
			}
			last = e.Commit
		}
	}
	if r.code != cli.ExitOK || commits < 4 || !strings.Contains(granary(t, "dump", "--db", dir, name).stdout, "commit, table 0: ") {
		t.Errorf("%d commits: %+v", commits, r)
	}
	data, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	place := 4096 // of the third entry
	for _, e := range whole[:2] {
		place += 40 + (e.Bytes+7)/8*8
	}
	data[place+50] ^= 1
	if err := os.WriteFile(names[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
	cut, r := entries()
	if len(cut) != 2 {
		t.Errorf("%d entries before the damage, want 2: %+v", len(cut), r)
	}
}
