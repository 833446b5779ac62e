package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/columnstore"
)

// A copy answers as the directory does, and needs an empty place.
func TestBackup(t *testing.T) {
	dir, target := stored(t, services(t, time.Minute)), filepath.Join(t.TempDir(), "backups", "monday", "copy")
	before := bytesOf(t, dir)
	if r := granary(t, "backup", "--db", dir, target); r.code != cli.ExitOK || !strings.HasPrefix(r.stdout, "Copied 40 rows: ") {
		t.Fatalf("%+v", r)
	}
	if got, want := granary(t, "top", "--json", "--db", target), granary(t, "top", "--json", "--db", dir); got != want || got.code != cli.ExitOK {
		t.Errorf("the copy answers %+v, want %+v", got, want)
	}
	if r := granary(t, "load", "--db", target, file(t, "cpu.pb.gz", service())); r.code != cli.ExitOK {
		t.Errorf("load into the copy: %+v", r)
	}
	for name, data := range bytesOf(t, dir) {
		if before[name] != data {
			t.Errorf("%s has changed", name)
		}
	}
	store, err := columnstore.Open(columnstore.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	occupied := t.TempDir()
	if err := os.WriteFile(filepath.Join(occupied, "notes"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	folders := t.TempDir()
	if err := os.Mkdir(filepath.Join(folders, "profiles"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{target}, cli.ExitUsage, "--db DIR is missing"},
		{[]string{"--db", target}, cli.ExitUsage, "name one directory"},
		{[]string{"--db", target, occupied}, cli.ExitFailed, "there are files in it already"},
		{[]string{"--db", target, folders}, cli.ExitFailed, "there are files in it already"},
		{[]string{"--db", target, target}, cli.ExitFailed, "in use"},
		{[]string{"--db", target, filepath.Join(occupied, "notes", "copy")}, cli.ExitFailed, "notes"},
		{[]string{"--db", occupied, filepath.Join(t.TempDir(), "copy")}, cli.ExitFailed, "there are no profiles in it; granary load fills a directory"},
		{[]string{"--db", filepath.Join(occupied, "none"), filepath.Join(t.TempDir(), "copy")}, cli.ExitFailed, "there is no such directory; granary load makes one"},
		{[]string{"--db", dir, filepath.Join(t.TempDir(), "copy")}, cli.ExitFailed, "another process has it open"},
	} {
		r := granary(t, append([]string{"backup"}, tc.args...)...)
		if r.code != tc.code || !strings.Contains(r.stderr, tc.want) || len(r.problems()) != 1 || r.stdout != "" {
			t.Errorf("%q: %+v", tc.args, r)
		}
	}
	for _, dir := range []string{occupied, folders} {
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
			t.Errorf("backup left %v, %v", entries, err)
		}
	}
}
